"""`looptop caps` and `looptop whatif` on own runs: curves, recommendations written down and kept for audit, other caps tried."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.curves.legs import Attempt, Ended, Leg
from runtime.events.base import Event
from runtime.events.loop import AttemptFinished, AttemptStarted, LegStarted, RunFinished
from runtime.events.values import StopReason
from runtime.workspace.repository import open_repository
from store.curves import finished_legs
from store.projects import project_update
from store.store import open_store
from support.cli import CommandLine, one_sentence
from support.curve_legs import COST, TOKENS, shaped
from support.seeded_store import seed
from support.store_runs import AT, queued

CLAUDE = shaped("claude-sonnet-5-5", (40, 14, 9, 0, 0), 12, "c")
QWEN = shaped("Qwen/Qwen3-Coder-30B", (20, 14, 12, 10, 9, 8, 0, 0), 7, "q")


@pytest.fixture
def seeded(looptop: CommandLine) -> CommandLine:
    """A home with finished runs of two families."""

    async def fill() -> None:
        async with open_store(looptop.home) as store:
            await seed(store, [*CLAUDE, *QWEN])

    asyncio.run(fill())
    return looptop


def test_the_store_gives_back_the_legs_that_were_run(seeded: CommandLine) -> None:
    async def read() -> list[Leg]:
        async with open_store(seeded.home) as store:
            return await finished_legs(store.database)

    found = asyncio.run(read())
    assert [(leg.model, leg.attempts, leg.ended) for leg in found] == [
        (leg.model, leg.attempts, leg.ended) for leg in [*CLAUDE, *QWEN]
    ]


def test_unpriced_calls_and_unfinished_attempts_are_told_apart(looptop: CommandLine) -> None:
    odd = Leg(
        "x", "m", (Attempt(False, TOKENS, None, 250), Attempt(True, TOKENS, COST)), Ended.PASSED, "syntax", "acme"
    )

    async def work() -> list[list[Leg]]:
        async with open_store(looptop.home) as store:
            await seed(store, [odd])
            every = await finished_legs(store.database, category="syntax", tenant="acme")
            return [every, await finished_legs(store.database, category="other")]

    (leg,), none = asyncio.run(work())
    assert (leg.attempts, leg.category, leg.tenant, none) == (odd.attempts, "syntax", "acme", [])


def test_caps_shows_each_familys_curve_and_recommendation(seeded: CommandLine) -> None:
    out = seeded("caps").out
    assert "claude: 75 runs, cap now 3 (default for claude*), recommended 3: attempt 4 passes in 0.0% of 12 runs" in out
    assert "qwen: 80 runs, cap now 6 (default for qwen*), recommended 6" in out
    assert f"spent on attempts after the recommended one: ${12 * 2 * COST / 1e6:.3f}" in out
    data = json.loads(seeded("caps", "--json").out)
    claude = next(one for one in data["curves"] if one["family"] == "claude")
    assert [point["at_risk"] for point in claude["points"]] == [75, 35, 21, 12, 12]
    assert (claude["cap_now"], claude["recommended"]["cap"]) == (3, 3)


def test_a_recommendation_is_written_down_once_and_kept_with_its_figures(seeded: CommandLine) -> None:
    seeded("config", "set", "caps.defaults.claude", "9")
    said = seeded("caps", "--apply", "claude")
    assert (said.code, said.err) == (0, "")
    assert "caps.defaults.claude = 3" in said.out
    assert "before 9 (caps.defaults for claude*)" in said.out
    assert "was 3 already" in seeded("caps", "--apply", "claude").out
    assert json.loads(seeded("config", "--json").out)["caps.defaults"]["value"] == {"claude": 3}

    async def audits() -> list[dict[str, object]]:
        async with open_store(seeded.home) as store:
            return [row.body for row in await store.calibrations.all("cap")]

    (kept,) = asyncio.run(audits())
    assert (kept["family"], kept["old"], kept["new"]) == ("claude", 9, 3)
    assert kept["by"]
    assert len(kept["points"]) == 5  # type: ignore[arg-type]


def test_a_prefix_in_other_letters_is_the_one_that_is_changed(seeded: CommandLine) -> None:
    seeded("config", "set", "caps.defaults.Claude", "9")
    assert "caps.defaults.Claude = 3" in seeded("caps", "--apply", "claude").out
    assert json.loads(seeded("config", "--json").out)["caps.defaults"]["value"] == {"Claude": 3}
    assert "claude: 75 runs, cap now 3" in seeded("caps").out


def test_a_recommendation_that_is_beaten_here_says_so(seeded: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPTOP_CAPS_DEFAULTS", "{claude = 8}")
    assert "here 8 stays in force" in seeded("caps", "--apply", "claude").out


def test_what_figures_were_narrowed_by_is_kept_with_them(looptop: CommandLine) -> None:
    narrow = [replace(leg, category="syntax") for leg in CLAUDE]

    async def fill_and_read(fill: bool) -> list[dict[str, object]]:
        async with open_store(looptop.home) as store:
            if fill:
                await seed(store, narrow)
            return [row.body for row in await store.calibrations.all("cap")]

    asyncio.run(fill_and_read(True))
    looptop("config", "set", "caps.defaults.claude", "9")
    looptop("caps", "--apply", "claude", "--category", "syntax")
    (kept,) = asyncio.run(fill_and_read(False))
    assert (kept["category"], "tenant" in kept) == ("syntax", False)


def test_caps_shows_the_override_of_the_store_and_since_when_a_default_is_on_trial(
    looptop: CommandLine, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo)

    async def work(cap: int | None) -> None:
        async with open_store(looptop.home) as store:
            if cap is None:
                await seed(store, shaped("mistral-large", (3, 1), 1, "m"))
            project = (await open_repository(repo)).project
            update = project_update({"fix_verify_retry_cap": cap})
            await store.projects.update(project, str(repo), update)

    asyncio.run(work(None))
    assert "on trial, since 2026-03-02, 5 runs" in looptop("caps", "mistral-large").out
    assert "on trial, no finished run yet" in looptop("caps", "gpt-5").out
    asyncio.run(work(7))
    (row,) = json.loads(looptop("caps", "claude-sonnet-5-5", "--json").out)["caps"]
    assert (row["cap"], row["from"]) == (7, "the project's fix_verify_retry_cap, in the store")


def test_legs_know_how_they_ended_and_what_came_before(looptop: CommandLine) -> None:
    sonnet, opus = "claude-sonnet-5-5", "claude-opus-5-5"
    events: list[Event] = [
        *(LegStarted(leg=1, model=sonnet, provider="anthropic", cap=3, cap_source="a test"),),
        *(AttemptStarted(attempt=1, leg=1, attempt_of_leg=1, model=sonnet), AttemptFinished(attempt=1, passed=False)),
        *(LegStarted(leg=2, model=opus, provider="anthropic", cap=1, cap_source="a test"),),
        *(AttemptStarted(attempt=2, leg=2, attempt_of_leg=1, model=opus), AttemptFinished(attempt=2, passed=False)),
    ]

    async def work() -> list[list[Leg]]:
        async with open_store(looptop.home) as store:
            for run, reason in (("a", StopReason.ABORTED), ("b", StopReason.COST_BUDGET), ("c", StopReason.GAVE_UP)):
                end = RunFinished(reason=reason, attempts=2, rounds=2, usage={})
                store.record.append(queued(run))
                for seq, event in enumerate([*events, end], 2):
                    store.record.append(event.stamped(run, seq, AT, seq))
            await store.record.flush()
            legs = await finished_legs(store.database)
            return [[leg for leg in legs if leg.run == run] for run in "abc"]

    runs = asyncio.run(work())
    # Aborted while it was held at its cap of 1; out of money; given up, which other limits wouldn't have changed.
    assert [second.ended for _, second in runs] == [Ended.CAP, Ended.BUDGET, Ended.OTHER]
    assert {first.ended for first, _ in runs} == {Ended.HANDED}
    assert all(second.before == (first.attempts,) and not first.before for first, second in runs)


def test_what_cannot_be_recommended_is_said(seeded: CommandLine) -> None:
    assert "no finished runs of a family 'gpt'" in one_sentence(seeded("caps", "--apply", "gpt"), 2)
    assert "There are: none." in one_sentence(seeded("caps", "--apply", "claude", "--category", "none"), 2)


def test_whatif_shows_waste_and_hand_offs(seeded: CommandLine) -> None:
    rows = json.loads(seeded("whatif", "--cap", "3", "--cap", "5", "--cap", "7", "--json").out)
    by = {(row["family"], row["limits"]["cap"]): row for row in rows}
    assert (by["claude", 3]["lost"], by["claude", 3]["saved_micros"]) == (0, 12 * 2 * COST)
    assert by["claude", 7]["vain_micros"] == 12 * 5 * COST
    # Claude's history ends at five attempts: what seven would have brought can't be told.
    assert (by["claude", 7]["untold"], by["claude", 7]["fixed_high"] - by["claude", 7]["fixed_low"]) == (12, 12)
    assert by["qwen", 3]["lost"] == 10 + 9 + 8
    assert by["qwen", 3]["handed_low"] == 10 + 9 + 8 + 7
    table = seeded("whatif", "--cap", "3").out.splitlines()
    assert table[0].split()[:2] == ["family", "cap"]
    assert len(table) == 3


def test_rows_can_be_parted_otherwise(seeded: CommandLine) -> None:
    def rows(by: str) -> list[dict[str, object]]:
        data: list[dict[str, object]] = json.loads(seeded("whatif", "--cap", "3", "--by", by, "--json").out)
        return data

    assert [row["model"] for row in rows("model")] == ["Qwen/Qwen3-Coder-30B", "claude-sonnet-5-5"]
    assert [(row["tenant"], row["legs"]) for row in rows("tenant")] == [("-", 155)]
    assert rows("family") == json.loads(seeded("whatif", "--cap", "3", "--json").out)
    assert "--by" in one_sentence(seeded("whatif", "--cap", "3", "--by", "moon"), 2)


def test_budgets_are_tried_likewise(seeded: CommandLine) -> None:
    (row, _) = json.loads(seeded("whatif", "--budget-usd", str(2 * COST / 1e6), "--json").out)
    assert row["lost"] + row["fixed_low"] == row["fixed_before"]
    assert row["lost"] > 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "nothing to try"),
        (("--cap", "0"), "must be from 1 to 20"),
        (("--cap", "21"), "must be from 1 to 20"),
        (("--budget-usd", "-1"), "must be more than 0"),
        (("--budget-usd", "nan"), "must be more than 0"),
        (("--budget-tokens", "0"), "must be more than 0"),
    ],
)
def test_nonsense_is_one_sentence(looptop: CommandLine, args: tuple[str, ...], words: str) -> None:
    assert words in one_sentence(looptop("whatif", *args), 2)
