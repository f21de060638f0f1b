"""The forms of all commands that spend or destroy: each quotes what is lost, kept, bought or limited before it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime import commands as c
from runtime.errors import UsageError
from runtime.events.values import Action
from runtime.view.model import RunView
from tui import words
from tui.dialogs.chances import worst_case
from tui.dialogs.form import Choice, Field, Form, Values
from tui.dialogs.stoploss import stoploss
from tui.summary import tokens_used

SENDER = "supervisor"
Paragraph = tuple[str, str]


def parse_number(text: str, what: str) -> float:
    """A number as people write it: 2.50, $2.50, 1,000,000, 200k, 1.5M. Raises UsageError."""
    cleaned = text.strip().replace(",", "").replace("_", "").lstrip("$")
    factor = {"k": 1_000, "m": 1_000_000}.get(cleaned[-1:].lower(), 1)
    try:
        value = float(cleaned.rstrip("kKmM")) * factor
    except ValueError:
        raise UsageError(f"{what}: {text.strip()!r} isn't a number.") from None
    if not 0 <= value < 1e15:
        raise UsageError(f"{what}: {text.strip()} is out of range.")
    return value


def _spent(view: RunView) -> str:
    spent = words.money(view.money.micros, view.money.complete)
    used = words.used(tokens_used(view), view.unmetered_calls)
    return f"{spent} and {used} tokens spent so far"


def moved(view: RunView) -> bool:
    """Whether findings moved in the last two attempts; true where that can't be told."""
    done = [row.comparison for row in view.attempts if row.comparison is not None][-2:]
    return len(done) < 2 or {*done[0].new, *done[0].still} != {*done[1].new, *done[1].still}


def restate(view: RunView) -> tuple[Paragraph, ...]:
    """What is said before another attempt is bought, where findings don't move."""
    if moved(view):
        return ()
    return (
        (
            "The findings haven't moved in two attempts: the task may be understood wrongly, and more retries won't help then.",
            "warn",
        ),
        ("Restate the task first: cancel, and steer (s) with what is really wanted.", "warn"),
    )


def abort(view: RunView) -> Form:
    """Ends the run."""
    flight = (
        "The model call in flight is cut; it will be counted as estimated."
        if view.rounds and view.rounds[-1].finished_ms is None
        else ""
    )
    diff = view.diff
    kept = f"Kept: the workspace as it is{f', +{diff.added} -{diff.removed} at the last verify' if diff else ''}, and the record."
    lines = (
        (
            f"Run {view.run} ends now, in {words.state(view.state)}, attempt {view.attempt} of {view.cap or words.UNKNOWN}. {_spent(view)}.",
            "text",
        ),
        (
            f"Lost: the processes it runs{', the steering messages that wait' if view.steers_waiting else ''}. {flight}".strip(),
            "text",
        ),
        (kept, "text"),
    )
    return Form(
        "Abort", lines, (Choice("abort", "Abort the run"),), lambda _, v: c.Abort(sender=SENDER, reason=v["reason"].strip()),
        (Field("reason", "Why (optional)"),), danger=True, focus="cancel",
    )  # fmt: skip


def per_attempt(view: RunView) -> str:
    """What an attempt of this run cost so far, in words."""
    done = [row for row in view.attempts if row.finished_ms is not None]
    if not done:
        return "No attempt is finished yet: what one costs isn't known."
    known = [row.cost.micros for row in done if row.cost.complete]
    if len(known) < len(done):
        return "What an attempt costs isn't known: this model has no price for part of it."
    mean, most = sum(known) // len(known), max(known)
    return f"An attempt has cost {words.money(mean)} on average so far, {words.money(most)} at most."


def cap(view: RunView, down: bool = False) -> Form:
    """Sets the retry cap."""
    made = view.attempts_of_leg
    now = view.cap or max(1, made)
    proposal = max(made, now - 1, 1) if down else min(20, max(now, made) + 1)
    limit = f"{words.limit_money(view.budget_micros)} budget" if view.budget_micros is not None else "no dollar budget"
    lines = (
        (
            f"{made} of {view.cap or words.UNKNOWN} attempts of this leg are made ({view.cap_source or 'source unknown'}).",
            "text",
        ),
        (f"{per_attempt(view)} {_spent(view)}; {limit}. {worst_case(view)}", "text"),
        *restate(view),
        *(((f"On trial: {view.on_trial}", "muted"),) if view.on_trial else ()),
    )

    def answer(_: str, values: Values) -> c.SetCap:
        value = parse_number(values["cap"], "The cap")
        if value != int(value) or not 1 <= value <= 20:
            raise UsageError("The cap is a whole number from 1 to 20.")
        if value < made:
            raise UsageError(f"{made} attempts are made already: the cap can't be lower.")
        return c.SetCap(sender=SENDER, cap=int(value), reason=values["reason"].strip())

    return Form(
        "Retry cap",
        lines,
        (Choice("set", "Set the cap"),),
        answer,
        (Field("cap", f"Cap, {max(1, made)} to 20", str(proposal)), Field("reason", "Why (optional)")),
    )


def budget(view: RunView) -> Form:
    """Sets budgets; what isn't changed isn't sent."""
    reserved = (
        ""
        if not view.rounds or view.rounds[-1].finished_ms is not None
        else f"; about {words.tokens(view.rounds[-1].prompt_estimate)} more are in flight"
    )
    used = words.used(tokens_used(view), view.unmetered_calls)
    minutes = view.budget_seconds / 60 if view.budget_seconds else None
    lines = (
        (
            f"Tokens: {used} used{reserved}, limit {words.tokens(view.budget_tokens) if view.budget_tokens else 'off'}.",
            "text",
        ),
        (
            f"Dollars: {words.money(view.money.micros, view.money.complete)} used, limit {words.limit_money(view.budget_micros)}.",
            "text",
        ),
        (per_attempt(view), "text"),
        (f"Time: {words.clock(view.active_ms)} used, limit {f'{minutes:g} min' if minutes else 'off'}.", "text"),
        *(((view.hold.text, "warn"),) if view.hold and view.hold.why.value == "budget" else ()),
        *(
            ((f"Calls without known usage: {view.unmetered_calls}. They aren't in these sums.", "warn"),)
            if view.unmetered_calls
            else ()
        ),
        *(
            (("This model has no known price: a dollar budget can't bind, the token budget does.", "warn"),)
            if view.priced is False
            else ()
        ),
        *restate(view),
        ("Values are absolute; 0 turns a budget off.", "muted"),
    )
    fields = (
        Field("tokens", "Tokens", str(view.budget_tokens or 0)),
        Field("micros", "Dollars", f"{(view.budget_micros or 0) / 1e6:g}"),
        Field("seconds", "Minutes", f"{(view.budget_seconds or 0) / 60:g}"),
        Field("reason", "Why (optional)"),
    )

    def answer(_: str, values: Values) -> list[Any]:
        factors = {"tokens": 1, "micros": 1_000_000, "seconds": 60}
        names = {field.name: field.label for field in fields}
        before = {field.name: field.value for field in fields}
        changed = [name for name in factors if values[name].strip() != before[name]]
        if not changed:
            raise UsageError("Nothing was changed.")
        return [
            c.SetBudget(
                sender=SENDER,
                kind=name,
                value=parse_number(values[name], names[name]) * factors[name],
                reason=values["reason"].strip(),
            )
            for name in changed
        ]

    return Form("Budgets", lines, (Choice("set", "Set the budgets"),), answer, fields)


def steer(view: RunView) -> Form:
    """Says something to the model."""
    waiting = f" {words.plural(len(view.steers_waiting), 'message')} wait already." if view.steers_waiting else ""
    lines = (
        (f"It is appended to the live transcript and stays in it; the cached prefix stays warm.{waiting}", "text"),
        ("Now cuts the round in flight; what it cost is kept.", "muted"),
    )

    def answer(choice: str, values: Values) -> c.Steer:
        text = values["text"].strip()
        if not text:
            raise UsageError("Say something first.")
        return c.Steer(sender=SENDER, text=text, when="now" if choice == "now" else "next_attempt")

    choices = (Choice("next", "With the next attempt (ctrl+s)"), Choice("now", "Now"))
    return Form("Steer", lines, choices, answer, (Field("text", "To the model", long=True),))


def recovery(view: RunView) -> Form:
    """Chooses what follows a failed attempt."""
    lines: list[Paragraph] = []
    quotes = {quote.action.value: quote for quote in (view.recoveries[-1].quotes if view.recoveries else ())}
    what = {
        "reflect": "feedback into the same transcript; workspace and cached prefix stay",
        "replan": "a fresh transcript on a workspace reset to the start; what was tried is kept as a ref",
        "escalate": "the stronger model takes over, as a new leg with its own cap",
    }
    for name, text in what.items():
        quote = quotes.get(name)
        cost = f" About {words.money(quote.cost_micros)}." if quote and quote.cost_micros is not None else ""
        masked = f" Last time not available: {quote.masked}." if quote and quote.masked else ""
        lines.append((f"{name}: {text}.{cost}{masked}", "muted" if masked else "text"))
    lines.append(("It is taken at the next decision, and kept as data.", "muted"))

    def answer(choice: str, _: Values) -> c.ChooseRecovery:
        return c.ChooseRecovery(sender=SENDER, action=Action(choice))

    return Form("After a failed attempt", tuple(lines), tuple(Choice(name, name.capitalize()) for name in what), answer)


def model(view: RunView) -> Form:
    """Goes on with another model."""
    lines = (
        (
            f"Now: {view.model}. A new leg begins with the cap of its own model; budgets go on. "
            "Another model can't read anything of the cached prefix.",
            "text",
        ),
    )

    def answer(_: str, values: Values) -> c.SwitchModel:
        name = values["model"].strip()
        if not name:
            raise UsageError("Name a model.")
        return c.SwitchModel(sender=SENDER, model=name)

    stronger = view.settings.escalate_to if view.settings else None
    return Form("Model", lines, (Choice("switch", "Switch"),), answer, (Field("model", "Model", stronger or ""),))


def acceptance(view: RunView) -> Form:
    """Accepts or refuses what a hold asks about; tool calls that wait have a dialog of their own."""
    return Form(
        "Approve",
        ((view.hold.text if view.hold else "", "text"),),
        (Choice("approve", "Approve"), Choice("deny", "Deny")),
        lambda choice, _: c.Approve(sender=SENDER) if choice == "approve" else c.Deny(sender=SENDER),
        focus="deny",
    )


FORMS: dict[str, Callable[[RunView], Form]] = {
    "abort": abort,
    "cap": cap,
    "cap_less": lambda view: cap(view, down=True),
    "budget": budget,
    "steer": steer,
    "recovery": recovery,
    "model": model,
    "set_stoploss": stoploss,
    "approve": acceptance,
}
