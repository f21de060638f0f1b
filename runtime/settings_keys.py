"""Every setting that there is: what it holds, its bounds, its default, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from runtime.approval.modes import MODES

Kind = Literal["text", "count", "number", "flag", "list", "table", "verify", "choice"]
MOST_TOKENS, MOST_DOLLARS, MOST_MINUTES = 10**12, 10**9, 10**6
"""Upper bounds beyond any use, so that no figure overflows the store's integers."""
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `own` ones may only be set by the user, not by a project's file, which could be anybody's."""

    key: str
    kind: Kind
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    own: bool = False
    tightens: bool = False
    """Whether a project's file may only choose later, that is stricter, than the user's."""

    def looser(self, value: Any, than: Any) -> bool:
        """Whether a value isn't for a project to choose, because the user's is stricter."""
        return self.tightens and self.choices.index(value) < self.choices.index(than)

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return "LOOPTOP_" + self.key.replace(".", "_").upper()

    @property
    def option(self) -> str:
        """Its option on the command line, where a command has one."""
        return "--" + self.key.replace(".", "-").replace("_", "-")


_ALL = (
    Setting("model", "text", None, "Model of a run; without one: Claude when its key is set, else local."),
    # A repository must not decide where the user's key is sent.
    Setting("base_url", "text", None, "Where an OpenAI-compatible server answers; not in a project's file.", own=True),
    Setting(
        "fix_verify_retry_cap", "count", None, "Retry cap of this project, instead of the default by model.", 1, 20
    ),
    Setting(
        "categories",
        "table",
        {},
        "By --category: the model of its runs, and the stronger one to escalate to: { model = ..., escalate_to = ... }.",
    ),
    Setting("caps.defaults", "table", {}, "Retry caps by prefix of the model's name; the longest prefix wins."),
    Setting(
        "caps.min_gain",
        "number",
        0.05,
        "Share of open runs that an attempt must surely fix for a cap to be recommended that reaches it.",
        0,
        1,
    ),
    Setting("budget.tokens", "count", 1_000_000, "Tokens that a run may use; 0 is off.", 0, MOST_TOKENS),
    Setting("budget.usd", "number", 0.0, "Dollars that a run may cost; 0 is off.", 0, MOST_DOLLARS),
    Setting("budget.minutes", "number", 0.0, "Minutes that a run may take, without waits; 0 is off.", 0, MOST_MINUTES),
    Setting(
        "budget.project_usd",
        "number",
        0.0,
        "Dollars that all runs of a project may cost together; 0 is off.",
        0,
        MOST_DOLLARS,
    ),
    Setting(
        "budget.tenant_usd",
        "number",
        0.0,
        "Dollars that all runs of a tenant may cost together; 0 is off.",
        0,
        MOST_DOLLARS,
    ),
    Setting(
        "budget.day_usd",
        "number",
        0.0,
        "Dollars that all runs of a UTC day may cost together; 0 is off.",
        0,
        MOST_DOLLARS,
    ),
    Setting("max_rounds", "count", 40, "Model calls of one attempt.", 1, 1000),
    Setting("max_output_tokens", "count", 16_384, "Output tokens of one call.", 1, 1_000_000),
    Setting("ttl", "choice", "5m", "Lifetime of cache entries.", choices=("5m", "1h")),
    Setting("recovery", "choice", "fixed:reflect", "What follows a failed attempt.", choices=("fixed:reflect",)),
    # A repository must not decide that what comes out of it runs unasked.
    Setting(
        "approval",
        "choice",
        "auto",
        "What runs unasked: auto all, ask what provably only reads, read-only refuses the rest; a project's file may only be stricter.",
        choices=MODES,
        tightens=True,
    ),
    Setting(
        "stoploss.mode",
        "choice",
        None,
        "What follows when a run looks like failing; by default ask in the dashboard, abort headless, as far as it is calibrated.",
        choices=("off", "watch", "ask", "abort"),
    ),
    Setting(
        "stoploss.scorer",
        "text",
        "auto",
        "What scores: the calibrated one (auto), step-limit, embedded, served:MODEL, judge:MODEL, or several joined by +.",
    ),
    Setting("hold_on_cap", "flag", None, "Hold at the retry cap; by default in the dashboard only."),
    Setting("hold_on_budget", "flag", None, "Hold at a budget; by default in the dashboard only."),
    Setting("include_dirty", "flag", False, "Start from the uncommitted changes too."),
    Setting("allow_test_edits", "flag", False, "Let a change of tests or of their settings pass."),
    Setting("verify", "verify", None, "The verify steps: [[verify]] tables with command, name, timeout, setup."),
    Setting(
        "verify_price_per_minute",
        "number",
        0.0,
        "Dollars that a minute of verify costs, counted into sums and budgets; 0: its cost isn't known.",
        0,
        MOST_DOLLARS,
    ),
    Setting("workspace.share", "list", None, "Ignored paths lent to workspaces; by default .venv and node_modules."),
    Setting("workspace.copy", "list", [], "Ignored paths copied into workspaces."),
    Setting("workspace.setup", "list", [], "Commands that make a workspace ready, run once."),
    # A repository must not open its own cage; network alone is the project's to allow.
    Setting(
        "sandbox.kind",
        "choice",
        "auto",
        "What confines commands; auto takes bubblewrap where it works; not in a project's file.",
        choices=("auto", "bubblewrap", "none"),
        own=True,
    ),
    Setting("sandbox.network", "flag", False, "Let commands in the sandbox use the network."),
    Setting(
        "sandbox.read",
        "list",
        [],
        "Further folders, of your home for instance, that commands may read; not in a project's file.",
        own=True,
    ),
    Setting(
        "prices",
        "table",
        {},
        "Own prices by model, in dollars per million tokens: input, output, cache_read, ...; or gpu_hour.",
    ),
    Setting(
        "failure_analysis.when",
        "choice",
        "auto",
        "Whether a model sums up a run that ended badly; auto: where the run's own model has the same provider.",
        choices=("auto", "always", "never"),
    ),
    Setting(
        "failure_analysis.provider",
        "choice",
        "anthropic",
        "Who serves that model; openai is any OpenAI-compatible server.",
        choices=("anthropic", "openai"),
    ),
    Setting(
        "failure_analysis.model",
        "text",
        None,
        "The model that sums up; by default the cheap one of anthropic, claude-haiku-5-5.",
    ),
    Setting("transport.tries", "count", 5, "Tries of a model call.", 1, 20),
    Setting(
        "transport.max_wait",
        "number",
        900.0,
        "Seconds that a call may wait for its tries altogether.",
        0,
        7 * DAY_S,
    ),
    Setting(
        "transport.silence", "number", 120.0, "Seconds without content after which a call is tried again.", 1, DAY_S
    ),
    Setting("transport.parallel", "count", 16, "Calls at a time to one provider, for one key and tenant.", 1, 1000),
    Setting(
        "transport.requests_per_minute", "count", 0, "Calls a minute, counted likewise; 0 is no limit.", 0, 1_000_000
    ),
    Setting(
        "transport.tokens_per_minute",
        "count",
        0,
        "Prompt tokens a minute, counted likewise; 0 is no limit.",
        0,
        MOST_TOKENS,
    ),
    Setting("theme", "text", None, "The dashboard's theme."),
)
SETTINGS: dict[str, Setting] = {setting.key: setting for setting in _ALL}
