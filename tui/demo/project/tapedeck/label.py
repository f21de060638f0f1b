"""What is written on the label."""

from tapedeck.times import format_time


def longest(tracks):
    """The longest track; the first of several. None for an empty tape."""
    if not tracks:
        return None
    return max(tracks, key=lambda track: track.seconds)


def shorten(text, width):
    """The text in at most so many characters; what is cut off leaves a dot."""
    if len(text) <= width:
        return text
    return text[:width] + "."


def label(tracks, width=24):
    """Numbered lines with the times set to the right."""
    lines = []
    for number, track in enumerate(tracks, 1):
        name = shorten(f"{number}. {track.title}", width)
        lines.append(f"{name:<{width}} {format_time(track.seconds):>7}")
    return "\n".join(lines)
