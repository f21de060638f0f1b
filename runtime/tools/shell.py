"""Shell commands of the model, and the search tool, which is one."""

from __future__ import annotations

import time

from runtime.events.values import StepStatus
from runtime.process.run import Ending, ProcessResult, ProcessSpec, run_process, shell_argv
from runtime.text import plain, storable
from runtime.tools.base import OnOutput, ToolContext, ToolFault, ToolOutcome, clip
from runtime.tools.places import place, shown

MAX_TIMEOUT_S = 600.0
SEARCH_TIMEOUT_S = 20.0
SEARCH_LINES = 200


def shell_text(result: ProcessResult, timeout_s: float) -> str:
    """What a command's end looks like to the model: its output, then what is to be said of it."""
    body = plain(result.head + result.tail).rstrip("\n")
    if result.total_bytes > len(result.head.encode()) + len(result.tail.encode()) and result.tail:
        body = f"{plain(result.head)}\n[... output cut ...]\n{plain(result.tail)}".rstrip("\n")
    notes = {
        Ending.EXITED: "" if result.exit_code == 0 else f"exit code {result.exit_code}",
        Ending.TIMED_OUT: f"timed out after {timeout_s:g} s and was ended",
        Ending.OUTPUT_LIMIT: f"ended: it wrote more than {result.total_bytes - result.dropped_bytes:,} bytes",
        Ending.NOT_STARTED: f"could not start: {result.error}",
        Ending.CANCELLED: "interrupted",
    }
    note = notes[result.ending]
    if result.survivors:
        note += f"; {len(result.survivors)} of its processes could not be ended"
    parts = [clip(body) if body.strip() else "(no output)", f"[{note}]" if note else ""]
    return storable("\n".join(part for part in parts if part))


async def shell(
    ctx: ToolContext, on_output: OnOutput | None, command: str, timeout: float | None = None
) -> ToolOutcome:
    """Run a shell command in the workspace."""
    if not command.strip():
        raise ToolFault("The command is empty.")
    timeout_s = min(timeout or ctx.shell_timeout_s, MAX_TIMEOUT_S)
    spec = ProcessSpec(
        argv=shell_argv(storable(command)),
        cwd=ctx.workspace,
        env=ctx.env,
        timeout_s=timeout_s,
        run_id=ctx.run_id,
        output_path=ctx.outputs / f"step-{time.time_ns()}.txt",
        output_cap_bytes=ctx.output_cap_bytes,
        sandbox=ctx.sandbox,
        on_output=_shown_output(on_output),
    )
    result = await run_process(spec)
    status = {Ending.TIMED_OUT: StepStatus.TIMED_OUT, Ending.EXITED: StepStatus.OK}.get(
        result.ending, StepStatus.FAILED
    )
    if result.ending is Ending.EXITED and result.exit_code != 0:
        status = StepStatus.FAILED
    return ToolOutcome(status, shell_text(result, timeout_s), result.exit_code, result.wall_ms, result.dropped_bytes)


def _shown_output(on_output: OnOutput | None) -> OnOutput | None:
    if on_output is None:
        return None
    take = on_output

    def live(text: str) -> None:
        take(plain(text))

    return live


async def search(ctx: ToolContext, pattern: str, path: str = ".", glob: str | None = None) -> ToolOutcome:
    """Lines that match an extended regular expression, in files that git doesn't ignore."""
    real = place(ctx, path)
    where = shown(ctx, real)
    spec_paths = [f":(glob){'' if where == '.' else where + '/'}**/{glob}"] if glob else [where]
    result = await run_process(
        ProcessSpec(
            argv=[
                *("git", "-c", "core.fsmonitor=false", "grep", "--no-color", "--no-index", "--exclude-standard"),
                *("-n", "-I", "-E", "-e", storable(pattern), "--", *spec_paths),
            ],
            cwd=ctx.workspace,
            env={**ctx.env, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"},
            timeout_s=SEARCH_TIMEOUT_S,
            run_id=ctx.run_id,
            sandbox=ctx.sandbox,
        )
    )
    if result.ending is not Ending.EXITED or (result.exit_code or 0) > 1:
        raise ToolFault(f"The search failed: {clip(plain(result.head), 500).strip() or result.ending.value}")
    lines = [line[:400] for line in plain(result.head).splitlines()]
    if not lines:
        return ToolOutcome(StepStatus.OK, "(no match)", duration_ms=result.wall_ms)
    more = "" if len(lines) <= SEARCH_LINES and not result.tail else f"\n(first {min(len(lines), SEARCH_LINES)} shown)"
    return ToolOutcome(
        StepStatus.OK, clip(storable("\n".join(lines[:SEARCH_LINES]))) + more, duration_ms=result.wall_ms
    )
