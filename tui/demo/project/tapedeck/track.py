"""A song on a tape."""

from dataclasses import dataclass

from tapedeck.times import parse_time


@dataclass(frozen=True)
class Track:
    """One song: who, what, and for how many seconds."""

    artist: str
    title: str
    seconds: int

    @classmethod
    def from_line(cls, line):
        """Read `Artist - Title (m:ss)`, as people write it into a list."""
        name, _, length = line.strip().rpartition(" (")
        artist, _, title = name.partition(" - ")
        if not title or not length.endswith(")"):
            raise ValueError(f"not a track: {line!r}")
        return cls(artist, title, parse_time(length[:-1]))
