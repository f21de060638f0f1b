"""What a Messages server remembers of its answers: reasoning bound to the history before it, and prompts for cache diagnostics."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from support.cache_model import BYTES_PER_TOKEN, without_marks
from support.messages_rules import Rule

THINKING = ("thinking", "redacted_thinking")
BINDING = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5")


@dataclass(frozen=True)
class Bound:
    """One block of reasoning as it was given out: its bytes, the history before it, the reasoning before it."""

    block: str
    history: str
    before: str | None


@dataclass
class Memory:
    """Answers of one server."""

    bound: dict[str, Bound] = field(default_factory=dict)
    prompts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def remember(self, body: dict[str, Any], blocks: list[dict[str, Any]], message_id: str) -> None:
        """Keep what an answer binds."""
        self.prompts[message_id] = body
        history = History(body)
        for message in body["messages"]:
            history.add(message["role"], message["content"])
        for block in blocks:
            if block["type"] in THINKING:
                self.bound[_signature(block)] = Bound(_bytes(block), history.digest, history.thought)
            if block["type"] != "text" or block["text"].strip():
                history.add("assistant", [_as_sent(block)])

    def check(self, body: dict[str, Any]) -> None:
        """Raise Rule where reasoning was changed, or its history was."""
        history = History(body)
        for number, message in enumerate(body["messages"]):
            for block in message["content"]:
                if block["type"] in THINKING:
                    self._check_block(block, history, number, str(body["model"]))
                history.add(message["role"], [block])

    def _check_block(self, block: dict[str, Any], history: History, number: int, model: str) -> None:
        known = self.bound.get(_signature(block))
        if known is None:
            raise Rule(f"messages.{number}: Invalid `signature` in `thinking` block")
        if known.block != _bytes(block):
            raise Rule(f"messages.{number}: thinking blocks cannot be modified")
        changed = known.history != history.digest or history.thought not in (None, known.before)
        if model.startswith(BINDING) and changed:
            raise Rule(f"messages.{number}: thinking block: the conversation before it has changed (prefix mismatch)")

    def diagnose(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Why the request before, named by the client, can't be read from cache; None where nobody asked."""
        asked = body.get("diagnostics")
        if asked is None:
            return None
        previous = asked.get("previous_message_id")
        if previous is None:
            return {"cache_miss_reason": None}
        before = self.prompts.get(previous)
        if before is None:
            return {"cache_miss_reason": {"type": "previous_message_not_found"}}
        for name in ("model", "tools", "system"):
            if without_marks(before.get(name)) != without_marks(body.get(name)):
                return _missed(f"{name}_changed", before)
        sent = without_marks(before["messages"])
        # The last message may have grown; everything before it is as it was.
        now = without_marks(body["messages"])[: len(sent)]
        grown = len(now) == len(sent) and now[-1]["content"][: len(sent[-1]["content"])] == sent[-1]["content"]
        if now[:-1] != sent[:-1] or not grown:
            return _missed("messages_changed", before)
        return {"cache_miss_reason": None}


class History:
    """A digest of a conversation so far, without its reasoning."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._digest = hashlib.sha256(_bytes([body.get("system"), body.get("tools")]).encode())
        self.thought: str | None = None
        """Signature of the newest block of reasoning."""

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def add(self, role: str, blocks: list[dict[str, Any]]) -> None:
        for block in blocks:
            if block["type"] in THINKING:
                self.thought = _signature(block)
            else:
                self._digest.update(_bytes([role, block]).encode())


def _as_sent(block: dict[str, Any]) -> dict[str, Any]:
    sent = {name: value for name, value in block.items() if name != "raw"}
    if "raw" in block:
        try:
            sent["input"] = json.loads(block["raw"])
        except ValueError:
            sent["input"] = {}
    return sent


def _signature(block: dict[str, Any]) -> str:
    return str(block.get("signature") or block.get("data"))


def _bytes(value: Any) -> str:
    return json.dumps(without_marks(value), sort_keys=True)


def _missed(kind: str, before: dict[str, Any]) -> dict[str, Any]:
    tokens = len(_bytes(before)) // BYTES_PER_TOKEN
    return {"cache_miss_reason": {"type": kind, "cache_missed_input_tokens": tokens}}
