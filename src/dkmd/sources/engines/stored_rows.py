"""Rows of an engine's table, as a design asks for them: a query for each question.

The engine sums up. What comes back are some rows to fit a grid and covariates to, sums per bin, and
sums of scores: one row for each unit, or for each combination of strata.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError, EngineError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.columns import Frame, Level
from dkmd.inference.design.labels import also_in
from dkmd.inference.design.stored import (
    CLOSE,
    Labels,
    RowSums,
    Sample,
    ScoreTable,
    Stored,
    UnitTable,
    Weighing,
)
from dkmd.sources.column_data import Summarize
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    COUNTS,
    GROUP,
    VALUE,
    WEIGHTS,
    Coordinates,
    exactly,
    floor,
    is_missing,
    logarithms,
    with_bins,
)
from dkmd.sources.engines.backends import Engine, IbisEngine
from dkmd.sources.engines.fetched import Columns, doubles, is_null
from dkmd.sources.engines.score_answers import (
    names_of,
    repeated_rows,
    row_numbers,
    row_sums,
    unit_numbers,
    unit_table,
)
from dkmd.sources.engines.score_queries import STRATUM, with_columns, with_scores
from dkmd.sources.engines.summaries import summary_with_ends
from dkmd.sources.level_counts import level_word
from dkmd.sources.stored_sides import at_home
from dkmd.sources.table import DesignColumns
from dkmd.sources.weights import FINITE

FIT_ROWS = 1 << 15
"""Rows of the sample that grids and covariates are fitted to."""

MOST_COUNTED = 10_000
"""Levels of a column of strata that are counted, the most frequent ones."""

MOST_CELLS = 2_000
"""Combinations of levels of several columns of strata that one query tells apart."""

MOST_NAMED = 100_000
"""Labels that a query can name. Units that another place holds are told apart by their names."""


def _nothing(*_: str) -> None:
    """Nothing more to say."""


class Refusals(NamedTuple):
    """Errors that name a row, where the place knows its rows."""

    words: Callable[[str], None] = _nothing
    """Raises an error if a column has a word among its numbers."""
    unlabelled: Callable[[], None] = _nothing
    """Raises an error if a row has no label."""


NO_REFUSALS = Refusals()


@dataclass(frozen=True)
class EngineRows:
    """One column of an engine's table, with all that belongs to its rows.

    Parameters
    ----------
    engine : Engine
        Runs the queries.
    table : ibis.Table
        The value, covariates as k0 …, strata as text l0 …, and the columns GROUP, WEIGHTS and
        COUNTS if there are any. All numbers are doubles.
    column : str
        The name of the column of values.
    names : DesignColumns
        The names of the columns beside it.
    label : str
        The name of the table, for errors.
    summarize : callable, optional
        Sums up the values, if another query does that already; not for weights or counts.
    refusals : Refusals
        Errors that name a row.
    """

    engine: Engine
    table: Any = field(repr=False)
    column: str
    names: DesignColumns
    label: str
    summarize: Summarize | None = None
    refusals: Refusals = NO_REFUSALS
    _found: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def covariates(self) -> Sequence[str]:
        """The names of the covariates."""
        return self.names.covariates

    @property
    def strata(self) -> Sequence[str]:
        """The names of the columns of strata."""
        return self.names.strata

    @property
    def has_units(self) -> bool:
        """Whether rows have labels of units."""
        return self.names.groups is not None

    @property
    def _used(self) -> Any:
        """The rows that weigh and count something."""
        table = self._checked
        for name in (WEIGHTS, COUNTS):
            table = table.filter(table[name] > 0.0) if name in table.columns else table
        return table

    @property
    def _rows(self) -> Any:
        """The rows that have a value, too."""
        table = self._used
        return table.filter(~is_missing(table[VALUE]))

    @cached_property
    def _checked(self) -> Any:
        """The table; an error if some rows have a weight or a count that cannot be used."""
        import ibis

        faults: dict[str, Any] = {}
        if self.names.weights is not None:
            w = self.table[WEIGHTS]
            faults["missing"] = is_missing(w)
            faults["negative"] = w < 0.0
            faults["infinite"] = ~is_missing(w) & (w >= exactly(math.inf))
        if self.names.counts is not None:
            c = self.table[COUNTS]
            usable = ~is_missing(c) & (c < exactly(2.0**53)) & (c >= 0.0)
            whole = ibis.cases((usable, c), else_=exactly(0.5))
            faults["broken"] = whole != floor(whole)
        if faults:
            asked = {name: bad.ifelse(1, 0).sum() for name, bad in faults.items()}
            for name, rows in zip(faults, self._one(self.table, **asked), strict=True):
                self._refuse(name, 0 if math.isnan(rows) else round(rows))
        return self.table

    def _refuse(self, fault: str, rows: int) -> None:
        """Raise an error if some rows have a fault."""
        if not rows:
            return
        have = "1 row has" if rows == 1 else f"{rows:,} rows have"
        if fault == "broken":
            raise ColumnError(
                f"{self.label}, {self.names.counts}: {have} a count that is not a whole number, 0 "
                "or more: give other numbers as weights"
            )
        raise ColumnError(f"{self.label}, {self.names.weights}: {have} a {fault} weight: {FINITE}")

    def sample(self) -> Sample:
        """Some rows, those without a value too, each as often as it counts."""
        return self._sample

    @cached_property
    def _sample(self) -> Sample:
        names = [VALUE, *(f"k{i}" for i in range(len(self.covariates)))]
        asked = [*names, *(name for name in (COUNTS,) if name in self.table.columns)]
        found = self.engine.sample(self._used, lambda t: t.select(*asked), FIT_ROWS)
        rows, whole = repeated_rows(found, FIT_ROWS)
        values, *covariates = (doubles(found[name])[rows] for name in names)
        return Sample(values, tuple(covariates), whole)

    def levels(self) -> Sequence[Mapping[Level, int]]:
        """How often the most frequent levels of each column of strata occur."""
        return self._levels

    @cached_property
    def _levels(self) -> Sequence[Mapping[Level, int]]:
        return [self._counted(f"l{i}") for i in range(len(self.strata))]

    def _counted(self, name: str) -> dict[Level, int]:
        import ibis

        counted = self._used.group_by(name).aggregate(rows=_count)
        found = self.engine.run(counted.order_by(ibis.desc("rows")).limit(MOST_COUNTED))
        pairs = zip(found[name].tolist(), found["rows"].tolist(), strict=True)
        return {None if is_null(level) else str(level): round(n) for level, n in pairs}

    def weighing(self) -> Weighing | None:
        """The weights as shares of the largest one; None without them."""
        return None if self._weights is None else self._weights[0]

    @cached_property
    def _weights(self) -> tuple[Weighing, float] | None:
        """The weights as shares of the largest one, and that; None without them or without rows."""
        if self.names.weights is None:
            return None
        rows = self._rows
        top = self._one(rows, top=rows[WEIGHTS].max())[0]
        if not top > 0.0:
            return None
        rows = rows.mutate(c=_each(rows), share=rows[WEIGHTS] / exactly(top))
        rows = rows.mutate(log=rows.share.ln())
        sums = self._one(
            rows, rows=_count(rows), total=(rows.c * rows.share).sum(),
            squares=(rows.c * rows.share * rows.share).sum(), logs=(rows.c * rows.log).sum(),
            log_squares=(rows.c * rows.log * rows.log).sum(),
        )  # fmt: skip
        return Weighing(*sums), top

    def _one(self, table: Any, **asked: Any) -> list[float]:
        """The only row of an aggregate."""
        found = self.engine.run(table.aggregate(**asked))
        return [float(doubles(found[name])[0]) for name in asked]

    def _weight(self, rows: Any) -> Any:
        """The weight of every row over the mean weight."""
        if self._weights is None:
            return exactly(1.0)
        weighing, top = self._weights
        return rows[WEIGHTS] / exactly(top * weighing.mean)

    def labels(self) -> Labels:
        """The label of every unit that has a row."""
        return self._texts(self._units_named)

    @cached_property
    def _units_named(self) -> Labels:
        """The labels as the engine has them."""
        found = self.engine.run(self._rows.select(GROUP).distinct())
        return self._present(found[GROUP])

    def _present(self, labels: Labels) -> Labels:
        """Labels of units; an error if one is missing."""
        if any(map(is_null, labels.tolist())):
            self.refusals.unlabelled()
            raise ValueError(f"column {self.names.groups!r}: some labels of units are missing")
        return labels

    @staticmethod
    def _texts(labels: Labels) -> Labels:
        """Labels as text, as all other places have them."""
        found = np.empty(labels.size, dtype=object)
        found[:] = [level_word(label) for label in labels.tolist()]
        return found

    def bins(self, grid: Grid, logs: bool) -> Summary:
        """The sums per bin. With weights, its counts are sums of weights."""
        below = math.inf if logs else None
        found = (
            self._summaries(grid, below)
            if self.summarize is None
            else [self.summarize(grid, below)]
        )
        self._found["size"] = found[0].size
        return found[-1]

    def summary(self, grid: Grid, below: float | None) -> Summary:
        """The sums per bin without weights; given an edge, of logarithms of values below it."""
        return self._summaries(grid, below)[0]

    def _summaries(self, grid: Grid, below: float | None) -> list[Summary]:
        """The sums per bin, and with weights those of the weights, by one query."""
        if (grid, below) not in self._found:
            rows = self._used if below is None else logarithms(self._used, below)
            rows = with_bins(rows, Coordinates.of(grid), self.engine.dialect)
            each = {"n": _each(rows)}
            if self._weights is not None:
                each["w"] = _each(rows) * self._weight(rows)
            found = self._per_bin(rows, each, grid)
            if found[0].nan:
                self.refusals.words(self.column)
            self._found[grid, below] = found
        known: list[Summary] = self._found[grid, below]
        return known

    def _per_bin(self, rows: Any, each: Mapping[str, Any], grid: Grid) -> list[Summary]:
        """The sums per bin of numbers of every row: those called n are whole."""
        rows = rows.mutate(**each)
        x, u = rows[VALUE], rows.u
        asked = {"rows": _count(rows), "lowest": x.min(), "highest": x.max()}
        for name in each:
            weight = rows[name]
            asked |= {
                f"{name}_0": weight.sum(), f"{name}_1": (weight * u).sum(),
                f"{name}_2": (weight * u * u).sum(),
            }  # fmt: skip
        found = self.engine.run(rows.group_by([BELOW, BIN]).aggregate(**asked))
        return [summary_with_ends(found, grid, name, name != "n") for name in each]

    def shared_bins(self, grid: Grid, beside: Stored, logs: bool) -> Summary:
        """The sums per bin of the units that the other side has too; every unit weighs 1."""
        other = at_home(beside)
        key = grid, id(other), logs
        if key not in self._found:
            rows = self._shared(other)
            rows = logarithms(rows) if logs else rows
            of_units = rows.group_by(GROUP).aggregate(of_unit=_count(rows))
            rows = rows.inner_join(of_units, GROUP)
            rows = with_bins(rows, Coordinates.of(grid), self.engine.dialect)
            weight = _each(rows) / rows.of_unit.cast("float64")
            # the other side is kept, so that no one else has its id
            self._found[key] = self._per_bin(rows, {"w": weight}, grid)[0], other
        found: Summary = self._found[key][0]
        return found

    def _shared(self, other: Stored) -> Any:
        """The rows of units that the other side has too."""
        rows = self._rows
        if isinstance(other, EngineRows) and self._reaches(other):
            return rows.semi_join(other._rows.select(GROUP).distinct(), GROUP)
        there = also_in(self.labels(), other.labels())
        if there.all():
            return rows
        few = there.sum() < (~there).sum()
        named = self._units_named[there if few else ~there].tolist()
        if len(named) > MOST_NAMED:
            raise EngineError(
                f"more than {MOST_NAMED:,} units are on one side only, and the sides are in "
                "different places: bring both into one engine, or leave out units on one side only"
            )
        label = rows[GROUP]
        return rows.filter(label.isin(named) if few else label.notin(named))

    def _reaches(self, other: EngineRows) -> bool:
        """Whether one query can read both sides and compare their labels."""
        mine, theirs = self.engine, other.engine
        if isinstance(mine, IbisEngine) and isinstance(theirs, IbisEngine):
            near = mine.backend is theirs.backend
        else:
            near = mine is theirs
        return near and self.table[GROUP].type() == other.table[GROUP].type()

    def _scored(self, scores: ScoreTable, frame: Frame, logs: bool) -> Any:
        """The rows with their scores, their columns g and the key of their strata."""
        cells = math.prod(len(factor.levels) + 1 for factor in frame.factors)
        if len(frame.factors) > 1 and cells > MOST_CELLS:
            raise ColumnError(
                f"the strata have {cells:,} combinations of levels, and an engine is asked for at "
                f"most {MOST_CELLS:,}: give one column of strata, or fewer levels"
            )
        rows = with_columns(logarithms(self._rows) if logs else self._rows, frame)
        return with_scores(rows, scores, self.engine.dialect)

    def _asked(self, rows: Any, asked: Mapping[str, Any], keys: Sequence[str]) -> Columns:
        """The sums of some numbers of every row, by keys. Words among covariates are an error."""
        gone = {
            f"k{i}_gone": is_missing(rows[f"k{i}"]).ifelse(1, 0)
            for i in range(len(self.covariates))
        }
        rows = rows.mutate(**asked, **gone)
        sums = {name: rows[name].sum() for name in (*asked, *gone)}
        query = rows.group_by(list(keys)).aggregate(**sums) if keys else rows.aggregate(**sums)
        found = self.engine.run(query)
        for name, column in zip(self.covariates, gone, strict=True):
            if doubles(found[column]).sum() > 0.0:
                self.refusals.words(name)
        return found

    def units(self, scores: ScoreTable, frame: Frame, logs: bool) -> UnitTable:
        """The sums of every unit."""
        rows, names = self._scored(scores, frame, logs), names_of(scores, frame)
        rows = self._once(rows.mutate(n=_each(rows), w=self._weight(rows)))
        asked = unit_numbers(rows, names, names[scores.scores - 1])
        found = self._asked(rows, asked, [GROUP, STRATUM] if frame.factors else [GROUP])
        table = unit_table(found, self._texts(self._present(found[GROUP])), names, frame)
        self._require_unchanged(table.powers[0])
        return table

    def _require_unchanged(self, rows: float) -> None:
        """Raise an error if the bins, which another query counted, had more or fewer rows."""
        if round(rows) != self._found.get("size", round(rows)):
            raise EngineError("the data changed between two queries: ask again")

    def rows(
        self, scores: ScoreTable, frame: Frame, logs: bool, theta: Array | None = None
    ) -> RowSums:
        """The sums over all rows."""
        import ibis

        rows, names = self._scored(scores, frame, logs), names_of(scores, frame)
        left = rows[names[scores.scores - 1]]
        for j, slope in enumerate([] if theta is None else theta[: len(frame.numbers)].tolist()):
            left = left - rows[f"g{j}"] * exactly(slope)
        rows = rows.mutate(n=_each(rows), w=self._weight(rows), left=left)
        q = rows.n
        if self._weights is not None:
            size = self._weights[0].rows
            out = rows.w / ibis.greatest(exactly(size) - rows.w, exactly(CLOSE * size))
            q = rows.n * out * out
        rows = self._once(rows.mutate(q=q))
        asked = row_numbers(rows, names, self._weights is not None)
        found = self._asked(rows, asked, [STRATUM] if frame.factors else [])
        sums = row_sums(found, names, frame, theta, self._weights is not None)
        self._require_unchanged(sums.powers[0, 0])
        return sums

    def _once(self, rows: Any) -> Any:
        """The same rows, whose columns PostgreSQL would otherwise compute again for each use.

        It does not look into a query with a limit. That is 2 to 5 times as fast.
        """
        return rows.limit(1 << 62) if self.engine.dialect == "postgres" else rows


def _each(rows: Any) -> Any:
    """How often each row counts."""
    return rows[COUNTS] if COUNTS in rows.columns else exactly(1.0)


def _count(rows: Any) -> Any:
    """How many rows there are, each as often as it counts."""
    return rows[COUNTS].sum() if COUNTS in rows.columns else rows.count()
