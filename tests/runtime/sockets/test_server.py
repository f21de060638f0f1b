"""The command socket: what clients may do to it, and who may reach it."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from runtime.commands import Abort, Command, SetCap, Steer
from runtime.errors import EnvironmentFault, UsageError
from runtime.events.supervision import CommandAccepted
from runtime.sockets import server as server_module
from runtime.sockets.client import send_command
from runtime.sockets.places import address_of, clean_stale, is_dead, new_socket_path, sockets_of
from runtime.sockets.server import CommandServer
from runtime.sockets.wire import LINE_BYTES, question

PID = os.getpid()


class Host:
    """Takes commands for run r1 and remembers them."""

    def __init__(self) -> None:
        self.taken: list[Command] = []

    async def take(self, run: str, command: Command) -> CommandAccepted:
        if run != "r1":
            raise UsageError(f"Run {run} isn't executed by this looptop.")
        self.taken.append(command)
        await asyncio.sleep(0)
        return CommandAccepted(command_id=command.id, command=command.command, sender=command.sender, new="5")


@asynccontextmanager
async def hosted(home: Path, host: Host, line_seconds: float = 10.0) -> AsyncIterator[CommandServer]:
    served = CommandServer(home, host.take, line_seconds)
    await served.open()
    try:
        yield served
    finally:
        await served.close()


async def raw(path: Path, data: bytes, *, end: bool = True) -> bytes:
    """Send bytes and read until the server ends the connection."""
    with address_of(path) as address:
        reader, writer = await asyncio.open_unix_connection(address, limit=4 * LINE_BYTES)
    writer.write(data)
    if end:
        writer.write_eof()
    try:
        return await reader.read()
    finally:
        writer.close()


def path_of(served: CommandServer) -> Path:
    assert served.path is not None
    return served.path


async def ask(home: Path, command: Command, run: str = "r1") -> object:
    return await asyncio.to_thread(send_command, home, PID, run, command)


async def test_a_command_is_answered_by_its_event(tmp_path: Path) -> None:
    host = Host()
    async with hosted(tmp_path, host) as served:
        answer = await ask(tmp_path, SetCap(cap=5, id="one", sender="script"))
        assert isinstance(answer, CommandAccepted)
        assert (answer.command_id, answer.new) == ("one", "5")
        assert [command.id for command in host.taken] == ["one"]
        with pytest.raises(UsageError, match="r9 isn't executed"):
            await ask(tmp_path, Abort(), "r9")
    assert not path_of(served).exists()
    with pytest.raises(EnvironmentFault, match="takes no commands"):
        await ask(tmp_path, Abort())


async def test_only_its_user_can_reach_it(tmp_path: Path) -> None:
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o755)
    async with hosted(tmp_path, Host()) as served:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(path_of(served).stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="the system doesn't say who the peer is")
async def test_a_process_of_another_user_gets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    async with hosted(tmp_path, host) as served:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        try:
            said = await raw(path_of(served), question("r1", Abort()))
        except ConnectionError:
            said = b""
    assert said == b""
    assert host.taken == []


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n",
        b"\0\xff\xfe\n",
        b"[]\n",
        b'"text"\n',
        b"{}\n",
        b'{"run": "r1"}\n',
        b'{"run": 1, "command": {}}\n',
        b'{"run": "r1", "command": {"command": "set_cap", "cap": "many"}}\n',
        b'{"run": "r1", "command": {"command": "no such"}}\n',
        b"[" * 100_000 + b"\n",
    ],
)
async def test_garbage_gets_a_sentence_and_the_next_line_is_read(tmp_path: Path, garbage: bytes) -> None:
    host = Host()
    async with hosted(tmp_path, host) as served:
        lines = (await raw(path_of(served), garbage + question("r1", Abort(id="after")))).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(b'{"error"')
    assert b"Traceback" not in lines[0]
    assert [command.id for command in host.taken] == ["after"]


async def test_half_a_line_does_nothing(tmp_path: Path) -> None:
    host = Host()
    async with hosted(tmp_path, host) as served:
        assert await raw(path_of(served), question("r1", Abort())[:-1]) == b""
        assert await ask(tmp_path, Abort())
    assert len(host.taken) == 1


async def test_a_line_of_ten_megabytes_is_refused_in_words(tmp_path: Path) -> None:
    host = Host()
    async with hosted(tmp_path, host) as served:
        said = await raw(path_of(served), b'{"run": "' + b"r" * 10_000_000 + b'"}\n')
        assert b"longer than 1024 KiB" in said
        assert await ask(tmp_path, Abort())
    assert len(host.taken) == 1
    with pytest.raises(UsageError, match="longer than 1024 KiB"):
        send_command(tmp_path, PID, "r1", Steer(text="x" * 2 * LINE_BYTES))


async def test_a_client_that_says_nothing_is_let_go(tmp_path: Path) -> None:
    async with hosted(tmp_path, Host(), line_seconds=0.05) as served:
        with suppress(ConnectionError):
            assert await raw(path_of(served), question("r1", Abort())[:20], end=False) == b""
        assert await ask(tmp_path, Abort())


async def test_a_client_that_reads_nothing_hinders_nobody(tmp_path: Path) -> None:
    host = Host()
    async with hosted(tmp_path, host, line_seconds=0.5) as served:
        with address_of(path_of(served)) as address:
            _, writer = await asyncio.open_unix_connection(address)
        writer.write(b"{}\n" * 200_000)
        assert await ask(tmp_path, Abort(id="meanwhile"))
        writer.transport.abort()
    assert [command.id for command in host.taken] == ["meanwhile"]


async def test_many_clients_at_once(tmp_path: Path) -> None:
    host = Host()
    async with hosted(tmp_path, host) as served:
        ids = [f"c{number}" for number in range(200)]
        room = asyncio.Semaphore(server_module.MOST_CLIENTS // 2)

        async def one(name: str) -> bytes:
            async with room:
                return await raw(path_of(served), question("r1", Abort(id=name)))

        said = await asyncio.gather(*map(one, ids))
    assert all(name.encode() in line for name, line in zip(ids, said, strict=True))
    assert sorted(command.id for command in host.taken) == sorted(ids)


async def test_one_client_too_many_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MOST_CLIENTS", 1)
    async with hosted(tmp_path, Host()) as served:
        with address_of(path_of(served)) as address:
            _, first = await asyncio.open_unix_connection(address)
            reader, second = await asyncio.open_unix_connection(address)
        assert b"Too many clients" in await reader.readline()
        first.close()
        second.close()


async def test_a_failure_of_ours_is_one_sentence(tmp_path: Path) -> None:
    async def broken(_: str, __: Command) -> CommandAccepted:
        raise RuntimeError("secret detail")

    served = CommandServer(tmp_path, broken)
    await served.open()
    try:
        with pytest.raises(EnvironmentFault, match="looptop itself failed: RuntimeError") as caught:
            await ask(tmp_path, Abort())
    finally:
        await served.close()
    assert "secret detail" not in str(caught.value)


async def test_a_path_of_any_length(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("a long path needs a name for an open folder")
    home = tmp_path / ("h" * 120) / ("o" * 120)
    host = Host()
    async with hosted(home, host):
        assert await ask(home, Abort())
    assert len(host.taken) == 1


async def test_sockets_of_dead_processes_are_cleaned_and_live_ones_left(tmp_path: Path) -> None:
    code = (
        "import os, socket, sys; from pathlib import Path; from runtime.sockets.places import new_socket_path\n"
        "s = socket.socket(socket.AF_UNIX); s.bind(str(new_socket_path(Path(sys.argv[1])))); s.listen()\n"
        "print(os.getpid(), flush=True); os.kill(os.getpid(), 9)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], cwd=Path(__file__).parents[3], stdout=subprocess.PIPE, text=True
    )
    left, _ = child.communicate(timeout=60)
    assert len(sockets_of(tmp_path, int(left))) == 1
    stranger = tmp_path / "sockets" / f"ffffff-{left.strip()}-abcd.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(stranger))
    # The second one's cleaning leaves the first one alone.
    async with hosted(tmp_path, Host()) as first, hosted(tmp_path, Host()):
        assert sockets_of(tmp_path, int(left)) == []
        assert path_of(first).exists()
        assert not is_dead(path_of(first))
        assert len(sockets_of(tmp_path, PID)) == 2
        assert await ask(tmp_path, Abort())
    assert stranger.exists(), "another machine's is not ours to judge"
    assert clean_stale(tmp_path) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "sockets").write_text("a file")
    with pytest.raises(EnvironmentFault, match="sockets can't be used"):
        new_socket_path(tmp_path)
