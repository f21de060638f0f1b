"""The envelope that every event carries, flat beside the fields of its type."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1
NOT_YET = datetime(1970, 1, 1, tzinfo=UTC)


class Part(BaseModel):
    """A frozen value inside an event. Fields of a newer version are kept, so that nothing is lost on the way through."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Event(Part):
    """Something that happened in a run.

    `seq` counts from 1 without gaps within the run and is 0 until the event was stamped; `at` is UTC; `mono_ms` is the offset in
    milliseconds from the run's start, by a clock that never goes back. In a resumed run it goes on from the last event: time
    in which no process executed the run isn't counted.
    """

    durable: ClassVar[bool] = False
    """Whether the record must hold this event before the loop goes on."""

    v: int = SCHEMA_VERSION
    run: str = ""
    seq: int = 0
    type: str
    at: datetime = NOT_YET
    mono_ms: int = 0

    def stamped(self, run: str, seq: int, at: datetime, mono_ms: int) -> Self:
        """The same event with its envelope filled in."""
        return self.model_copy(update={"run": run, "seq": seq, "at": at, "mono_ms": mono_ms})
