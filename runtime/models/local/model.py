"""The engine as a model: it reads the transcript, proposes one edit through the tools, and says what it did and what to doubt."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from runtime.events.values import VerifySpec
from runtime.models.base import Block, Message, Piece, Reply, Request, Stop, Text, TextPiece, ToolCall, ToolResult
from runtime.models.local.candidate import Candidate
from runtime.models.local.explain import change_words, plural, warnings
from runtime.models.local.outcome import GaveUp, Job, Patch, Progress
from runtime.models.local.proposal import Proposal, Replacement, proposals, replacements, signature, taken_back
from runtime.models.local.session import RepairSession
from runtime.models.local.source import SourceFile
from runtime.usage import FREE

WHOLE = "the verify commands passed with it in a fresh process"
BEST = "the best of what was tried"
_FAILED_ID = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class Context(Protocol):
    """What the model needs to know of its run."""

    @property
    def workspace(self) -> Path: ...
    @property
    def verify(self) -> tuple[VerifySpec, ...]: ...
    @property
    def scratch(self) -> Path: ...
    @property
    def env(self) -> Mapping[str, str]: ...
    @property
    def run_id(self) -> str: ...


class LocalModel:
    """The embedded model. Everything it knows between rounds stands in the transcript and in the workspace."""

    provider = "local"
    name = "local"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._job = Job(context.workspace, context.verify, context.scratch / "local", context.env, context.run_id)
        self._tasks: set[asyncio.Task[Patch | GaveUp]] = set()

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """One round: an edit to propose, or the words after it was made."""
        began = time.monotonic()
        turn = _Turn(request, began)
        if turn.edit_made:
            async for piece in turn.say(_closing(turn.proposals[-1], request.messages)):
                yield piece
            yield turn.reply(Stop.END_TURN)
            return
        undo = self._undo(turn.proposals)
        workspace = self._context.workspace
        with_undo = _Reverted(workspace, undo)
        news: asyncio.Queue[Progress | None] = asyncio.Queue()
        task = asyncio.create_task(self._search(turn, with_undo, news), name="local-repair")
        self._tasks.add(task)
        try:
            while (item := await news.get()) is not None:
                async for piece in turn.say(item.words + "\n"):
                    yield piece
            outcome = await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self._tasks.discard(task)
        if isinstance(outcome, GaveUp):
            words = gave_up_words(outcome)
            async for piece in turn.say(f"GIVE UP: {words}"):
                yield piece
            yield turn.reply(Stop.END_TURN, gave_up=words)
            return
        async for piece in turn.say(patch_words(outcome)):
            yield piece
        yield turn.reply(Stop.TOOL_USE, calls=_calls(turn, undo, outcome))

    async def _search(self, turn: _Turn, view: _Reverted, news: asyncio.Queue[Progress | None]) -> Patch | GaveUp:
        refused = {signature(p.parts) for p in turn.proposals}

        def is_refused(candidate: Candidate, sources: Mapping[str, SourceFile]) -> bool:
            return bool(refused) and signature(replacements(candidate, sources)) in refused

        try:
            job = replace(self._job, workspace=await asyncio.to_thread(view.folder, self._job.scratch))
            known = frozenset(_FAILED_ID.findall(turn.last_words))
            return await RepairSession(job).next_patch(is_refused, news.put_nowait, known)
        finally:
            await asyncio.to_thread(view.clear)
            news.put_nowait(None)

    def _undo(self, made: Sequence[Proposal]) -> tuple[Replacement, ...]:
        """Calls that take back the last proposal, where it was meant to be complete and its verify failed all the same."""
        if not made or not made[-1].applied or not made[-1].whole:
            return ()
        return taken_back(made[-1])

    async def close(self) -> None:
        """End what is running and remove the scratch copies."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(shutil.rmtree, self._job.scratch, True)


class _Turn:
    """One round's view of the transcript, and the words of the reply as they grow."""

    def __init__(self, request: Request, began: float) -> None:
        self._request = request
        self._began = began
        self._text = ""
        self.proposals = proposals(request.messages, WHOLE)
        last = request.messages[-1] if request.messages else Message(role="user", blocks=())
        self.last_words = "\n".join(b.text for b in last.blocks if isinstance(b, Text))
        results = [b for b in last.blocks if isinstance(b, ToolResult)]
        said = [b for b in last.blocks if isinstance(b, Text)]
        self.edit_made = bool(results) and not said and not any(r.is_error for r in results)
        self.number = sum(1 for m in request.messages if m.role == "assistant") + 1

    async def say(self, text: str) -> AsyncGenerator[Piece, None]:
        """Stream text."""
        self._text += text
        yield TextPiece(text=text)

    def reply(self, stop: Stop, calls: Sequence[ToolCall] = (), gave_up: str = "") -> Reply:
        """The whole reply; it has no tokens and costs nothing, which is known."""
        blocks: list[Block] = [Text(text=self._text)] if self._text.strip() else []
        return Reply(
            message=Message(role="assistant", blocks=(*blocks, *calls)),
            stop=stop,
            usage=FREE,
            model="local",
            gave_up=gave_up,
            latency_ms=int((time.monotonic() - self._began) * 1000),
            cost_micros=0,
        )


class _Reverted:
    """The workspace as it would be with the last proposal taken back, without touching it."""

    def __init__(self, workspace: Path, undo: Sequence[Replacement]) -> None:
        self._workspace = workspace
        self._undo = undo
        self._made: Path | None = None

    def folder(self, scratch: Path) -> Path:
        """A folder to search in: the workspace itself where nothing is taken back."""
        if not self._undo:
            return self._workspace
        from runtime.models.local.scratch import copy_workspace

        self._made = copy_workspace(self._workspace, scratch / "before")
        for part in self._undo:
            place = self._made / part.path
            text = place.read_bytes().decode("utf-8")
            place.write_bytes(text.replace(part.old, part.new, 1).encode("utf-8"))
        return self._made

    def clear(self) -> None:
        """Remove the copy."""
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)


def _calls(turn: _Turn, undo: Sequence[Replacement], patch: Patch) -> list[ToolCall]:
    calls = [("undo", part) for part in undo]
    calls += [("edit", part) for part in replacements(patch.candidate, patch.sources)]
    return [
        ToolCall(id=f"{kind}_{turn.number}_{at}", name="edit_file", arguments=part.arguments)
        for at, (kind, part) in enumerate(calls, 1)
    ]


def patch_words(patch: Patch) -> str:
    """The sentence a reviewer can check."""
    words = change_words(patch.candidate, patch.sources)
    tests = plural(patch.failing, patch.goal)
    verb = "satisfies" if patch.goal == "failing test" else "settles"
    satisfied = f"{verb} {tests}" if patch.mended == patch.failing else f"{verb} {patch.mended} of {tests}"
    parts = [
        f"{words[:1].upper()}{words[1:]}; {satisfied}; {plural(patch.tried, 'candidate')} tried in {patch.seconds:.1f} s."
    ]
    parts.append(
        f"Checked: {WHOLE}." if patch.whole else f"It breaks none and is {BEST}; the rest needs a further edit."
    )
    if patch.goal == "failing test":
        parts += warnings(patch.candidate, patch.mended, patch.failing)
    return " ".join(parts)


def _closing(proposal: Proposal, messages: Sequence[Message]) -> str:
    """The turn's last words: the sentence of the proposal, once the edit is made."""
    for message in reversed(messages):
        if message.role == "assistant":
            text = " ".join(b.text for b in message.blocks if isinstance(b, Text))
            sentence = text.strip().rpartition("\n")[2]
            return sentence or "The edit is made."
    return "The edit is made."


def gave_up_words(outcome: GaveUp) -> str:
    """Why it has no idea, what is most suspicious, what came nearest."""
    parts = [outcome.why]
    if outcome.tried:
        parts[0] += f" ({plural(outcome.tried, 'candidate')} tried in {outcome.seconds:.0f} s)"
    if outcome.suspicious:
        parts.append(f"most suspicious: {outcome.suspicious}")
    if outcome.nearest is not None:
        words = change_words(outcome.nearest, outcome.sources)
        parts.append(
            f"nearest: {words} (satisfies {outcome.nearest_mended} of {plural(outcome.failing, 'failing test')})"
        )
    return "; ".join(parts)
