"""The dashboard's shell. It paints its first frame from light modules alone; the world behind it is connected afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.theme import Theme

import themes
from themes.looks import DEFAULT, LOOKS
from tui.paint.spans import clean
from tui.screens.fleet import FleetScreen
from tui.tasks import start
from tui.widgets.palette import Palette

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tui.backend import Backend, Connect, RunSummary
    from tui.bridge import Bridge, Frame
    from tui.user_themes import UserThemes

THEMES_S = 2.0
"""Seconds between two looks for changed themes."""
Then = Callable[["Backend"], Awaitable[str | None]]
"""What to do once the backend stands (start a run, say); returns the run to put on screen."""


def utc_now() -> datetime:
    """The time of day."""
    return datetime.now(UTC)


class LooptopApp(App[int]):
    """Holds what all screens share: the backend, the bridge, the summaries and the palette."""

    TITLE = "looptop"
    CSS_PATH = str(Path(themes.__file__).parent / "base.tcss")
    ESCAPE_TO_MINIMIZE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Leave", show=False, priority=True),
        Binding("ctrl+c", "copy_or_hint", "Copy", show=False),
    ]

    def __init__(
        self,
        connect: Connect,
        then: Then | None = None,
        *,
        theme: str = DEFAULT,
        theme_folder: Path | None = None,
        own_themes: Iterable[Theme] = (),
        now: Callable[[], datetime] = utc_now,
        frame_s: float | None = None,
    ) -> None:
        super().__init__()
        self._connect = connect
        self._then = then
        self.now = now
        self._frame_s = frame_s
        self.backend: Backend | None = None
        self.bridge: Bridge | None = None
        self.runs: dict[str, RunSummary] = {}
        self.trouble = ""
        """Why the backend can't be reached, in words."""
        self._palette: tuple[str, Palette] | None = None
        self._theme_folder = theme_folder
        self._user_themes: UserThemes | None = None
        for look in (*LOOKS, *own_themes):
            self.register_theme(look)
        # Set before the first frame without the watcher, which would parse every sheet a second time.
        self.set_reactive(LooptopApp.theme, theme if theme in self.available_themes else DEFAULT)
        self._css_variables = self.get_css_variables()
        self.stylesheet.set_variables(self._css_variables)

    def refresh_css(self, animate: bool = True) -> None:
        """Parse the sheets anew only where a variable changed: at the start none did."""
        variables = self.get_css_variables()
        if variables == self._css_variables:
            self.stylesheet.update(self, animate=animate)
            return
        self._css_variables = variables
        super().refresh_css(animate)

    @property
    def palette(self) -> Palette:
        """Styles by role for the present theme."""
        if self._palette is None or self._palette[0] != self.theme:
            self._palette = (self.theme, Palette(self.theme_variables))
        return self._palette[1]

    def get_default_screen(self) -> Screen[Any]:
        """The fleet is the ground that everything stands on."""
        return FleetScreen()

    def on_mount(self) -> None:
        """Connect once the first frame is on the terminal."""
        self.call_after_refresh(self._connect_soon)

    def _connect_soon(self) -> None:
        start(self, self._bring_up, "connect", "connect the backend")
        if self._theme_folder is not None:
            self.look_for_themes()
            self.set_interval(THEMES_S, self.look_for_themes)

    def look_for_themes(self) -> None:
        """Take up themes of the user's own that are new or changed; the one in use is drawn anew."""
        from tui.user_themes import UserThemes

        if self._theme_folder is None:
            return
        self._user_themes = self._user_themes or UserThemes(self._theme_folder)
        changed, wrong = self._user_themes.read()
        for theme in changed:
            self.register_theme(theme)
            if theme.name == self.theme:
                self._palette = None
                self._watch_theme(theme.name)
        for sentence in wrong:
            self.tell(sentence, "warning")

    async def _bring_up(self) -> None:
        from runtime.errors import LooptopError
        from tui.bridge import FRAME_S, Bridge

        await asyncio.to_thread(
            import_module, "runtime.view"
        )  # the vocabulary takes a third of a second: not in our loop
        try:
            self.backend = await self._connect()
            self.bridge = Bridge(self.backend, self.post_message, FRAME_S if self._frame_s is None else self._frame_s)
            self.bridge.start()
            run = await self._then(self.backend) if self._then is not None else None
        except LooptopError as error:
            self.trouble = str(error)
            self.tell(self.trouble, "error")
            self.fleet.show_runs()
            return
        self.fleet.show_runs()
        if run is not None:
            await self.open_run(run)

    @property
    def fleet(self) -> FleetScreen:
        """The Fleet screen, at the bottom of the stack."""
        ground = self.screen_stack[0]
        assert isinstance(ground, FleetScreen)
        return ground

    def on_frame(self, frame: Frame) -> None:
        """Hand a frame to the screens that want it."""
        for summary in frame.summaries:
            self.runs[summary.run] = summary
        for screen in self.screen_stack:
            take = getattr(screen, "take", None)
            if take is not None:
                take(frame)

    async def open_run(self, run: str, tab: str = "") -> None:
        """Put a run on screen."""
        from tui.screens.run import RunScreen

        while not isinstance(self.screen, FleetScreen):
            await self.pop_screen()
        await self.push_screen(RunScreen(run, tab or "Stream"))

    def project_of(self, run: str | None) -> str:
        """The project of a run that the fleet knows; "" for none."""
        summary = self.runs.get(run or "")
        return summary.project if summary is not None else ""

    def tell(self, text: str, severity: str = "information") -> None:
        """A toast; the text is shown as it is, never as markup."""
        level: Any = severity
        self.notify(clean(text), severity=level, markup=False)

    def give_up(self, text: str) -> None:
        """Leave the screen on top, which can't show what it should, and say why."""
        self.pop_screen()
        self.call_later(self.tell, text, "error")

    # Palette

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every action of the present screen, then the themes."""
        do = getattr(screen, "do", None)
        for action in getattr(screen, "actions", ()):
            if do is not None and action.id not in {"command", "open"}:
                yield SystemCommand(
                    f"{action.label}: {action.help}", f"key {action.key_text}", lambda a=action.id: do(a)
                )
        yield SystemCommand(
            "screenshot", "Save a picture of the screen (SVG)", lambda: self.set_timer(0.1, self.deliver_screenshot)
        )
        for name in sorted(self.available_themes):
            yield SystemCommand(f"theme {name}", "Change the colours", lambda n=name: setattr(self, "theme", n))

    def action_copy_or_hint(self) -> None:
        """Copy what is selected; without a selection say how to leave."""
        text = self.screen.get_selected_text()
        if text:
            self.copy_to_clipboard(text)
            self.tell("copied")
        else:
            self.tell("q leaves looptop")

    # Leaving

    async def action_quit(self) -> None:
        """Leave; with live runs of this process, ask first."""
        live = [run for run in self.runs.values() if run.live]
        if live and self.backend is not None and not self.backend.recorded:
            from tui.dialogs.leaving import leaving

            stop = await self.push_screen_wait_safe(leaving(live))
            if stop is None:
                return
            await self._leave(bool(stop))
            return
        await self._leave(False)

    async def push_screen_wait_safe(self, screen: Screen[Any]) -> Any:
        """Show a dialog and wait for its answer, from a handler or a worker alike."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        await self.push_screen(screen, answer.set_result)
        return await answer

    async def _leave(self, stop: bool) -> None:
        if self.bridge is not None:
            self.bridge.close()
        if self.backend is not None:
            await self.backend.close(stop)
        self.exit(0)
