"""The Run screen's header, banner and short words. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from tui import words
from tui.actions import BY_ID
from tui.paint.fleet import STATE_ROLES
from tui.paint.gauges import active_ms, pause_cost
from tui.paint.spans import Line, Span, clean, paragraphs

if TYPE_CHECKING:
    from runtime.view.model import RunView

ENDING_KEYS = {
    "set_cap": "cap",
    "set_budget": "budget",
    "approve": "approve",
    "deny": "approve",
    "abort": "abort",
    "resume": "pause",
    "choose_recovery": "recovery",
    "switch_model": "model",
    "end_attempt": "end_attempt",
}


def now_ms(view: RunView, now: datetime) -> int:
    """The run's own clock now: its last event's offset and the time since, while it goes on."""
    if view.finished or view.last_at is None:
        return view.last_ms
    return view.last_ms + max(0, int((now - view.last_at).total_seconds() * 1_000))


def header(view: RunView, now: datetime, recorded: bool, live: bool) -> tuple[Line, Line]:
    """Id, task, models, state, time."""
    left: list[Span] = [(f" {clean(view.run)}  ", "accent"), (clean(view.task) or "make verify pass", "strong")]
    models: list[str] = []
    for model in view.models or ((view.model,) if view.model else ()):
        short = words.short_model(model)
        if not models or models[-1] != short:
            models.append(short)
    right: list[Span] = [("  " + clean(" → ".join(models)), "model")]
    role = STATE_ROLES.get(view.state, "bad")
    elapsed = active_ms(view, now_ms(view, now))
    right += [("   " + words.state(view.state), role), ("   " + words.clock(elapsed), "text")]
    if recorded:
        right.append(("   recorded", "warn"))
    elif not view.finished:
        right.append(
            ("   live ", "live") if live else ("   last heard " + words.age(view.last_at, now) + " ago", "stale")
        )
    return left, [*right, (" ", "")]


def banner(view: RunView, width: int, now: datetime) -> list[Line]:
    """What the run waits for and the keys that decide it; or how it ended. Empty while it simply goes on."""
    if view.finished:
        return _ending(view, width)
    if view.approvals:
        one = view.approvals[0]
        more = len(view.approvals) - 1
        others = f"  and {words.plural(more, 'further call')}" if more else ""
        hidden = f"  {words.plural(one.hidden, 'hidden character')}!" if one.hidden else ""
        lines: list[Line] = [
            [
                ("waits for approval  ", "warn-strong"),
                (clean(one.tool), "tool"),
                (f"  {clean(one.why)}", "text"),
                (others, "warn-strong"),
                (hidden, "bad-strong"),
            ]
        ]
        return [*lines, _keys(("approve", "abort"))]
    if view.hold is not None:
        text = paragraphs(view.hold.text, max(1, width - 7))[:3]
        held: list[Line] = [
            [("held   " if index == 0 else "       ", "warn-strong"), (piece, "text")]
            for index, piece in enumerate(text)
        ]
        return [*held, *_waiting(view, now), _keys(view.hold.ends_with)]
    if view.paused:
        paused: Line = [
            ("paused ", "warn-strong"),
            (clean(view.pause_text), "text"),
            ("   p", "key"),
            (" goes on", "muted"),
        ]
        return [paused, *_waiting(view, now)]
    return []


def _waiting(view: RunView, now: datetime) -> list[Line]:
    """What the waiting costs in cache."""
    text = pause_cost(view, now)
    return [[("       ", ""), (text, "muted")]] if text else []


def _keys(commands: tuple[str, ...]) -> Line:
    spans: list[Span] = [("       ", "")]
    seen: set[str] = set()
    for command in commands:
        action = BY_ID.get(ENDING_KEYS.get(command, ""))
        if action is not None and action.id not in seen:
            seen.add(action.id)
            label = "go on" if action.id == "pause" else "approve or deny" if action.id == "approve" else action.label
            spans += [(action.key_text, "key"), (f" {label}   ", "muted")]
    return spans


def _ending(view: RunView, width: int) -> list[Line]:
    good = view.reason is not None and view.reason.value in {"passed", "already_passing"}
    size = ""
    if view.diff is not None and view.diff.files:
        size = f"   {words.plural(view.diff.files, 'file')} +{view.diff.added} -{view.diff.removed}"
    line: list[Span] = [
        (words.state(view.state), "ok" if good else "bad-strong"),
        (f"  {clean(view.detail)}", "text"),
        (size, "muted"),
    ]
    if view.delivered:
        return [[*line, (f"   {clean(view.delivered)}", "accent")]]
    if size:
        return [
            [
                *line,
                ("   d", "key"),
                (" diff  ", "muted"),
                ("y", "key"),
                (" apply  ", "muted"),
                ("b", "key"),
                (" branch", "muted"),
            ]
        ]
    return [line]
