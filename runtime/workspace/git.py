"""The one door to git: no hooks, no programs from a repository's configuration, no prompts, no optional locks."""

from __future__ import annotations

import asyncio
import os
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runtime.errors import EnvironmentFault, GitError
from runtime.process.capture import Captured, capture
from runtime.text import decode, one_line

MINIMUM_VERSION = (2, 32)
"""The first that can be told to leave the user's configuration out (GIT_CONFIG_GLOBAL)."""
LOCK_WAIT_S = 8.0
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.pager=cat",
    "core.editor=false",
    "core.quotePath=false",
    "core.autocrlf=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.sshCommand=false",
    "core.askPass=false",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "color.ui=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.renames=true",
    "diff.submodule=short",
    "diff.orderFile=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.addEmbeddedRepo=false",
    "advice.detachedHead=false",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "safe.directory=*",
    "submodule.recurse=false",
    "index.sparse=false",
    "init.defaultRefFormat=files",
)
_DIFFS = frozenset({"diff", "diff-tree", "diff-index", "diff-files", "log", "show"})
"""Commands that would run `diff.external` and `textconv` programs; an empty setting doesn't turn those off, options do."""
_LOCK = re.compile(r"Unable to create '([^']+\.lock)': File exists|could not lock config file (\S+): File exists")


@dataclass(frozen=True, slots=True)
class Git:
    """git for one work tree, or with `git_dir` for a work tree whose own .git is never looked at.

    Of a folder's own .git only what the supervisor or looptop wrote may be trusted: never call it with an agent's .git.
    """

    work_tree: Path
    git_dir: Path | None = None
    index: Path | None = None
    extra: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    borrow: tuple[Path, ...] = ()
    """Objects folders that may be read from beside the repository's own."""
    user_config: bool = False
    """Let the user's and the system's configuration be read; for asking what they say, for nothing else."""

    def _argv(self, args: tuple[str, ...]) -> list[str]:
        argv = ["git"]
        for setting in (*_SETTINGS, *self.extra):
            argv += ["-c", setting]
        if self.git_dir is not None:
            argv += [f"--git-dir={self.git_dir}", f"--work-tree={self.work_tree}"]
        if args[0] in _DIFFS:
            args = (args[0], "--no-ext-diff", "--no-textconv", *args[1:])
        return [*argv, *args]

    def _env(self) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env |= {
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_EDITOR": "false",
            "LC_ALL": "C",
        }
        if not self.user_config:
            env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        if self.borrow:
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = ":".join(map(quoted, self.borrow))
        if self.index is not None:
            env["GIT_INDEX_FILE"] = str(self.index)
        return env | dict(self.env)

    async def call(self, *args: str, stdin: bytes = b"", timeout_s: float = 120.0) -> Captured:
        """Run a git command, waiting inside for locks that others hold. Raises EnvironmentFault without git."""
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                done = await capture(self._argv(args), self.work_tree, self._env(), stdin=stdin, timeout_s=timeout_s)
            except FileNotFoundError as error:
                raise self._missing(error) from error
            except OSError as error:
                raise GitError(f"git could not be started in {self.work_tree}: {error.strerror}.") from error
            locked = done.exit_code != 0 and _LOCK.search(decode(done.stderr))
            if not locked or time.monotonic() > deadline:
                return done
            await asyncio.sleep(random.uniform(0.02, 0.2))

    def _missing(self, error: FileNotFoundError) -> EnvironmentFault:
        if not self.work_tree.is_dir():
            return GitError(f"The folder {self.work_tree} does not exist.")
        return EnvironmentFault("git was not found on PATH.", f"Install git {_dotted(MINIMUM_VERSION)} or newer.")

    async def raw(self, *args: str, stdin: bytes = b"", timeout_s: float = 120.0) -> bytes:
        """A command's output. Raises GitError with git's own words."""
        done = await self.call(*args, stdin=stdin, timeout_s=timeout_s)
        if done.timed_out:
            raise GitError(f"git {args[0]} took longer than {timeout_s:g} s in {self.work_tree}.")
        if done.exit_code != 0:
            raise GitError(_words(args, decode(done.stderr), self.work_tree))
        return done.stdout

    async def run(self, *args: str, stdin: bytes = b"", timeout_s: float = 120.0) -> str:
        """A command's output as text without the last line end. Raises GitError."""
        return os.fsdecode(await self.raw(*args, stdin=stdin, timeout_s=timeout_s)).rstrip("\n")

    async def ask(self, *args: str) -> str | None:
        """A command's output, or None where it fails."""
        done = await self.call(*args)
        return os.fsdecode(done.stdout).rstrip("\n") if done.exit_code == 0 else None


def quoted(path: Path) -> str:
    """A path as git reads it in lists of objects folders, quoted where it must be."""
    text = str(path)
    if not re.search(r'[:"#\n\\]', text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _words(args: tuple[str, ...], stderr: str, folder: Path) -> str:
    """A failed call in one sentence; of a lock, its age."""
    lock = _LOCK.search(stderr)
    if lock:
        path = folder / (lock.group(1) or f"{lock.group(2)}.lock")
        try:
            age = f"{time.time() - path.stat().st_mtime:.0f} s old"
        except OSError:
            age = "gone by now"
        return f"git {args[0]} waited {LOCK_WAIT_S:.0f} s for {one_line(str(path))} ({age}); remove it if no git is running."
    lines = [line for line in stderr.splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "no message")
    return f"git {args[0]} failed in {folder}: {one_line(said, 300)}"


async def git_version() -> tuple[int, ...]:
    """The installed git's version. Raises EnvironmentFault where it is missing or too old."""
    text = await Git(Path("/")).run("version")
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    version = tuple(int(part) for part in found.groups() if part) if found else (0,)
    if version < MINIMUM_VERSION:
        raise EnvironmentFault(
            f"git {_dotted(version)} is too old.", f"Install git {_dotted(MINIMUM_VERSION)} or newer."
        )
    return version
