"""New run: task, repository, verify steps, model with its price, cap and budgets, on one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runtime.approval.modes import MODES
from runtime.errors import LooptopError, UsageError
from runtime.events.values import RunSettings, VerifySpec
from tui import words
from tui.dialogs.form import Choice, Field, Form, FormDialog, Values
from tui.dialogs.quotes import parse_number

if TYPE_CHECKING:
    from tui.app import LooptopApp
    from tui.backend import ModelChoice, RepoFacts


async def new_run(app: LooptopApp, repo: str = ".") -> None:
    """Ask for a run and start it."""
    backend = app.backend
    if backend is None:
        return
    try:
        facts = await backend.inspect(repo)
        settings = await backend.default_settings(facts.root)
        form = new_form(facts, settings, await backend.models())
        answer: Any = await app.push_screen_wait_safe(FormDialog(form))
        if answer is None:
            return
        root, task, verify, chosen = answer
        if root != facts.root:
            root = (await backend.inspect(root)).root
        await app.open_run(await backend.start(root, task, verify, chosen))
    except LooptopError as error:
        app.tell(str(error), "error")


def model_words(models: Sequence[ModelChoice]) -> str:
    """Models with their prices per million tokens."""
    parts = []
    for one in models:
        price = (
            f"{words.money(one.input_micros)} in, {words.money(one.output_micros)} out"
            if one.input_micros is not None
            else "price unknown"
        )
        if one.input_micros == 0 and one.output_micros == 0:
            price = "free"
        note = f", {one.note}" if one.note else ""
        parts.append(f"{'' if one.available else 'not available: '}{one.name} ({price}{note})")
    return "; ".join(parts)


def new_form(facts: RepoFacts, settings: RunSettings, models: Sequence[ModelChoice]) -> Form:
    """The form for a repository as it was found."""
    found = f"found in {facts.verify_from}" if facts.verify else "none found: say what must pass"
    dirty = (
        f"{words.plural(facts.dirty_files, 'changed file')} not committed stay out."
        if facts.dirty_files and not settings.include_dirty
        else ""
    )
    by_name = {one.name: one for one in models}
    lines = (
        (f"Project {facts.project}. {dirty}".strip(), "text"),
        *((text, "warn") for text in facts.warnings),
        (f"Models, prices per million tokens: {model_words(models)}.", "muted"),
    )
    cap = settings.cap or (by_name[settings.model].cap if settings.model in by_name else None)
    fields = (
        Field("task", "Task (empty: make verify pass)"),
        Field("repo", "Repository", facts.root),
        Field("verify", f"Verify steps, && between them ({found})", " && ".join(spec.command for spec in facts.verify)),
        Field("model", "Model", settings.model),
        Field(
            "cap",
            f"Retry cap, 1 to 20 (empty: the model's default{f', {cap}' if cap else ''})",
            str(settings.cap or ""),
        ),
        Field("dollars", "Dollars (0: off)", f"{(settings.budget_micros or 0) / 1e6:g}"),
        Field("tokens", "Tokens (0: off)", str(settings.budget_tokens or 0)),
        Field("approval", "Approval: auto, ask (all that may write), read-only", settings.approval),
    )

    def answer(_: str, v: Values) -> tuple[str, str, tuple[VerifySpec, ...], RunSettings]:
        commands = [part.strip() for part in v["verify"].split(" && ") if part.strip()]
        if not commands:
            raise UsageError("Without a verify step nothing can be called fixed: name a command.")
        approval = v["approval"].strip() or settings.approval
        if approval not in MODES:
            raise UsageError(f"Approval is one of {', '.join(MODES)}.")
        model = by_name.get(v["model"].strip())
        if model is not None and not model.available:
            raise UsageError(f"{model.name} isn't available: {model.note}.")
        known = {spec.command: spec for spec in facts.verify}
        verify = tuple(known.get(command, VerifySpec(command=command)) for command in commands)
        chosen = settings.model_copy(
            update={
                "model": v["model"].strip() or settings.model,
                "cap": _cap(v["cap"]),
                "budget_micros": int(parse_number(v["dollars"] or "0", "Dollars") * 1_000_000) or None,
                "approval": approval,
                "budget_tokens": int(parse_number(v["tokens"] or "0", "Tokens")) or None,
            }
        )
        return v["repo"].strip() or facts.root, v["task"].strip(), verify, chosen

    return Form("New run", lines, (Choice("start", "Start"),), answer, fields)


def _cap(text: str) -> int | None:
    if not text.strip():
        return None
    value = parse_number(text, "The cap")
    if value != int(value) or not 1 <= value <= 20:
        raise UsageError("The cap is a whole number from 1 to 20.")
    return int(value)
