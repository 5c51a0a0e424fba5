"""The adjusted test of a column of which a side is not in memory: a long file, dask, an engine."""

from __future__ import annotations

from collections.abc import Callable

from dkmd.answers.orientation import compared_crossed
from dkmd.base.errors import ColumnError
from dkmd.binned.logarithms import log_grid, require_positive
from dkmd.binned.summary import Summary
from dkmd.inference.cross_streams import CrossStream
from dkmd.inference.options import Options
from dkmd.inference.result import DkmdResult
from dkmd.sources.column_data import ColumnData, HeldColumn, StreamedColumn
from dkmd.sources.cross_sides import NOT_WITH_PAIRS
from dkmd.sources.pairs import OnOneGrid, crossed_of_pair


def compared_by_sums(
    reference: ColumnData,
    current: ColumnData,
    streams: tuple[CrossStream, CrossStream],
    options: Options,
    check: Callable[[Summary, Summary], None],
) -> tuple[DkmdResult, tuple[Summary, Summary]]:
    """The test by sums of covariates and strata, and the summaries of reference and current.

    ``check`` looks at the summaries before they are compared.
    """
    if options.weigh is not None:
        raise ColumnError(NOT_WITH_PAIRS)
    sides = crossed_of_pair(reference, current, streams)
    before, after = sides.before.summary, sides.after.summary
    check(before, after)
    has_groups = all(map(_has_groups, (reference, current)))

    def on_logs() -> DkmdResult:
        require_positive(before, after)
        grid = log_grid(before + after)
        old, new = (stream.crossed(grid, sides.frame, True) for stream in streams)
        logs = OnOneGrid(old, new, sides.frame)
        return compared_crossed(logs, options.on_logs(), streams, has_groups, logs=True)

    result = compared_crossed(sides, options, streams, has_groups)
    return result.with_logs(on_logs), (before, after)


def _has_groups(side: ColumnData) -> bool:
    if isinstance(side, HeldColumn):
        return side.groups is not None
    return isinstance(side, StreamedColumn) and side.grouped is not None
