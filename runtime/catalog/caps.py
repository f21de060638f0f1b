"""Retry caps: the default by the model's name, and what overrides it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.errors import UsageError

MIN_CAP, MAX_CAP = 1, 20
DEFAULT_CAPS: Mapping[str, int] = {"claude": 3, "qwen": 6}
"""By prefix of the bare model name; backed by the fix-rate curves of these families."""
SAFE_CAP = 5
"""For every other model, until its own curve is known."""


def bare_name(model: str) -> str:
    """The model's name after any provider prefix, in lower case."""
    return model.rpartition("/")[2].strip().lower()


@dataclass(frozen=True, slots=True)
class Cap:
    """A cap and in words where it comes from; `on_trial`: a safe default that no curve backs yet."""

    value: int
    source: str
    on_trial: bool = False


def check_cap(value: int, what: str = "The retry cap") -> int:
    """The value, if it is one; raises UsageError outside 1..20."""
    if not MIN_CAP <= value <= MAX_CAP:
        raise UsageError(f"{what} is {value}; it must be from {MIN_CAP} to {MAX_CAP}.")
    return value


def default_fix_verify_cap(model: str, defaults: Mapping[str, int] | None = None) -> Cap:
    """The cap by prefix: `caps.defaults` of the settings first (the longest prefix wins), then claude 3, qwen 6, others 5."""
    name = bare_name(model)
    for table, where in ((defaults or {}, "caps.defaults"), (DEFAULT_CAPS, "default")):
        matching = [prefix for prefix in table if name.startswith(prefix.lower())]
        if matching:
            prefix = max(matching, key=len)
            return Cap(table[prefix], f"{where} for {prefix}*")
    return Cap(SAFE_CAP, "safe default for other models", on_trial=True)


def effective_cap(
    model: str, *, option: int | None = None, project: int | None = None, defaults: Mapping[str, int] | None = None
) -> Cap:
    """The cap of a leg: `--cap`, else the project's override, else the default by the model's name."""
    if option is not None:
        return Cap(check_cap(option), "--cap")
    if project is not None:
        return Cap(check_cap(project, "The project's fix_verify_retry_cap"), "the project's fix_verify_retry_cap")
    return default_fix_verify_cap(model, defaults)
