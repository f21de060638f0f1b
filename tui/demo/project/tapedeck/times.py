"""Minutes and seconds, as they stand on a sleeve."""


def parse_time(text):
    """Seconds of a time like 3:07 or 1:02:45."""
    seconds = 0
    for part in text.split(":"):
        seconds = seconds * 60 + int(part)
    return seconds


def format_time(seconds):
    """A time like 3:07; from an hour on like 1:02:45."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours > 1:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    return f"{minutes}:{rest:02d}"
