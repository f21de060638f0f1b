"""What stands at the front of every request is the same bytes whatever the day, the place and the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from runtime.models.anthropic_wire import request_body
from runtime.prompt.breakpoints import marks_for
from runtime.prompt.system import SYSTEM, gave_up
from support.transcripts import Play

PRINT = """
import sys, json
sys.path[:0] = [ROOT]
from runtime.loop.conversation import Conversation
from runtime.models import anthropic_wire, openai_wire
conversation = Conversation("claude-sonnet-5-5", 1000)
conversation.add_user("Fix it.")
request = conversation.request()
for body in (anthropic_wire.request_body(request, None), openai_wire.request_body(request)):
    print(json.dumps(body))
heavy = {"anthropic", "httpx2", "genai_prices", "textual", "aiosqlite", "openai"} & set(sys.modules)
assert not heavy, heavy
"""


def printed(folder: Path, **env: str) -> str:
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", PRINT.replace("ROOT", repr(root))],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_two_processes_send_the_same_bytes(tmp_path: Path) -> None:
    """Other workspace, other hash seed, other time zone and language; and nothing heavy is loaded for it."""
    (tmp_path / "elsewhere").mkdir()
    one = printed(tmp_path, PYTHONHASHSEED="1", TZ="UTC", LANG="C")
    other = printed(tmp_path / "elsewhere", PYTHONHASHSEED="2", TZ="Asia/Tokyo", LANG="de_DE.UTF-8")
    assert one == other
    assert str(tmp_path) not in one


def test_four_marks_at_most_and_the_lifetime_on_each() -> None:
    play = Play()
    play.transcript.add_user("Fix it.")
    play.request()
    play.transcript.add_user("Go on.")
    body = request_body(play.request(), None)
    marked = [b for b in (*body["tools"], *body["system"], *body["messages"][0]["content"]) if "cache_control" in b]
    assert len(marked) == 4
    assert "cache_control" in body["tools"][-1]
    assert "cache_control" in body["system"][-1]


def test_the_older_mark_stands_where_the_newest_stood() -> None:
    play = Play()
    play.transcript.add_user("Fix it.")
    (first,) = marks_for(play.transcript.messages, None)
    play.transcript.add_user("More.")
    older, newer = marks_for(play.transcript.messages, first)
    assert older == first
    assert (newer.message, newer.block) == (0, 1)
    assert marks_for(play.transcript.messages[:0], newer) == ()
    gone = first.model_copy(update={"message": 7})
    assert marks_for(play.transcript.messages, gone) == (newer,)


def test_the_system_prompt_is_short_and_says_how_to_give_up() -> None:
    assert sum(len(text) for text in SYSTEM) < 2_000
    assert gave_up("I tried all.\nGIVE UP: the spec contradicts itself") == "the spec contradicts itself"
    assert gave_up("GIVE UP:") == "no reason given"
    assert gave_up("Never GIVE UP: it works.") == ""
