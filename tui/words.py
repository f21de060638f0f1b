"""Figures as words: money, tokens, durations, shares. Pure, shared by screens and reports; what isn't known reads "?", never 0."""

from __future__ import annotations

from datetime import datetime

UNKNOWN = "?"
MICROS = 1_000_000


def money(micros: int | None, complete: bool = True) -> str:
    """Micro-dollars as dollars: three decimals below $1, two below $1,000. `complete` false marks a sum that misses parts."""
    if micros is None or (not complete and micros == 0):
        return UNKNOWN
    mark = "" if complete else "+?"
    sign, size = ("-", -micros) if micros < 0 else ("", micros)
    if size and size < 500:
        return f"{sign}<$0.001{mark}"
    if size < MICROS - 500:
        return f"{sign}${size / MICROS:.3f}{mark}"
    if size < 1_000 * MICROS - 5_000:
        return f"{sign}${size / MICROS:.2f}{mark}"
    return f"{sign}${size / MICROS:,.0f}{mark}"


def limit_money(micros: int | None) -> str:
    """A dollar limit: whole cents, "off" where there is none."""
    return "off" if micros is None else f"${micros / MICROS:,.2f}"


def tokens(count: int | None) -> str:
    """A token count, short: 812, 4.1k, 38.2k, 212k, 1.0M."""
    if count is None:
        return UNKNOWN
    if count < 1_000:
        return str(count)
    if count < 99_950:
        return f"{count / 1_000:.1f}k"
    if count < 999_500:
        return f"{count / 1_000:.0f}k"
    if count < 99_950_000:
        return f"{count / 1_000_000:.1f}M"
    return f"{count / 1_000_000:,.0f}M"


def share(part: float | None) -> str:
    """A share of 1 as a percentage. Only exactly all reads 100%, and only nothing reads 0%."""
    if part is None:
        return UNKNOWN
    percent = round(part * 100)
    if percent >= 100 and part < 1:
        percent = 99
    if percent == 0 and part > 0:
        return "<1%"
    return f"{percent}%"


def used(count: int | None, unmetered: int = 0) -> str:
    """Tokens used; calls whose usage isn't known are marked, and alone they are unknown."""
    if count is None or not unmetered:
        return tokens(count)
    return f"{tokens(count)}+?" if count else UNKNOWN


def ratio(part: float | None, whole: float | None) -> float | None:
    """Part of a whole, None where either isn't known or the whole is nothing."""
    if part is None or not whole:
        return None
    return part / whole


def score(value: float | None) -> str:
    """A score of 0..1 with two decimals."""
    return UNKNOWN if value is None else f"{value:.2f}"


def duration(ms: float | None) -> str:
    """How long something took: 0.1 s, 41 s, 4m12s, 1h02m."""
    if ms is None:
        return UNKNOWN
    seconds = max(0.0, ms / 1_000)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3_600}h{whole % 3_600 // 60:02d}m"


def clock(ms: float | None) -> str:
    """Time that runs, in a form that keeps its width: 04:12, 1:04:12."""
    if ms is None:
        return "--:--"
    whole = max(0, int(ms // 1_000))
    if whole < 3_600:
        return f"{whole // 60:02d}:{whole % 60:02d}"
    return f"{whole // 3_600}:{whole % 3_600 // 60:02d}:{whole % 60:02d}"


def age(then: datetime | None, now: datetime) -> str:
    """How long ago, coarsely: 12s, 4m, 3h, 2d."""
    if then is None:
        return UNKNOWN
    seconds = max(0, int((now - then).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def size(count: int | None) -> str:
    """Bytes: 812 B, 4.1 KiB, 64.0 MiB."""
    if count is None:
        return UNKNOWN
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1_024 or unit == "GiB":
            break
        value /= 1_024
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 file, 3 files."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def short_model(name: str) -> str:
    """A model's name without its provider and family prefix, for narrow columns."""
    return name.rsplit("/", 1)[-1].removeprefix("claude-")


STATE_WORDS = {
    "already_passing": "already ok",
    "cap_reached": "cap reached",
    "round_limit": "round limit",
    "token_budget": "token budget",
    "cost_budget": "cost budget",
    "time_budget": "time budget",
    "gave_up": "gave up",
}


def state(name: str) -> str:
    """A state or stop reason as it is read."""
    return STATE_WORDS.get(name, name.replace("_", " "))
