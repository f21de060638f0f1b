"""`looptop doctor`: what looptop needs on this machine, each checked for real."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

import click

from runtime.errors import ExitCode, LooptopError, UsageError
from runtime.settings import PROJECT_FILE, Settings, load_settings
from tui.commands.run import root_of
from tui.places import config_of, here, home_of

REACH_S = 5.0


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


async def _configuration() -> Check:
    _settings()
    return Check("settings", True, f"{config_of(os.environ)} and {PROJECT_FILE} can be read")


def _settings() -> Settings:
    return load_settings(config_of(os.environ), root_of(here()), os.environ)


async def _model() -> Check:
    from runtime.catalog.models import end_of_life_warning
    from runtime.catalog.prices import Catalog
    from runtime.models.factory import endpoint_for
    from tui.project import default_model

    settings = _settings()
    name = settings["model"] or default_model(os.environ)
    endpoint = endpoint_for(name, os.environ, settings["base_url"])
    known = Catalog(settings["prices"]).known(endpoint.provider, endpoint.name)
    notes = ["price known" if known else "no known price: dollar budgets can't bind"]
    notes += filter(None, [end_of_life_warning(endpoint.name, datetime.now(UTC).date())])
    return Check("model", True, f"{name}: {'; '.join(notes)}")


async def _pytest() -> Check:
    return Check("pytest", True, f"{version('pytest')} (looptop's own, for projects without one)")


async def _key() -> Check:
    known = bool(os.environ.get("ANTHROPIC_API_KEY", "").strip())
    text = "a key is set" if known else "no ANTHROPIC_API_KEY: claude-* can't be used, `local` can"
    where = os.environ.get("ANTHROPIC_BASE_URL", "").strip()
    if known and where:
        return await _reach("anthropic", where, f"{text}; {{}}")
    return Check("anthropic", True if known else None, text)


async def _openai() -> Check:
    where = _settings()["base_url"] or os.environ.get("OPENAI_BASE_URL", "").strip()
    if not where:
        return Check("openai", None, "no OPENAI_BASE_URL: name a server with --base-url")
    return await _reach("openai", f"{where.rstrip('/')}/models", "{}")


async def _reach(name: str, where: str, text: str) -> Check:
    """Whether a server answers at all. No key is sent."""
    import httpx2

    try:
        async with httpx2.AsyncClient(timeout=REACH_S) as client:
            answer = await client.get(where)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, OSError) as error:
        return Check(name, False, text.format(f"{where} can't be reached: {error or type(error).__name__}"))
    return Check(name, answer.status_code < 500, text.format(f"{where} answers with {answer.status_code}"))


async def _prices() -> Check:
    return Check("prices", True, f"genai-prices {version('genai-prices')}")


async def _sandbox() -> list[Check]:
    from runtime.process.env import scrubbed_env
    from runtime.process.sandbox.proof import RUN, prove
    from tui.project import sandbox_settings

    found = await prove(sandbox_settings(_settings()), home_of(os.environ), scrubbed_env(os.environ, RUN))
    return [Check(proof.name, proof.kept, proof.text) for proof in found]


async def _live(model: str | None) -> list[Check]:
    from tui.live import probe
    from tui.project import default_model, host_settings

    settings = _settings()
    name = model or settings["model"] or default_model(os.environ)
    try:
        found = await probe(home_of(os.environ), host_settings(settings), os.environ, name)
    except LooptopError as error:
        return [Check("live", False, str(error))]
    return [Check("live", ok, text) for ok, text in found]


CHECKS: dict[str, Callable[[], Awaitable[Check | list[Check]]]] = {
    "python": _python,
    "git": _git,
    "store": _store,
    "settings": _configuration,
    "model": _model,
    "pytest": _pytest,
    "anthropic": _key,
    "openai": _openai,
    "prices": _prices,
    "sandbox": _sandbox,
}


async def examine() -> list[Check]:
    """Run every check; one that fails is a line like the others."""
    found: list[Check] = []
    for name, check in CHECKS.items():
        try:
            came = await check()
            found += came if isinstance(came, list) else [came]
        except LooptopError as error:
            found.append(Check(name, False, str(error)))
        except ImportError as error:
            found.append(Check(name, False, f"not installed: {error.name or error}"))
        except OSError as error:
            found.append(Check(name, False, f"can't be checked: {error}"))
    return found


@click.command()
@click.option("--live", is_flag=True, help="Make two small model calls and show that the second reads from cache.")
@click.option("--model", metavar="M", help="The model to call with --live, instead of the usual one.")
def doctor(live: bool, model: str | None) -> int:
    """Check what looptop needs on this machine."""
    from runtime.text import one_line

    if model is not None and not live:
        raise UsageError("--model says whom to call, and without --live nobody is called.", "Add --live.")
    found = asyncio.run(examine())
    if live:
        found += asyncio.run(_live(model))
    words = {True: "ok", False: "bad", None: "-"}
    for check in found:
        click.echo(f"{words[check.ok]:<4} {check.name:<10} {one_line(check.text)}")
    return int(ExitCode.ENVIRONMENT if any(check.ok is False for check in found) else ExitCode.OK)
