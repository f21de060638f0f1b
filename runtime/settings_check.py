"""Checks of setting values: kind and bounds, told with the place, the value and what is wanted."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Mapping
from typing import Any

from runtime.errors import UsageError
from runtime.settings_keys import DAY_S, SETTINGS, Setting

SHOWN = 80
OTHER_VARIABLES = frozenset({"LOOPTOP_HOME", "LOOPTOP_CONFIG", "LOOPTOP_RUN", "LOOPTOP_STEP"})
RATE = Setting("prices", "number", None, "", 0, 1_000_000)
"""Bounds of one rate, in dollars."""
CATEGORY_KEYS = ("model", "escalate_to")
VERIFY_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "command": str,
    "name": str,
    "timeout": (int, float),
    "setup": bool,
}


def shown(value: Any) -> str:
    """A value in an error's words, cut where it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}\u2026"


def wrong(subject: str, value: Any, wanted: str) -> UsageError:
    """The error for a value. `subject` names setting and place."""
    return UsageError(f"{subject} is {shown(value)}.", f"It must be {wanted}.")


def checked(setting: Setting, value: Any, subject: str) -> Any:
    """A value of the right kind and within bounds. Raises UsageError."""
    match setting.kind:
        case "count" | "number":
            return _number(setting, value, subject)
        case "flag" if not isinstance(value, bool):
            raise wrong(subject, value, "true or false")
        case "text" | "choice" if not isinstance(value, str) or not value.strip():
            raise wrong(subject, value, "a text that isn't empty")
        case "choice" if value not in setting.choices:
            raise wrong(subject, value, f"one of {', '.join(setting.choices)}")
        case "list" if not (isinstance(value, list) and all(isinstance(item, str) and item.strip() for item in value)):
            raise wrong(subject, value, "a list of texts")
        case "table":
            return _table(setting, value, subject)
        case "verify":
            return _verify(value, subject)
    return value


def _number(setting: Setting, value: Any, subject: str) -> int | float:
    whole = setting.kind == "count"
    # A whole number may be too large for a float, so its bounds come before any conversion.
    fits = not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    )
    if not fits or (whole and isinstance(value, float) and not value.is_integer()):
        raise wrong(subject, value, "a whole number" if whole else "a number")
    low, high = setting.low, setting.high
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f"at least {low:g}" if low is not None and value < low else f"at most {high:,.0f}"
        if setting.key == "fix_verify_retry_cap":
            bounds = f"from {low:g} to {high:g}"
        raise wrong(subject, value, bounds)
    return int(value) if whole else float(value)


def _table(setting: Setting, value: Any, subject: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong(subject, value, "a table")
    found: dict[str, Any] = {}
    for name, item in value.items():
        inner = f"{subject}.{name}"
        if setting.key == "caps.defaults":
            found[name] = _number(SETTINGS["fix_verify_retry_cap"], item, inner)
        elif setting.key == "categories":
            found[name] = _category(item, inner)
        else:
            found[name] = _rates(item, inner)
    return found


def _category(value: Any, subject: str) -> dict[str, str]:
    """What a category of tasks is run with."""
    if not isinstance(value, dict) or not value:
        raise wrong(subject, value, 'a table such as { model = "claude-haiku-5-5" }')
    for name, item in value.items():
        if name not in CATEGORY_KEYS:
            raise UsageError(
                f"{subject} has the key {shown(name)}, which is not known.", f"It has: {', '.join(CATEGORY_KEYS)}."
            )
        checked(SETTINGS["model"], item, f"{subject}.{name}")
    return value


def _rates(value: Any, subject: str) -> dict[str, Any]:
    """One model's prices. Only who has prices of their own loads what checks them."""
    from runtime.catalog.rates import rates_from

    if not isinstance(value, dict):
        raise wrong(subject, value, "a table such as { input = 0.10, output = 0.40 }")
    for name, rate in value.items():
        _number(RATE, rate, f"{subject}.{name}")
    rates_from(value, subject)
    return value


def _verify(value: Any, subject: str) -> list[dict[str, Any]]:
    if isinstance(value, str):
        value = [{"command": value}]
    if not isinstance(value, list) or not value:
        raise wrong(subject, value, "a list of [[verify]] tables")
    for number, step in enumerate(value, 1):
        where = f"{subject} step {number}"
        if not isinstance(step, dict) or not isinstance(step.get("command"), str) or not step["command"].strip():
            raise UsageError(f"{where} has no command.", 'Write command = "python -m pytest -q".')
        for name, item in step.items():
            if name not in VERIFY_KEYS:
                near = difflib.get_close_matches(name, VERIFY_KEYS, n=1)
                meant = f"Did you mean {near[0]!r}?" if near else f"It has: {', '.join(VERIFY_KEYS)}."
                raise UsageError(f"{where} has the key {shown(name)}, which is not known.", meant)
            if not isinstance(item, VERIFY_KEYS[name]):
                raise wrong(f"{where}: {name}", item, "true or false" if name == "setup" else "of another kind")
        timeout = step.get("timeout", 1)
        if isinstance(timeout, bool) or not 0 < timeout <= 7 * DAY_S:
            raise wrong(f"{where}: timeout", timeout, "in seconds, more than 0 and at most 7 days")
    return value


def value_from_text(setting: Setting, text: str, subject: str) -> Any:
    """The text of an environment variable or an argument as a value, not yet checked. Raises UsageError."""
    if setting.kind in ("text", "choice", "verify"):
        return text
    word = text.strip().lower()
    if setting.kind == "flag" and word in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        return word in ("1", "true", "yes", "on")
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        wanted = {
            "flag": "true or false",
            "count": "a whole number",
            "number": "a number",
            "list": 'a list like [".venv", "data"]',
            "table": "a table like { qwen = 8 }",
        }[setting.kind]
        raise wrong(subject, text, wanted) from None


def suggestion(key: str) -> str:
    """What somebody may have meant by a key."""
    near = difflib.get_close_matches(key, SETTINGS, n=1)
    return f"Did you mean {near[0]!r}?" if near else "`looptop config` lists all keys."


def check_variables(env: Mapping[str, str]) -> None:
    """Raise UsageError for a variable that is nearly a setting's: a limit that is misspelt must not be silently off."""
    known = {setting.variable for setting in SETTINGS.values()} | OTHER_VARIABLES
    for name in env:
        if name.startswith("LOOPTOP_") and name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
            if near:
                raise UsageError(f"The variable {name} is not a setting.", f"Did you mean {near[0]}?")
