"""Opening and closing: one sentence for what can't be opened, and a process that ends when it should."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

from runtime.errors import StoreError
from store.home import FILE_NAME, prepare_home
from store.migrations import APPLICATION_ID
from store.schema import SCHEMA_VERSION
from store.store import open_store
from support.store_runs import child, results

OPEN = "import asyncio; from pathlib import Path; from store.store import open_store\n"


async def refused(home: Path) -> str:
    with pytest.raises(StoreError) as caught:
        async with open_store(home):
            pass
    text = str(caught.value)
    assert "\n" not in text
    assert "Traceback" not in text
    return text


def file_in(home: Path, content: bytes = b"") -> Path:
    home.mkdir(mode=0o700, exist_ok=True)
    path = home / FILE_NAME
    path.write_bytes(content)
    return path


async def test_not_a_database(home: Path) -> None:
    file_in(home, b"this is a text, and a long one, " * 100)
    text = await refused(home)
    assert "is not a database" in text
    assert str(home / FILE_NAME) in text


async def test_another_programs_database(home: Path) -> None:
    path = file_in(home)
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()
    assert "another program's database" in await refused(home)
    with sqlite3.connect(path) as other:
        names = [name for (name,) in other.execute("SELECT name FROM sqlite_master")]
    other.close()
    assert names == ["bookmarks"]


async def test_another_programs_database_by_its_mark(home: Path) -> None:
    path = file_in(home)
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA application_id = 12345")
        other.execute("PRAGMA user_version = 1")
    other.close()
    assert "another program's database" in await refused(home)


async def test_newer_schema_names_both_numbers(home: Path) -> None:
    path = file_in(home)
    with sqlite3.connect(path) as newer:
        newer.execute("CREATE TABLE runs (id TEXT)")
        newer.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        newer.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 7}")
    newer.close()
    text = await refused(home)
    assert f"schema {SCHEMA_VERSION + 7}" in text
    assert f"up to {SCHEMA_VERSION}" in text


async def test_damaged_store_is_told_when_it_is_opened_or_read(home: Path) -> None:
    async with open_store(home):
        pass
    path = home / FILE_NAME
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(bytes(content))
    with pytest.raises(StoreError, match="is damaged"):
        async with open_store(home) as store:
            await store.history.runs()


async def test_home_that_is_a_file(home: Path) -> None:
    home.write_text("")
    assert f"The folder {home} can't be used" in await refused(home)


async def test_store_that_is_a_folder(home: Path) -> None:
    (home / FILE_NAME).mkdir(parents=True)
    assert "Is a directory" in await refused(home)


async def test_home_that_cannot_be_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir(mode=0o700)
    # Root may write anywhere, so the system's answer is put in its mouth.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "can't be written" in await refused(home)
    assert list(home.iterdir()) == []


async def test_parent_that_cannot_hold_a_home() -> None:
    assert "can't be used" in await refused(Path("/proc/looptop"))


def test_folder_of_others_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "notes.txt").write_text("mine")
    prepare_home(tmp_path, FILE_NAME)
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    (tmp_path / FILE_NAME).write_text("")
    prepare_home(tmp_path, FILE_NAME)
    assert tmp_path.stat().st_mode & 0o777 == 0o700


async def test_name_with_characters_that_mean_something_in_a_uri(tmp_path: Path) -> None:
    home = tmp_path / "100% mine? #1"
    async with open_store(home) as store:
        assert await store.history.runs() == []
    assert (home / FILE_NAME).stat().st_size > 0


def test_processes_that_open_a_new_store_together(home: Path) -> None:
    code = OPEN + (
        "import sys\n"
        "sys.stdin.readline()\n"
        "async def main():\n"
        "    async with open_store(Path(sys.argv[1])) as store:\n"
        "        print(len(await store.history.runs()))\n"
        "asyncio.run(main())\n"
    )
    children = [child(code, str(home)) for _ in range(6)]
    for process in children:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert results(children) == ["0\n"] * 6


def test_process_ends_after_an_exception_inside_the_store(home: Path) -> None:
    code = OPEN + (
        "import sys\n"
        "async def main():\n"
        "    async with open_store(Path(sys.argv[1])) as store:\n"
        "        await store.history.runs()\n"
        "        raise SystemExit(7)\n"
        "asyncio.run(main())\n"
    )
    process = child(code, str(home))
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (7, "")


@pytest.mark.parametrize("how", ["ends", "raises"])
def test_process_ends_when_nobody_closed(home: Path, how: str) -> None:
    """The loop ends with the store open: no thread keeps the process, and nothing is printed about it."""
    code = OPEN + (
        "import sys, time\n"
        "from store.database import Database\n"
        "async def main():\n"
        "    database = Database(Path(sys.argv[1]) / 'looptop.db')\n"
        "    await database.open()\n"
        "    await database.rows('SELECT 1')\n"
        "    print(time.time(), flush=True)\n"
        "    if sys.argv[2] == 'raises':\n"
        "        raise SystemExit(0)\n"
        "asyncio.run(main())\n"
    )
    process = child(code, str(home), how)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert time.time() - float(out) < 1.0


def test_process_ends_when_the_loop_just_stops(home: Path) -> None:
    """Not even the writer task was told: the connection's thread must not keep the process."""
    code = OPEN + (
        "import sys\n"
        "from store.database import Database\n"
        "loop = asyncio.new_event_loop()\n"
        "database = Database(Path(sys.argv[1]) / 'looptop.db')\n"
        "loop.run_until_complete(database.open())\n"
        "loop.run_until_complete(database.write(lambda c: c.execute('CREATE TABLE t (x)')))\n"
        "print('stopped', flush=True)\n"
    )
    process = child(code, str(home))
    out, _ = process.communicate(timeout=10)
    assert (process.returncode, out) == (0, "stopped\n")


def test_closing_is_quick_while_another_process_holds_the_lock(home: Path) -> None:
    code = OPEN + (
        "import sys, time, sqlite3\n"
        "from support.store_runs import queued\n"
        "from runtime.errors import StoreError\n"
        "async def main():\n"
        "    async with open_store(Path(sys.argv[1])) as store:\n"
        "        other = sqlite3.connect(store.database.path, isolation_level=None)\n"
        "        other.execute('BEGIN IMMEDIATE')\n"
        "        store.record.append(queued('r1'))\n"
        "began = time.monotonic()\n"
        "try:\n"
        "    asyncio.run(main())\n"
        "except StoreError as error:\n"
        "    print(error)\n"
        "    print(time.monotonic() - began)\n"
    )
    process = child(code, str(home))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    said, seconds = out.splitlines()
    assert said.startswith("1 event of r1 was not kept: Another process has kept the store")
    assert float(seconds) < 2.5
