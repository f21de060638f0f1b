"""The five tools: exact in what they change, confined to the workspace, deaf to calls that aren't whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from runtime.events.values import StepStatus
from runtime.models.base import ToolCall
from runtime.process.env import scrubbed_env
from runtime.tools.registry import ToolContext, ToolOutcome, call_key, execute, tool_specs


@pytest.fixture
def ctx(tmp_path: Path) -> ToolContext:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / ".git").mkdir()
    return ToolContext(workspace, Path("/the/repo"), "rtools", tmp_path / "out", scrubbed_env(os.environ, "rtools"))


async def use(ctx: ToolContext, name: str, /, **arguments: Any) -> ToolOutcome:
    return await execute(ToolCall(id="c", name=name, arguments=arguments), ctx)


async def test_the_declaration_is_the_same_bytes_always() -> None:
    assert tool_specs() is tool_specs()
    assert [spec.name for spec in tool_specs()] == ["edit_file", "read_file", "search", "shell", "write_file"]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("write_file", None, "cut off"),
        ("write_file", {"path": "a"}, "'content' is missing"),
        ("write_file", {"path": "a", "content": 3}, "must be a string"),
        ("shell", {}, "'command' is missing"),
        ("shell", {"command": "touch x", "cwd": "/"}, "takes no argument"),
        ("read_file", {"path": "a", "offset": True}, "must be a integer"),
        ("teleport", {"to": "mars"}, "There is no tool"),
    ],
)
async def test_what_is_not_whole_is_not_executed(ctx: ToolContext, name: str, arguments: Any, words: str) -> None:
    outcome = await execute(ToolCall(id="c", name=name, arguments=arguments, raw='{"path'), ctx)
    assert outcome.status is StepStatus.MALFORMED
    assert words in outcome.content
    assert sorted(os.listdir(ctx.workspace)) == [".git"]


CASES = {
    "script": (b"#!/bin/sh\necho old\n", 0o755, "echo old", "echo new", b"#!/bin/sh\necho new\n"),
    "private": (b"key = old\n", 0o600, "old", "new", b"key = new\n"),
    "crlf": (b"one\r\ntwo\r\nthree\r\n", 0o644, "one\ntwo", "1\n2", b"1\r\n2\r\nthree\r\n"),
    "mixed": (b"one\r\ntwo\nthree\r\n", 0o644, "two", "2", b"one\r\n2\nthree\r\n"),
    "bom": (b"\xef\xbb\xbfone\ntwo\n", 0o644, "one", "1", b"\xef\xbb\xbf1\ntwo\n"),
    "no end": (b"one\ntwo", 0o644, "two", "2", b"one\n2"),
    "latin-1": (b"caf\xe9 old\n", 0o644, "old", "n\u00e9w", b"caf\xe9 n\xe9w\n"),
    "bytes": (b"\xff\xfe\x80 old \x00\x01\n", 0o644, "old", "new", b"\xff\xfe\x80 new \x00\x01\n"),
}


@pytest.mark.parametrize("case", CASES)
async def test_an_edit_changes_what_it_says_and_nothing_else(ctx: ToolContext, case: str) -> None:
    before, mode, old, new, after = CASES[case]
    path = ctx.workspace / "file"
    path.write_bytes(before)
    path.chmod(mode)
    outcome = await use(ctx, "edit_file", path="file", old=old, new=new)
    assert outcome.status is StepStatus.OK, outcome.content
    assert path.read_bytes() == after
    assert stat.S_IMODE(path.stat().st_mode) == mode


async def test_an_edit_through_a_link_keeps_the_link(ctx: ToolContext) -> None:
    (ctx.workspace / "real.txt").write_text("old\n")
    (ctx.workspace / "link.txt").symlink_to("real.txt")
    await use(ctx, "edit_file", path="link.txt", old="old", new="new")
    assert (ctx.workspace / "link.txt").is_symlink()
    assert (ctx.workspace / "real.txt").read_text() == "new\n"


async def test_an_edit_must_be_unique_and_there(ctx: ToolContext) -> None:
    (ctx.workspace / "a").write_text("x = 1\nx = 1\n")
    assert "stands 2 times" in (await use(ctx, "edit_file", path="a", old="x = 1", new="x = 2")).content
    assert "does not stand" in (await use(ctx, "edit_file", path="a", old="y", new="z")).content
    assert (await use(ctx, "edit_file", path="a", old="x = 1", new="x = 2", replace_all=True)).status is StepStatus.OK
    assert (ctx.workspace / "a").read_text() == "x = 2\nx = 2\n"


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/etc/passwd",
        "link/passwd",
        ".git/config",
        ".GIT/config",
        "sub/../.git/hooks/x",
        "",
        "a\0b",
        "~/../../etc/x",
    ],
)
async def test_file_tools_stay_inside(ctx: ToolContext, name: str) -> None:
    (ctx.workspace / "link").symlink_to("/etc")
    (ctx.workspace.parent / "outside").write_text("keep")
    for outcome in (
        await use(ctx, "write_file", path=name, content="owned"),
        await use(ctx, "read_file", path=name),
        await use(ctx, "edit_file", path=name, old="root", new="owned"),
    ):
        if name != "~/../../etc/x" or outcome.status is not StepStatus.FAILED:
            assert outcome.status is StepStatus.FAILED
    assert (ctx.workspace.parent / "outside").read_text() == "keep"


async def test_the_repositorys_own_path_means_the_workspace(ctx: ToolContext) -> None:
    await use(ctx, "write_file", path="/the/repo/src/a.py", content="x = 1\n")
    assert (ctx.workspace / "src" / "a.py").read_text() == "x = 1\n"


async def test_reading_numbers_lines_and_says_what_is_left(ctx: ToolContext) -> None:
    (ctx.workspace / "a").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    content = (await use(ctx, "read_file", path="a", offset=10, limit=2)).content
    assert content == "   10\tline 10\n   11\tline 11\n(lines 10-11 of 100)"
    (ctx.workspace / "empty").touch()
    assert (await use(ctx, "read_file", path="empty")).content == "(an empty file)"
    assert "does not exist" in (await use(ctx, "read_file", path="nope")).content


async def test_the_shell_says_what_came_of_it(ctx: ToolContext) -> None:
    assert (await use(ctx, "shell", command="true")).content == "(no output)"
    failed = await use(ctx, "shell", command="echo no; exit 4")
    assert (failed.status, failed.exit_code, failed.content) == (StepStatus.FAILED, 4, "no\n[exit code 4]")
    late = await use(ctx, "shell", command="echo so far; sleep 60", timeout=0.3)
    assert late.status is StepStatus.TIMED_OUT
    assert late.content == "so far\n[timed out after 0.3 s and was ended]"


async def test_long_output_shows_head_and_tail(ctx: ToolContext) -> None:
    content = (await use(ctx, "shell", command="seq 1 20000")).content
    assert content.startswith("1\n2\n")
    assert content.endswith("19999\n20000")
    assert "characters shown" in content
    assert len(content) < 17_000


async def test_search_finds_lines_and_leaves_ignored_files(ctx: ToolContext) -> None:
    (ctx.workspace / ".git").rmdir()
    from support.repositories import git

    git(ctx.workspace, "init", "-q")
    (ctx.workspace / ".gitignore").write_text("out/\n")
    for name in ("a.py", "b.txt", "out/c.py"):
        path = ctx.workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("first\nneedle = 1\n")
    assert (await use(ctx, "search", pattern="need.e")).content == "a.py:2:needle = 1\nb.txt:2:needle = 1"
    assert (await use(ctx, "search", pattern="needle", glob="*.py")).content == "a.py:2:needle = 1"
    assert (await use(ctx, "search", pattern="absent")).content == "(no match)"
    assert (await use(ctx, "search", pattern="(")).status is StepStatus.FAILED


def test_calls_are_compared_by_their_normalised_arguments() -> None:
    a = ToolCall(id="1", name="shell", arguments={"command": "ls", "timeout": 3})
    b = ToolCall(id="2", name="shell", arguments={"timeout": 3, "command": "ls"})
    assert call_key(a) == call_key(b)
    assert call_key(a) != call_key(ToolCall(id="1", name="shell", arguments={"command": "ls"}))
