"""Each promise of the sandbox, tried for real by a command that wants to break it."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from pathlib import Path

import pytest

from runtime.process.run import Ending
from runtime.process.sandbox.choose import SandboxSettings
from runtime.process.tree import find_marked
from support.boxes import RUN, Box, make_box
from support.repositories import ADDER, git, make_repository

TCP = "import socket; socket.create_connection(('127.0.0.1', {port}), 3); print('CONNECTED')"
UNIX = "import socket; socket.socket(socket.AF_UNIX).connect({path!r}); print('CONNECTED')"


@pytest.fixture
async def box(outside: Path) -> Box:
    return await make_box(outside, make_repository(outside / "repo", ADDER))


async def test_the_workspace_stands_at_the_repositorys_path(box: Box) -> None:
    result = await box("pwd; echo changed > adder.py; ls")
    assert result.head.splitlines() == [str(box.repo), "adder.py", "test_adder.py"]
    assert (box.workspace.tree / "adder.py").read_text() == "changed\n"
    assert (box.repo / "adder.py").read_text() == ADDER["adder.py"]


async def test_nothing_outside_can_be_written(box: Box, outside: Path) -> None:
    (outside / "theirs").write_text("as it was")
    for place in (outside / "theirs", outside / "new", box.repo.parent / "new", Path("/etc/looptop-was-here")):
        result = await box(f"echo broken > {place}")
        assert result.exit_code != 0, place
    assert (outside / "theirs").read_text() == "as it was"
    assert sorted(path.name for path in outside.iterdir()) == ["looptop-home", "repo", "theirs"]


async def test_a_temporary_file_is_private_and_stays_for_the_next_command(box: Box) -> None:
    name = f"looptop-private-{os.getpid()}"
    await box(f"echo kept > /tmp/{name}; python3 -c 'import tempfile; print(tempfile.gettempdir())'")
    assert not Path("/tmp", name).exists()
    assert (await box(f"cat /tmp/{name}")).head == "kept\n"


async def test_home_and_looptops_own_files_are_not_there(outside: Path) -> None:
    home = outside / "me"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("very private")
    (home / ".netrc").write_text("very private")
    repo = make_repository(home / "src" / "repo", ADDER)
    box = await make_box(outside, repo, env={**os.environ, "HOME": str(home)})
    (box.home / "looptop.db").write_text("very private")
    result = await box(f"cat ~/.ssh/id_ed25519 ~/.netrc {box.home}/looptop.db; ls -A ~; echo x > ~/x && echo own; pwd")
    assert "very private" not in result.head
    assert result.head.splitlines()[-3:] == ["src", "own", str(repo)]
    assert not (home / "x").exists()


async def test_a_toolchain_in_the_home_can_be_read_and_not_written(outside: Path) -> None:
    home = outside / "me"
    for name in (".pyenv/shims", ".local/bin", "tools/x/bin", "bin"):
        (home / name).mkdir(parents=True)
        program = home / name / f"say-{Path(name).parts[0].strip('.')}"
        program.write_text("#!/bin/sh\necho here\n")
        program.chmod(0o755)
    (home / "tools" / "x" / "share.txt").write_text("data\n")
    (home / ".local" / "share").mkdir()
    (home / ".local" / "share" / "keyring").write_text("very private")
    path = os.pathsep.join([*(str(home / name) for name in ("tools/x/bin", "bin", ".pyenv/shims")), os.environ["PATH"]])
    repo = make_repository(outside / "repo", ADDER)
    box = await make_box(outside, repo, env={**os.environ, "HOME": str(home), "PATH": path})
    result = await box("say-pyenv && say-tools && say-bin && ~/.local/bin/say-local && cat ~/tools/x/share.txt")
    assert result.head.split() == ["here"] * 4 + ["data"]
    assert (await box("cat ~/.local/share/keyring")).exit_code == 1
    assert (await box("echo broken > ~/bin/say-bin")).exit_code != 0


async def test_no_network_not_even_to_this_machine(box: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = TCP.format(port=server.getsockname()[1])
        result = await box(f'python3 -c "{command}"')
        assert result.exit_code == 1
        assert "CONNECTED" not in result.head
    names = await box("python3 -c \"import socket; socket.getaddrinfo('example.com', 80); print('FOUND')\"")
    assert "FOUND" not in names.head


async def test_a_project_may_allow_the_network(outside: Path) -> None:
    repo = make_repository(outside / "repo", ADDER)
    box = await make_box(outside, repo, settings=SandboxSettings(network=True))
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = TCP.format(port=server.getsockname()[1])
        assert (await box(f'python3 -c "{command}"')).head == "CONNECTED\n"
    assert "network allowed" in box.sandbox.describe()


@pytest.mark.parametrize("folder", ["/tmp", "/run"])
async def test_unix_sockets_are_out_of_reach(box: Box, folder: str) -> None:
    path = Path(folder, f"looptop-{os.getpid()}.sock")
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.bind(str(path))
        except PermissionError:
            pytest.skip(f"{folder} can't be written")
        try:
            server.listen()
            result = await box(f'python3 -c "{UNIX.format(path=str(path))}"')
        finally:
            path.unlink()
    assert result.exit_code == 1
    assert "CONNECTED" not in result.head


async def test_git_works_and_lands_in_the_workspace(box: Box) -> None:
    head = git(box.repo, "rev-parse", "HEAD")
    result = await box("git status --short && git log --oneline && echo '# more' >> adder.py && git commit -qam more")
    assert (result.exit_code, "first" in result.head) == (0, True)
    assert git(box.repo, "rev-parse", "HEAD") == head
    assert git(box.repo, "status", "--porcelain") == ""
    assert git(box.workspace.tree, "log", "--format=%s").split() == ["more", "first"]
    assert (await box("git fsck && git show --stat HEAD")).exit_code == 0


async def test_status_and_cpu_time_are_those_of_the_command(box: Box) -> None:
    burn = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
    result = await box(f"python3 -c '{burn}'; exit 7")
    assert (result.ending, result.exit_code) == (Ending.EXITED, 7)
    assert result.cpu_ms is not None
    assert result.cpu_ms >= 300
    killed = await box("echo so far; echo err >&2; kill -9 $$")
    assert (killed.exit_code, killed.head) == (137, "so far\nerr\n")
    assert (await box("false | tail -5")).exit_code == 1


@pytest.mark.parametrize(
    "command",
    [
        "sleep 600",
        "trap '' TERM; sleep 600",
        "setsid sleep 600 & trap '' TERM; sleep 600",
        "(setsid sh -c 'sleep 600 & sleep 600' &); sleep 600",
    ],
)
async def test_a_timeout_ends_the_whole_tree_within_two_seconds(box: Box, command: str) -> None:
    began = time.monotonic()
    result = await box(f"echo so far; {command}", 0.5)
    assert time.monotonic() - began < 0.5 + 2.0
    assert (result.ending, result.head, result.survivors) == (Ending.TIMED_OUT, "so far\n", ())
    assert find_marked(RUN) == []


async def test_an_abort_ends_the_whole_tree(box: Box) -> None:
    task = asyncio.create_task(box("touch started; setsid sleep 600 & sleep 600", 600))
    async with asyncio.timeout(20):
        while not (box.workspace.tree / "started").exists():  # noqa: ASYNC110 - what another process does is only seen
            await asyncio.sleep(0.01)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 2.0
    assert find_marked(RUN) == []


async def test_what_is_left_in_the_background_ends_with_the_command(box: Box) -> None:
    result = await box("sleep 600 & nohup setsid sleep 600 >/dev/null & echo done")
    assert (result.ending, result.exit_code, result.head) == (Ending.EXITED, 0, "done\n")
    assert find_marked(RUN) == []


async def test_processes_outside_are_not_seen_and_rights_are_not_kept(box: Box) -> None:
    result = await box(
        f"kill -0 {os.getpid()} 2>&1; umount /tmp 2>&1; mount -o remount,rw / 2>&1; grep CapEff /proc/self/status"
    )
    assert "No such process" in result.head
    assert result.head.splitlines()[-1].split()[-1].strip("0") == ""
    assert (await box("echo broken > /etc/looptop-was-here")).exit_code != 0
