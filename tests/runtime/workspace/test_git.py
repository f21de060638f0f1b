"""The one door to git: nothing of the surroundings gets in, nothing hangs, every failure is a sentence."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from runtime.errors import EnvironmentFault, GitError
from runtime.workspace.git import Git, git_version, quoted
from support.git_fixtures import git, write


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program called git in front of the real one."""
    folder.mkdir(exist_ok=True)
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


async def test_no_variable_of_the_surroundings_reaches_git(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "GIT_DIR": "/nowhere",
        "GIT_WORK_TREE": "/nowhere",
        "GIT_INDEX_FILE": "/nowhere/index",
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_CONFIG_PARAMETERS": "'core.bare=true'",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_TRACE": "2",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert await Git(repo).run("rev-parse", "--show-toplevel") == str(repo)
    done = await Git(repo).call("rev-parse", "nonsense")
    assert done.stderr.startswith(b"fatal: ambiguous argument")


async def test_no_program_of_the_repositorys_configuration_runs(repo: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    hooks = repo / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("reference-transaction", "post-index-change", "post-commit"):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (hooks / hook).chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "core.sshCommand", "credential.helper"):
        git(repo, "config", name, f"touch {mark};")
    write(repo, {"README.md": "changed\n"})
    door = Git(repo)
    assert "+changed" in await door.run("diff")
    await door.run("update-ref", "refs/looptop/x", "HEAD")
    await door.run("status")
    for url in ("ssh://nowhere/x", "ext::touch mark", "https://nowhere.invalid/x"):
        with pytest.raises(GitError, match="not allowed"):
            await door.run("ls-remote", url)
    assert not mark.exists()


async def test_a_failure_is_one_sentence_with_gits_own_words(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(GitError) as caught:
        await Git(repo).run("rev-parse", "--verify", "no\x1b[2Jsuch")
    assert str(caught.value) == f"git rev-parse failed in {repo}: fatal: Needed a single revision"
    with pytest.raises(GitError, match=r"The folder .*nowhere does not exist\."):
        await Git(tmp_path / "nowhere").run("version")


async def test_a_call_that_hangs_is_ended(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path / "tools", monkeypatch, "sleep 60")
    with pytest.raises(GitError, match=r"git status took longer than 0\.05 s"):
        await Git(repo).run("status", timeout_s=0.05)


async def test_a_cancelled_call_leaves_no_process(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pid"
    os.mkfifo(pipe)
    stand_in(tmp_path / "tools", monkeypatch, f"echo $$ > {pipe}; exec sleep 60")
    call = asyncio.ensure_future(Git(repo).run("status"))
    pid = int(await asyncio.to_thread(pipe.read_text))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_input_and_output_are_bytes(repo: Path) -> None:
    data = bytes(range(256)) * 5000
    oid = await Git(repo).run("hash-object", "-w", "--stdin", stdin=data)
    assert await Git(repo).raw("cat-file", "blob", oid) == data


async def test_nothing_can_be_asked(repo: Path) -> None:
    assert (await Git(repo).call("commit", "--allow-empty")).exit_code != 0
    assert await Git(repo).run("cat-file", "--batch") == ""


@pytest.mark.parametrize("text", ["git version 1.8.3", "git version 2.31.9", "something else"])
async def test_an_old_git_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    stand_in(tmp_path / "tools", monkeypatch, f"echo {text}")
    with pytest.raises(EnvironmentFault, match=r"is too old\. Install git 2\.32 or newer\."):
        await git_version()


async def test_a_repository_of_somebody_else_is_used(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    for folder, folders, names in os.walk(repo):
        for name in (*folders, *names, ""):
            os.chown(Path(folder, name), 12345, 12345)
    assert await Git(repo).run("rev-parse", "--show-toplevel") == str(repo)


def test_paths_in_lists_are_quoted_only_where_they_must_be() -> None:
    assert quoted(Path("/a b/ü")) == "/a b/ü"
    assert quoted(Path('/a:b"c\\d\n')) == '"/a:b\\"c\\\\d\\n"'
