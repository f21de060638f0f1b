"""Call a test without pytest's hooks, where nothing but the test function itself takes part.

A failure found this way is a failure; a success is confirmed by a run with all hooks. It costs a tenth.
"""

from __future__ import annotations

import inspect
import time
from typing import Any, Dict, Optional

import pytest

from .soft import Recorder


def bare_arguments(item: Any) -> Optional[Dict[str, Any]]:
    """The test function's arguments, where all of them are plain parameters and no fixture, mark or filter takes part."""
    if type(item) is not pytest.Function or inspect.iscoroutinefunction(item.obj):
        return None
    if inspect.isgeneratorfunction(item.obj) or item.config.getini("filterwarnings"):
        return None
    if any(mark.name not in ("parametrize", "usefixtures") for mark in item.iter_markers()):
        return None
    given: Dict[str, Any] = {}
    callspec = getattr(item, "callspec", None)
    if callspec is not None:
        given.update(getattr(callspec, "funcargs", {}))
        given.update(callspec.params)
    definitions = item._fixtureinfo.name2fixturedefs
    for name in item.fixturenames:
        found = definitions.get(name)
        if name == "request" or name not in given:
            return None
        if found and found[-1].func.__name__ != "get_direct_param_fixture_func":
            return None
    wanted = item._fixtureinfo.argnames
    return {name: given[name] for name in wanted} if set(wanted) <= set(given) else None


def run_bare(item: Any, arguments: Dict[str, Any], recorder: Recorder) -> Dict[str, Any]:
    """Call the test; returns a result line without the item's number."""
    recorder.reset()
    began = time.process_time()
    line: Dict[str, Any] = {"status": "passed"}
    try:
        item.obj(**arguments)
    except pytest.skip.Exception:
        line["status"] = "skipped"
    except (Exception, pytest.fail.Exception) as error:
        line.update(status="failed", error=type(error).__name__)
    if recorder.misses:
        line["status"] = "failed"
    line.update(cpu=time.process_time() - began, misses=sorted(recorder.misses), hits=len(recorder.hits))
    return line
