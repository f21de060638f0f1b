"""What it means to resume an interrupted run: how old it is, where it goes on, and what its cold cache costs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from runtime.catalog.models import facts_of
from runtime.loop.conversation import Conversation
from runtime.loop.limits import dollars
from runtime.loop.readback import ReadBack, Stage
from runtime.models.base import Ttl
from runtime.ports import Prices
from runtime.prompt.prediction import LIFETIME_S

WHERE = {
    Stage.PREPARING: "starts over with its preparation",
    Stage.LEG_DUE: "begins with its first attempt",
    Stage.ATTEMPT_DUE: "goes on with the next attempt",
    Stage.FIXING: "goes on in the fix phase of attempt {attempt}",
    Stage.VERIFYING: "verifies attempt {attempt} again",
    Stage.JUDGED: "decides what follows attempt {attempt}",
}


@dataclass(frozen=True, slots=True)
class ResumeQuote:
    """Times in seconds, money in micro-dollars; None is unknown."""

    run: str
    task: str
    model: str
    stage: str
    """Where it goes on, in words."""
    age_s: float
    """Since the dead process's last sign of life."""
    prompt_tokens: int
    """Of the next request, as estimated."""
    cold: bool
    """Whether the cached prefix has expired, or there is none."""
    cold_micros: int | None
    """What the next request's prompt costs, all of it at the write price."""
    lost_calls: int = 0
    """Model calls that the dead process left in flight; they count at their worst case."""
    open_calls: int = 0
    """Tool calls without a result, which are answered as interrupted."""

    @property
    def cache_words(self) -> str:
        """What the cache means for the next request."""
        if not self.prompt_tokens:
            return "nothing was sent yet"
        tokens = f"{self.prompt_tokens:,} prompt tokens"
        if self.model == "local":
            return f"the embedded model: {tokens} cost nothing"
        price = "no price is known" if self.cold_micros is None else f"{dollars(self.cold_micros)} at the write price"
        if self.cold:
            return f"the cache is cold: the next request writes {tokens} anew, {price}"
        return f"the cache may still be warm; cold, the next request writes {tokens}: {price}"

    @property
    def words(self) -> str:
        """All of it in a sentence."""
        parts = [f"interrupted {ago(self.age_s)} ago; {self.stage}; {self.cache_words}"]
        if self.lost_calls:
            parts.append("the model call in flight counts at its worst case")
        if self.open_calls:
            calls = "1 tool call is" if self.open_calls == 1 else f"{self.open_calls} tool calls are"
            parts.append(f"{calls} answered as interrupted")
        return "; ".join(parts)


def ago(seconds: float) -> str:
    """A time span in words, by its largest unit."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def quote_of(back: ReadBack, prices: Prices, provider: str, model: str, now: datetime) -> ResumeQuote:
    """What resuming a run means at a moment. `model` is what its server calls it."""
    assert back.queued is not None
    settings, rebuilt = back.queued.settings, back.rebuilt()
    conversation = Conversation(model, settings.max_output_tokens, Ttl(settings.ttl), context=facts_of(model).context)
    conversation.go_on(rebuilt, 0.0)
    tokens = conversation.estimator.estimate(conversation.request()) if back.opened else 0
    last = back.open_round or (rebuilt.sent.started if rebuilt.sent is not None else None)
    idle_s = (now - last.at).total_seconds() if last is not None else None
    alive = back.alive_at or now
    return ResumeQuote(
        run=back.view.run,
        task=back.view.task,
        model=model,
        stage=WHERE[back.stage].format(attempt=back.view.attempt),
        age_s=max(0.0, (now - alive).total_seconds()),
        prompt_tokens=tokens,
        cold=idle_s is None or idle_s > LIFETIME_S[Ttl(settings.ttl)],
        cold_micros=prices.worst_case(provider, model, tokens, 0, settings.ttl),
        lost_calls=int(back.open_round is not None),
        open_calls=len(back.open_calls) if back.stage is Stage.FIXING else 0,
    )
