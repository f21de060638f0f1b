"""Opens the dashboard: the app first, the world behind it after the first frame."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from runtime.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from textual.theme import Theme

    from tui.backend import Backend
    from tui.compose import HostSettings, RunRequest
    from tui.resuming import ResumeRequest


def open_dashboard(
    request: RunRequest | None = None, host: HostSettings | None = None, resume: ResumeRequest | None = None
) -> int:
    """Run the dashboard, with a run to start or to resume where one is given; returns the exit code.

    Raises UsageError for wrong settings before anything is drawn.
    """
    from runtime.settings import load_settings
    from tui.places import config_of

    own = load_settings(config_of(os.environ), None, os.environ)
    from themes.looks import DEFAULT
    from tui.app import LooptopApp

    async def connect() -> Backend:
        import asyncio
        from importlib import import_module

        # Loading the engine takes a moment that the screen must not wait for.
        await asyncio.to_thread(import_module, "tui.desk")
        from tui.compose import open_cockpit
        from tui.desk import Desk
        from tui.memory import settle
        from tui.places import home_of
        from tui.project import ProjectSettings, host_settings

        project = ProjectSettings(os.environ, supervised=True)
        settings = host or host_settings(own)
        exits = AsyncExitStack()
        cockpit = await exits.enter_async_context(open_cockpit(home_of(os.environ), settings))
        desk = Desk(cockpit, project)
        desk.keep(exits)
        await desk.load()
        settle()
        return desk

    async def then(backend: Backend) -> str | None:
        from tui.desk import Desk

        assert isinstance(backend, Desk)
        if resume is not None:
            return await backend.resume_request(resume)
        if request is None:
            return None
        return await backend.start_request(request)

    theme = own["theme"] or DEFAULT
    folder = config_of(os.environ).parent / "themes"
    wanted = None if request is None and resume is None else then
    app = LooptopApp(connect, wanted, theme=theme, theme_folder=folder, own_themes=_own_themes(theme, folder))
    if theme not in app.available_themes:
        names = ", ".join(sorted(app.available_themes))
        raise UsageError(f"There is no theme {theme!r}.", f"There are: {names}.")
    return app.run() or 0


def _own_themes(theme: str, folder: Path) -> list[Theme]:
    """The user's own themes, read before the first frame only where it is drawn with one of them. Raises UsageError for that one."""
    from textual.theme import BUILTIN_THEMES

    from themes.looks import LOOKS

    if theme in BUILTIN_THEMES or theme in {look.name for look in LOOKS}:
        return []
    from tui.user_themes import UserThemes

    found, wrong = UserThemes(folder).read()
    if wrong and theme not in {look.name for look in found}:
        raise UsageError(wrong[0])
    return found
