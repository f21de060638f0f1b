"""Where looptop keeps its own things on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def home_of(env: Mapping[str, str]) -> Path:
    """The folder of store, outputs, workspaces and logs: LOOPTOP_HOME, else the platform's place for user data."""
    named = env.get("LOOPTOP_HOME")
    if named:
        return Path(named).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("looptop", appauthor=False)


def config_of(env: Mapping[str, str]) -> Path:
    """The user's configuration file: LOOPTOP_CONFIG, else config.toml in the platform's place for settings."""
    named = env.get("LOOPTOP_CONFIG")
    if named:
        return Path(named).expanduser().absolute()
    from platformdirs import user_config_path

    return user_config_path("looptop", appauthor=False) / "config.toml"


def here() -> Path:
    """The present folder, or the root where it was removed under us."""
    try:
        return Path.cwd()
    except OSError:
        return Path(os.sep)
