"""The tools whose output can be read, in the order in which they are tried."""

from __future__ import annotations

from runtime.verify.runners_compiled import CARGO, GO
from runtime.verify.runners_python import MYPY, PYTEST, RUFF, UNITTEST
from runtime.verify.runners_web import ESLINT, JEST, NODE, TSC, VITEST
from runtime.verify.shapes import Runner

RUNNERS: tuple[Runner, ...] = (PYTEST, UNITTEST, RUFF, MYPY, TSC, ESLINT, VITEST, JEST, NODE, GO, CARGO)
