"""A validated change of a project's cap: 1 to 20, null clears, what is left out stays."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.errors import UsageError
from store.projects import project_update
from store.store import Store


@pytest.mark.parametrize("cap", [1, 6, 20])
async def test_set_leave_and_clear(store: Store, cap: int) -> None:
    projects = store.projects
    assert await projects.update("p", "/src/p", project_update({"fix_verify_retry_cap": cap}))
    assert await projects.cap("p") == cap
    assert not await projects.update("p", "/src/p", project_update({}))
    assert await projects.cap("p") == cap
    assert await projects.update("p", "/src/p", project_update({"fix_verify_retry_cap": None}))
    assert await projects.cap("p") is None


@pytest.mark.parametrize("value", [0, 21, -1, 3.0, 3.5, "3", True, [3], {"cap": 3}])
def test_anything_else_is_refused_in_one_sentence(value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        project_update({"fix_verify_retry_cap": value})
    assert "fix_verify_retry_cap is" in str(caught.value)
    assert "from 1 to 20, or null" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(UsageError, match="no setting 'cap'"):
        project_update({"cap": 3})


def test_an_update_can_not_be_changed_afterwards() -> None:
    update = project_update({"fix_verify_retry_cap": 3})
    with pytest.raises(ValueError, match="frozen"):
        update.fix_verify_retry_cap = 4  # type: ignore[misc]
