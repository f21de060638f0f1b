"""Where an interrupted run stood, read back from its events: what it goes on with, and what of it was left open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from runtime.errors import EnvironmentFault
from runtime.events.base import SCHEMA_VERSION, Event
from runtime.events.checks import Compacted, RecoveryDecided, VerifyFinished, VerifyStarted
from runtime.events.loop import (
    AttemptFinished,
    AttemptStarted,
    ChangeDelivered,
    LegStarted,
    ModelSwitched,
    PhaseEnded,
    PromptAdded,
    RoundFinished,
    RoundStarted,
    RunFinished,
    RunPrepared,
    RunQueued,
    ToolCalled,
    ToolFinished,
)
from runtime.events.supervision import (
    ApprovalGiven,
    ApprovalRequested,
    CapChanged,
    CommandAccepted,
    CommandRefused,
    SteerDelivered,
    SteerQueued,
)
from runtime.loop.fixing import NUDGE_EMPTY
from runtime.loop.verifying import Checked
from runtime.models.base import Message, Reply, Stop, ToolCall
from runtime.prompt.rebuild import Rebuilt
from runtime.view import RunView, fold

PENDING = ("end_attempt", "verify_now", "choose_recovery", "switch_model")
"""Commands that take effect some time after they were accepted."""


class Stage(StrEnum):
    """At which of its safe points a run goes on."""

    PREPARING = "preparing"
    LEG_DUE = "leg_due"
    ATTEMPT_DUE = "attempt_due"
    FIXING = "fixing"
    VERIFYING = "verifying"
    JUDGED = "judged"
    """An attempt was verified, and what follows isn't decided."""


@dataclass
class ReadBack:
    """A run as its events tell it. Fed with every event in order, from the first."""

    view: RunView = field(default_factory=RunView)
    stage: Stage = Stage.PREPARING
    alive_at: datetime | None = None
    """When a process that executed it showed a sign of life last."""
    queued: RunQueued | None = None
    prepared: RunPrepared | None = None
    model: str = ""
    """The model of the present leg, as it was asked for."""
    leg: LegStarted | None = None
    opened: bool = False
    """Whether the leg's first words are in its transcript."""
    opening: str = ""
    """The run's first user text; empty where it wasn't said yet."""
    attempt: AttemptStarted | None = None
    """The event with which the present attempt began."""
    rounds_made: int = 0
    empty: int = 0
    ended: PhaseEnded | None = None
    judged: AttemptFinished | None = None
    judged_before: AttemptFinished | None = None
    """The judged attempt before `judged`."""
    verify_phases: int = 0
    baseline: dict[int, VerifyFinished] = field(default_factory=dict)
    checked: dict[int, VerifyFinished] = field(default_factory=dict)
    """Steps of the verify phase after which the last attempt was judged."""
    verdict: Checked | None = None
    """That phase as the loop knows it, once it was asked for (`verified.verdict_of`)."""
    prompts: list[Event] = field(default_factory=list)
    """What the present transcript is made of."""
    watched: list[Event] = field(default_factory=list)
    """What an outside monitor sees of a run: legs, tool steps, and what supervisors changed."""
    open_round: RoundStarted | None = None
    reply: RoundFinished | None = None
    """The last whole reply, as long as nothing that follows it is recorded."""
    last_called: ToolCalled | None = None
    last_finished: ToolFinished | None = None
    answers: dict[str, CommandAccepted | CommandRefused] = field(default_factory=dict)
    pending: dict[str, CommandAccepted] = field(default_factory=dict)
    steers: dict[str, SteerQueued] = field(default_factory=dict)
    undecided: set[int] = field(default_factory=set)
    """Tool steps that waited for an approval."""
    said_steers: list[str] = field(default_factory=list)
    """Ids of steering messages that were said, but whose delivery isn't recorded."""
    _switching_to: str = ""
    _phase: dict[int, VerifyFinished] = field(default_factory=dict)
    _calls: list[ToolCall] = field(default_factory=list)
    _results: list[str] = field(default_factory=list)

    @property
    def base_tree(self) -> str | None:
        """The workspace's tree after the baseline; None where the record doesn't tell."""
        return self.prepared.tree if self.prepared is not None else None

    @property
    def open_calls(self) -> list[ToolCall]:
        """Calls of the last reply without a result, in order."""
        given, left = list(self._results), []
        for call in self._calls:
            if call.id in given:
                given.remove(call.id)
            else:
                left.append(call)
        return left

    @property
    def called_but_open(self) -> bool:
        """Whether the first open call is known to have been begun."""
        called, done = self.last_called, self.last_finished
        return called is not None and (done is None or done.step < called.step)

    def take(self, event: Event) -> None:
        """One more event. Raises EnvironmentFault for one of a newer version, and where one is missing."""
        if event.v > SCHEMA_VERSION:
            raise EnvironmentFault(
                f"Run {event.run} can't be resumed: a newer looptop wrote it (events of version {event.v}, this one "
                f"knows {SCHEMA_VERSION}).",
                "Update looptop.",
            )
        if event.seq != self.view.seq + 1:
            raise EnvironmentFault(
                f"Run {event.run} can't be resumed: its events {self.view.seq + 1} to {event.seq - 1} are missing."
            )
        self.view = fold(self.view, event)
        if not isinstance(event, RunFinished | ChangeDelivered):
            self.alive_at = event.at
        self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, LegStarted | ToolCalled | ToolFinished | CapChanged | ModelSwitched):
            self.watched.append(event)
        match event:
            case RunQueued():
                self.queued, self.model = event, event.settings.model
            case RunPrepared():
                self.prepared, self.stage = event, Stage.LEG_DUE
            case LegStarted() | ModelSwitched() | AttemptStarted() | PhaseEnded():
                self._frame(event)
            case PromptAdded():
                self._prompt(event)
            case RoundStarted() | RoundFinished() | ToolCalled() | ToolFinished() | Compacted():
                self._round(event)
            case VerifyStarted() | VerifyFinished() | AttemptFinished() | RecoveryDecided():
                self._verify(event)
            case CommandAccepted() | CommandRefused() | SteerQueued() | SteerDelivered():
                self._command(event)
            case ApprovalRequested():
                self.undecided.add(event.step)
            case ApprovalGiven():
                self.undecided.discard(event.step)

    def _frame(self, event: LegStarted | ModelSwitched | AttemptStarted | PhaseEnded) -> None:
        match event:
            case LegStarted():
                self.leg, self.stage, self.opened = event, Stage.ATTEMPT_DUE, False
                self.prompts = [event]
                if self._switching_to:
                    # Only now is the switch done: without its leg it would be lost.
                    self.pending.pop("switch_model", None)
                    self.model, self._switching_to = self._switching_to, ""
            case ModelSwitched():
                self._switching_to = event.new
            case AttemptStarted():
                # A resumed attempt says so once more, and goes on with what it had.
                if self.attempt is None or self.attempt.attempt != event.attempt:
                    self.attempt, self.rounds_made, self.empty = event, 0, 0
                self.stage, self.ended = Stage.FIXING, None
            case PhaseEnded():
                self.ended, self.stage, self.reply = event, Stage.VERIFYING, None
                self.pending.pop({"supervisor": "end_attempt", "verify_now": "verify_now"}.get(event.how, ""), None)

    def _prompt(self, event: PromptAdded) -> None:
        if event.fresh:
            self.prompts, self.opened = [e for e in self.prompts if isinstance(e, LegStarted)], True
            self._calls, self._results = [], []
        self.opening = self.opening or event.text
        self.prompts.append(event)
        self.reply = None
        if event.kind == "steer":
            queued = next((steer for steer in self.steers.values() if steer.text == event.text), None)
            if queued is not None:
                del self.steers[queued.command_id]
                self.said_steers.append(queued.command_id)
        elif event.kind == "nudge":
            self.empty = self.empty + 1 if event.text == NUDGE_EMPTY else 0
        elif event.kind == "feedback" and self.stage is Stage.VERIFYING:
            self.stage, self.ended, self.empty = Stage.FIXING, None, 0
        elif event.kind == "feedback" and self.stage is Stage.JUDGED:
            self.stage = Stage.ATTEMPT_DUE

    def _round(self, event: RoundStarted | RoundFinished | ToolCalled | ToolFinished | Compacted) -> None:
        self.prompts.append(event)
        match event:
            case RoundStarted():
                self.open_round, self.reply, self.stage = event, None, Stage.FIXING
                self.rounds_made += 1
                self._calls, self._results = [], []
            case RoundFinished():
                self.open_round = None
                if event.outcome == "ok":
                    self._calls = [block for block in event.reply if isinstance(block, ToolCall)]
                    self.reply = None if self._calls else event
                    self.empty = 0 if self._calls else self.empty
            case ToolCalled():
                self.last_called = event
            case ToolFinished():
                self.last_finished = event
                self._results.append(event.call_id)

    def _verify(self, event: VerifyStarted | VerifyFinished | AttemptFinished | RecoveryDecided) -> None:
        match event:
            case VerifyStarted():
                if event.step == 1:
                    self.verify_phases += 1
                    self._phase = {}
                if event.attempt:
                    self.stage, self.reply = Stage.VERIFYING, None
            case VerifyFinished():
                self._phase[event.step] = event
                if not event.attempt:
                    self.baseline = dict(self._phase)
            case AttemptFinished():
                if self.judged is None or self.judged.attempt != event.attempt:
                    self.judged_before = self.judged
                self.judged, self.checked, self.stage = event, dict(self._phase), Stage.JUDGED
            case RecoveryDecided():
                self.pending.pop("choose_recovery", None)

    def _command(self, event: CommandAccepted | CommandRefused | SteerQueued | SteerDelivered) -> None:
        match event:
            case SteerQueued():
                self.steers[event.command_id] = event
            case SteerDelivered():
                self.steers.pop(event.command_id, None)
                if event.command_id in self.said_steers:
                    self.said_steers.remove(event.command_id)
            case CommandAccepted() | CommandRefused():
                self.answers.setdefault(event.command_id, event)
                # In a hold, ending the attempt ends the hold and asks nothing of the phase after it.
                ends_hold = event.command == "end_attempt" and self.view.hold is not None
                if isinstance(event, CommandAccepted) and event.command in PENDING and not ends_hold:
                    self.pending[event.command] = event

    @property
    def pending_reply(self) -> Reply | None:
        """A whole reply without calls that was paid for, and of which nothing is recorded that followed from it."""
        event = self.reply
        if event is None or self.stage is not Stage.FIXING:
            return None
        return Reply(
            message=Message(role="assistant", blocks=event.reply),
            stop=Stop(event.stop),
            usage=event.usage,
            model=event.model,
            stop_detail=event.stop_detail,
            gave_up=event.gave_up,
        )

    def rebuilt(self, more: Iterable[Event] = ()) -> Rebuilt:
        """The transcript, without a reply that is still to be taken; `more` are events that followed since."""
        left_out = self.reply if self.pending_reply is not None else None
        rebuilt = Rebuilt()
        for event in (*self.prompts, *more):
            if event is not left_out:
                rebuilt.take(event)
        return rebuilt.end()
