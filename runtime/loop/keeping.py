"""The loop never outruns the record: waits until it is durable, and holds the run while it can't be written."""

from __future__ import annotations

import asyncio

from runtime.events.values import HoldReason
from runtime.loop.control import Control
from runtime.loop.services import Services
from runtime.ports import CallRow, RecordBlocked

RETRY_SECONDS = 2.0


async def durable(services: Services, control: Control) -> None:
    """Return once every event so far is durable; while the record is blocked the run is held and says what is needed."""
    while True:
        try:
            await services.record.flush()
        except RecordBlocked as blocked:
            await wait_for_disk(control, blocked)
        else:
            control.end_hold()
            return


async def keep_row(services: Services, control: Control, row: CallRow) -> None:
    """Keep a usage row, however long the record is blocked."""
    while True:
        try:
            await services.ledger.record(row)
        except RecordBlocked as blocked:
            await wait_for_disk(control, blocked)
        else:
            control.end_hold()
            return


async def wait_for_disk(control: Control, blocked: RecordBlocked) -> None:
    """Say what the record needs, and wait a moment before it is tried again."""
    if control.waiting is None:
        control.begin_hold(HoldReason.DISK, blocked.text)
    await asyncio.sleep(RETRY_SECONDS)
