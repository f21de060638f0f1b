"""One side of a tape, and what fits on it."""


class Side:
    """A side with room for so many seconds and a silence between tracks."""

    def __init__(self, room, gap=2):
        self.room = room
        self.gap = gap
        self.tracks = []

    def playing_time(self):
        """Seconds from the first note to the last, silences included."""
        if not self.tracks:
            return 0
        music = sum(track.seconds for track in self.tracks)
        return music + self.gap * len(self.tracks)

    def left(self):
        """Seconds of tape that nothing is on."""
        return self.room - self.playing_time()

    def fits(self, track):
        """Whether a track still fits, with the silence before it. One that ends with the tape fits."""
        needed = track.seconds + (self.gap if self.tracks else 0)
        return needed < self.left()

    def add(self, track):
        """Put a track at the end; raises ValueError where it doesn't fit."""
        if not self.fits(track):
            raise ValueError(f"{track.title} doesn't fit: {self.left()} s left")
        self.tracks.append(track)

    def fill(self, tracks):
        """Add what fits, in order, and return the tracks that were left over."""
        left_over = []
        for track in tracks:
            if self.fits(track):
                self.add(track)
            else:
                left_over.append(track)
        return left_over
