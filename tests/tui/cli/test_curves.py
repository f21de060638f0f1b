"""`looptop caps` and `looptop whatif` on own runs: curves, recommendations written down and kept for audit, other caps tried."""

from __future__ import annotations

import asyncio
import json

import pytest

from runtime.curves.legs import Attempt, Ended, Leg
from store.curves import finished_legs
from store.store import open_store
from support.cli import CommandLine, one_sentence
from support.curve_legs import COST, TOKENS, shaped
from support.seeded_store import seed

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
