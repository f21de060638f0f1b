"""What commands in a sandbox must not see, and what of it they still have to read: the toolchains that lie there."""

from __future__ import annotations

import contextlib
import os
import pwd
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_SYSTEM = ("/run", "/var/run", "/root", "/home")
_NEVER = frozenset({"/", "/usr", "/etc", "/bin", "/lib", "/lib64", "/opt", "/var", "/nix"})
"""Folders that a system can't work without: a HOME that is one of them stays visible."""
_TOOLS = (
    *(".local/bin", ".local/lib", ".local/pipx", ".local/share/uv", ".local/share/pipx", ".local/share/mise"),
    *(".local/share/pnpm", ".local/share/fnm", ".pyenv", ".rbenv", ".asdf", ".sdkman", ".volta", ".nvm"),
    *(".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup", "go/bin", "go/pkg", ".m2/repository"),
    *(".gradle/wrapper", ".deno/bin", ".bun/bin", ".cache/ms-playwright", "miniconda3", "miniforge3", "anaconda3"),
)
"""Folders of a home that hold programs and libraries, and no secrets."""
_NAMED = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "RUSTUP_HOME", "GOROOT", "GOMODCACHE", "JAVA_HOME", "NVM_DIR")
"""Variables that name a folder of programs."""
_BIN = frozenset({"bin", "sbin", "shims", "Scripts"})
MOST_HOPS = 20


def within(path: Path, places: Iterable[Path]) -> bool:
    """Whether a path is one of these folders or lies below one."""
    return any(path == place or place in path.parents for place in places)


def outermost(places: Iterable[Path]) -> tuple[Path, ...]:
    """The given folders without those that lie in another one."""
    kept: list[Path] = []
    for path in sorted(set(places), key=lambda place: len(place.parts)):
        if not within(path, kept):
            kept.append(path)
    return tuple(kept)


def homes(env: Mapping[str, str]) -> tuple[Path, ...]:
    """The user's home folders: the one that HOME names and the one that the system knows."""
    found = [Path(env["HOME"])] if env.get("HOME", "").startswith("/") else []
    with contextlib.suppress(KeyError):
        found.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    return tuple(path for path in dict.fromkeys(found) if os.path.isdir(path) and str(path) not in _NEVER)


def hidden_places(env: Mapping[str, str], more: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Folders to lay something empty over; temporary folders are not among them, they are replaced."""
    places = [*(Path(name) for name in _SYSTEM), *homes(env), *more]
    # A link (/var/run) leads to a folder that is hidden already.
    real = [Path(os.path.realpath(place)) for place in places]
    return outermost(place for place in real if os.path.isdir(place) and str(place) not in _NEVER)


def readable_tools(env: Mapping[str, str], hidden: tuple[Path, ...], more: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Folders below hidden places that commands need: what PATH and such variables name, and looptop's own Python."""
    found = [Path(sys.prefix), Path(sys.base_prefix), *more]
    found += [home / name for home in homes(env) for name in _TOOLS]
    found += [Path(env[name]) for name in _NAMED if env.get(name)]
    for entry in filter(None, env.get("PATH", "").split(os.pathsep)):
        found += _of_path_entry(Path(entry), homes(env))
    wanted = [
        path
        for path in found
        if path.is_absolute() and within(path, hidden) and os.access(path, os.R_OK | os.X_OK) and os.path.isdir(path)
    ]
    wanted += [folder for path in list(wanted) for folder in _behind_links(path) if within(folder, hidden)]
    # A home or a hidden folder itself is never given back by the way of a tool.
    return outermost(path for path in wanted if path not in hidden and path not in homes(env))


def _of_path_entry(entry: Path, own: tuple[Path, ...]) -> Iterator[Path]:
    yield entry
    above = entry.parent
    shared = above in own or any(above == home / ".local" for home in own)
    if entry.name in _BIN and not shared and not any(os.path.exists(above / name) for name in _SECRET):
        yield above


_SECRET = ("credentials", "credentials.toml", ".ssh", ".netrc", ".aws", ".gnupg")


def _behind_links(folder: Path) -> Iterator[Path]:
    """Where the Python of an environment, or a program of a folder of links, really lies; every hop of the way."""
    programs = [folder / "bin" / "python"] if os.path.isfile(folder / "pyvenv.cfg") else []
    if folder.name in _BIN:
        with os.scandir(folder) as entries:
            programs += [Path(entry.path) for entry in entries if entry.is_symlink()]
    for program in programs:
        at = program
        for _ in range(MOST_HOPS):
            if not os.path.islink(at):
                break
            at = Path(os.path.normpath(at.parent / os.readlink(at)))
            if at.parent.name in _BIN and not any(os.path.exists(at.parent.parent / name) for name in _SECRET):
                yield at.parent.parent
