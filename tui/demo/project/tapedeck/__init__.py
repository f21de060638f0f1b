"""Plan a mixtape side by side."""

from tapedeck.label import label
from tapedeck.side import Side
from tapedeck.times import format_time, parse_time
from tapedeck.track import Track

__all__ = ["Side", "Track", "format_time", "label", "parse_time"]
