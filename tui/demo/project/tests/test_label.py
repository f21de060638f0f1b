from tapedeck import Track, label
from tapedeck.label import longest, shorten

SHORT = Track("The Tapes", "Rewind", 161)
LONG = Track("Side B", "Auto Reverse Until Morning", 900)


def test_a_short_name_stays():
    assert shorten("Rewind", 10) == "Rewind"


def test_a_name_that_just_fits_stays():
    assert shorten("Rewind", 6) == "Rewind"


def test_a_long_name_is_cut_to_its_width():
    assert shorten("Auto Reverse", 6) == "Auto ."


def test_longest():
    assert longest([SHORT, LONG]) is LONG


def test_longest_of_nothing():
    assert longest([]) is None


def test_the_times_stand_in_one_column():
    lines = label([SHORT, LONG], width=12).splitlines()
    assert lines == ["1. Rewind       2:41", "2. Auto Rev.   15:00"]
    assert len({len(line) for line in lines}) == 1
