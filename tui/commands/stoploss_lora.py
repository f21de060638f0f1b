"""`looptop stoploss train --lora`: an adapter for a served scorer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from runtime.errors import UsageError
from runtime.stoploss.labels import Label
from runtime.stoploss.splits import marks, share_of
from runtime.stoploss.training import examples
from runtime.stoploss.training_lora import LoraOptions, prepare, save_adapter, train_adapter
from tui.cli import echo_json
from tui.commands.stoploss_runs import runs_of


def train_lora(
    source: dict[str, Any], base: str, out: Path | None, share: float, options: LoraOptions, as_json: bool
) -> None:
    """Train an adapter on the windows of runs, and tell how to serve it. Raises LooptopError."""
    if out is None:
        raise UsageError("Where shall the adapter go?", "Name a folder with --out.")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder.", "Name another --out.")
    runs = share_of([run for run in runs_of(source).runs if run.succeeded is not None], share)
    made = examples(runs)
    rows: list[tuple[Any, Label]] = [(example.window, example.label) for example in made]
    lora = prepare(base, options)
    losses = train_adapter(lora, rows, options, lambda words: click.echo(words, err=True))
    save_adapter(lora, out, base, options, marks(runs))
    if as_json:
        echo_json({"path": str(out), "base": base, "windows": len(rows), "losses": losses})
        return
    click.echo(f"{out}: an adapter for {base}, trained on {len(rows)} windows of {len(runs)} runs")
    click.echo(
        f"serve it with: vllm serve {base} --enable-lora --lora-modules stoploss={out}; then --scorer served:stoploss"
    )
