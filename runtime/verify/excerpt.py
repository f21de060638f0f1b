"""What the model reads of a failed verify phase: findings first, then head and tail of what was printed."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.events.values import Verdict
from runtime.text import one_line
from runtime.verify.steps import StepResult

LIMIT = 12_000
"""Characters over all steps."""
LISTED_FINDINGS = 40
COMMAND_CHARACTERS = 300
_NOTE_ROOM = 80
_SETUP = "The set-up step failed, so the steps after it did not run."


def excerpt(results: Sequence[StepResult], limit: int = LIMIT) -> str:
    """At most `limit` characters over all failed steps, shared out so that none lacks what another doesn't need.

    Every cut says how much is shown.
    """
    failed = [result for result in results if result.verdict is not Verdict.PASSED]
    if not failed:
        return ""
    end = f"\n\n{_SETUP}" if any(result.spec.setup for result in failed) else ""
    room = limit - len(end) - 2 * (len(failed) - 1)
    parts: dict[int, str] = {}
    # Short ones first: what they leave over goes to the long ones.
    order = sorted(range(len(failed)), key=lambda index: len(failed[index].text))
    for done, index in enumerate(order):
        parts[index] = _of_step(failed[index], room // (len(order) - done))
        room -= len(parts[index])
    return ("\n\n".join(parts[index] for index in range(len(failed))) + end)[:limit]


def _of_step(result: StepResult, room: int) -> str:
    code = f", exit code {result.exit_code}" if result.exit_code is not None else ""
    command = one_line(result.spec.command, COMMAND_CHARACTERS)
    head = f"$ {command}\n{result.verdict.value}{code}: {one_line(result.summary, COMMAND_CHARACTERS)}"
    listed = _listed(result, room // 3)
    lines = [head, listed] if listed else [head]
    left = room - sum(map(len, lines)) - len(lines)
    if left > _NOTE_ROOM:
        lines.append(_cut(result.text.strip("\n"), left, result.output_bytes) or "(no output)")
    return "\n".join(lines)[:room]


def _listed(result: StepResult, room: int) -> str:
    """A line for each finding, as many as there is room for, and how many more there are."""
    real = [finding for finding in result.findings if finding.kind != "step"]
    lines: list[str] = []
    used = 0
    for finding in real[:LISTED_FINDINGS]:
        said = finding.message if finding.kind == "test" else ""
        place = f" (line {finding.line})" if finding.line is not None and finding.kind != "test" else ""
        line = f"- {finding.id}{place}" + (f": {said}" if said else "")
        used += len(line) + 1
        if used > room - _NOTE_ROOM:
            break
        lines.append(line)
    more = (result.findings_total or len(real)) - len(lines)
    if more > 0:
        lines.append(f"- and {more:,} more" if lines else f"{more:,} findings")
    return "\n".join(lines)


def _cut(text: str, room: int, output_bytes: int) -> str:
    """Head and tail of a text that is too long, a third and two thirds, and between them how much is shown."""
    if len(text) <= room:
        return text
    total = max(len(text), output_bytes) if len(text) < output_bytes // 2 else len(text)
    shown = room - _NOTE_ROOM
    head = shown // 3
    note = f"\n[... {shown:,} of {total:,} characters shown ...]\n"
    return f"{text[:head]}{note}{text[-(shown - head) :]}"
