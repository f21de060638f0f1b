"""Settings in layers: defaults, the user's file, the project's looptop.toml, LOOPTOP_* variables, options. Each value knows its origin."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runtime.errors import UsageError

PROJECT_FILE = "looptop.toml"
Kind = Literal["text", "count", "number", "flag", "list", "table", "verify", "choice"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: what it holds, its bounds, its default."""

    key: str
    kind: Kind
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return "LOOPTOP_" + self.key.replace(".", "_").upper()


SETTINGS: dict[str, Setting] = {
    setting.key: setting
    for setting in (
        Setting("model", "text", None, "Model of a run; without one: Claude when its key is set, else local."),
        Setting("base_url", "text", None, "Where an OpenAI-compatible server answers."),
        Setting(
            "fix_verify_retry_cap", "count", None, "Retry cap of this project, instead of the default by model.", 1, 20
        ),
        Setting("caps.defaults", "table", {}, "Retry caps by prefix of the model's name; the longest prefix wins."),
        Setting("budget.tokens", "count", 1_000_000, "Tokens that a run may use; 0 is off.", 0),
        Setting("budget.usd", "number", 0.0, "Dollars that a run may cost; 0 is off.", 0),
        Setting("budget.minutes", "number", 0.0, "Minutes that a run may take, without waits; 0 is off.", 0),
        Setting(
            "budget.project_usd", "number", 0.0, "Dollars that all runs of a project may cost together; 0 is off.", 0
        ),
        Setting(
            "budget.tenant_usd", "number", 0.0, "Dollars that all runs of a tenant may cost together; 0 is off.", 0
        ),
        Setting("budget.day_usd", "number", 0.0, "Dollars that all runs of a UTC day may cost together; 0 is off.", 0),
        Setting("max_rounds", "count", 40, "Model calls of one attempt.", 1, 1000),
        Setting("max_output_tokens", "count", 16_384, "Output tokens of one call.", 1, 1_000_000),
        Setting("ttl", "choice", "5m", "Lifetime of cache entries.", choices=("5m", "1h")),
        Setting("recovery", "choice", "fixed:reflect", "What follows a failed attempt.", choices=("fixed:reflect",)),
        Setting("hold_on_cap", "flag", None, "Hold at the retry cap; by default in the dashboard only."),
        Setting("hold_on_budget", "flag", None, "Hold at a budget; by default in the dashboard only."),
        Setting("include_dirty", "flag", False, "Start from the uncommitted changes too."),
        Setting("allow_test_edits", "flag", False, "Let a change of tests or of their settings pass."),
        Setting("verify", "verify", None, "The verify steps: [[verify]] tables with command, name, timeout, setup."),
        Setting(
            "workspace.share", "list", None, "Ignored paths lent to workspaces; by default .venv and node_modules."
        ),
        Setting("workspace.copy", "list", [], "Ignored paths copied into workspaces."),
        Setting("workspace.setup", "list", [], "Commands that make a workspace ready, run once."),
        Setting(
            "prices", "table", {}, "Own prices by model: input, output, cache_read, ... in dollars per million tokens."
        ),
        Setting("transport.tries", "count", 5, "Tries of a model call.", 1, 20),
        Setting("transport.max_wait", "number", 900.0, "Seconds that a call may wait for its tries altogether.", 0),
        Setting("transport.silence", "number", 120.0, "Seconds without content after which a call is tried again.", 1),
        Setting("theme", "text", None, "The dashboard's theme."),
    )
}


@dataclass(frozen=True, slots=True)
class Value:
    """A setting's value and where it came from."""

    value: Any
    origin: str


def _wrong(setting: Setting, value: Any, where: str, wanted: str) -> UsageError:
    return UsageError(f"{where}: {setting.key} is {value!r}.", f"It must be {wanted}.")


def checked(setting: Setting, value: Any, where: str) -> Any:
    """A value of the right kind and within bounds. Raises UsageError with place, value and what is wanted."""
    kind = setting.kind
    if kind in ("count", "number"):
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not fits or (kind == "count" and value != int(value)):
            raise _wrong(setting, value, where, "a whole number" if kind == "count" else "a number")
        low, high = setting.low, setting.high
        if (low is not None and value < low) or (high is not None and value > high):
            bounds = f"from {low:g} to {high:g}" if high is not None and low is not None else f"at least {low:g}"
            raise _wrong(setting, value, where, bounds)
        return int(value) if kind == "count" else float(value)
    if kind == "flag" and not isinstance(value, bool):
        raise _wrong(setting, value, where, "true or false")
    if kind in ("text", "choice") and (not isinstance(value, str) or not value.strip()):
        raise _wrong(setting, value, where, "a text that isn't empty")
    if kind == "choice" and value not in setting.choices:
        raise _wrong(setting, value, where, f"one of {', '.join(setting.choices)}")
    if kind == "list" and not (isinstance(value, list) and all(isinstance(item, str) and item for item in value)):
        raise _wrong(setting, value, where, "a list of texts")
    if kind == "table" and not isinstance(value, dict):
        raise _wrong(setting, value, where, "a table")
    if setting.key == "caps.defaults":
        cap = SETTINGS["fix_verify_retry_cap"]
        return {
            str(prefix): checked(cap, number, f"{where}: caps.defaults.{prefix}") for prefix, number in value.items()
        }
    return _verify(setting, value, where) if kind == "verify" else value


def _verify(setting: Setting, value: Any, where: str) -> list[dict[str, Any]]:
    if isinstance(value, str):
        value = [{"command": value}]
    if not isinstance(value, list) or not value:
        raise _wrong(setting, value, where, "a list of [[verify]] tables")
    kinds: dict[str, type | tuple[type, ...]] = {"command": str, "name": str, "timeout": (int, float), "setup": bool}
    for step in value:
        if not isinstance(step, dict) or not isinstance(step.get("command"), str) or not step["command"].strip():
            raise UsageError(f"{where}: a [[verify]] step has no command.", 'Write command = "python -m pytest -q".')
        for name, item in step.items():
            if name not in kinds:
                raise UsageError(f"{where}: [[verify]] has no key {name!r}.", f"It has: {', '.join(kinds)}.")
            if not isinstance(item, kinds[name]) or (name == "timeout" and (isinstance(item, bool) or item <= 0)):
                raise UsageError(f"{where}: [[verify]] {name} is {item!r}.", "See `looptop config`.")
    return value


def value_from_text(setting: Setting, text: str, where: str) -> Any:
    """An environment variable's text as a value."""
    if setting.kind in ("text", "choice", "verify"):
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        if setting.kind == "flag" and text.lower() in ("1", "yes", "on", "0", "no", "off"):
            return text.lower() in ("1", "yes", "on")
        raise UsageError(
            f"{where} is {text!r}, which can't be read as a value.", "Write it as in a TOML file."
        ) from None


def read_file(path: Path, *, must_exist: bool = False) -> dict[str, Any]:
    """Settings of a TOML file, flat by key and checked. Raises UsageError with file, place and what is wrong."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        if must_exist:
            raise UsageError(f"There is no configuration file {path}.") from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"The configuration {path} can't be read: {reason}.") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"The configuration {path} is not TOML: {error}.") from error
    return {key: checked(SETTINGS[key], value, str(path)) for key, value in _flat(data, str(path)).items()}


def _flat(data: Mapping[str, Any], where: str, prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        key = f"{prefix}{name}"
        if key in SETTINGS:
            found[key] = value
        elif isinstance(value, dict) and any(known.startswith(f"{key}.") for known in SETTINGS):
            found |= _flat(value, where, f"{key}.")
        else:
            raise UsageError(f"{where} has the key {key!r}, which is not known.", suggestion(key))
    return found


def suggestion(key: str) -> str:
    """What somebody may have meant by a key."""
    near = difflib.get_close_matches(key, SETTINGS, n=1)
    return f"Did you mean {near[0]!r}?" if near else "`looptop config` lists all keys."


class Settings:
    """All settings in force, each with its origin."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> Any:
        """A setting's value."""
        return self._values[key].value

    def items(self) -> list[tuple[str, Value]]:
        """Every setting with its value and origin, in the order of their definition."""
        return [(key, self._values[key]) for key in SETTINGS]


def load_settings(
    user_file: Path, root: Path | None, env: Mapping[str, str], options: Mapping[str, Any] | None = None
) -> Settings:
    """Lay all layers over each other; later ones win. Raises UsageError for the first value that is wrong."""
    values = {key: Value(setting.default, "default") for key, setting in SETTINGS.items()}
    files = [user_file] if root is None else [user_file, root / PROJECT_FILE]
    for path in files:
        for key, value in read_file(path).items():
            values[key] = Value(value, str(path))
    for key, setting in SETTINGS.items():
        text = env.get(setting.variable)
        if text:
            parsed = value_from_text(setting, text, setting.variable)
            values[key] = Value(checked(setting, parsed, setting.variable), setting.variable)
    for key, value in (options or {}).items():
        if value is not None:
            values[key] = Value(checked(SETTINGS[key], value, f"--{key}"), "option")
    return Settings(values)
