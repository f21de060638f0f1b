"""What all full screens share: actions by table, the prompt, the footer, a beat of one second, and a word when there is no room."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget

from tui.actions import Action, of_place
from tui.tasks import start
from tui.widgets.bars import KeyBar, LineBar

if TYPE_CHECKING:
    from tui.app import LooptopApp
    from tui.bridge import Frame
    from tui.widgets.prompt import Prompt

WIDTHS = [(0, "-narrow"), (110, "-wide"), (170, "-very-wide")]
HEIGHTS = [(0, "-short"), (28, "-tall")]
LEAST = (60, 16)
"""The least size, columns and rows, that the screens are laid out for."""


def bindings(actions: list[Action]) -> list[BindingType]:
    """Key bindings of actions."""
    return [Binding(a.key, f"screen.do('{a.id}')", a.help, show=False) for a in actions if a.key != "enter"]


class Base(Screen[None]):
    """A full screen. A subclass says its place, composes, and handles its actions as methods named `on_do_ID`."""

    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = ""
    place: ClassVar[Literal["fleet", "run"]] = "fleet"
    _came_from: Widget | None = None
    """What had the focus before the prompt."""

    @property
    def looptop(self) -> LooptopApp:
        """The app, typed."""
        return cast("LooptopApp", self.app)

    @property
    def actions(self) -> list[Action]:
        """The actions of this screen, for palette and help."""
        return of_place(self.place)

    @property
    def target(self) -> str | None:
        """The run that actions act on."""
        return None

    def on_mount(self) -> None:
        """Start the clock that ages and running times are drawn by."""
        self.set_interval(1.0, self.tick)

    def tick(self) -> None:
        """A second passed."""

    def take(self, frame: Frame) -> None:
        """Something happened in a run."""

    def on_resize(self, event: events.Resize) -> None:
        """Say so where there is no room; nothing is taken away, so that focus and typed text stay."""
        width, height = event.size
        tiny = width < LEAST[0] or height < LEAST[1]
        self.set_class(tiny, "-tiny")
        if tiny:
            text = f"looptop wants {LEAST[0]}x{LEAST[1]}; this is {width}x{height}"
            self.query_one("#tiny", LineBar).show([(text, "warn-strong")])

    # Acting

    def do(self, action: str) -> None:
        """Do an action of the table, whatever asked for it."""
        handler = getattr(self, f"on_do_{action}", None)
        if handler is not None:
            handler()
        else:
            start(self, partial(self.supervise, action), "supervise", f"action {action}")

    def action_do(self, action: str) -> None:
        """Do an action by key."""
        self.do(action)

    def on_key_bar_pressed(self, message: KeyBar.Pressed) -> None:
        """Do an action by mouse."""
        self.do(message.action)

    async def supervise(self, action: str, argument: str = "") -> None:
        """Act on the run that this screen shows."""

    def on_do_quit(self) -> None:
        """Leave looptop."""
        start(self, self.looptop.action_quit, "quit", "leave")

    def on_do_keys(self) -> None:
        """Show every key."""
        from tui.screens.keys import KeysScreen

        self.app.push_screen(KeysScreen(self.actions))

    def on_do_usage(self) -> None:
        """Show what was used."""
        from tui.screens.usage import UsageScreen

        self.app.push_screen(UsageScreen())

    def on_do_curves(self) -> None:
        """Fix rates by attempt and model family."""
        from tui.screens.curves import CurvesScreen

        self.app.push_screen(CurvesScreen())

    def on_do_projects(self) -> None:
        """Projects."""
        from tui.screens.projects import ProjectsScreen

        self.app.push_screen(ProjectsScreen())

    def on_do_stoploss(self) -> None:
        """What StopLoss is worth on own runs."""
        from tui.screens.stoploss import StoplossScreen

        self.app.push_screen(StoplossScreen(self.looptop.project_of(self.target)))

    def on_do_theme(self) -> None:
        """Take the next of our own themes."""
        from themes.looks import LOOKS

        names = [look.name for look in LOOKS]
        at = names.index(self.app.theme) + 1 if self.app.theme in names else 0
        self.app.theme = names[at % len(names)]
        self.looptop.tell(f"theme {self.app.theme}")

    # The prompt

    def on_do_command(self) -> None:
        """Type a command."""
        self.ask("command", "command, for example cap 5, budget 2.50, steer TEXT, open RUN, theme NAME, q")

    def ask(self, purpose: str, hint: str, value: str = "") -> None:
        """Open the prompt."""
        from tui.widgets.prompt import Prompt

        for old in self.query(Prompt):
            old.remove()
        self._came_from = self.focused
        prompt = Prompt(purpose, hint, value)
        self.mount(prompt)
        prompt.focus()

    def close_prompt(self) -> None:
        """Close the prompt and give the focus back."""
        from tui.widgets.prompt import Prompt

        for old in self.query(Prompt):
            old.remove()
        if self._came_from is not None and self._came_from.is_attached:
            self._came_from.focus()

    _came_from = None

    def on_prompt_left(self, message: Prompt.Left) -> None:
        """Escape in the prompt."""
        self.close_prompt()
        self.typed(message.purpose, "", True)

    def on_prompt_typed(self, message: Prompt.Typed) -> None:
        """Text in the prompt; commands run when they are entered."""
        if message.final:
            self.close_prompt()
        if message.purpose == "command":
            if message.final and message.text.strip():
                start(self, partial(self.command, message.text), "command", "command line", exclusive=False)
        else:
            self.typed(message.purpose, message.text, message.final)

    def typed(self, purpose: str, text: str, final: bool) -> None:
        """Filter or search by a text."""

    async def command(self, text: str) -> None:
        """Run a line of the command prompt."""
        from tui.command_line import run_line

        await run_line(self, text)
