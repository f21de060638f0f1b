"""All operators, in a fixed order."""

from __future__ import annotations

from runtime.models.local.operators import (
    calls,
    compare,
    conditions,
    ingredients,
    names,
    numbers,
    slices,
    statements,
    values,
)
from runtime.models.local.site import Operator

OPERATORS: tuple[Operator, ...] = tuple(
    operator
    for module in (compare, numbers, names, calls, slices, values, statements, conditions, ingredients)
    for operator in module.operators()
)
