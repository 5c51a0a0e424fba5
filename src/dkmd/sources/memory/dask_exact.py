"""Points in time in dask: read again, minus whole seconds near them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dkmd.sources.column_data import ColumnData, offset_near, preview_of, with_offset
from dkmd.sources.kinds import DATE
from dkmd.sources.memory.columns import kind_of


def read_exactly(
    scanned: Callable[[Mapping[str, int]], Mapping[str, ColumnData]], metas: Mapping[str, Any]
) -> Mapping[str, ColumnData]:
    """Samples; points in time are read again minus whole seconds near them.

    ``metas`` are empty columns of the same types.
    """
    found = scanned({})
    offsets: dict[str, int] = {}
    for name, meta in metas.items():
        if kind_of(meta) == DATE:
            offset = offset_near([preview_of(found[name])])
            offsets |= {name: offset} if offset else {}
    if not offsets:
        return found
    again = scanned(offsets)
    return {name: with_offset(each, offsets.get(name, 0)) for name, each in again.items()}
