"""A small HTTP client for served scorers: one JSON request, one JSON answer, no retries; httpx2 is loaded at the first call."""

from __future__ import annotations

import asyncio
import importlib
import json
from typing import Any
from urllib.parse import urlsplit

from runtime.stoploss.scorers.base import ScorerError
from runtime.text import one_line

CONNECT_TIMEOUT_S = 5.0
WORDS = 200
"""Characters of a server's own words that are told."""


class JsonClient:
    """Posts JSON to paths below a server's address, which may end with /v1 or /chat/completions or not."""

    def __init__(self, base_url: str, api_key: str | None = None, timeout_s: float = 20.0) -> None:
        base = base_url.strip().rstrip("/").removesuffix("/chat/completions")
        last = base.rsplit("/", 1)[-1]
        versioned = last[:1] == "v" and last[1:2].isdigit()
        self.api = base if versioned else f"{base}/v1"
        self.root = base.rsplit("/", 1)[0] if versioned else base
        self.where = urlsplit(base).netloc or base
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._client: Any = None

    def _connect(self) -> Any:
        http = importlib.import_module("httpx2")
        headers = {"authorization": f"Bearer {self._api_key}"} if self._api_key else {}
        return http.AsyncClient(headers=headers, timeout=http.Timeout(self._timeout_s, connect=CONNECT_TIMEOUT_S))

    async def post(self, url: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Status and parsed answer; None for an answer that isn't JSON. Raises ScorerError where there is no answer."""
        if self._client is None:
            self._client = await asyncio.to_thread(self._connect)
        http = importlib.import_module("httpx2")
        try:
            response = await self._client.post(url, json=body)
        except http.TimeoutException as error:
            raise ScorerError(f"The scorer at {self.where} did not answer in time.") from error
        except (http.HTTPError, http.InvalidURL, http.StreamError) as error:
            words = one_line(str(error), WORDS) or type(error).__name__
            raise ScorerError(f"The scorer at {self.where} can't be reached ({words}).") from error
        try:
            return int(response.status_code), json.loads(response.content)
        except (ValueError, RecursionError):
            return int(response.status_code), None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def server_words(status: int, answer: Any) -> str:
    """What a server said of a request that it refused."""
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    text = error.get("message") if isinstance(error, dict) else error
    return one_line(f"{status}: {text}" if text else str(status), WORDS)
