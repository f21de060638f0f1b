"""The form that quotes what resuming an interrupted run means: how old it is, where it goes on, what its cold cache costs."""

from __future__ import annotations

from runtime.loop.quoting import ResumeQuote, ago
from tui.dialogs.form import Choice, Form
from tui.paint.spans import clean


def resume(quote: ResumeQuote) -> Form:
    """Goes on with a run whose process died. Its answer is the run's id."""
    cache = quote.cache_words
    unknown = quote.cold_micros is None and quote.prompt_tokens > 0 and quote.model != "local"
    lines = [
        (
            f"Run {quote.run} was interrupted {ago(quote.age_s)} ago; it {quote.stage} with {clean(quote.model)}.",
            "text",
        ),
        (f"Price of going on: {cache}.", "warn" if unknown or quote.cold else "text"),
    ]
    if quote.lost_calls:
        lines.append(("The model call that was in flight counts at its worst case, as estimated.", "text"))
    if quote.open_calls:
        lines.append(("Tool calls without a result are answered as interrupted; none is executed again.", "text"))
    lines.append(("Its workspace, attempts, sums, caps and budgets go on as they were.", "muted"))
    return Form("Resume", tuple(lines), (Choice("resume", "Go on"),), lambda _, __: quote.run)
