"""The adjusted test of a column of which a side is not in memory: a long file, dask, an engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dkmd.answers.orientation import compared_crossed, compared_crossed_units
from dkmd.binned.logarithms import log_grid, require_positive
from dkmd.binned.summary import Summary
from dkmd.inference.cross_streams import CrossStream, weighings_of
from dkmd.inference.designs import WEIGHTS_OR_PAIRS
from dkmd.inference.options import Options
from dkmd.inference.result import DkmdResult
from dkmd.inference.unit_streams import asked_both
from dkmd.sources.column_data import ColumnData, HeldColumn, StreamedColumn
from dkmd.sources.pairs import OnOneGrid, crossed_of_pair, units_of_pair


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
    weighings = weighings_of(*streams)
    if options.weigh is not None and streams[0].weighing() is not None:
        raise ValueError(WEIGHTS_OR_PAIRS)
    units = None if options.weigh is None else units_of_pair(reference, current)
    sides = crossed_of_pair(reference, current, streams)
    before, after = sides.before.summary, sides.after.summary
    check(before, after)
    has_groups = all(map(_has_groups, (reference, current)))

    def tested(at: OnOneGrid, how: Options, logs: bool) -> DkmdResult:
        if units is not None:
            return compared_crossed_units(at, how, streams, units, logs)
        return compared_crossed(at, how, streams, has_groups, logs, weighings)

    def on_logs() -> DkmdResult:
        require_positive(before, after)
        grid = log_grid(before + after)
        old, new = asked_both(
            *(partial(stream.crossed, grid, sides.frame, True) for stream in streams)
        )
        logs = OnOneGrid(old, new, sides.frame)
        return tested(logs, options.on_logs(), True)

    result = tested(sides, options, False)
    return result.with_logs(on_logs), (before, after)


def _has_groups(side: ColumnData) -> bool:
    if isinstance(side, HeldColumn):
        return side.groups is not None
    return isinstance(side, StreamedColumn) and side.grouped is not None
