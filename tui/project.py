"""From settings to what runs and their host are started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runtime.catalog.models import CHEAP_MODEL, DEFAULT_MODEL
from runtime.errors import UsageError
from runtime.events.values import RunSettings, VerifySpec
from runtime.loop.setup import WorkspaceSettings
from runtime.models.factory import wire_of
from runtime.models.limiter import Limits
from runtime.models.transport import RetryPolicy
from runtime.ports import Limit
from runtime.process.sandbox.choose import SandboxSettings
from runtime.settings import Settings, load_settings
from runtime.settings_keys import SETTINGS
from runtime.usage import MICROS_PER_DOLLAR
from runtime.workspace.lend import propose
from tui.compose import HostSettings
from tui.places import config_of

SHARED_BUDGETS: tuple[tuple[Literal["project", "tenant", "day"], str], ...] = (
    ("project", "budget.project_usd"),
    ("tenant", "budget.tenant_usd"),
    ("day", "budget.day_usd"),
)


@dataclass(frozen=True, slots=True)
class Project:
    """What the settings say about one repository."""

    settings: Settings
    verify: tuple[VerifySpec, ...] | None
    lent: WorkspaceSettings
    cap: int | None
    run: RunSettings


class ProjectSettings:
    """Reads the settings of repositories; `supervised`: somebody is there to be asked."""

    def __init__(self, env: Mapping[str, str], *, supervised: bool) -> None:
        self._env = env
        self._supervised = supervised

    def of(self, root: Path, options: Mapping[str, object] | None = None, category: str | None = None) -> Project:
        """The settings for a repository, and for a category of tasks: its model stands in for the settings', not for an option.

        Raises UsageError.
        """
        settings = load_settings(config_of(self._env), root, self._env, options)
        own = settings["categories"].get(category, {})
        if "model" in own and not (options or {}).get("model"):
            settings = load_settings(config_of(self._env), root, self._env, {**(options or {}), "model": own["model"]})
        return Project(
            settings,
            _verify(settings),
            _lent(settings, root),
            settings["fix_verify_retry_cap"],
            self._run(settings).model_copy(update={"category": category, "escalate_to": own.get("escalate_to")}),
        )

    def _run(self, settings: Settings) -> RunSettings:
        def held(key: str) -> bool:
            value = settings[key]
            return self._supervised if value is None else bool(value)

        usd, minutes = settings["budget.usd"], settings["budget.minutes"]
        return RunSettings(
            model=settings["model"] or default_model(self._env),
            budget_tokens=settings["budget.tokens"] or None,
            budget_micros=round(usd * MICROS_PER_DOLLAR) or None,
            budget_seconds=minutes * 60 or None,
            max_rounds=settings["max_rounds"],
            max_output_tokens=settings["max_output_tokens"],
            include_dirty=settings["include_dirty"],
            recovery=settings["recovery"],
            approval=settings["approval"],
            ttl=settings["ttl"],
            stoploss=settings["stoploss.mode"] or ("ask" if self._supervised else "abort"),
            stoploss_chosen=settings["stoploss.mode"] is not None,
            stoploss_scorer=settings["stoploss.scorer"],
            hold_on_stoploss=self._supervised or settings["stoploss.mode"] == "ask",
            failure_analysis=analyst_of(settings, settings["model"] or default_model(self._env)),
            verify_micros_per_minute=round(settings["verify_price_per_minute"] * MICROS_PER_DOLLAR) or None,
            allow_test_edits=settings["allow_test_edits"],
            hold_on_cap=held("hold_on_cap"),
            hold_on_budget=held("hold_on_budget"),
            # Headless runs never wait unless they were told to.
            hold_on_approval=self._supervised or settings.origin("approval") == SETTINGS["approval"].option,
        )


def analyst_of(settings: Settings, model: str) -> str:
    """The model that sums up a run of `model` that ended badly, with its provider; empty where none does. Raises UsageError."""
    when, provider = settings["failure_analysis.when"], settings["failure_analysis.provider"]
    if when == "never" or (when == "auto" and provider != wire_of(model)):
        return ""
    name = settings["failure_analysis.model"] or (CHEAP_MODEL if provider == "anthropic" else "")
    if not name:
        raise UsageError(
            "failure_analysis.provider is openai, but failure_analysis.model is not set.", "Say which model sums up."
        )
    prefix = f"{provider}/"
    return name if name.lower().startswith(prefix) else prefix + name


def default_model(env: Mapping[str, str]) -> str:
    """Claude where a key is set, else the embedded model."""
    return DEFAULT_MODEL if env.get("ANTHROPIC_API_KEY") else "local"


def _verify(settings: Settings) -> tuple[VerifySpec, ...] | None:
    steps = settings["verify"]
    if steps is None:
        return None
    return tuple(
        VerifySpec(
            command=step["command"],
            name=step.get("name", ""),
            timeout_s=float(step.get("timeout", VerifySpec.model_fields["timeout_s"].default)),
            setup=step.get("setup", False),
        )
        for step in steps
    )


def _lent(settings: Settings, root: Path) -> WorkspaceSettings:
    share = settings["workspace.share"]
    return WorkspaceSettings(
        share=tuple(share) if share is not None else propose(root),
        copy=tuple(settings["workspace.copy"]),
        setup=tuple(settings["workspace.setup"]),
        sandbox=sandbox_settings(settings),
    )


def sandbox_settings(settings: Settings) -> SandboxSettings:
    """How commands are to be confined."""
    return SandboxSettings(settings["sandbox.kind"], settings["sandbox.network"], tuple(settings["sandbox.read"]))


def host_settings(settings: Settings) -> HostSettings:
    """What the settings say about all runs of this process."""
    return HostSettings(
        caps=settings["caps.defaults"],
        prices=settings["prices"],
        transport=RetryPolicy(
            tries=settings["transport.tries"],
            max_wait_s=settings["transport.max_wait"],
            silence_s=settings["transport.silence"],
        ),
        rates=Limits(
            settings["transport.parallel"],
            settings["transport.requests_per_minute"] or None,
            settings["transport.tokens_per_minute"] or None,
        ),
        base_url=settings["base_url"],
        limits=tuple(
            Limit(of, "micros", round(settings[key] * MICROS_PER_DOLLAR)) for of, key in SHARED_BUDGETS if settings[key]
        ),
    )
