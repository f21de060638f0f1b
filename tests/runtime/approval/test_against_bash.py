"""The words that we read are the words that bash passes on: what we call reading runs nothing else and writes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from runtime.approval.reading import Ground, why_not_reading
from runtime.approval.words import plain_commands

GROUND = Ground(("/repo",), lambda name: True, lambda: True)
NAMES = ("cat", "ls", "head")
# Parts of a pipeline run at the same time: each call has a file of its own.
STUB = '#!/bin/sh\nprintf "%s\\037" "${0##*/}" "$@" > "$HEARD/$$"\n'
PIECES = (
    *NAMES, "cat", "'cat'", "c\\at", '"ls"', "a", "b.txt", "-n", "-n5", "'b c'", '"d\\"e"', '"g\\h"', "'i\\'", "\\ j", "k#l", "#m", "'#'", '""',
    "n\\\\", '"$"', "1", "2", "=", "^", "%", "@", ":", ",", "+", "'*'", '"?"', "./*", "x=y", "'~'", "a~",
    "|", "||", "&&", ";", "\n", "|&", "&", "!", "2>&1", "2>/dev/null", ">/dev/null", "> /dev/null", "&>/dev/null", "<a", "< a", "<", ">",
    ">>", "<<", "1>&2", "2>&-", "\\\n", "\\", "'", '"', "$?", "~", "{", "}", "(", ")", "$x", "`", "<&0", ">o", "-", "--", "\t",
)  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with programs that only say how they were called, and a place to call them in."""
    folder = tmp_path_factory.mktemp("bench")
    for name in ("bin", "place"):
        (folder / name).mkdir()
    for name in NAMES:
        stub = folder / "bin" / name
        stub.write_text(STUB)
        stub.chmod(0o755)
    (folder / "place" / "a").touch()
    return folder


def heard(bench: Path, line: str) -> list[list[str]]:
    """How bash called the programs."""
    log = bench / "heard"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir()
    bash = shutil.which("bash")
    assert bash is not None
    subprocess.run(
        [bash, "-o", "pipefail", "-c", line],
        cwd=bench / "place",
        env={"PATH": f"{bench / 'bin'}", "HEARD": str(log), "HOME": "/nowhere"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return sorted(call.read_text().split("\037")[:-1] for call in log.iterdir())


@settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " ", " "])), min_size=1, max_size=9))
@example([("cat", " "), ("<", ""), ("\\\n", ""), ("<", ""), ("a", "\n"), ("'$(ls)'", "\n"), ("a", "")])
@example([("cat", " "), ("a", ""), ("\\\n", ""), ("#m", "")])
@example([("cat", ""), ("2>/dev/null", ""), ("#m", "\n"), ("ls", "")])
def test_bash_runs_only_the_commands_that_we_read(bench: Path, pieces: list[tuple[str, str]]) -> None:
    line = "".join(piece + blank for piece, blank in pieces)
    assume(why_not_reading(line, GROUND) == "")
    # A pattern that matches nothing stays as it is; `$?` is a number that only bash knows.
    assume("./*" not in line and "$?" not in line)
    ours = [[word.text for word in command.words] for command in plain_commands(line)]
    calls = heard(bench, line)
    # Where a command is left out by && or ||, or the whole line is refused, bash runs fewer; never another.
    for call in calls:
        assert call in ours, (line, call, ours)
    assert os.listdir(bench / "place") == ["a"], line


def test_the_comparison_hears_something(bench: Path) -> None:
    calls = heard(bench, 'cat \'b c\' | ls "d\\"e"\\ f; head')
    assert calls == [["cat", "b c"], ["head"], ["ls", 'd"e f']]
