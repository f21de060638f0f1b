"""What a run's end says about its change."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.events.values import StopReason
from support.repositories import git
from support.scripted_model import say, use
from support.stage import stage

FIX = use("write_file", path="value.txt", content="fixed\n")
SECRET = use("write_file", path=".env", content="TOKEN=abc\n")


async def test_what_looks_like_a_secret_is_left_out_and_named(tmp_path: Path) -> None:
    async with stage(tmp_path, [SECRET, FIX, say("done")]) as played:
        end = await played.run(deliver="apply")
        assert end.reason is StopReason.PASSED
        assert end.detail == "not part of the change, because they look like secrets: .env"
        assert end.diff_stat.files == 1
        assert git(played.repo, "ls-tree", "--name-only", f"refs/looptop/{end.run}").split() == [
            "check.py",
            "value.txt",
        ]
        assert sorted(path.name for path in played.repo.iterdir()) == [".git", "check.py", "value.txt"]


async def test_an_agent_that_ruins_its_git_is_measured_and_delivered_all_the_same(tmp_path: Path) -> None:
    ruin = use(
        "shell", command="git config core.fsmonitor 'touch ran' && rm -rf .git/refs .git/objects && echo x > .git/HEAD"
    )
    async with stage(tmp_path, [ruin, FIX, say("done")]) as played:
        end = await played.run(deliver="branch:fix")
        assert end.reason is StopReason.PASSED
        assert end.diff_stat.files == 1
        assert git(played.repo, "diff", "--stat", "main", "fix").startswith(" value.txt")
        assert not [path for path in Path(tmp_path).rglob("ran") if os.path.isfile(path)]


async def test_a_change_in_a_repository_that_the_agent_began_is_delivered(tmp_path: Path) -> None:
    begin = use(
        "shell", command="git init -q lib && echo x > lib/x.txt && git -C lib add -A && git -C lib commit -qm x"
    )
    async with stage(tmp_path, [begin, FIX, say("done")]) as played:
        end = await played.run(deliver="apply")
        assert end.diff_stat.files == 2
        assert (played.repo / "lib" / "x.txt").read_text() == "x\n"
        assert not (played.repo / "lib" / ".git").exists()
