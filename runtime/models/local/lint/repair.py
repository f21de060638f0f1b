"""Repairs lint and type findings on a copy: mechanical fixes in rounds, each kept only where the tools then find less and nothing new."""

from __future__ import annotations

import asyncio
import difflib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from runtime.models.local import editable
from runtime.models.local.candidate import Candidate
from runtime.models.local.confirm import Confirmer
from runtime.models.local.explain import plural
from runtime.models.local.lint import imports, types
from runtime.models.local.lint.steps import Finding, LintStep, kinds, read_findings
from runtime.models.local.outcome import GaveUp, Job, Patch, Progress
from runtime.models.local.scratch import copy_workspace
from runtime.models.local.source import Edit, SourceFile, Unreadable, apply_edits, read_source
from runtime.process.run import Ending, ProcessSpec, run_process, shell_argv

ROUNDS = 3
SHOWN = 5
OPERATOR = "mechanical fix"
Texts = dict[str, str]


class LintRepair:
    """Works on one state of a workspace; `patch` makes one proposal out of everything that helps."""

    def __init__(self, job: Job, steps: Sequence[LintStep]) -> None:
        self._job = job
        self._steps = steps
        self._tried = 0
        self._began = time.monotonic()
        self._tree = job.scratch
        self._first: Texts = {}

    async def patch(
        self,
        refused: Callable[[Candidate, Mapping[str, SourceFile]], bool],
        progress: Callable[[Progress], None],
    ) -> Patch | GaveUp:
        """Fix what has a mechanical fix. Raises CannotHelp where the workspace can't be copied."""
        self._tree = await asyncio.to_thread(copy_workspace, self._job.workspace, self._job.scratch / "lint")
        self._first = await asyncio.to_thread(self._read)
        before = await self._findings()
        if not before:
            return self._gave_up("the lint and type checks name no finding that could be read", [])
        progress(Progress(f"{plural(len(before), 'lint or type finding')}. Trying mechanical fixes."))
        left = before
        for _ in range(ROUNDS):
            better = await self._round(left)
            if len(better) >= len(left):
                break
            left = better
            if not left or self._over:
                break
        candidate, sources = self._candidate()
        if candidate is None or len(left) >= len(before):
            return self._gave_up("no finding has a mechanical fix", left)
        if refused(candidate, sources):
            return self._gave_up("the mechanical fixes were tried already", left)
        return await self._checked(candidate, sources, before, left)

    async def _checked(
        self, candidate: Candidate, sources: Mapping[str, SourceFile], before: list[Finding], left: list[Finding]
    ) -> Patch | GaveUp:
        """Run every verify step with the candidate, the tests too."""
        job = self._job
        confirmer = Confirmer(job.workspace, job.scratch, job.env, job.run_id, job.steps, sources)
        linters = {step.spec.command for step in self._steps}
        harmed = await confirmer.spoiled(candidate, [s for s in job.steps if s.command not in linters])
        if harmed:
            return self._gave_up(f"the mechanical fixes make `{harmed}` fail", left)
        whole = not left and await confirmer.holds(candidate)
        mended = len(before) - len(left)
        return Patch(candidate, sources, mended, len(before), whole, self._tried, self._seconds, "finding")

    async def _round(self, left: list[Finding]) -> list[Finding]:
        """Imports, guards and annotations, all at once or else each alone; then the tools' own safe fixes."""
        options = self._options(left)
        if options:
            left, kept = await self._keep([found[0] for found in options], left)
            for found in [] if kept else options:
                for edit in found:
                    left, kept = await self._keep([edit], left)
                    if kept or self._over:
                        break
        for step in self._steps:
            if step.fixing is not None and left:
                left = await self._tool_fixes(step, left)
        return left

    def _options(self, left: Sequence[Finding]) -> list[list[Edit]]:
        """The edits that may settle each finding, from the end of each file to its beginning: places before an edit stay right."""
        sources = self._sources({finding.path for finding in left})
        everything = self._sources(self._first)
        found: list[list[Edit]] = []
        for finding in left:
            source = sources.get(finding.path)
            edits = [] if source is None else list(_options(source, finding, everything))
            if edits and edits[0] not in (known[0] for known in found):
                found.append(edits)
        return sorted(found, key=lambda edits: (edits[0].path, -edits[0].start))

    async def _keep(self, edits: Sequence[Edit], left: list[Finding]) -> tuple[list[Finding], bool]:
        """Make edits, and take them back where they don't help; whether they were kept."""
        made = _grouped(edits)
        before = {path: self._text(path) for path in made}
        for path, own in made.items():
            self._write(path, apply_edits(before[path], tuple(own)))
        now = await self._judge(before, left)
        return now, now is not left

    async def _tool_fixes(self, step: LintStep, left: list[Finding]) -> list[Finding]:
        kept = await asyncio.to_thread(self._read)
        await self._run(step.fixing or "", step)
        now = await asyncio.to_thread(self._read)
        changed = {path: text for path, text in kept.items() if now.get(path) != text}
        for path in [path for path in changed if not self._may_edit(path)]:
            self._write(path, changed.pop(path))
        return await self._judge(changed, left) if changed else left

    async def _judge(self, kept: Mapping[str, str], left: list[Finding]) -> list[Finding]:
        """Keep the files as they are now, or put them back where that doesn't settle anything or brings something new."""
        self._tried += 1
        now = await self._findings()
        # A fix of one thing may leave work for the tools' own fixes, such as the order of imports.
        new = {kind for kind in kinds(now) - kinds(left) if kind[1] not in ("I001", "format")}
        if not new and len(now) <= len(left) and kinds(now) != kinds(left):
            return now
        for path, text in kept.items():
            self._write(path, text)
        return left

    async def _findings(self) -> list[Finding]:
        found: list[Finding] = []
        for step in self._steps:
            found += read_findings(step.tool, await self._run(step.telling, step))
        return found

    async def _run(self, command: str, step: LintStep) -> str:
        env = {**self._job.env, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", "RUFF_NO_CACHE": "true"}
        env.pop("FORCE_COLOR", None)
        spec = ProcessSpec(shell_argv(command), self._tree, env, step.spec.timeout_s, self._job.run_id)
        result = await run_process(spec)
        return result.head + result.tail if result.ending is Ending.EXITED else ""

    def _may_edit(self, path: str) -> bool:
        return path.endswith(".py") and not editable.is_test(path, ()) and not editable.is_settings(path)

    def _sources(self, paths: Iterable[str]) -> dict[str, SourceFile]:
        found = {}
        for path in sorted(paths):
            try:
                if self._may_edit(path):
                    found[path] = read_source(self._tree, path)
            except (Unreadable, OSError):
                continue
        return found

    def _read(self) -> Texts:
        """Every Python file and notebook of the copy."""
        found = {}
        for pattern in ("*.py", "*.pyi", "*.ipynb"):
            for place in self._tree.rglob(pattern):
                relative = str(place.relative_to(self._tree))
                if not place.is_symlink() and "site-packages" not in relative and place.is_file():
                    found[relative] = place.read_bytes().decode("utf-8", "surrogateescape")
        return found

    def _text(self, path: str) -> str:
        return (self._tree / path).read_bytes().decode("utf-8", "surrogateescape")

    def _write(self, path: str, text: str) -> None:
        (self._tree / path).write_bytes(text.encode("utf-8", "surrogateescape"))

    def _candidate(self) -> tuple[Candidate | None, dict[str, SourceFile]]:
        """All that was changed, as edits of whole lines of the files as they were."""
        edits: list[Edit] = []
        sources: dict[str, SourceFile] = {}
        for path, old in sorted(self._first.items()):
            new = self._text(path)
            if new != old and self._may_edit(path):
                sources[path] = SourceFile(path, old)
                edits += line_edits(path, old, new)
        line = sources[edits[0].path].line_of(edits[0].start) if edits else 0
        return (Candidate(tuple(edits), OPERATOR, 1.0, line) if edits else None), sources

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def _over(self) -> bool:
        return self._seconds >= self._job.limits.seconds

    def _gave_up(self, why: str, left: Sequence[Finding]) -> GaveUp:
        shown = "; ".join(f"{f.path}:{f.line} {f.code} {f.words}".strip() for f in left[:SHOWN])
        return GaveUp(why, self._tried, self._seconds, shown)


def _options(source: SourceFile, finding: Finding, others: Mapping[str, SourceFile]) -> Iterator[Edit]:
    name = imports.undefined(finding.words)
    if name is not None:
        statement = imports.statement_for(name, source, others)
        if statement is not None:
            yield imports.insertion(source, statement)
    elif finding.code not in ("format", ""):
        yield from types.fixes(source, finding)


def _grouped(edits: Sequence[Edit]) -> dict[str, list[Edit]]:
    found: dict[str, list[Edit]] = {}
    for edit in edits:
        made = found.setdefault(edit.path, [])
        if not any(e.start < edit.end and edit.start < e.end for e in made):
            made.append(edit)
    return found


def line_edits(path: str, old: str, new: str) -> list[Edit]:
    """The difference of two texts as edits of whole lines."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        Edit(path, starts[i1], starts[i2], "".join(after[j1:j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]
