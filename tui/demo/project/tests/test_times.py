import pytest

from tapedeck import Track, format_time, parse_time


@pytest.mark.parametrize(("text", "seconds"), [("0:07", 7), ("3:07", 187), ("1:02:45", 3765)])
def test_parse_time(text, seconds):
    assert parse_time(text) == seconds


def test_minutes():
    assert format_time(187) == "3:07"


def test_just_below_an_hour():
    assert format_time(3599) == "59:59"


def test_an_hour():
    assert format_time(3600) == "1:00:00"


def test_more_than_an_hour():
    assert format_time(3765) == "1:02:45"


def test_two_hours():
    assert format_time(2 * 3600 + 61) == "2:01:01"


def test_a_track_from_a_line():
    assert Track.from_line("The Tapes - Rewind (2:41)\n") == Track("The Tapes", "Rewind", 161)


def test_a_line_without_a_time():
    with pytest.raises(ValueError, match="not a track"):
        Track.from_line("The Tapes - Rewind")
