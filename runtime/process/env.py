"""The environment that a run's commands see: no keys, no tokens, nothing that can ask."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runtime.process.tree import MARKER

_KEPT = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "CONDA_DEFAULT_ENV",
        "PYENV_ROOT",
        "PYENV_VERSION",
        "PYTHONPATH",
        "PYTHONHASHSEED",
        "PYTHONDONTWRITEBYTECODE",
        "GOPATH",
        "GOROOT",
        "GOCACHE",
        "GOMODCACHE",
        "GOFLAGS",
        "CARGO_HOME",
        "RUSTUP_HOME",
        "RUSTFLAGS",
        "JAVA_HOME",
        "MAVEN_OPTS",
        "GRADLE_USER_HOME",
        "NVM_DIR",
        "NODE_PATH",
        "NODE_ENV",
        "NPM_CONFIG_CACHE",
        "PNPM_HOME",
        "CC",
        "CXX",
        "CFLAGS",
        "CXXFLAGS",
        "LDFLAGS",
        "LD_LIBRARY_PATH",
        "PKG_CONFIG_PATH",
        "MAKEFLAGS",
        "XDG_CACHE_HOME",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    }
)
_QUIET = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=5",
    "GIT_OPTIONAL_LOCKS": "0",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "PYTHONUNBUFFERED": "1",
    "NO_COLOR": "1",
}


def scrubbed_env(base: Mapping[str, str], run_id: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The part of `base` that commands may see, with everything that could ask a question answered, and the run's marker.

    `extra` (a project's own settings) is added as it is.
    """
    env = {name: value for name, value in base.items() if name in _KEPT or name.startswith("LC_")}
    env.update(_QUIET)
    env[MARKER] = run_id
    env.update(extra or {})
    return env


def with_first_on_path(env: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment with one folder put in front of PATH."""
    return {**env, "PATH": f"{folder}:{env.get('PATH', '')}"}
