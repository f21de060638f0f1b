"""Message pipes of the driver: the real stdin and stdout are moved away so that no test can write into them."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List


class Wire:
    """JSON lines in and out. Takes descriptors 0 and 1 for itself and points them elsewhere."""

    def __init__(self, log_path: str) -> None:
        self.fd_in = os.dup(0)
        self.fd_out = os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        os.dup2(null, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(null)
        os.close(log)
        self._buffer = b""

    def send(self, message: Dict[str, Any]) -> None:
        """Write one message. Ends the process when nobody listens."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self.fd_out, data) :]
        except OSError:
            os._exit(1)

    def receive(self) -> List[Dict[str, Any]]:
        """Messages that have come; blocks until there is something. Raises EOFError at the end."""
        data = os.read(self.fd_in, 1 << 16)
        if not data:
            raise EOFError
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        return [json.loads(line) for line in lines if line]

    def close_in_child(self) -> None:
        """A trial must not be able to reach the pipes."""
        os.close(self.fd_in)
        os.close(self.fd_out)
