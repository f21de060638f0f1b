"""The pure fold from events to a picture: one small function per event type, found by the event's tag."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.events.base import Event
from runtime.view import attempts, checks, rounds, supervision
from runtime.view.model import Handler, RunView, changed

HANDLERS: dict[str, Handler] = {
    **attempts.HANDLERS,
    **rounds.HANDLERS,
    **checks.HANDLERS,
    **supervision.HANDLERS,
}


def fold(view: RunView, event: Event) -> RunView:
    """The picture after one more event. An event already folded (seq not above the view's) changes nothing.

    An unknown type is counted and otherwise ignored.
    """
    if event.seq <= view.seq:
        return view
    handler = HANDLERS.get(event.type)
    if handler is None or type(event).__name__ == "UnknownEvent":
        after = changed(view, unknown_events=view.unknown_events + 1)
    else:
        after = handler(view, event)
    if after is view:
        after = changed(view)
    # `after` was made in this call and nobody else holds it yet: its envelope is set in place, since one more copy of a
    # wide picture costs as much as the rest of the fold.
    set_field = object.__setattr__
    set_field(after, "run", event.run)
    set_field(after, "seq", event.seq)
    set_field(after, "last_at", event.at)
    set_field(after, "last_ms", max(event.mono_ms, view.last_ms))
    return after


def fold_all(events: Iterable[Event], view: RunView | None = None) -> RunView:
    """Fold many events, oldest first, onto a view (default: an empty one)."""
    view = view or RunView()
    for event in events:
        view = fold(view, event)
    return view
