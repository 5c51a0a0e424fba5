"""Whole numbers and decimals of an engine that doubles round: they are searched for and rejected.

The search is a query of its own. It runs only if the sums show values beyond 2^53.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dkmd.base.errors import ColumnError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.sources.column_data import ColumnData, StreamedColumn, is_far
from dkmd.sources.engines.backends import Engine
from dkmd.sources.number_words import EXACT_UP_TO, TOO_LONG, is_rounded

DECIMALS = 100_000
"""Different decimals beyond 2^53 that are looked at."""


def refusing_rounded(data: ColumnData, offset: int, refuse: Callable[[], None]) -> ColumnData:
    """Column data with an offset, whose sums raise an error if there are rounded numbers."""
    if not isinstance(data, StreamedColumn):
        return data
    asked = data.summarize
    checked: list[bool] = []

    def summarize(grid: Grid, logs: float | None) -> Summary:
        found = asked(grid, logs)
        if logs is None and not checked and is_far(found):
            refuse()
            checked.append(True)
        return found

    return replace(data, summarize=summarize, offset=offset)


def refuse_rounded(engine: Engine, table: Any, column: str, where: str) -> None:
    """Raise an error that shows a whole number or a decimal that doubles round, if there is one."""
    x = table[column]
    far = table.filter(x.cast("float64").abs() >= float(EXACT_UP_TO))
    x = far[column]
    if x.type().is_decimal():
        some = far.select(v=x.cast("string")).distinct().limit(DECIMALS)
    else:
        some = far.filter(_left(x) != 0).select(v=x.cast("string")).limit(1)
    for value in engine.run(some)["v"]:
        if is_rounded(str(value)):
            raise ColumnError(f"{where}: {value} is {TOO_LONG}")


def _left(x: Any) -> Any:
    """What a whole number leaves over beside the nearest doubles: 0 if it is a double.

    Doubles up to 2^54 are even numbers, up to 2^55 multiples of 4, and so on.
    """
    import ibis

    kind = x.type()
    bits = 8 * kind.nbytes - (1 if kind.is_signed_integer() else 0)
    rungs = []
    for power in range(54, bits):
        near = x <= ibis.literal(2**power, kind)
        if kind.is_signed_integer():
            near &= x >= ibis.literal(-(2**power), kind)
        rungs.append((near, x % ibis.literal(2 ** (power - 53), kind)))
    return ibis.cases(*rungs, else_=x % ibis.literal(2 ** (bits - 53), kind))
