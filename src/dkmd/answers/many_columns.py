"""The work on many columns: two tables, column by column.

A column that cannot be compared is skipped with a reason. The other columns are still compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dkmd.answers.comparison import (
    CategoryComparison,
    ColumnAnswer,
    Comparison,
    Drift,
    TogetherComparison,
)
from dkmd.answers.comparison.missing import ALL_MISSING, why_empty
from dkmd.answers.kinds import untested
from dkmd.answers.one_category import compare_pair
from dkmd.answers.options import Advance, CompareOptions
from dkmd.answers.together import answer_of
from dkmd.base.errors import (
    ColumnError,
    ColumnTypeError,
    DkmdError,
    EngineError,
    NanError,
    TooLittleError,
)
from dkmd.inference.kinds.column_kind import CATEGORY, CONSTANT, IDENTIFIER, parse_kind
from dkmd.sources.beside import COVARIATE, Columns, attach
from dkmd.sources.column_data import (
    ColumnData,
    HeldColumn,
    LabelledColumn,
    labelled_column,
)
from dkmd.sources.grouped_levels import NOT_HELD, can_be_grouped, with_groups
from dkmd.sources.kinds import (
    COMPARED,
    NOTHING,
    OTHER,
    TEXT,
    are_text,
    no_such_column,
)
from dkmd.sources.level_counts import LabelledLevels, LevelCounts
from dkmd.sources.loading import (
    NO_DESIGNED_CATEGORIES,
    LevelPair,
    NumberPair,
    are_numbers,
    labelled,
    labelled_levels,
    require_no_units,
)
from dkmd.sources.matrices import MOST_TOGETHER, Matrix, told_apart
from dkmd.sources.pairs import plan_together
from dkmd.sources.table import Table, note_of, require_one

KEPT = 16_000_000
"""Values of all columns of two files that answers keep in memory: 128 MB."""


UNTESTED = {
    IDENTIFIER: "it holds identifiers, which are not tested",
    CONSTANT: "all its values are equal",
}
"""Why columns of some kinds are skipped, unless they were asked for or have missing values."""


@dataclass(frozen=True)
class TwoTables:
    """Two tables, what their columns hold, and the column of groups that both must have."""

    before: Table
    after: Table
    kinds: Mapping[str, str]
    """What each column of the reference holds."""
    later: Mapping[str, str]
    """What each column of the current table holds."""
    groups: str | None
    paired: bool = False
    """Whether equal groups on both sides are one unit."""
    beside: Columns | None = None
    """Covariates, strata, weights and counts that both tables must have."""

    @classmethod
    def of(
        cls,
        before: Table,
        after: Table,
        groups: str | None,
        paired: bool = False,
        beside: Columns | None = None,
    ) -> TwoTables:
        """Look the columns up."""
        kinds, later = before.kinds(), after.kinds()
        needed = [] if groups is None else [groups]
        needed += [] if beside is None else beside.names
        for table, there in ((before, kinds), (after, later)):
            for name in needed:
                if name not in there:
                    raise no_such_column(table.name, name, there)
                require_one(table, name)
        return cls(before, after, kinds, later, groups, paired, beside)

    def wanted(self, columns: Sequence[str] | None) -> list[str]:
        """The columns that were asked for; by default all columns of either table."""
        if columns is None:
            return list(dict.fromkeys([*self.kinds, *self.later]))
        for name in columns:
            if name not in self.kinds and name not in self.later:
                raise no_such_column(self.before.name, name, self.kinds)
            require_one(self.before, name)
            require_one(self.after, name)
        return list(columns)

    def kinds_asked(self, given: Mapping[str, str]) -> dict[str, str]:
        """The kinds that users gave, checked."""
        self.wanted(list(given))
        return {name: parse_kind(kind) for name, kind in given.items()}

    def why_not(self, name: str, asked: bool) -> str:
        """Why a column is not compared; empty if it is. Text is tried when it was asked for."""
        for there, where in ((self.kinds, "the reference"), (self.later, "the current table")):
            if name not in there:
                return f"it is not in {where}"
        used = self._used.get(name)
        if used is not None:
            return used
        pair = self.kinds[name], self.later[name]
        old, new = ("values that are not numbers" if kind == OTHER else kind for kind in pair)
        apart = f"it holds {old} in the reference and {new} in the current table"
        if are_text(pair):
            return ""
        if any(kind not in COMPARED and not (asked and kind == TEXT) for kind in pair):
            return f"it holds {old}" if old == new else apart
        if len(set(pair) - {NOTHING, TEXT}) == 2:
            return apart
        return ALL_MISSING if set(pair) == {NOTHING} else ""

    @property
    def _used(self) -> dict[str, str]:
        """Columns that say how to compare the others."""
        found = {}
        if self.groups is not None:
            found[self.groups] = "it holds the units" if self.paired else "it holds the groups"
        for name, what in ({} if self.beside is None else self.beside.names).items():
            found[name] = f"it is {what}" if what == COVARIATE else f"it holds {what}"
        return found

    def read(
        self, columns: Sequence[str]
    ) -> tuple[Mapping[str, ColumnData], Mapping[str, ColumnData]]:
        """Some columns of both tables. Engines learn about all of them before the first is read."""
        old, new = (self._read(table, columns) for table in (self.before, self.after))
        plan_together(old, new)
        return old, new

    def _read(self, table: Table, columns: Sequence[str]) -> Mapping[str, ColumnData]:
        """Some columns of one table."""
        return table.read_columns(columns, self.groups)

    def pair(
        self, name: str, old: ColumnData, new: ColumnData
    ) -> tuple[LabelledColumn, LabelledColumn]:
        """The two samples of a column, with their names and units."""
        old = attach(
            old, self.beside, self.before.name, self.before, column=name, groups=self.groups
        )
        new = attach(new, self.beside, self.after.name, self.after, column=name, groups=self.groups)
        return labelled(
            _sample(self.before, name, old, self.kinds[name]),
            _sample(self.after, name, new, self.later[name]),
        )

    def require_readable(self) -> None:
        """Raise an error if a table can no longer be read."""
        self.before.require_readable()
        self.after.require_readable()


def _sample(table: Table, name: str, data: ColumnData, kind: str) -> LabelledColumn:
    """One column of a table as a side of a comparison."""
    missing_at, note = partial(table.missing_at, name), note_of(table, name)
    return labelled_column(data, name, table.name, kind, missing_at, note, table.left_out)


class _Pairs:
    """The two sides of every column. Columns of text are counted first: they may spell numbers."""

    def __init__(
        self, tables: TwoTables, columns: Sequence[str], kinds: Mapping[str, str], named: bool
    ) -> None:
        self._tables, self._named = tables, named
        self._asked = {name for name, kind in kinds.items() if kind == CATEGORY}
        self._levels: dict[str, LevelPair] = {}
        self._broken: dict[str, DkmdError] = {}
        texts = [
            name
            for name in columns
            if name in self._asked or are_text((tables.kinds[name], tables.later[name]))
        ]
        old, new = (table.count_levels(texts) for table in (tables.before, tables.after))
        for name in texts:
            self._count(name, old, new)
        categories = {*self._levels, *self._broken}
        self._read = tables.read([name for name in columns if name not in categories])

    def _count(
        self, name: str, old: Mapping[str, LevelCounts], new: Mapping[str, LevelCounts]
    ) -> None:
        """Count the levels of a column of text, unless it spells numbers."""
        tables = self._tables
        try:
            counts = old[name], new[name]
        except (ColumnError, EngineError) as error:
            self._broken[name] = error
            return
        if name not in self._asked and are_numbers((tables.before, tables.after), counts):
            return
        if self._named and name not in self._asked:
            try:
                require_no_units(name, counts)
            except ColumnTypeError as error:
                self._broken[name] = error
                return
        why = self._why_not(counts)
        if why:
            self._broken[name] = ColumnError(f"it {why}")
            return
        before, after = (
            LabelledLevels(each, name, table.name, partial(table.missing_at, name), table.left_out)
            for each, table in zip(counts, (tables.before, tables.after), strict=True)
        )
        if tables.groups is not None:
            before = with_groups(before, tables.before, tables.groups)
            after = with_groups(after, tables.after, tables.groups)
        self._levels[name] = labelled_levels(before, after)

    def _why_not(self, counts: tuple[LevelCounts, LevelCounts]) -> str:
        """Why categories cannot be tested as asked; empty if they can."""
        tables = self._tables
        if tables.beside is not None:
            return NO_DESIGNED_CATEGORIES
        if tables.groups is None:
            return ""
        pairs = zip(counts, (tables.before, tables.after), strict=True)
        return "" if all(can_be_grouped(*pair) for pair in pairs) else NOT_HELD

    def __getitem__(self, name: str) -> NumberPair | LevelPair:
        if name in self._broken:
            raise self._broken[name]
        if name in self._levels:
            return self._levels[name]
        old, new = self._read
        return self._tables.pair(name, old[name], new[name])


def compare_columns(
    tables: TwoTables,
    columns: Sequence[str] | None,
    options: CompareOptions,
    from_files: bool,
    advance: Advance | None,
    kinds: Mapping[str, str] | None = None,
    as_one: bool = False,
) -> Drift:
    """Compare the columns that can be compared, and say why the others cannot.

    ``as_one`` also compares all columns of numbers together.
    """
    wanted = tables.wanted(columns)
    reasons = {name: tables.why_not(name, asked=columns is not None) for name in wanted}
    if options.test.nan_policy == "raise":  # a column without values has missing ones
        reasons = {name: "" if why == ALL_MISSING else why for name, why in reasons.items()}
    skipped = {name: why for name, why in reasons.items() if why}
    empty = {name for name, why in skipped.items() if why == ALL_MISSING}
    compared = [name for name in wanted if name not in skipped]
    found: dict[str, ColumnAnswer] = {}
    pairs = _Pairs(tables, compared, kinds or {}, columns is not None)

    def compare_one(name: str) -> ColumnAnswer:
        return compare_pair(pairs[name], replace(options, kind=(kinds or {}).get(name)))

    for done, name in enumerate(compared):
        if advance is not None:
            advance(name, done, len(compared))
        try:
            answer = compare_one(name)
        except NanError:
            raise
        except ColumnError as error:
            skipped[name] = str(error)
        except EngineError as error:
            # an engine that still reads both tables failed at this column only
            tables.require_readable()
            skipped[name] = str(error)
        else:
            if not min(answer.reference.size, answer.current.size):
                skipped[name] = why_empty(answer.reference, answer.current)
                empty.add(name)
                continue
            chosen = columns is not None and name not in (kinds or {})
            why = "" if chosen else _why_untested(answer)
            if why and not (answer.reference.nan or answer.current.nan):
                skipped[name] = why
                empty.add(name)
            else:
                kept = _without_many_values(answer, len(compared)) if from_files else answer
                found[name] = untested(kept) if why and isinstance(kept, Comparison) else kept
    if not found:
        raise _nothing_compared(skipped, empty)
    together = _together(tables, found, options) if as_one else None
    return Drift(found, skipped, options.alpha, together)


def _together(
    tables: TwoTables, found: Mapping[str, ColumnAnswer], options: CompareOptions
) -> TogetherComparison | None:
    """All columns of numbers as one; None if there are fewer than two, or not in memory.

    The joint test knows no weights, and the labels of repeated rows are not held.
    """
    beside = tables.beside or Columns()
    if beside.weights is not None or (beside.counts is not None and tables.groups is not None):
        return None
    held = {
        name: answer.values
        for name, answer in found.items()
        if isinstance(answer, Comparison)
        and answer.values is not None
        and not (answer.dates or answer.offset or math.isnan(answer.pvalue))
    }
    sizes = {tuple(side.size for side in pair) for pair in held.values()}
    if len(held) < 2 or len(sizes) != 1 or len(held) * sum(*sizes) > MOST_TOGETHER:
        return None
    sides = []
    for side, table in enumerate((tables.before, tables.after)):
        labels = None
        if tables.groups is not None:
            data = table.read(next(iter(held)), tables.groups)
            labels = data.groups if isinstance(data, HeldColumn) else None
            if labels is None:
                return None
        rows = np.column_stack([pair[side] for pair in held.values()])
        sides.append(Matrix(rows, list(held), table.name, labels))
    try:
        return answer_of(
            told_apart(sides[0], sides[1]),
            tables.paired,
            None,
            options.alpha,
            options.test.nan_policy,
        )
    except DkmdError:  # too few rows without missing values: columns alone can still be compared
        return None


def _why_untested(answer: ColumnAnswer) -> str:
    """Why a column is not tested: it is constant, or an identifier. Empty if it is tested."""
    if isinstance(answer, CategoryComparison):
        return f"it {answer.why_not}" if answer.why_not else ""
    return UNTESTED.get(answer.kind, "")


def _nothing_compared(skipped: Mapping[str, str], empty: set[str]) -> ValueError:
    """The error for two tables without a column that could be compared."""
    listed = "; ".join(f"{name}: {why}" for name, why in skipped.items())
    kind = TooLittleError if empty and empty == skipped.keys() else ValueError
    return kind(f"no column could be compared ({listed or 'there are none'})")


def _without_many_values(answer: ColumnAnswer, columns: int) -> ColumnAnswer:
    """The answer without its values, if the values of all columns would fill the memory."""
    if isinstance(answer, CategoryComparison):
        return answer
    if answer.values is None or columns * sum(side.size for side in answer.values) <= KEPT:
        return answer
    return replace(answer, values=None, result=answer.result.slim())
