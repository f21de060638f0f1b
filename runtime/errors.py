"""One root for everything that looptop says went wrong, with the words and the exit code of each kind."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the command line; part of its contract."""

    OK = 0
    NOT_FIXED = 1
    USAGE = 2
    ENVIRONMENT = 3
    STOPPED = 4
    ABORTED = 130


class LooptopError(Exception):
    """An error told to the user in one sentence: what is wrong and where, and what to do.

    `message` says what is wrong; `hint` says what to do about it ("" where there is nothing to add). Neither is a traceback.
    """

    exit_code: ExitCode = ExitCode.ENVIRONMENT

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        """The whole sentence, message and hint."""
        return f"{self.message} {self.hint}".strip()


class UsageError(LooptopError):
    """An argument, option, setting or file of the user's is wrong."""

    exit_code = ExitCode.USAGE


class EnvironmentFault(LooptopError):
    """Something outside looptop is missing or refuses: git, a tool, a model's server, a broker, the disk."""

    exit_code = ExitCode.ENVIRONMENT


class GitError(EnvironmentFault):
    """A git call failed; the message holds git's own words, made safe."""


class StoreError(EnvironmentFault):
    """The store can't be opened, read or written."""
