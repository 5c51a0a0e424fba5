"""What ``compare`` was asked, and which room answers: levels, segments, several columns, or one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from dkmd.answers.by_segment import SegmentsAsked, compare_segments, sides_of
from dkmd.answers.comparison import ColumnAnswer, Comparisons, Segmented
from dkmd.answers.designs import columns_beside
from dkmd.answers.many_columns import TwoTables, compare_columns
from dkmd.answers.many_levels import Levels, compare_columns_at_levels, compare_levels
from dkmd.answers.one_category import compare_pair
from dkmd.answers.options import Advance, CompareOptions, GroupLabels
from dkmd.base.errors import ColumnError
from dkmd.inference.kinds.column_kind import CATEGORY
from dkmd.sources.engines.urls import is_url
from dkmd.sources.loading import SidesBeside, load_pair, open_table
from dkmd.sources.table import Table


class Asked(NamedTuple):
    """What ``compare`` was asked about its samples."""

    reference: Any  # a sample; with ``by``, a level
    current: Any
    columns: list[str]  # empty if no column was named
    several: bool  # whether columns were given as a list
    kinds: Mapping[str, str]  # the kinds of some columns, if users gave them
    by: str | None
    groups: GroupLabels | None
    beside: SidesBeside
    where: Any
    most_levels: int | None
    advance: Advance | None
    segments: tuple[str, ...] = ()
    cross: bool = False

    @property
    def column(self) -> str | None:
        """The only column, if one was named."""
        return self.columns[0] if self.columns else None


def answer(
    samples: Sequence[Any], asked: Asked, options: CompareOptions
) -> ColumnAnswer | Comparisons | Segmented:
    """The answer about levels of one table, or about two samples."""
    if asked.segments:
        return _segmented(samples, asked, options)
    if asked.by is not None:
        if len(samples) != 1:
            raise TypeError("by= needs one table: compare(frame, column=…, by=…, reference=…)")
        if not isinstance(asked.groups, str | None):
            raise TypeError("with by=, groups is the name of a column of the table")
        table = open_table(samples[0], "the table", asked.where, asked.groups)
        beside = columns_beside(asked.beside, "with by=")
        question = Levels(
            asked.by, asked.reference, asked.current, asked.groups, beside, asked.most_levels,
            asked.advance,
        )  # fmt: skip
        if asked.several:
            return compare_columns_at_levels(table, asked.columns, question, options, asked.kinds)
        return compare_levels(table, asked.column, question, options)
    before, after = two_samples(samples, asked.reference, asked.current)
    if asked.several:
        return _columns_of_two_samples(before, after, asked, options)
    categories = options.kind == CATEGORY
    pair = load_pair(
        before, after, asked.column, asked.groups, asked.where, categories, asked.beside
    )
    return compare_pair(pair, options)


def two_samples(samples: Sequence[Any], reference: Any, current: Any) -> tuple[Any, Any]:
    """The two samples, given in order or by name."""
    if samples and reference is not None:
        raise TypeError(
            "the first sample is the reference: give reference= and current= by name, or neither"
        )
    given = [*samples, *(s for s in (reference, current) if s is not None)]
    if len(given) != 2:
        raise TypeError(f"compare needs a reference and a current sample, got {len(given)}")
    return given[0], given[1]


def _segmented(samples: Sequence[Any], asked: Asked, options: CompareOptions) -> Segmented:
    """The answer about segments of two tables, or of two levels of one table."""
    if asked.several:
        raise ValueError("segments need one column: compare the columns one after the other")
    if asked.beside[0] is not None:
        raise ValueError(
            "segments go with groups or pair_by, not with covariates, strata, weights, counts or "
            "per"
        )
    if options.test.estimand != "shift":
        raise ValueError("segments are compared by their shifts, not by their means")
    if not isinstance(asked.groups, str | None):
        raise TypeError("with segments, groups and pair_by are names of columns")
    wanted = SegmentsAsked(
        asked.segments, asked.cross, asked.most_levels, asked.groups, asked.advance
    )
    before, after = sides_of(
        samples, asked.by, asked.reference, asked.current, asked.where, asked.groups
    )
    return compare_segments(before, after, asked.column, wanted, options)


def _columns_of_two_samples(
    reference: Any, current: Any, asked: Asked, options: CompareOptions
) -> Comparisons:
    """Several columns of two tables, in the order in which they were named."""
    if not isinstance(asked.groups, str | None):
        raise TypeError("with several columns, groups is the name of a column of both tables")
    before = open_table(reference, "reference", asked.where, asked.groups)
    after = open_table(current, "current", asked.where, asked.groups)
    beside = columns_beside(asked.beside, "with several columns")
    tables = TwoTables.of(before, after, asked.groups, options.test.weigh is not None, beside)
    from_files = any(isinstance(source, str | os.PathLike) for source in (reference, current))
    found = compare_columns(
        tables, asked.columns, options, from_files, asked.advance, tables.kinds_asked(asked.kinds)
    )
    for name, why in found.skipped.items():
        raise ColumnError(f"column {name!r} was not compared: {why}")
    return Comparisons(
        {name: found[name] for name in asked.columns}, options.alpha, rows=found.ROWS
    )


def tables_of_url(
    samples: Sequence[Any], table: str | Sequence[str]
) -> AbstractContextManager[Sequence[Table]]:
    """The tables of the database whose URL is the only sample."""
    if len(samples) != 1 or not is_url(samples[0]):
        raise TypeError("table= goes with the URL of a database, such as postgresql://host/name")
    from dkmd.sources.engines.connections import tables_of

    return tables_of(samples[0], [table] if isinstance(table, str) else list(table))
