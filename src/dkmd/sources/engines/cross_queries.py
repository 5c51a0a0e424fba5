"""Covariates and strata in an engine: sums per bin with those of the columns g, in few queries.

All of it is plain SQL: g is a cubic of a number that is cut to ±1, and strata are further keys of
the GROUP BY. Columns that are planned together share a query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError, EngineError
from dkmd.binned.crossed import MISSING, Crossed, Plan
from dkmd.binned.grid import Grid
from dkmd.inference.adjusting import Powers
from dkmd.inference.cross_streams import Left, Level
from dkmd.inference.frame import AT_ENDS, Covariate, Frame
from dkmd.inference.groups import GroupSums
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    GROUP,
    SAMPLE,
    VALUE,
    Coordinates,
    exactly,
    is_missing,
    logarithms,
    with_bins,
)
from dkmd.sources.engines.backends import Engine
from dkmd.sources.engines.fetched import Columns, by_sample, doubles, is_null
from dkmd.sources.engines.group_sums import group_sums, moments_of_groups, with_psi
from dkmd.sources.engines.level_queries import key_of_texts
from dkmd.sources.engines.summaries import Flags, places_of, summary_of
from dkmd.sources.keys import ABSENT, KeyPart, levels_of
from dkmd.sources.table import CrossNames

FIT_ROWS = 1 << 15
"""Rows of the sample that covariates are fitted to."""

MOST_COUNTED = 10_000
"""Levels of a column of strata that are counted, the most frequent ones."""

MOST_CELLS = 2_000
"""Combinations of levels of several columns of strata that one query tells apart."""

COLUMNS_PER_QUERY = 16
"""Columns whose sums share one query."""

STRATUM = "stratum"
"""The column of keys of strata."""


class CrossScan:
    """Columns of one table, or of one level of it, with the same covariates and strata.

    Parameters
    ----------
    engine : Engine
        Runs the queries.
    table : ibis.Table
        The values of all columns as v0, v1 and so on, covariates as k0 …, strata as text l0 …, and
        the column GROUP if values belong to groups.
    columns : sequence of str
        The names of the columns.
    beside : CrossNames
        The names of covariates, strata and groups.
    """

    def __init__(
        self, engine: Engine, table: Any, columns: Sequence[str], beside: CrossNames
    ) -> None:
        self._engine = engine
        self._table = table
        self._columns = list(columns)
        self.beside = beside
        self._planned: dict[str, Grid] = {}
        self._some: dict[str, Array] | None = None
        self._levels: list[dict[Level, int]] | None = None
        self._found: dict[tuple[str, Grid, Frame, bool], Crossed] = {}

    def stream(self, column: str) -> EngineCross:
        """One column as a side of a comparison."""
        return EngineCross(self, column)

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Announce the grids of all columns, so that they share queries."""
        self._planned.update({n: grid for n, grid in grids.items() if n in self._columns})

    def some(self, column: str) -> tuple[Array, list[Array]]:
        """Some values of a column and their covariates, by one sample for all columns."""
        if self._some is None:
            names = [*(f"v{i}" for i in range(len(self._columns))), *self._known("k")]
            found = self._engine.sample(self._table, lambda t: t.select(*names), FIT_ROWS)
            self._some = {name: doubles(found[name]) for name in names}
        values = self._some[self._alias(column)]
        return values, [self._some[name] for name in self._known("k")]

    def levels(self) -> list[dict[Level, int]]:
        """How often the most frequent levels of each column of strata occur."""
        if self._levels is None:
            self._levels = [self._counted(name) for name in self._known("l")]
        return self._levels

    def _counted(self, name: str) -> dict[Level, int]:
        import ibis

        counted = self._table.group_by(name).aggregate(rows=lambda t: t.count())
        found = self._engine.run(counted.order_by(ibis.desc("rows")).limit(MOST_COUNTED))
        pairs = zip(found[name].tolist(), found["rows"].tolist(), strict=True)
        return {None if is_null(level) else str(level): int(n) for level, n in pairs}

    def crossed(self, column: str, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin of a column, with those of columns that are planned with it."""
        key = column, grid, frame, logs
        if key not in self._found:
            batch = {column: grid}
            if not logs and self._planned.get(column) == grid:
                rest = {
                    name: on
                    for name, on in self._planned.items()
                    if (name, on, frame, False) not in self._found
                }
                batch |= dict(list(rest.items())[: COLUMNS_PER_QUERY - 1])
            try:
                self._query(batch, frame, logs)
            except EngineError:
                if len(batch) == 1:
                    raise
                self._query({column: grid}, frame, logs)
        return self._found[key]

    def _query(self, batch: Mapping[str, Grid], frame: Frame, logs: bool) -> None:
        import ibis

        cells = math.prod(len(factor.levels) + 1 for factor in frame.factors)
        if len(frame.factors) > 1 and cells > MOST_CELLS:
            raise ColumnError(
                f"the strata have {cells:,} combinations of levels, and an engine is asked for at "
                f"most {MOST_CELLS:,}: give one column of strata, or fewer levels"
            )
        parts = []
        for name, grid in batch.items():
            table = self._long(name, frame)
            table = logarithms(table) if logs else table
            parts.append(cross_query(table, Coordinates.of(grid), self._engine.dialect, frame))
        query = ibis.union(*parts) if len(parts) > 1 else parts[0]
        rows = by_sample(self._engine.run(query))
        for name, grid in batch.items():
            of_column = rows.get(self._alias(name))
            if of_column is None:
                raise ColumnError(f"column {name!r} has no rows to compare")
            self._found[name, grid, frame, logs] = crossed_of(of_column, grid, frame)

    def powers(self, column: str, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value of a column."""
        rows = self._with_left(column, left, frame)
        r = rows.psi
        found = self._engine.run(
            rows.aggregate(
                size=rows.count(), first=r.sum(), second=(r * r).sum(), third=(r * r * r).sum()
            )
        )
        return Powers(*(float(doubles(found[name])[0]) for name in Powers._fields))

    def grouped(self, column: str, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left."""
        rows = self._with_left(column, left, frame)
        means = rows.aggregate(size=rows.count(), mean=rows.psi.mean())
        found = self._engine.run(means)
        size, pivot = (float(doubles(found[name])[0]) for name in ("size", "mean"))
        sample = (exactly_text(self._alias(column)), pivot, size)
        sums = by_sample(self._engine.run(moments_of_groups(rows, [sample])))[self._alias(column)]
        row = {key: float(of[0]) for key, of in sums.items() if key != SAMPLE}
        if row["unlabelled"]:
            raise ValueError(f"column {self.beside.groups!r}: some group labels are missing")
        return group_sums(row, pivot)

    def _with_left(self, column: str, left: Left, frame: Frame) -> Any:
        """The values of a column with what is left of them, as the column ``psi``."""
        table = self._long(column, frame, texts=True)
        table = table.filter(~is_missing(table[VALUE]))
        rows = with_psi(logarithms(table) if left.logs else table, left.witness)
        return rows.mutate(
            psi=rows.psi * exactly(left.weight) - _explained(rows, frame, left.theta)
        )

    def _long(self, column: str, frame: Frame, texts: bool = False) -> Any:
        """A column as a long table: the sample, the value, covariates and the key of the strata."""
        import ibis

        table = self._table
        chosen = {SAMPLE: ibis.literal(self._alias(column)), VALUE: table[self._alias(column)]}
        chosen |= {name: table[name] for name in self._known("k")}
        if texts:
            chosen |= {name: table[name] for name in self._known("l")}
            chosen |= {GROUP: table[GROUP]} if GROUP in table.columns else {}
        elif frame.factors:
            columns = [table[name] for name in self._known("l")]
            chosen[STRATUM] = key_of_texts(columns, key_parts(frame))
        return table.select(**chosen)

    def _alias(self, column: str) -> str:
        return f"v{self._columns.index(column)}"

    def _known(self, letter: str) -> list[str]:
        names = self.beside.covariates if letter == "k" else self.beside.strata
        return [f"{letter}{i}" for i in range(len(names))]


class EngineCross:
    """One column in an engine with its covariates and strata."""

    def __init__(self, scan: CrossScan, column: str) -> None:
        self.scan, self._column = scan, column
        self.covariates, self.strata = scan.beside[:2]

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Announce the grids of all columns."""
        self.scan.plan(grids)

    def some(self) -> tuple[Array, list[Array]]:
        """Some values and their covariates."""
        return self.scan.some(self._column)

    def levels(self) -> list[dict[Level, int]]:
        """How often each level of strata occurs."""
        return self.scan.levels()

    def crossed(self, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin with those of the columns of a frame."""
        return self.scan.crossed(self._column, grid, frame, logs)

    def powers(self, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value."""
        return self.scan.powers(self._column, left, frame)

    def grouped(self, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left."""
        return self.scan.grouped(self._column, left, frame)


def columns_beside(
    columns: Sequence[str],
    beside: CrossNames,
    number: Callable[[str], Any],
    text: Callable[[str], Any],
    source: Any,
) -> dict[str, Any]:
    """The columns of the table of a ``CrossScan``, as numbers and as text."""
    chosen = {f"v{i}": number(name) for i, name in enumerate(columns)}
    chosen |= {f"k{i}": number(name) for i, name in enumerate(beside.covariates)}
    chosen |= {f"l{i}": text(name) for i, name in enumerate(beside.strata)}
    return chosen if beside.groups is None else chosen | {GROUP: source[beside.groups]}


def exactly_text(text: str) -> Any:
    """A text as a literal."""
    import ibis

    return ibis.literal(text)


def key_parts(frame: Frame) -> list[KeyPart]:
    """The levels that keys tell apart."""
    return [
        KeyPart(factor.name, tuple(str(level) for level in factor.levels if level is not None))
        for factor in frame.factors
    ]


def codes_of(keys: Sequence[str], frame: Frame) -> list[npt.NDArray[np.int64]]:
    """The codes of the levels of each factor, from keys."""
    parts = key_parts(frame)
    known = {key: levels_of(key, parts) for key in set(keys)}
    return [
        factor.codes([_level(known[key][f]) for key in keys])
        for f, factor in enumerate(frame.factors)
    ]


def _level(text: str) -> Level:
    return None if text == ABSENT else text


def g_of(x: Any, covariate: Covariate) -> Any:
    """g of a covariate as an expression; 0 where it is missing."""
    import ibis

    zero = exactly(0.0)
    if covariate.per <= AT_ENDS:
        return ibis.cases(
            (is_missing(x), zero),
            (x == exactly(math.inf), exactly(1.0)),
            (x == exactly(-math.inf), exactly(-1.0)),
            else_=zero,
        )
    reach = 1.0 / covariate.per
    low, high = exactly(covariate.center - reach), exactly(covariate.center + reach)
    # NULL and NaN would be cut to an end, and infinite numbers must be cut before they are used
    near = ibis.cases(
        (is_missing(x), exactly(covariate.center)), (x < low, low), (x > high, high), else_=x
    )
    t = (near - exactly(covariate.center)) * exactly(covariate.per)
    return t * (exactly(1.5) - t * t * exactly(0.5))


def with_columns(rows: Any, frame: Frame) -> Any:
    """The rows with the numeric columns g0, g1 and so on."""
    columns = {}
    for j, (i, kind) in enumerate(frame.numbers):
        x = rows[f"k{i}"]
        missing = is_missing(x).cast("int32").cast("float64")
        columns[f"g{j}"] = missing if kind == MISSING else g_of(x, frame.covariates[i])
    return rows.mutate(**columns) if columns else rows


def cross_query(table: Any, grid: Coordinates, dialect: str, frame: Frame) -> Any:
    """Counts and sums per sample, stratum and bin: of u, of u·g and of products of g."""
    rows = with_bins(with_columns(table, frame), grid, dialect)
    u, numbers = rows.u, range(len(frame.numbers))
    sums = {
        "count": rows.count(), "sum": u.sum(), "squares": (u * u).sum(),
        "lowest": rows[VALUE].min(), "highest": rows[VALUE].max(),
    }  # fmt: skip
    for j in numbers:
        g = rows[f"g{j}"]
        sums |= {f"s{j}": g.sum(), f"f{j}": (u * g).sum(), f"q{j}": (u * u * g).sum()}
        sums |= {f"p{j}_{k}": (g * rows[f"g{k}"]).sum() for k in range(j + 1)}
    for i in range(len(frame.covariates)):
        sums[f"m{i}"] = is_missing(rows[f"k{i}"]).cast("int32").sum()
    keys = [SAMPLE, STRATUM] if frame.factors else [SAMPLE]
    return rows.group_by([*keys, BELOW, BIN]).aggregate(**sums)


def crossed_of(rows: Columns, grid: Grid, frame: Frame) -> Crossed:
    """The rows of ``cross_query`` for one sample."""
    summary = summary_of(rows, grid)
    places = places_of(rows)
    there = ~places.missing
    finite = places.kept
    if finite.any():
        summary.minimum = float(doubles(rows["lowest"])[finite].min())
        summary.maximum = float(doubles(rows["highest"])[finite].max())
    plan = frame.plan()
    numeric, width = plan.numeric, plan.width
    places_in = np.searchsorted(summary.bins, places.bins)
    found = Crossed(
        summary,
        np.zeros((summary.bins.size, 3, width)),
        np.zeros((2, width)),
        np.zeros((width, width)),
        np.array([doubles(rows[f"m{i}"])[there].sum() for i in range(len(frame.covariates))]),
    )
    ends = places.minus_inf, places.plus_inf
    for j in range(numeric):
        for power, name in enumerate("sfq"):
            of = doubles(rows[f"{name}{j}"])
            np.add.at(found.sums[:, power, j], places_in, of[finite])
        of = doubles(rows[f"s{j}"])
        found.ends[:, j] = [of[at].sum() for at in ends]
        for k in range(j + 1):
            found.gram[j, k] = found.gram[k, j] = doubles(rows[f"p{j}_{k}"])[there].sum()
    if frame.factors:
        codes = codes_of([str(key) for key in rows[STRATUM].tolist()], frame)
        _add_factors(rows, codes, plan, (finite, there, ends, places_in), found)
    return found


def _add_factors(
    rows: Columns,
    codes: Sequence[npt.NDArray[np.int64]],
    plan: Plan,
    places: tuple[Flags, Flags, tuple[Flags, Flags], npt.NDArray[np.int64]],
    found: Crossed,
) -> None:
    """Add the dummies of all factors, and their products with other columns."""
    finite, there, ends, bins = places
    at_bin = np.full(finite.size, -1)
    at_bin[finite] = bins
    count = doubles(rows["count"])
    columns = [first - 1 + of for first, of in zip(plan.first, codes, strict=True)]
    for f, (of, column) in enumerate(zip(codes, columns, strict=True)):
        inside = (of > 0) & there
        here = inside & finite
        for power, name in enumerate(("count", "sum", "squares")):
            np.add.at(found.sums[:, power], (at_bin[here], column[here]), doubles(rows[name])[here])
        for end, flags in enumerate(ends):
            some = inside & flags
            np.add.at(found.ends, (end, column[some]), count[some])
        for j in range(plan.numeric):
            of_number = doubles(rows[f"s{j}"])[inside]
            np.add.at(found.gram, (column[inside], j), of_number)
            np.add.at(found.gram, (j, column[inside]), of_number)
        np.add.at(found.gram, (column[inside], column[inside]), count[inside])
        for e in range(f):
            both = inside & (codes[e] > 0)
            np.add.at(found.gram, (column[both], columns[e][both]), count[both])
            np.add.at(found.gram, (columns[e][both], column[both]), count[both])


def _explained(rows: Any, frame: Frame, theta: Array) -> Any:
    """g·θ of every row as an expression."""
    import ibis

    total = exactly(0.0)
    for j, (i, kind) in enumerate(frame.numbers):
        x = rows[f"k{i}"]
        missing = is_missing(x).cast("int32").cast("float64")
        g = missing if kind == MISSING else g_of(x, frame.covariates[i])
        total = total + g * exactly(float(theta[j]))
    for f, (factor, first) in enumerate(zip(frame.factors, frame.plan().first, strict=True)):
        text = rows[f"l{f}"]
        of = np.concatenate([[0.0], theta[first : first + factor.columns]])
        cases = [
            (text.isnull() if level is None else text == str(level), exactly(float(of[code])))
            for code, level in enumerate(factor.levels)
        ]
        other = float(of[len(factor.levels)]) if factor.others else 0.0
        total = total + ibis.cases(*cases, else_=exactly(other))
    return total
