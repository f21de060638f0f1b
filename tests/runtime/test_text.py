"""Untrusted text: nothing of it drives a terminal, breaks the store, or shows a secret."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.text import (
    SECRET_MARK,
    Decoder,
    Masker,
    MaskingStream,
    decode,
    hidden_characters,
    one_line,
    plain,
    revealed,
    secret_values,
    storable,
    strip_ansi,
    visible,
)

HOSTILE = [
    "\x1b]52;c;aGk=\x07",
    "\x1b]52;c;aGk=\x1b\\",
    "\x1b]52;c;aGk=",
    "\x1b]0;owned\x07",
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
    "\x1bP+q544e\x1b\\",
    "\x1b[2J\x1b[H",
    "\x1b[5A",
    "\x1b[c\x1b[6n",
    "\x1bc",
    "\x9b2J",
    "\x9d0;x\x9c",
    "\x90q\x9c",
    "a\x00b",
    "\x08\x08\x7f",
    "\u202egnp.exe",
    "a\u200b\u2066b\u2069",
    "tag\U000e0041",
    "line\u2028sep\x85",
]
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\u2028\u2029\ud800-\udfff]")


@pytest.mark.parametrize("text", HOSTILE)
def test_what_drives_a_terminal_becomes_visible_marks(text: str) -> None:
    for made in (visible(text), plain(text), one_line(text)):
        assert not CONTROLS.search(made)
    assert visible(text)


@given(st.text(st.characters(codec=None), max_size=200))
def test_nothing_dangerous_survives_whatever_comes(text: str) -> None:
    for made in (visible(text), plain(text), one_line(text)):
        assert not CONTROLS.search(made)
    assert visible(visible(text)) == visible(text)


def test_ordinary_text_stays_as_it_is() -> None:
    text = "caf\u00e9 \u65e5\u672c\u8a9e \U0001f469\u200d\U0001f4bb \u26a0\ufe0f\n\tindented [red] [/] arr[0]"
    assert visible(text) == text


def test_colours_of_a_command_are_taken_out_and_progress_shows_its_last_state() -> None:
    assert strip_ansi("\x1b[31mred\x1b[0m") == "red"
    assert plain("\x1b[1;32mok\x1b[0m 10%\r 20%\r100%\ndone\r\n") == "100%\ndone\n"


def test_hidden_characters_are_counted() -> None:
    assert hidden_characters("ls \u202e\u200b-la" + " " * 300) == 2


@given(st.text(st.characters(codec=None), max_size=100))
def test_storable_text_can_be_stored(text: str) -> None:
    storable(text).encode("utf-8")
    assert "\x00" not in storable(text)


@given(st.binary(max_size=200), st.integers(1, 7))
def test_pieces_decode_as_the_whole(data: bytes, size: int) -> None:
    decoder = Decoder()
    pieces = [decoder.feed(data[n : n + size]) for n in range(0, len(data), size)]
    assert "".join(pieces) + decoder.feed(b"", final=True) == decode(data)


def test_one_line_is_cut_with_an_ellipsis() -> None:
    assert one_line("a\n\n  b\tc") == "a b c"
    assert one_line("abcdef", 4) == "abc\u2026"


SECRETS = ["hunter2hunter2", "sk-ant-" + "a1B2" * 6]


@given(st.text("abc hunter2-", max_size=40), st.text("xyz sk-", max_size=40), st.integers(1, 9))
def test_a_secret_is_masked_however_it_is_cut(before: str, after: str, size: int) -> None:
    text = before + " " + SECRETS[0] + " " + after + " " + SECRETS[1] + " end"
    stream = MaskingStream(Masker(SECRETS[:1]))
    out = "".join(stream.feed(text[n : n + size]) for n in range(0, len(text), size)) + stream.close()
    assert SECRETS[0] not in out
    assert SECRETS[1] not in out
    assert SECRET_MARK in out


def test_secrets_are_known_by_their_name_and_short_ones_are_left() -> None:
    env = {"MY_API_KEY": "a-long-secret", "TOKEN": "abc", "PATH": "/usr/bin", "DB_PASSWORD": "correct horse"}
    assert sorted(secret_values(env)) == ["a-long-secret", "correct horse"]


@pytest.mark.parametrize(
    "key",
    [
        "ghp_" + "a1" * 20,
        "AKIAABCDEFGHIJKLMNOP",
        "sk-proj-" + "x" * 30,
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_keys_are_known_by_their_shape(key: str) -> None:
    assert Masker().mask(f"got {key} here") == f"got {SECRET_MARK} here"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls -la  x   y", "ls -la  x   y"),
        ("rm a" + " " * 300 + "; rm -rf b", "rm a\u27e8300 spaces\u27e9; rm -rf b"),
        ("a\t\tb\tc", "a\u27e82 tabs\u27e9b\u27e8tab\u27e9c"),
        ("if x:\n        y", "if x:\n        y"),
        (" " * 40 + "x", "\u27e840 spaces\u27e9x"),
        ("a\n\n\nb", "a\n\n\nb"),
        ("a" + "\n" * 60 + "b", "a\n\u27e859 empty lines\u27e9\nb"),
        ("a\u202eb\u200bc", "a\u27e8U+202E\u27e9b\u27e8U+200B\u27e9c"),
        ("a\u00a0b\u3000c\u2800d", "a\u27e8U+00A0\u27e9b\u27e8U+3000\u27e9c\u27e8U+2800\u27e9d"),
        ("x\U000e0101y\ufe01z", "x\u27e8U+E0101\u27e9y\u27e8U+FE01\u27e9z"),
        ("a\r\nb", "a\u240d\nb"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u27e8U+200D\u27e9\U0001f469"),
        ("a\x1b]52;c;x\x07", "a\u241b]52;c;x\u2407"),
    ],
)
def test_what_is_to_be_agreed_to_is_shown_whole(text: str, shown: str) -> None:
    assert revealed(text) == shown


@given(st.text())
def test_nothing_hidden_is_left_in_what_is_revealed(text: str) -> None:
    assert hidden_characters(revealed(text)) == 0
