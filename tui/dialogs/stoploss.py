"""Sets StopLoss of one run: its mode, its threshold, or both."""

from __future__ import annotations

from runtime import commands as c
from runtime.errors import UsageError
from runtime.view.model import RunView
from tui import words
from tui.dialogs.form import Choice, Field, Form, Values

SENDER = "supervisor"
MODES = ("off", "watch", "ask", "abort")


def stoploss(view: RunView) -> Form:
    """What it says now, and what may be set; a threshold set by hand is nobody's calibration."""
    last = view.scores[-1] if view.scores else None
    mode = last.mode if last is not None else view.settings.stoploss if view.settings else words.UNKNOWN
    threshold = last.threshold if last is not None else None
    score = "No checkpoint was scored yet; the first is at tool step 5."
    if last is not None:
        score = f"{words.score(last.score)} at tool step {last.step}, threshold {words.score(threshold)}, mode {mode}."
    lines = [
        (score, "text"),
        ("A threshold lower than the calibrated one is yours, not a calibrated one: abort then asks.", "muted"),
    ]
    if last is not None and last.threshold is None:
        lines.append(("Without a calibration, ask and abort only watch (looptop stoploss calibrate).", "warn"))
    value = "" if threshold is None else f"{threshold:.2f}"

    def answer(choice: str, values: Values) -> c.SetStoploss:
        return command("" if choice == "set" else choice, values["threshold"] if values["threshold"] != value else "")

    choices = (Choice("set", "Set the threshold"), *(Choice(name, name.capitalize()) for name in MODES))
    return Form("StopLoss", tuple(lines), choices, answer, (Field("threshold", "Threshold, 0 to 1", value),))


def command(mode: str, threshold: str) -> c.SetStoploss:
    """The command for a mode, a threshold or both, as text. Raises UsageError."""
    if mode and mode not in MODES:
        raise UsageError(f"There is no StopLoss mode {mode!r}.", f"There are: {', '.join(MODES)}.")
    if not mode and not threshold.strip():
        raise UsageError("Say a threshold or a mode.")
    value = None
    if threshold.strip():
        try:
            value = float(threshold)
        except ValueError:
            raise UsageError(f"The threshold {threshold.strip()!r} isn't a number.") from None
        if not 0 <= value <= 1:
            raise UsageError("The threshold is a number from 0 to 1.")
    return c.command_from_dict({"command": "set_stoploss", "sender": SENDER, "mode": mode or None, "threshold": value})  # type: ignore[return-value]


def from_line(rest: str) -> c.SetStoploss:
    """The command of `set_stoploss MODE`, `set_stoploss THRESHOLD` or both. Raises UsageError."""
    parts = rest.split()
    if len(parts) > 2:
        raise UsageError(f"set_stoploss {rest}: too many words.", "Write :set_stoploss ask 0.8.")
    mode = next((part for part in parts if part[:1].isalpha()), "")
    numbers = [part for part in parts if part != mode]
    return command(mode, numbers[0] if numbers else "")
