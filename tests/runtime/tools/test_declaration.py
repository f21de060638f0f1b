"""The tools' declaration is one byte sequence, however it was put together."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from runtime.models.anthropic_wire import request_body
from runtime.tools.registry import canonical, tool_specs
from support.transcripts import Play


def shuffled(value: Any, rng: random.Random) -> Any:
    """The same dictionaries built in another order."""
    if not isinstance(value, dict):
        return value
    names = list(value)
    rng.shuffle(names)
    return {name: shuffled(value[name], rng) for name in names}


@pytest.mark.parametrize("seed", range(20))
def test_another_order_of_tools_and_schemas_is_the_same_bytes(seed: int) -> None:
    rng = random.Random(seed)
    specs = [spec.model_copy(update={"parameters": shuffled(spec.parameters, rng)}) for spec in tool_specs()]
    rng.shuffle(specs)
    play = Play()
    play.transcript.add_user("Fix it.")
    request = play.request()
    other = request.model_copy(update={"tools": canonical(specs)})
    assert json.dumps(request_body(request, None)) == json.dumps(request_body(other, None))


def test_what_is_required_comes_first_in_its_own_order() -> None:
    edit = next(spec for spec in tool_specs() if spec.name == "edit_file")
    assert list(edit.parameters["properties"]) == ["path", "old", "new", "replace_all"]
