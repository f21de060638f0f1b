"""Names that never belong to a run's change: ignore patterns for single paths, and files that look like secrets."""

from __future__ import annotations

from fnmatch import fnmatchcase

_SECRETS = (".env", ".env.*", "*.pem", "*.key", "*.p12", "id_rsa", "id_ed25519", ".netrc")
_NO_SECRETS = (".env.example", ".env.sample", ".env.template", ".env.test")
SECRET_PATTERNS = "".join(f"{name}\n" for name in (*_SECRETS, *(f"!{name}" for name in _NO_SECRETS)))
"""Ignore rules for them. A project's own .gitignore may overrule these; `is_secret` can't be overruled."""


def is_secret(path: str) -> bool:
    """Whether a file's name says that it holds secrets."""
    name = path.rpartition("/")[2]
    return any(fnmatchcase(name, known) for known in _SECRETS) and name not in _NO_SECRETS


def pattern_for(path: str) -> str:
    """The ignore pattern that matches one path and nothing else."""
    text = "".join(f"\\{char}" if char in "\\*?[" else char for char in path.strip("/"))
    return "/" + (f"{text[:-1]}\\ " if text.endswith(" ") else text)
