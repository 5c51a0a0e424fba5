"""The work on segments: one column of two samples at every level of other columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dkmd.answers.comparison.one import Comparison
from dkmd.answers.comparison.segmented import Mix, Segment, Segmented, Split
from dkmd.answers.comparison.several import LeftOut
from dkmd.answers.many_levels import level_like, listed
from dkmd.answers.one_column import compare_samples
from dkmd.answers.options import Advance, CompareOptions
from dkmd.answers.orientation import turned
from dkmd.base.arrays import present
from dkmd.base.errors import ColumnError, ColumnTypeError
from dkmd.bins.grid import Grid
from dkmd.inference.kinds.categories import category_pvalue
from dkmd.inference.kinds.column_kind import AMOUNT, CATEGORY, COUNT, RATING, YES_NO
from dkmd.inference.kinds.segments import (
    NO_PART,
    SegmentMeans,
    SegmentPart,
    SegmentShift,
    constant_mix,
    mean_score,
    parts_of_shift,
    score_of_interval,
    score_of_test,
    segments_differ,
)
from dkmd.inference.test.one_test import MOST_VALUES
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.result import ExactOutcome
from dkmd.inference.test.sides import EMPTY_SIDE, Side, side_of_sorted
from dkmd.sources.cells import (
    Cells,
    count_cells,
    marginal,
    merged_cells,
    on_one_grid,
    read_cells,
    size_of,
)
from dkmd.sources.column_data import (
    ColumnData,
    HeldColumn,
    StreamedColumn,
    labelled_column,
)
from dkmd.sources.keys import ABSENT, RARE, KeyPart, Levels, lumped
from dkmd.sources.kinds import are_text, no_such_column, the_numeric_column
from dkmd.sources.loading import open_table
from dkmd.sources.number_words import level_order
from dkmd.sources.table import Table, note_of

FEWEST = 10
"""A segment with fewer values on a side is too small to judge."""

MOST_CELLS = 2_000
"""Combinations of levels that one query sums up. With more, each column has its own query."""

SAME_KINDS = (AMOUNT, YES_NO, COUNT, RATING)
"""Kinds that segments share with the total."""


class SideOfTable(NamedTuple):
    """One side of the comparison: a table, or the rows of a table at one level of a column."""

    table: Table
    label: str
    by: str = ""
    level: str = ""

    @property
    def prefix(self) -> tuple[KeyPart, ...]:
        """What all keys of this side begin with."""
        return (KeyPart(self.by, (self.level,)),) if self.by else ()

    def counts(self, columns: Sequence[str]) -> Counter[Levels]:
        """How many rows each combination of levels has on this side."""
        if not self.by:
            return count_cells(self.table, columns)
        counts = count_cells(self.table, [self.by, *columns])
        return Counter({key[1:]: n for key, n in counts.items() if key[0] == self.level})


class SegmentsAsked(NamedTuple):
    """The columns of segments, whether their combinations are segments too, and the most levels."""

    columns: tuple[str, ...]
    cross: bool = False
    most: int | None = None
    groups: str | None = None
    advance: Advance | None = None

    @property
    def splits(self) -> list[tuple[int, ...]]:
        """The columns of each split, by number: each column alone, and then all together."""
        alone: list[tuple[int, ...]] = [(i,) for i in range(len(self.columns))]
        return [*alone, tuple(range(len(self.columns)))] if self.cross else alone


def sides_of(
    samples: Sequence[Any],
    by: str | None,
    reference: Any,
    current: Any,
    where: Any = None,
    groups: str | None = None,
) -> tuple[SideOfTable, SideOfTable]:
    """Both sides of a comparison: two tables, or two levels of the column ``by`` of one table."""
    given = [*samples]
    if by is None:
        given += [sample for sample in (reference, current) if sample is not None]
    tables = [
        open_table(source, label, where, groups)
        for source, label in zip(given, ("reference", "current"), strict=False)
    ]
    if by is None:
        if len(given) != 2:
            raise TypeError(f"compare needs a reference and a current sample, got {len(given)}")
        return two_tables(tables[0], tables[1])
    if len(given) != 1:
        raise TypeError("by= needs one table: compare(frame, column=…, by=…, reference=…)")
    return two_levels(tables[0], by, reference, current)


def two_tables(reference: Table, current: Table) -> tuple[SideOfTable, SideOfTable]:
    """Two tables as sides."""
    if reference.name == current.name:
        return SideOfTable(reference, "reference"), SideOfTable(current, "current")
    return SideOfTable(reference, reference.name), SideOfTable(current, current.name)


def two_levels(
    table: Table, by: str, reference: object, current: object
) -> tuple[SideOfTable, SideOfTable]:
    """Two levels of a column of one table as sides."""
    kinds = table.kinds()
    if by not in kinds:
        raise no_such_column(table.name, by, kinds)
    levels = [levels[0] for levels in count_cells(table, [by]) if levels[0] != ABSENT]
    if reference is None:
        raise ValueError(f"say which level of {by!r} is the reference: {listed(levels)}")
    base = level_like(str(reference), by, levels, kinds[by])
    others = [level for level in levels if level != base]
    if current is None and len(others) != 1:
        raise ValueError(f"segments need two levels of {by!r}: say which one is current")
    other = others[0] if current is None else level_like(str(current), by, levels, kinds[by])
    return SideOfTable(table, base, by, base), SideOfTable(table, other, by, other)


def compare_segments(
    reference: SideOfTable,
    current: SideOfTable,
    column: str | None,
    asked: SegmentsAsked,
    options: CompareOptions,
) -> Segmented:
    """Compare one column of two sides in total and in every segment."""
    kinds = reference.table.kinds()
    beside = (*asked.columns, asked.groups, reference.by or None)
    for side in (reference, current):
        there = side.table.kinds()
        for name in filter(None, (*beside, column)):
            if name not in there:
                raise no_such_column(side.table.name, name, there)
    column = column or the_numeric_column(kinds, reference.table.name, beside)
    for name in asked.columns:
        if name in (column, asked.groups, reference.by):
            raise ValueError(f"column {name!r} cannot be a segment: it has another role")
    if options.kind == CATEGORY or are_text([kinds[column]]):
        raise ColumnTypeError(f"column {column!r} holds text: segments need a column of numbers")
    return _Work(reference, current, column, kinds[column], asked, options).answer()


@dataclass(frozen=True)
class _Work:
    """The question about segments, and what is read for it once."""

    reference: SideOfTable
    current: SideOfTable
    column: str
    kind: str
    asked: SegmentsAsked
    options: CompareOptions

    def answer(self) -> Segmented:
        """The total, then every segment of every split."""
        total = self._compared(*self._total, self.options)
        segments: list[Segment] = []
        splits: list[Split] = []
        for at in self.asked.splits:
            rows, split = self._split(at, total)
            segments += rows
            splits.append(split)
        return Segmented.of(total, segments, splits, self._left_out)

    @cached_property
    def _counts(self) -> tuple[Counter[Levels], Counter[Levels]]:
        """How many rows each combination of levels has on both sides."""
        columns = self.asked.columns
        return self.reference.counts(columns), self.current.counts(columns)

    @cached_property
    def _parts(self) -> tuple[KeyPart, ...]:
        """The columns of segments with the levels that are kept."""
        return tuple(KeyPart(column, self._kept(i)) for i, column in enumerate(self.asked.columns))

    def _rows_at(self, i: int) -> Counter[str]:
        """How many rows of both sides each level of a column has."""
        rows: Counter[str] = Counter()
        for side in self._counts:
            for levels, n in side.items():
                rows[levels[i]] += n
        return rows

    def _kept(self, i: int) -> tuple[str, ...] | None:
        """The most frequent levels of a column; None if there are few enough."""
        rows = self._rows_at(i)
        rows.pop(ABSENT, None)
        most = self.asked.most
        if most is None or len(rows) <= most:
            return None
        return tuple(level for level, _ in sorted(rows.items(), key=lambda r: (-r[1], r[0]))[:most])

    @property
    def _left_out(self) -> list[LeftOut]:
        """The columns with more levels than are kept."""
        found = []
        for i, part in enumerate(self._parts):
            if part.kept is not None:
                levels = len(self._rows_at(i).keys() - {ABSENT}) - len(part.kept)
                found.append(LeftOut(part.column, levels, len(part.kept)))
        return found

    @cached_property
    def _together(self) -> tuple[Cells, Cells] | None:
        """All combinations of levels on both sides, if one pass can serve all splits."""
        every = range(len(self.asked.columns))
        if sum(len(self._wanted(side, every)) for side in (0, 1)) > MOST_CELLS:
            return None
        found = self._read(tuple(every))
        streamed = any(isinstance(c, StreamedColumn) for side in found for c in side.values())
        # groups may have values in several cells, so their sums do not add up
        return None if streamed and self.asked.groups is not None else found

    def _wanted(self, side: int, at: Sequence[int]) -> list[Levels]:
        """The combinations of the levels of some columns on one side, without rare levels."""
        parts = [self._parts[i] for i in at]
        chosen = (tuple(levels[i] for i in at) for levels in self._counts[side])
        return list(dict.fromkeys(lumped(levels, parts) for levels in chosen))

    def _read(self, at: tuple[int, ...]) -> tuple[Cells, Cells]:
        """Both sides at the combinations of the levels of some columns, on one grid."""
        parts = [self._parts[i] for i in at]
        found: list[Cells] = []
        for which, side in enumerate((self.reference, self.current)):
            head = tuple(part.kept[0] for part in side.prefix if part.kept)
            wanted = [(*head, *levels) for levels in self._wanted(which, at)]
            read = read_cells(
                side.table, self.column, [*side.prefix, *parts], wanted, self.asked.groups
            )
            found.append({levels[len(head) :]: cell for levels, cell in read.items()})
        before, after = on_one_grid(found)
        return before, after

    @cached_property
    def _total(self) -> tuple[ColumnData, ColumnData]:
        """All values of both sides."""
        if self._together is not None:
            before, after = (merged_cells(list(side.values())) for side in self._together)
            return before, after
        groups = self.asked.groups
        sides = []
        for side in (self.reference, self.current):
            where = (side.by, side.level) if side.by else None
            sides.append(side.table.read(self.column, groups, where))
        return sides[0], sides[1]

    def _cells(self, at: tuple[int, ...]) -> tuple[Cells, Cells]:
        """Both sides at each combination of the levels of some columns."""
        if self._together is None:
            return self._read(at)
        merged: list[Cells] = []
        for which, side in enumerate(self._together):
            wanted = self._wanted(which, at)
            merged.append({levels: merged_cells(marginal(side, at, levels)) for levels in wanted})
        return merged[0], merged[1]

    def _compared(
        self, reference: ColumnData, current: ColumnData, options: CompareOptions
    ) -> Comparison:
        """One comparison of two samples of the column."""
        before, after = (
            labelled_column(
                data,
                self.column,
                side.label,
                self.kind,
                note=note_of(side.table, self.column),
                left_out=side.table.left_out,
            )
            for side, data in ((self.reference, reference), (self.current, current))
        )
        return compare_samples(before, after, options)

    def _split(self, at: tuple[int, ...], total: Comparison) -> tuple[list[Segment], Split]:
        """The segments of some columns, and what they say together."""
        before, after = self._cells(at)
        columns = tuple(self.asked.columns[i] for i in at)
        levels = sorted({*before, *after}, key=lambda each: [level_order(level) for level in each])
        sizes = [(size_of(before.get(key)), size_of(after.get(key))) for key in levels]
        whole = [max(1, sum(size[i] for size in sizes)) for i in (0, 1)]
        parts = self._carried([(before.get(key), after.get(key)) for key in levels], total)
        kind = total.kind if total.kind in SAME_KINDS else self.options.kind
        options = replace(self.options, kind=kind, expect_ratio=None)
        rows = []
        for done, (key, size, part) in enumerate(zip(levels, sizes, parts, strict=True)):
            if self.asked.advance is not None:
                self.asked.advance(", ".join(map(shown_level, key)), done, len(levels))
            comparison, why = self._judged(before.get(key), after.get(key), size, options)
            shares = size[0] / whole[0], size[1] / whole[1]
            rows.append(
                Segment(columns, tuple(map(shown_level, key)), size, shares, comparison, why, *part)
            )
        return rows, self._overall(columns, rows, total)

    def _judged(
        self,
        reference: ColumnData | None,
        current: ColumnData | None,
        sizes: tuple[int, int],
        options: CompareOptions,
    ) -> tuple[Comparison | None, str]:
        """The answer within a segment, or why there is none."""
        if reference is None or current is None or min(sizes) == 0:
            side = "the reference" if not sizes[0] else "current"
            return None, f"not judged: it has no values in {side}"
        if min(sizes) < FEWEST:
            return None, f"too small to judge: it has fewer than {FEWEST} values on a side"
        try:
            return self._compared(reference, current, options), ""
        except ColumnError as error:
            return None, f"not judged: {error}"

    def _carried(
        self, pairs: Sequence[tuple[ColumnData | None, ColumnData | None]], total: Comparison
    ) -> list[SegmentPart]:
        """The parts of the total shift; NaN if the total is a test of pairs or has no shift."""
        outcome = total.result.outcome()
        tester = outcome.tester if isinstance(outcome, ExactOutcome) else None
        if not isinstance(tester, Pair) or not math.isfinite(total.shift):
            return [NO_PART] * len(pairs)
        whole = tester.coarse
        means = []
        for pair in pairs:
            x, y = turned(pair)
            means.append(SegmentMeans(*_mean_score(x, whole), *_mean_score(y, whole)))
        return parts_of_shift(total.shift, whole.slope(0.0) / whole.bound, means)

    def _overall(
        self, columns: tuple[str, ...], rows: Sequence[Segment], total: Comparison
    ) -> Split:
        """What the segments of a split say together."""
        found = [(row, _shift_of(row.comparison)) for row in rows if row.comparison is not None]
        known = [(row, shift) for row, shift in found if shift is not None and shift.known]
        shifts = [shift for _, shift in known]
        fixed = constant_mix(shifts, [0.5 * sum(row.shares) for row, _ in known])
        by_mix = math.fsum(row.by_mix for row in rows)
        return Split(
            columns,
            segments_differ(shifts),
            fixed,
            by_mix,
            self._mix(rows),
            _is_reversed(total, [row for row, _ in known], fixed.direction),
        )

    def _mix(self, rows: Sequence[Segment]) -> Mix:
        """The change of the shares of segments; values of one group are not tested."""
        most = max(rows, key=lambda row: abs(row.shares[1] - row.shares[0]))
        pvalue = math.nan
        if self.asked.groups is None and len(rows) > 1:
            old, new = ([row.sizes[i] for row in rows] for i in (0, 1))
            pvalue = category_pvalue(new, old)
        return Mix(pvalue, " × ".join(most.levels), *most.shares)


def shown_level(level: str) -> str:
    """A level in words."""
    return {RARE: "other levels", ABSENT: "missing"}.get(level, level)


def _mean_score(data: ColumnData | None, whole: Pair) -> tuple[float, float]:
    """The number of values of a cell, and their mean score in the test of all values."""
    side = _side_of(data, whole.origin)
    return (side.size, mean_score(side, whole)) if side.size else (0.0, 0.0)


def _side_of(data: ColumnData | None, origin: float) -> Side:
    """The values of a cell as offsets from an origin."""
    if isinstance(data, HeldColumn):
        values = present(data.values)
        if values.size <= MOST_VALUES:
            return side_of_sorted(np.sort(values), origin)
        grid = Grid.fit(values)
    elif isinstance(data, StreamedColumn) and data.grid is not None:
        grid = data.grid
    else:
        return EMPTY_SIDE
    side = Side.of(data.summary(grid))
    return side._replace(offset=side.offset + (grid.center - origin))


def _shift_of(c: Comparison) -> SegmentShift | None:
    """The shift of a segment, as it is told; for yes/no data, the difference of shares."""
    outcome = c.result.outcome()
    if not isinstance(outcome, ExactOutcome):
        return None
    score = score_of_test(outcome)
    if c.kind == YES_NO:
        score = score_of_interval(c.shift, *c.shift_interval, 1.0 - c.alpha)
    return SegmentShift(c.shift, *c.shift_interval, score)


def _is_reversed(total: Comparison, rows: Sequence[Segment], within: int) -> bool:
    """Whether all segments moved one way, clearly so together, and the total clearly the other."""
    if not total.is_clear or within * total.shift >= 0.0 or len(rows) < 2:
        return False
    shifts = [row.comparison.shift for row in rows if row.comparison is not None]
    return all(shift * total.shift < 0.0 for shift in shifts)
