"""What the model reads of a failed verify phase: findings first, then head and tail of what was printed."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.events.values import Verdict
from runtime.verify.steps import StepResult, step_name

LIMIT = 12_000
LISTED_FINDINGS = 40


def _listed(result: StepResult) -> str:
    real = [finding for finding in result.findings if finding.kind != "step"]
    lines = [
        f"- {finding.id}" + (f": {finding.message}" if finding.kind == "test" and finding.message else "")
        for finding in real
    ]
    more = (result.findings_total or len(real)) - LISTED_FINDINGS
    if more > 0:
        lines = [*lines[:LISTED_FINDINGS], f"- and {more} more"]
    return "\n".join(lines)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit // 3
    tail = limit - head
    note = f"\n[... {limit:,} of {len(text):,} characters shown ...]\n"
    return f"{text[:head]}{note}{text[-tail:]}"


def excerpt(results: Sequence[StepResult], limit: int = LIMIT) -> str:
    """At most about `limit` characters over all failed steps; every cut says how much is shown."""
    failed = [result for result in results if result.verdict is not Verdict.PASSED]
    if not failed:
        return ""
    share = limit // len(failed)
    parts = []
    for result in failed:
        code = f", exit code {result.exit_code}" if result.exit_code is not None else ""
        head = f"$ {result.spec.command}\n{result.verdict.value}{code}: {result.summary}"
        listed = _cut(_listed(result), share // 3)
        room = max(200, share - len(head) - len(listed) - 80)
        body = _cut(result.text.strip("\n"), room) or "(no output)"
        parts.append("\n".join(part for part in (head, listed, body) if part))
    skipped = [step_name(result.spec) for result in failed if result.spec.setup]
    if skipped:
        parts.append("The set-up step failed, so the steps after it did not run.")
    return "\n\n".join(parts)
