"""Reading, editing and writing files, byte-exact in everything that was not asked for."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from runtime.events.values import StepStatus
from runtime.text import storable, visible
from runtime.tools.base import READ_LIMIT, ToolContext, ToolFault, ToolOutcome, clip
from runtime.tools.places import place, shown

MAX_FILE_BYTES = 8 * 1024 * 1024
BOM = b"\xef\xbb\xbf"


def _load(path: Path, name: str) -> bytes:
    try:
        info = path.stat()
        if stat.S_ISDIR(info.st_mode):
            raise ToolFault(f"{name} is a folder.")
        if not stat.S_ISREG(info.st_mode):
            raise ToolFault(f"{name} is not a regular file.")
        if info.st_size > MAX_FILE_BYTES:
            raise ToolFault(f"{name} has {info.st_size:,} bytes; the file tools take at most {MAX_FILE_BYTES:,}.")
        return path.read_bytes()
    except FileNotFoundError:
        raise ToolFault(f"{name} does not exist.") from None
    except OSError as error:
        raise ToolFault(f"{name} can't be read: {error.strerror}.") from error


def _store(path: Path, data: bytes, name: str) -> None:
    """Replace the file's content in one step; its mode stays."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".looptop-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, mode if mode is not None else 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ToolFault(f"{name} can't be written: {error.strerror}.") from error


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def read_file(ctx: ToolContext, path: str, offset: int = 1, limit: int = 2000) -> ToolOutcome:
    """Lines of a file from `offset` (1 is the first), with numbers."""
    real = place(ctx, path)
    name = shown(ctx, real)
    if real.is_dir():
        entries = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in real.iterdir())
        return ToolOutcome(StepStatus.OK, visible("\n".join(entries))[:READ_LIMIT] or "(an empty folder)")
    data = _load(real, name)
    if not data:
        return ToolOutcome(StepStatus.OK, "(an empty file)")
    if b"\0" in data[:8000]:
        return ToolOutcome(StepStatus.OK, f"(a binary file of {len(data):,} bytes)")
    lines = data.removeprefix(BOM).decode("utf-8", "replace").splitlines()
    first, last = max(1, offset), min(len(lines), max(1, offset) + max(1, limit) - 1)
    if first > len(lines):
        raise ToolFault(f"{name} has {len(lines)} lines; line {first} is past its end.")
    text = "\n".join(f"{number:>5}\t{lines[number - 1]}" for number in range(first, last + 1))
    rest = f"\n(lines {first}-{last} of {len(lines)})" if (first, last) != (1, len(lines)) else ""
    return ToolOutcome(StepStatus.OK, clip(storable(visible(text))) + rest)


def _encode(text: str, data: bytes) -> bytes:
    """Text in the file's own encoding: UTF-8 where the file is that, else Latin-1, which maps bytes one to one."""
    try:
        data.decode("utf-8")
        return text.encode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        try:
            return text.encode("latin-1")
        except UnicodeEncodeError:
            raise ToolFault("The file is not UTF-8 and the text has characters that its encoding lacks.") from None


def _endings(data: bytes, old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Search and replacement text with the line endings that the place in the file has."""
    if old in data or (b"\n" not in old and b"\n" not in new):
        if old in data and b"\r\n" not in old and b"\n" in new and _ends_crlf_at(data, old):
            return old, new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        return old, new
    with_crlf = old.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if with_crlf in data:
        return with_crlf, new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    with_lf = old.replace(b"\r\n", b"\n")
    if with_lf in data:
        return with_lf, new.replace(b"\r\n", b"\n")
    return old, new


def _ends_crlf_at(data: bytes, old: bytes) -> bool:
    """Whether the line in which `old` stands ends with CRLF."""
    end = data.find(b"\n", data.find(old) + max(0, len(old) - 1))
    return end > 0 and data[end - 1 : end] == b"\r"


def edit_file(ctx: ToolContext, path: str, old: str, new: str, replace_all: bool = False) -> ToolOutcome:
    """Replace exact text. It must stand exactly once in the file, unless all are to be replaced."""
    real = place(ctx, path)
    name = shown(ctx, real)
    data = _load(real, name)
    if not old:
        raise ToolFault("The text to replace is empty; use write_file to make a new file.")
    if old == new:
        raise ToolFault("The old and the new text are the same.")
    search, replacement = _endings(data, _encode(old, data), _encode(new, data))
    count = data.count(search)
    if count == 0:
        raise ToolFault(f"The text to replace does not stand in {name}; read the file and copy it exactly.")
    if count > 1 and not replace_all:
        raise ToolFault(
            f"The text to replace stands {count} times in {name}; give more lines around it, or replace_all."
        )
    _store(real, data.replace(search, replacement), name)
    return ToolOutcome(StepStatus.OK, f"Edited {name} ({count} place{'s' if count > 1 else ''}).")


def write_file(ctx: ToolContext, path: str, content: str) -> ToolOutcome:
    """Make a file, or replace all that is in it."""
    real = place(ctx, path)
    name = shown(ctx, real)
    if real.is_dir():
        raise ToolFault(f"{name} is a folder.")
    existed = real.exists()
    data = content.encode("utf-8", "replace")
    _store(real, data, name)
    return ToolOutcome(StepStatus.OK, f"{'Replaced' if existed else 'Wrote'} {name} ({len(data):,} bytes).")
