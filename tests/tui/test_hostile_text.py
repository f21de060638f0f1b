"""Markup and control sequences in text of others: every character is shown, nothing is obeyed, none of it reaches the terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pytest

from support.event_streams import HOSTILE
from support.fake_backend import FakeBackend
from support.sample_runs import hostile_run
from support.screens import Opener, screen_text, settle, stream_of
from tui.screens.run_panes import TABS

ROOT = Path(__file__).resolve().parents[2]
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
MARKUP = ("[/#888]", "ZLEXCOUNT z [b + 3", "[red]", "[link=http://x]y", "[@click=app.quit]x[/]", "arr[0]")


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend({"h0571": hostile_run().events})


@pytest.mark.parametrize("tab", range(1, len(TABS) + 1))
async def test_every_tab_shows_it_and_obeys_nothing(opened: Opener, tab: int) -> None:
    async with opened("h0571", size=(160, 60)) as pilot:
        await pilot.press(str(tab))
        await settle(pilot)
        assert not UNSAFE.search(screen_text(pilot))
        assert not pilot.app._exit


async def test_fleet_and_stream_show_every_character(opened: Opener) -> None:
    async with opened(size=(250, 80)) as pilot:
        row = screen_text(pilot)
        assert not UNSAFE.search(row)
        assert "[/ [/#888] ZLEXCOUNT z [b + 3 [red]" in row
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("o")
        stream = stream_of(pilot)
        text = "\n".join(stream.text_at(y) for y in range(stream.count))
        for piece in MARKUP:
            assert piece in text
        assert "␛]0;PWNED␇" in text
        assert "⟨U+202E⟩" in text


@pytest.mark.parametrize("key", ["A", "a", "s", "+", "$", "r", "m"])
async def test_dialogs_show_it_and_obey_nothing(opened: Opener, key: str) -> None:
    async with opened("h0571", size=(120, 60)) as pilot:
        await pilot.press(key)
        await pilot.pause()
        assert not UNSAFE.search(screen_text(pilot))
        await pilot.press("escape")


async def test_toasts_show_it_and_obey_nothing(opened: Opener, backend: FakeBackend) -> None:
    backend.refuse = "\n".join(HOSTILE)
    async with opened("h0571", size=(160, 60)) as pilot:
        await pilot.press("E")
        await settle(pilot)
        text = screen_text(pilot)
        assert "[@click=app.quit]x[/]" in text
        assert not UNSAFE.search(text)


SCRIPT = """
import sys
sys.path[:0] = ["tests", "."]
from support.fake_backend import FakeBackend
from support.sample_runs import NOW, hostile_run
from tui.app import LooptopApp
backend = FakeBackend({"h0571": hostile_run().events})
backend.recorded = True
async def connect():
    return backend
async def then(_):
    return "h0571"
LooptopApp(connect, then, now=lambda: NOW).run()
"""


def drive(steps: list[tuple[bytes, bytes]]) -> bytes:
    """Run the app in a terminal: wait for a text, press keys, and so on; returns every byte that it wrote."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
        os.execv(sys.executable, [sys.executable, "-P", "-c", SCRIPT])
    ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 160, 0, 0))
    out = b""

    def read() -> bool:
        nonlocal out
        if not select.select([fd], [], [], 30)[0]:
            raise AssertionError(f"nothing came: {out[-300:]!r}")
        try:
            piece = os.read(fd, 65_536)
        except OSError:  # the other end is closed
            return False
        out += piece
        return bool(piece)

    try:
        for wanted, keys in steps:
            start, deadline = len(out), time.monotonic() + 30
            while wanted not in out[max(0, start - 1) :] and read():
                # The app draws every second, whatever it waits for.
                assert time.monotonic() < deadline, f"{wanted!r} didn't come: {out[-3000:]!r}"
            os.write(fd, keys)
        while read():
            pass
    finally:
        os.close(fd)
        os.waitpid(pid, 0)
    return out


def test_the_terminals_byte_stream_holds_marks_only() -> None:
    written = drive(
        [
            (b"StopLoss", b"3"),
            (b"exit 1", b"8"),
            (b"verify_started", b"2"),
            (b"hit", b"7"),
            (b"window", b"A"),
            (b"more below", b"\x1b"),
            (b"nothing was cut", b"q"),  # which the dialog covers
        ]
    )
    text = written.decode("utf-8", "replace")
    assert "PWNED" in text
    for bad in (
        "\x1b]52",
        "\x1b]0;PWNED",
        "\x1b]8;;http",
        "\x1bPq#0",
        "\x1b[5A",
        "\x1bc",
        "\x9b",
        "\x9d",
        "\x90",
        "\u202e",
        "\u200b",
        "\ufeff",
        "\x00",
    ):
        assert bad not in text, repr(bad)
    assert "\x1b[?1049l" in text, "the terminal is restored"
