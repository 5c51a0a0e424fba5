"""Previews of columns in an engine: their values, or why no grid fits them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import (
    TOO_FAR_APART,
    ColumnError,
    ColumnTypeError,
    EngineError,
)
from dkmd.bins.grid import Grid
from dkmd.sources.engines.aggregate import (
    VALUE,
)
from dkmd.sources.engines.fetched import Columns, doubles


def no_grid(values: Array) -> ColumnError | None:
    """The error for values that no grid fits because they lie too far apart; None if one fits."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            Grid.fit(values).rounded()
    except (ValueError, OverflowError):
        return ColumnError(TOO_FAR_APART)
    return None


def preview_of(rows: Columns | None) -> Array:
    """The values of a sample as doubles; none without rows."""
    return np.empty(0) if rows is None else doubles(rows[VALUE])


def some_of_columns(
    columns: Sequence[str],
    number: Callable[[str], object],
    sample: Callable[[Sequence[str]], dict[str, Array | Exception]],
) -> dict[str, Array | Exception]:
    """Some values of each column, or the error of a column that cannot be read.

    ``number`` raises an error for a column that holds no numbers, and ``sample`` reads several.
    """
    found: dict[str, Array | Exception] = {}
    for name in columns:
        try:
            number(name)
        except ColumnTypeError as error:
            found[name] = error
    readable = [name for name in columns if name not in found]
    try:
        found |= sample(readable)
    except EngineError as error:
        if len(readable) == 1:
            raise
        for name in readable:
            try:
                found |= sample([name])
            except EngineError as of_one:
                found[name] = of_one
        if all(isinstance(found[name], Exception) for name in readable):
            raise error  # the fault is not in one column
    return found
