import pytest

from tapedeck import Side, Track

INTRO = Track("The Tapes", "Press Play", 60)
SONG = Track("The Tapes", "Rewind", 161)
LONG = Track("Side B", "Auto Reverse", 900)


def side(*tracks, room=600):
    made = Side(room)
    made.tracks = list(tracks)
    return made


def test_nothing_plays_for_no_time():
    assert side().playing_time() == 0


def test_one_track_has_no_silence():
    assert side(INTRO).playing_time() == 60


def test_silences_are_between_tracks():
    assert side(INTRO, SONG, INTRO).playing_time() == 60 + 161 + 60 + 2 * 2


def test_what_is_left():
    assert side(INTRO, SONG).left() == 600 - (60 + 2 + 161)


def test_a_track_that_ends_with_the_tape_fits():
    assert side(room=60).fits(INTRO)


def test_a_track_that_is_too_long_does_not():
    assert not side(room=59).fits(INTRO)


def test_add_says_what_does_not_fit():
    with pytest.raises(ValueError, match="Auto Reverse"):
        side(INTRO).add(LONG)


def test_fill_skips_what_is_too_long():
    tape = side(room=300)
    assert tape.fill([INTRO, LONG, SONG]) == [LONG]
    assert tape.tracks == [INTRO, SONG]
