"""What becomes of a finished run's change: applied, kept as a branch, shown as a diff, or removed. Both front ends act through here."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from runtime.errors import EnvironmentFault, UsageError
from runtime.events.loop import ChangeDelivered
from runtime.loop.finishing import deliver_change
from runtime.loop.setup import workspace_of
from runtime.text import one_line
from runtime.view import RunView
from runtime.workspace.clone import open_workspace
from runtime.workspace.deliver import Kept, kept_change
from runtime.workspace.discard import discard_workspace, holdings
from runtime.workspace.repository import Repository, open_repository
from store.store import Store

How = Literal["apply", "branch", "discard"]


async def find_change(home: Path, view: RunView) -> tuple[Repository, Kept]:
    """A run's change: in its workspace, or where that is gone as the repository keeps it. Raises LooptopError."""
    repository = await open_repository(Path(view.repo))
    folder = workspace_of(home, view.run)
    if (folder / "book.git").is_dir():
        workspace = await open_workspace(repository, folder, view.run)
        result = await workspace.book.tree_of("result") if view.finished else None
        end = result or await workspace.book.snapshot()
        return repository, Kept(workspace.book, workspace.start_tree, end, workspace.repository.head)
    kept = await kept_change(repository, view.run)
    if kept is None:
        gone = "it was discarded" if view.delivered == "discarded" else "its workspace is gone"
        raise UsageError(f"Run {view.run} has no change: it changed nothing, or {gone}.")
    return repository, kept


async def deliver_run(
    store: Store, home: Path, run: str, how: How, branch: str | None = None, *, agreed: bool = False
) -> str:
    """Do it, record it, and say what was done. Raises LooptopError; conflicts are told by path and nothing is written then.

    A discard that would lose work needs to be `agreed` to; else its list is raised as UsageError.
    """
    view = await store.history.view(run)
    if not view.finished:
        raise UsageError(f"Run {view.run} is still going on.", "Wait for its end, or abort it first.")
    if how == "discard":
        return await _discard(store, home, view, agreed)
    if how == "branch" and not branch:
        raise UsageError("A branch needs a name.")
    repository, change = await find_change(home, view)
    if change.end == change.start:
        raise UsageError(f"Run {run} changed nothing.")
    done = await deliver_change(change, repository, run, how, branch or "", view.task)
    names = ", ".join(done.conflicts)
    detail = "" if done.ok else f"conflicts in {names}; nothing was written"
    event = ChangeDelivered(how=how, ok=done.ok, branch=done.branch, conflicts=done.conflicts, detail=detail)
    await _record(store, view, event)
    if not done.ok:
        raise EnvironmentFault(
            f"The change of run {run} conflicts in {names}; nothing was written.",
            "Commit or stash your own changes there, or keep it as a branch.",
        )
    if how == "branch":
        return f"run {run}: kept as branch {one_line(branch or '')}"
    if not done.written:
        return f"run {run}: everything of it is in the working tree already"
    more = f" ({len(done.already)} were there already)" if done.already else ""
    files = len(done.written)
    return f"run {run}: {files} {'file' if files == 1 else 'files'} changed in {view.repo}{more}"


async def what_discard_loses(home: Path, view: RunView) -> tuple[str, ...]:
    """What would be gone with a run's workspace and change, a line each."""
    repository = await open_repository(Path(view.repo))
    return (await holdings(repository, workspace_of(home, view.run), view.run)).listed()


async def _discard(store: Store, home: Path, view: RunView, agreed: bool) -> str:
    repository = await open_repository(Path(view.repo))
    await discard_workspace(repository, workspace_of(home, view.run), view.run, agreed=agreed)
    await _record(store, view, ChangeDelivered(how="discard", ok=True))
    return f"run {view.run}: workspace and change removed; its record stays"


async def _record(store: Store, view: RunView, event: ChangeDelivered) -> None:
    await store.record.append_after_end(event.stamped(view.run, 0, datetime.now(UTC), view.last_ms))


async def run_diff(store: Store, home: Path, run: str, attempt: int | None = None, since: int | None = None) -> str:
    """The unified diff of a run's change: of one attempt or as it is now, against the start or another attempt."""
    view = await store.history.view(run)
    _, change = await find_change(home, view)
    new = change.end if attempt is None else _tree_of(view, attempt)
    old = change.start if since is None else _tree_of(view, since)
    return await change.book.diff(old, new)


def _tree_of(view: RunView, attempt: int) -> str:
    tree = next((row.tree for row in view.attempts if row.attempt == attempt), None)
    if tree is None:
        raise UsageError(f"Attempt {attempt} of run {view.run} was not verified, so its files weren't recorded.")
    return tree
