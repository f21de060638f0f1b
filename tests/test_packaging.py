"""The wheel's four packages have plain names: guards that they are ours, light to import, and whole in the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("tui", "runtime", "store", "themes")
HEAVY = frozenset(
    {"anthropic", "genai_prices", "httpx2", "textual", "rich", "pydantic", "aiosqlite", "tomlkit", "pytest"}
)


def loaded_by(code: str) -> set[str]:
    """Names of the top-level modules that a piece of code loads, in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        # Whoever runs the tests may have a store of their own.
        env={**os.environ, "LOOPTOP_HOME": os.devnull, "LOOPTOP_CONFIG": os.devnull},
    )
    return set(done.stdout.splitlines()[-1].split())


def test_all_four_packages_come_from_one_place() -> None:
    origins = {Path(spec.origin or "").parents[1] for name in PACKAGES if (spec := find_spec(name)) is not None}
    assert len(origins) == 1


def test_each_package_has_exactly_one_owner() -> None:
    owners = packages_distributions()
    # An editable install doesn't list its packages on every installer; an installed wheel does.
    assert {name: set(owners.get(name, ["looptop"])) for name in PACKAGES} == {name: {"looptop"} for name in PACKAGES}


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import tui.cli", set()),
        ("from tui.cli import run; run(['--help'])", set()),
        ("from tui.cli import run; run(['config'])", set()),
        ("import runtime.settings, runtime.text, runtime.errors", set()),
        ("import tui.app", {"textual", "rich"}),
        ("import tui.compose", {"pydantic", "aiosqlite"}),
    ],
)
def test_only_what_is_needed_is_loaded(code: str, heavy: set[str]) -> None:
    tops = {name.partition(".")[0] for name in loaded_by(code)}
    assert tops & HEAVY <= heavy


def test_the_engine_knows_no_screen() -> None:
    everything = (
        "import pkgutil, importlib, runtime, store\n"
        "for package in (runtime, store):\n"
        "    for found in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if not found.name.endswith('__main__') and '.driver' not in found.name:\n"
        "            importlib.import_module(found.name)\n"
    )
    loaded = loaded_by(everything)
    assert "runtime.loop.run" in loaded
    assert not loaded & {"textual", "rich", "click", "themes", "tui"}


def test_the_wheel_has_what_runs_and_nothing_else(tmp_path: Path) -> None:
    # The backend is called as an installer calls it, in this environment: nothing is fetched.
    subprocess.run(
        [sys.executable, "-c", f"import hatchling.build; hatchling.build.build_wheel({str(tmp_path)!r})"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (wheel,) = tmp_path.glob("looptop-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert all(f"{package}/py.typed" in names for package in PACKAGES)
    assert any(name.startswith("tui/demo/project/tests/") for name in names)
    assert any(name.endswith(".tcss") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any("__pycache__" in name or "/.git/" in name or "_cache/" in name for name in names)
