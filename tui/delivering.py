"""What becomes of a finished run's change: applied, kept as a branch, shown as a diff, or removed. Both front ends act through here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from runtime.errors import EnvironmentFault, UsageError
from runtime.events.loop import ChangeDelivered
from runtime.loop.finishing import deliver_change
from runtime.loop.setup import workspace_of
from runtime.text import one_line
from runtime.view import RunView
from runtime.workspace.clone import Workspace, book_of, keep_ref
from runtime.workspace.discard import discard_workspace
from runtime.workspace.lend import Lent
from runtime.workspace.repository import Repository, open_repository
from store.store import Store

How = Literal["apply", "branch", "discard"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A run's workspace found again, and the tree that holds its change."""

    workspace: Workspace
    tree: str


async def find_workspace(home: Path, view: RunView) -> Kept:
    """Open the workspace of a run. Raises LooptopError where it, or its repository, is gone."""
    repository = await open_repository(Path(view.repo))
    folder = workspace_of(home, view.run)
    book = book_of(folder, repository.objects)
    if not book.folder.is_dir():
        gone = "was discarded" if view.delivered == "discarded" else f"is gone from {folder}"
        raise EnvironmentFault(f"The workspace of run {view.run} {gone}.", await _where_kept(repository, view.run))
    start = await book.git().run("rev-parse", "refs/looptop/start^{tree}")
    workspace = Workspace(view.run, folder, repository, start, view.branch, Lent())
    result = await book.git().ask("rev-parse", "refs/looptop/result^{tree}")
    return Kept(workspace, result or await book.snapshot())


async def _where_kept(repository: Repository, run: str) -> str:
    found = await repository.git().ask("rev-parse", "-q", "--verify", keep_ref(run))
    return f"Its change is still in the repository: git show {keep_ref(run)}" if found else ""


def _settled(view: RunView) -> None:
    if not view.finished:
        raise UsageError(f"Run {view.run} is still going on.", "Wait for its end, or abort it first.")


async def deliver_run(
    store: Store, home: Path, run: str, how: How, branch: str | None = None, *, agreed: bool = False
) -> str:
    """Do it, record it, and say what was done. Raises LooptopError; conflicts are told by path and nothing is written then.

    What exists nowhere else is discarded only where the supervisor `agreed`; the error lists it.
    """
    view = await store.history.view(run)
    _settled(view)
    if how == "discard":
        return await _discard(store, home, view, agreed)
    if how == "branch" and not branch:
        raise UsageError("A branch needs a name.")
    kept = await find_workspace(home, view)
    if kept.tree == kept.workspace.start_tree:
        raise UsageError(f"Run {run} changed nothing.")
    done = await deliver_change(kept.workspace, kept.tree, how, branch or "", view.task)
    names = ", ".join(done.conflicts)
    detail = "" if done.ok else f"conflicts with the working tree in {names}; nothing was written"
    await _record(
        store,
        view,
        ChangeDelivered(how=how, ok=done.ok, branch=done.branch, conflicts=done.conflicts, detail=detail),
    )
    if not done.ok:
        raise EnvironmentFault(
            f"The change of run {run} conflicts with the working tree in {names}; nothing was written.",
            "Commit or stash your own changes there, or keep it as a branch.",
        )
    if how == "branch":
        return f"run {run}: kept as branch {one_line(branch or '')}"
    if not done.written:
        return f"run {run}: everything of it is in the working tree already"
    more = f" ({len(done.already)} were there already)" if done.already else ""
    files = len(done.written)
    return f"run {run}: {files} {'file' if files == 1 else 'files'} changed in {view.repo}{more}"


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
    kept = await find_workspace(home, view)
    book = kept.workspace.book
    present = kept.tree if view.finished else await book.snapshot()
    new = present if attempt is None else _tree_of(view, attempt)
    old = kept.workspace.start_tree if since is None else _tree_of(view, since)
    return await book.diff(old, new)


def _tree_of(view: RunView, attempt: int) -> str:
    tree = next((row.tree for row in view.attempts if row.attempt == attempt), None)
    if tree is None:
        raise UsageError(f"Attempt {attempt} of run {view.run} was not verified, so its files weren't recorded.")
    return tree
