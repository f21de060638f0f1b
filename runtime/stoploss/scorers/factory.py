"""From a scorer's name to the scorer: `step-limit`, `embedded[:FILE]`, `served:MODEL`, `judge:MODEL`, or several joined by `+`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from runtime.errors import UsageError
from runtime.ports import Prices
from runtime.stoploss.scorers.base import Scorer
from runtime.stoploss.scorers.client import JsonClient
from runtime.stoploss.scorers.embedded import SHIPPED, embedded
from runtime.stoploss.scorers.ensemble import Ensemble
from runtime.stoploss.scorers.judge import Judge, ask_model
from runtime.stoploss.scorers.served import Served
from runtime.stoploss.scorers.step_limit import StepLimit

KINDS = ("step-limit", "embedded", "served", "judge")


def make_scorer(
    spec: str,
    env: Mapping[str, str],
    *,
    base_url: str | None = None,
    prices: Prices | None = None,
    judge: Callable[[str], Scorer] | None = None,
) -> Scorer:
    """Make a scorer. `judge` makes one from a model's name where calls must go through a run's ledger and budgets.

    Raises UsageError for a name that isn't one, a weights file that doesn't fit, and a model whose key or address is missing.
    """
    parts = [part.strip() for part in spec.split("+")]
    if len(parts) > 1:
        return Ensemble([make_scorer(part, env, base_url=base_url, prices=prices, judge=judge) for part in parts])
    kind, _, rest = spec.strip().partition(":")
    if kind == "step-limit" and not rest:
        return StepLimit()
    if kind == "embedded":
        return embedded(Path(rest) if rest else SHIPPED)
    if kind == "served" and rest:
        where = (base_url or env.get("OPENAI_BASE_URL") or "").strip()
        if not where.startswith(("http://", "https://")):
            raise UsageError(f"The scorer {spec!r} needs an address.", "Give one with --base-url or OPENAI_BASE_URL.")
        return Served(rest, JsonClient(where, env.get("OPENAI_API_KEY") or None), prices)
    if kind == "judge" and rest:
        return judge(rest) if judge is not None else _judge(rest, env, base_url, prices)
    raise UsageError(
        f"There is no scorer {spec!r}.",
        "Use step-limit, embedded, embedded:FILE, served:MODEL, judge:MODEL, or several joined by +.",
    )


def _judge(name: str, env: Mapping[str, str], base_url: str | None, prices: Prices | None) -> Scorer:
    from runtime.models.factory import make_model

    model = make_model(name, env, base_url)
    return Judge(name, ask_model(model, prices), model.close)
