"""Packages that an environment installs from the real tree: without a mount at the repository's path, tests would judge the wrong code."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlparse


def environments_in_use(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Prefixes of the Python environments that a command started with `env` would use."""
    found = [Path(env[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(name)]
    python = shutil.which("python", path=env.get("PATH")) or shutil.which("python3", path=env.get("PATH"))
    if python:
        # Not resolved: the python of a virtual environment is a link to the one that it was made with.
        found.append(Path(python).parent.parent)
    if env.get("HOME"):
        found.append(Path(env["HOME"]) / ".local")
    return tuple(dict.fromkeys(found))


def editable_installs(root: Path, environments: tuple[Path, ...]) -> list[str]:
    """Packages that these environments install from below `root`, by name."""
    root = root.resolve()
    found: set[str] = set()
    for environment in environments:
        for site in _site_folders(environment):
            check = _Check(root, environment.resolve(), site)
            found |= set(check.by_metadata()) | set(check.by_path_files()) | set(check.by_finders())
    return sorted(found)


def _site_folders(environment: Path) -> Iterator[Path]:
    for library in ("lib", "lib64"):
        if library == "lib64" and (environment / "lib64").is_symlink():
            continue
        for pattern in ("python*/site-packages", "python*/dist-packages", "python3/dist-packages"):
            yield from (environment / library).glob(pattern)


class _Check:
    """Looks through one folder of installed packages."""

    def __init__(self, root: Path, environment: Path, site: Path) -> None:
        self._root = root
        self._environment = environment
        self._site = site

    def by_metadata(self) -> Iterator[str]:
        """Installs whose origin is recorded as an editable folder."""
        for file in self._site.glob("*.dist-info/direct_url.json"):
            try:
                data = json.loads(file.read_text())
            except (OSError, ValueError):
                continue
            info = data.get("dir_info") if isinstance(data, dict) else None
            if not isinstance(info, dict) or not info.get("editable"):
                continue
            if self._is_ours(unquote(urlparse(str(data.get("url", ""))).path)):
                yield file.parent.name.partition("-")[0]

    def by_path_files(self) -> Iterator[str]:
        """Installs by a file that adds a folder to the path."""
        for file in self._site.glob("*.pth"):
            lines = _text(file).splitlines()
            if any(self._is_ours(line.strip()) for line in lines if not re.match(r"\s*(#|import\s|$)", line)):
                yield re.sub(r"^_+editable__\.|-[\d.]+(\w*)$", "", file.stem)

    def by_finders(self) -> Iterator[str]:
        """Installs by an import hook that maps packages to folders."""
        for file in self._site.glob("__editable___*_finder.py"):
            named = re.findall(r"""['"](/[^'"\n]+)['"]""", _text(file))
            if any(self._is_ours(text) for text in named):
                yield re.sub(r"^__editable___|(_[\dpost]+)*_finder$", "", file.stem)

    def _is_ours(self, text: str) -> bool:
        if not text or "\0" in text:
            return False
        path = Path(os.path.realpath(self._site / text))
        # What lies in the environment itself is no source, even where the environment lies in the tree.
        within = self._environment.is_relative_to(self._root) and path.is_relative_to(self._environment)
        return path.is_relative_to(self._root) and not within


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
