"""`looptop doctor`: what looptop needs on this machine, each checked for real."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import version

import click

from runtime.errors import ExitCode, LooptopError
from tui.places import home_of


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor. `ok` None is neither good nor bad."""

    name: str
    ok: bool | None
    text: str


async def _python() -> Check:
    return Check("python", sys.version_info >= (3, 11), sys.version.split()[0])


async def _git() -> Check:
    from runtime.workspace.git import git_version

    return Check("git", True, ".".join(map(str, await git_version())))


async def _store() -> Check:
    from store.store import open_store

    home = home_of(os.environ)
    async with open_store(home) as store:
        rows = await store.database.rows("PRAGMA quick_check")
    mode = home.stat().st_mode & 0o777
    private = "private" if not mode & 0o077 else f"mode {mode:o}: others can look in"
    return Check(
        "store", rows[0][0] == "ok" and not mode & 0o077, f"{home}, {private}, SQLite {sqlite3.sqlite_version}"
    )


async def _pytest() -> Check:
    return Check("pytest", True, f"{version('pytest')} (looptop's own, for projects without one)")


async def _key() -> Check:
    known = bool(os.environ.get("ANTHROPIC_API_KEY"))
    where = os.environ.get("ANTHROPIC_BASE_URL")
    text = "a key is set" if known else "no ANTHROPIC_API_KEY: claude-* can't be used, `local` can"
    return Check("anthropic", None if not known else True, text + (f", base URL {where}" if where else ""))


async def _openai() -> Check:
    where = os.environ.get("OPENAI_BASE_URL")
    if not where:
        return Check("openai", None, "no OPENAI_BASE_URL: name a server with --base-url")
    import httpx2

    try:
        async with httpx2.AsyncClient(timeout=5) as client:
            answer = await client.get(f"{where.rstrip('/')}/models")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return Check("openai", False, f"{where} can't be reached: {error or type(error).__name__}")
    return Check("openai", answer.status_code < 500, f"{where} answers with {answer.status_code}")


async def _prices() -> Check:
    return Check("prices", True, f"genai-prices {version('genai-prices')}")


async def _sandbox() -> Check:
    return Check("sandbox", None, "none in this version: commands of a run are not confined")


CHECKS: tuple[Callable[[], Awaitable[Check]], ...] = (_python, _git, _store, _pytest, _key, _openai, _prices, _sandbox)


async def examine() -> list[Check]:
    """Run every check; one that fails is a line like the others."""
    found = []
    for check in CHECKS:
        try:
            found.append(await check())
        except LooptopError as error:
            found.append(Check(check.__name__.strip("_"), False, str(error)))
    return found


@click.command()
def doctor() -> int:
    """Check what looptop needs on this machine."""
    from runtime.text import one_line

    found = asyncio.run(examine())
    words = {True: "ok", False: "bad", None: "-"}
    for check in found:
        click.echo(f"{words[check.ok]:<4} {check.name:<10} {one_line(check.text)}")
    return int(ExitCode.ENVIRONMENT if any(check.ok is False for check in found) else ExitCode.OK)
