"""`looptop stoploss`: train the embedded scorer, calibrate a threshold, evaluate policies on held-out runs, score a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def _options(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


PATHS = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
RESULTS = click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="Verdicts for runs that hold none: a JSON file of task to true or false.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="As one JSON document.")
PROJECT = click.option("--project", metavar="ID", help="Own runs of this project; default: that of --repo.")
REPO = click.option(
    "--repo", type=click.Path(path_type=Path), default=Path("."), help="The repository whose own runs are taken."
)
EXECUTOR = click.option("--executor", metavar="MODEL", help="Only runs of this model.")
URL = click.option("--base-url", metavar="URL", help="Where served scorers and judges answer.")
TARGET = click.option(
    "--target", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True
)
SOURCE = _options(PATHS, RESULTS, PROJECT, REPO, EXECUTOR)


@click.group()
def stoploss() -> None:
    """Know early that a run will fail, and know how often that is wrong.

    Runs come from files and folders (mini-swe-agent, SWE-agent, ATIF, Claude Code, looptop events, recorded runs as JSON lines),
    or, without any, from own history.
    """


@stoploss.command()
@SOURCE
@click.option(
    "--out", type=click.Path(path_type=Path), help="The weights file; default: stoploss.json in looptop's home."
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of tasks to train on; default: all of files, half of own.",
)
@click.option(
    "--family", type=click.Choice(["full", "window", "step"]), default="full", show_default=True, help="What it reads."
)
@click.option(
    "--lora",
    metavar="MODEL",
    help="Train an adapter for this base model instead (needs looptop[train]); --out is its folder.",
)
@click.option("--epochs", type=click.IntRange(1, 100), default=2, show_default=True, help="Of the adapter's training.")
@click.option(
    "--batch", type=click.IntRange(1, 256), default=4, show_default=True, help="Windows at once, of the adapter's."
)
@click.option("--rank", type=click.IntRange(1, 512), default=16, show_default=True, help="Rank of the adapter.")
@click.option(
    "--rate", type=click.FloatRange(0, min_open=True), default=2e-4, show_default=True, help="Its learning rate."
)
@JSON
def train(
    out: Path | None,
    share: float | None,
    family: str,
    lora: str | None,
    epochs: int,
    batch: int,
    rank: int,
    rate: float,
    as_json: bool,
    **source: Any,
) -> None:
    """Train the embedded scorer; the same runs give the same file, byte for byte."""
    if lora is not None:
        from runtime.stoploss.training_lora import LoraOptions
        from tui.commands.stoploss_lora import train_lora

        options = LoraOptions(rank=rank, alpha=2 * rank, rate=rate, epochs=epochs, batch=batch)
        train_lora(source, lora, out, share or 1.0, options, as_json)
        return
    from tui.commands.stoploss_work import train_weights

    train_weights(source, out, share, family, as_json)


@stoploss.command()
@SOURCE
@click.option(
    "--scorer", metavar="NAME", help="Default: what costs least per solve among what qualifies, else the step limit."
)
@TARGET
@URL
@JSON
def calibrate(scorer: str | None, target: float, base_url: str | None, as_json: bool, **source: Any) -> None:
    """Calibrate a threshold from successful runs, and keep it for runs of the same model and project."""
    from tui.commands.stoploss_calibrate import calibrate_threshold

    calibrate_threshold(source, scorer, target, base_url, as_json)


@stoploss.command()
@SOURCE
@click.option(
    "--scorer",
    "scorers",
    multiple=True,
    metavar="NAME",
    help="step-limit, embedded, trained, trained:window, trained:step, served:MODEL, judge:MODEL, A+B; may be repeated.",
)
@TARGET
@click.option("--max-false-abort", type=click.FloatRange(0, 1), default=0.10, show_default=True)
@click.option("--resamples", type=click.IntRange(100, 10_000), default=1_000, show_default=True, help="For intervals.")
@URL
@JSON
def evaluate(
    scorers: tuple[str, ...],
    target: float,
    max_false_abort: float,
    resamples: int,
    base_url: str | None,
    as_json: bool,
    **source: Any,
) -> None:
    """Measure scorers side by side, each group of runs held out in turn: ranking, false aborts, money, and what may abort."""
    from tui.commands.stoploss_work import evaluate_scorers

    evaluate_scorers(source, scorers, target, max_false_abort, resamples, base_url, as_json)


@stoploss.command()
@click.argument("what", metavar="RUN|FILE")
@click.option("--scorer", metavar="NAME", default="embedded", show_default=True)
@URL
@JSON
def score(what: str, scorer: str, base_url: str | None, as_json: bool) -> None:
    """Score a run, or the runs of a file, at every checkpoint."""
    from tui.commands.stoploss_work import score_runs

    score_runs(what, scorer, base_url, as_json)
