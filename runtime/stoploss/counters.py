"""Running counters over a run's tool steps: repeats, markers of errors and tests, edits, lengths. Cheap and incremental."""

from __future__ import annotations

from dataclasses import dataclass, field

from runtime.stoploss import marks
from runtime.stoploss.steps import Step

KEPT = 2_000
"""Characters of an action or observation that count: half from its beginning, half from its end."""
_MARK = 40


def clip(text: str) -> str:
    """The text, or its first and last 1,000 characters with how many were cut between."""
    if len(text) <= KEPT + _MARK:
        return text
    half = KEPT // 2
    return f"{text[:half]}\n...[{len(text) - KEPT} chars cut]...\n{text[-half:]}"


@dataclass(frozen=True, slots=True)
class Seen:
    """What one step shows, as far as it is counted."""

    error: bool
    test: bool
    test_failed: bool
    test_passed: bool
    edit: bool
    look: bool
    undo: bool
    clean: bool
    executes: bool
    repeated: bool
    """The same action came before."""
    same_result: bool
    """The same action with the same observation came before."""
    known_observation: bool
    empty: bool
    action_chars: int
    observation_chars: int
    new_files: int


@dataclass(frozen=True, slots=True)
class Tally:
    """Counters up to a step. Times since are in steps, and as long as the run where a thing never happened."""

    steps: int = 0
    errors: int = 0
    errors_in_row: int = 0
    tests: int = 0
    tests_failed: int = 0
    tests_passed: int = 0
    edits: int = 0
    looks: int = 0
    undos: int = 0
    cleans: int = 0
    executions: int = 0
    repeats: int = 0
    same_results: int = 0
    known_observations: int = 0
    empties: int = 0
    files: int = 0
    edited_files: int = 0
    most_edits_of_a_file: int = 0
    action_chars: int = 0
    observation_chars: int = 0
    first_edit: int = 0
    """Step of the first edit, 0 before it."""
    since_edit: int = 0
    since_test: int = 0
    since_pass: int = 0
    since_error: int = 0
    last: tuple[Seen, ...] = ()
    """The last three steps, oldest first."""


@dataclass
class Counters:
    """Takes steps; gives tallies. Memory grows by a hash or two a step."""

    _now: dict[str, int] = field(default_factory=dict)
    _actions: set[int] = field(default_factory=set)
    _pairs: set[int] = field(default_factory=set)
    _observations: set[int] = field(default_factory=set)
    _files: set[str] = field(default_factory=set)
    _edited: dict[str, int] = field(default_factory=dict)
    _at: dict[str, int] = field(default_factory=dict)
    _last: list[Seen] = field(default_factory=list)

    def add(self, step: Step) -> None:
        """Count one step."""
        count, at = self._now, self._at
        number = count["steps"] = count.get("steps", 0) + 1
        seen = self._look_at(step)
        for name, happened in (
            ("errors", seen.error),
            ("tests", seen.test),
            ("tests_failed", seen.test_failed),
            ("tests_passed", seen.test_passed),
            ("edits", seen.edit),
            ("looks", seen.look),
            ("undos", seen.undo),
            ("cleans", seen.clean),
            ("executions", seen.executes),
            ("repeats", seen.repeated),
            ("same_results", seen.same_result),
            ("known_observations", seen.known_observation),
            ("empties", seen.empty),
        ):
            if happened:
                count[name] = count.get(name, 0) + 1
                at.setdefault(f"first {name}", number)
                at[name] = number
        count["errors_in_row"] = count.get("errors_in_row", 0) + 1 if seen.error else 0
        count["action_chars"] = count.get("action_chars", 0) + seen.action_chars
        count["observation_chars"] = count.get("observation_chars", 0) + seen.observation_chars
        self._last = [*self._last[-2:], seen]

    def tally(self) -> Tally:
        """The counters as they stand."""
        number = self._now.get("steps", 0)
        since = {f"since_{word}": number - self._at.get(name, 0) for word, name in _SINCE}
        return Tally(
            **self._now,
            files=len(self._files),
            edited_files=len(self._edited),
            most_edits_of_a_file=max(self._edited.values(), default=0),
            first_edit=self._at.get("first edits", 0),
            last=tuple(self._last),
            **since,
        )

    def _look_at(self, step: Step) -> Seen:
        action = marks.SPACES.sub(" ", step.action).strip()
        observation = marks.DIGITS.sub("0", step.observation).strip()
        pair = hash((action, observation))
        edit, test = marks.marked(step.action, marks.EDITS), marks.marked(step.action, marks.TESTS)
        before = len(self._files)
        names = marks.FILE.findall(step.action)
        self._files.update(names)
        if edit and names:
            self._edited[names[0]] = self._edited.get(names[0], 0) + 1
        lowered = step.observation.lower()
        failed = ("fail" in lowered or "error" in lowered) and bool(marks.FAILS.search(step.observation))
        passed = not failed and marks.may_pass(lowered) and bool(marks.PASSES.search(step.observation))
        seen = Seen(
            error=bool(step.failed) or marks.shows_error(step.observation, lowered),
            test=test,
            test_failed=failed,
            test_passed=passed,
            edit=edit,
            look=bool(marks.LOOK.search(step.action)),
            undo=bool(marks.UNDO.search(step.action)),
            clean=bool(marks.CLEAN.search(step.action)),
            executes=bool(marks.RUN.search(step.action)),
            repeated=hash(action) in self._actions,
            same_result=pair in self._pairs,
            known_observation=len(observation) > 20 and hash(observation) in self._observations,
            empty=not observation,
            action_chars=min(len(step.action), KEPT),
            observation_chars=min(len(step.observation), KEPT),
            new_files=len(self._files) - before,
        )
        self._actions.add(hash(action))
        self._pairs.add(pair)
        self._observations.add(hash(observation))
        return seen


_SINCE = (("edit", "edits"), ("test", "tests"), ("pass", "tests_passed"), ("error", "errors"))
