"""A patch as `edit_file` calls, and what a transcript shows of the calls made before: the memory of a resumed run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runtime.models.base import Message, Text, ToolCall, ToolResult
from runtime.models.local.candidate import Candidate
from runtime.models.local.source import Edit, SourceFile

MAX_CONTEXT_LINES = 400


@dataclass(frozen=True, slots=True)
class Replacement:
    """Arguments of one `edit_file` call."""

    path: str
    old: str
    new: str

    @property
    def arguments(self) -> dict[str, object]:
        """As the tool takes them."""
        return {"path": self.path, "old": self.old, "new": self.new}


def replacements(candidate: Candidate, sources: Mapping[str, SourceFile]) -> tuple[Replacement, ...]:
    """Exact replacements that make the candidate's edits; each old text stands once in the file when its turn comes."""
    found: list[Replacement] = []
    for path in sorted({edit.path for edit in candidate.edits}):
        text = sources[path].text
        # From the end to the beginning, so that offsets before an edit stay right.
        for edit in sorted(
            (e for e in candidate.edits if e.path == path), key=lambda e: (e.start, e.end), reverse=True
        ):
            found.append(_replacement(text, edit))
            text = text[: edit.start] + edit.text + text[edit.end :]
    return tuple(found)


def _replacement(text: str, edit: Edit) -> Replacement:
    """Whole lines around an edit, as many as make the old text unique."""
    start = text.rfind("\n", 0, edit.start) + 1
    end = _line_end(text, edit.end)
    if text[edit.start : edit.end].endswith("\n") or (edit.start == edit.end == start):
        # Whole lines go or come: the line after stays as it is.
        end = edit.end if edit.end > start else end
    for _ in range(MAX_CONTEXT_LINES):
        old = text[start:end]
        if old.strip() and text.count(old) == 1:
            break
        if start == 0 and end == len(text):
            break
        start = text.rfind("\n", 0, max(0, start - 1)) + 1
        end = _line_end(text, min(len(text), end + 1))
    old = text[start:end]
    return Replacement(edit.path, old, text[start : edit.start] + edit.text + text[edit.end : end])


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def signature(parts: Sequence[Replacement]) -> str:
    """Equal for proposals that make the same calls."""
    data = json.dumps([[p.path, p.old, p.new] for p in parts])
    return hashlib.sha256(data.encode()).hexdigest()[:20]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal found in a transcript: its calls without those that only took an earlier one back."""

    parts: tuple[Replacement, ...]
    whole: bool
    applied: bool


def proposals(messages: Sequence[Message], whole_words: str) -> list[Proposal]:
    """Every proposal of the embedded model in the transcript, in order. `whole_words` marks one that was meant to be complete."""
    results = {b.call_id: b for m in messages for b in m.blocks if isinstance(b, ToolResult)}
    found: list[Proposal] = []
    for message in messages:
        if message.role != "assistant":
            continue
        calls = [
            b for b in message.blocks if isinstance(b, ToolCall) and b.name == "edit_file" and b.arguments is not None
        ]
        made = [(call, _from_call(call)) for call in calls]
        own = [(call, part) for call, part in made if call.id.startswith("edit")]
        if not own:
            continue
        text = " ".join(b.text for b in message.blocks if isinstance(b, Text))
        applied = all(call.id in results and not results[call.id].is_error for call, _ in own)
        found.append(Proposal(tuple(part for _, part in own), whole_words in text, applied))
    return found


def _from_call(call: ToolCall) -> Replacement:
    arguments = call.arguments or {}
    return Replacement(str(arguments.get("path")), str(arguments.get("old")), str(arguments.get("new")))


def taken_back(proposal: Proposal) -> tuple[Replacement, ...]:
    """Calls that undo a proposal, the last edit first."""
    return tuple(Replacement(part.path, part.new, part.old) for part in reversed(proposal.parts))
