"""What a command prints: kept on disk up to a cap, head and tail in memory, the rest counted and dropped."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from runtime.text import Decoder, decode

OVERFLOW_FACTOR = 4
"""A command that has written this many times its cap is ended: nobody will read what follows."""
LIVE_BYTES_PER_READ = 16_384
FOLDER_CAP_BYTES = 1024**3
"""How much the outputs of one folder, which is one run's, may take on disk together; what goes over it is dropped."""


def _used(folder: Path) -> int:
    """Bytes that the files of a folder take."""
    with os.scandir(folder) as entries:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)


class Output:
    """Takes a command's bytes in order. Memory stays flat whatever comes."""

    def __init__(
        self, path: Path | None, cap_bytes: int, memory_cap_bytes: int, on_output: Callable[[str], None] | None
    ) -> None:
        self._cap = cap_bytes if path is not None else 2 * memory_cap_bytes
        self._memory = memory_cap_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._on_output = on_output
        self._decoder = Decoder()
        self._file: BinaryIO | None = None
        self.error = ""
        self.total = 0
        self._room = 0
        self._written = 0
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._file = path.open("wb")
                path.chmod(0o600)
                self._room = max(0, min(cap_bytes, FOLDER_CAP_BYTES - _used(path.parent)))
            except OSError as error:
                self.error = f"output not kept: {error.strerror or error}"

    @property
    def overflowed(self) -> bool:
        """Whether so much came that the command should be ended."""
        return self.total > OVERFLOW_FACTOR * self._cap

    @property
    def dropped(self) -> int:
        """Bytes that went over the cap and are kept nowhere."""
        kept = self._written if self._file is not None else min(self.total, len(self._head) + len(self._tail))
        return self.total - kept

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        self._keep(data)
        room = self._memory - len(self._head)
        if room > 0:
            self._head += data[:room]
            data_for_tail = data[room:]
        else:
            data_for_tail = data
        if data_for_tail:
            self._tail += data_for_tail
            if len(self._tail) > 2 * self._memory:
                del self._tail[: len(self._tail) - self._memory]
        if self._on_output is not None:
            text = self._decoder.feed(data)
            if len(text) > LIVE_BYTES_PER_READ:
                text = text[-LIVE_BYTES_PER_READ:]
            self._on_output(text)

    def _keep(self, data: bytes) -> None:
        if self._file is None:
            return
        part = data[: max(0, self._room - self._written)]
        if part:
            try:
                self._file.write(part)
                self._written += len(part)
            except OSError as error:
                self.error = f"output not kept: {error.strerror or error}"
                self._file.close()
                self._file = None

    @property
    def head(self) -> str:
        """The first bytes as text."""
        return decode(bytes(self._head))

    @property
    def tail(self) -> str:
        """The last bytes as text, without what the head has."""
        return decode(bytes(self._tail[-self._memory :]))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
