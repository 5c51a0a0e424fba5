"""The work on many levels: levels of one table against one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from dkmd.answers.comparison import (
    ColumnAnswer,
    Comparisons,
    Drift,
    LeftOut,
)
from dkmd.answers.one_category import compare_pair
from dkmd.answers.one_column import compare_samples
from dkmd.answers.options import Advance, CompareOptions, Level
from dkmd.inference.kinds.column_kind import CATEGORY, parse_kind
from dkmd.sources.beside import Columns, attach
from dkmd.sources.column_data import LabelledColumn, unit_of
from dkmd.sources.grouped_levels import with_groups
from dkmd.sources.kinds import NUMBER, are_text, no_such_column, the_numeric_column
from dkmd.sources.level_counts import LabelledLevels, level_word
from dkmd.sources.loading import are_numbers, no_designed_categories, require_no_units
from dkmd.sources.number_words import no_such_level, parse_number
from dkmd.sources.table import Table, note_of, require_one


class Levels(NamedTuple):
    """Which levels of a long table to compare with which one."""

    by: str
    reference: Level | None
    current: Level | None = None
    groups: str | None = None
    beside: Columns | None = None
    most: int | None = None  # compare at most so many levels, the most frequent; None: all
    advance: Advance | None = None


def compare_columns_at_levels(
    table: Table,
    columns: Sequence[str],
    asked: Levels,
    options: CompareOptions,
    kinds: Mapping[str, str],
) -> Comparisons:
    """Compare levels of one long table in several columns, as one family."""
    found: dict[str, ColumnAnswer] = {}
    left_out: LeftOut | None = None
    for column in columns:
        kind = None if column not in kinds else parse_kind(kinds[column])
        answer = compare_levels(table, column, asked, replace(options, kind=kind))
        if not isinstance(answer, Comparisons):
            found[column] = answer
            continue
        left_out = answer.left_out
        # each answer is adjusted again, together with the answers of the other columns
        found |= {f"{column}, {level}": one for level, one in answer.items()}
    one_level = all(key == one.name for key, one in found.items())
    return Comparisons(found, options.alpha, left_out, Drift.ROWS if one_level else "")


def compare_levels(
    table: Table, column: str | None, asked: Levels, options: CompareOptions
) -> ColumnAnswer | Comparisons:
    """Compare levels of one long table with one of them."""
    by, groups = asked.by, asked.groups
    kinds = table.kinds()
    if by not in kinds:
        raise no_such_column(table.name, by, kinds)
    names = [] if asked.beside is None else list(asked.beside.names)
    for name in (column, by, groups, *names):
        require_one(table, name)
    column = column or the_numeric_column(kinds, table.name, (by, groups, *names))
    base, wanted, left_out = _chosen_levels(table, kinds[by], asked)
    kind = kinds.get(column, "")
    found = None
    if options.kind == CATEGORY or are_text([kind]):
        found = _categories_at(table, column, [base, *wanted], asked, options)
    if found is None:
        found = _numbers_at(table, (column, kind), [base, *wanted], asked, options)
    if _names_no_level(found, table, by):
        there = table.levels(by)
        alike = [level_like(level, by, there, kinds[by]) for level in (base, *wanted)]
        if alike[0] == alike[-1] and base != wanted[-1]:  # two words for one level
            raise no_such_level(by, wanted[-1], there)
        again = asked._replace(reference=alike[0], current=alike[-1])
        return compare_levels(table, column, again, options)
    return _one_or_several(found, options, left_out)


def _numbers_at(
    table: Table,
    column: tuple[str, str],
    levels: Sequence[str],
    asked: Levels,
    options: CompareOptions,
) -> dict[str, ColumnAnswer]:
    """Compare numbers at several levels with those at the first one; a column has a kind."""
    (name, kind), by = column, asked.by
    unit = unit_of(name, kind)
    read = table.read_levels(name, by, levels, asked.groups)

    def sample(level: str) -> LabelledColumn:
        missing_at = partial(table.missing_at, name, (by, level))
        data = attach(read[level], asked.beside, table.name, table, (by, level), name, asked.groups)
        note = note_of(table, name)
        return LabelledColumn(data, name, level, unit, kind, missing_at, note, table.left_out)

    first = sample(levels[0])
    return {
        level: compare_samples(first, sample(level), options)
        for level in _announced(levels[1:], asked.advance)
    }


def _announced(levels: Sequence[str], advance: Advance | None) -> Iterator[str]:
    """The same levels; each of several is announced before it is compared."""
    for done, level in enumerate(levels):
        if advance is not None and len(levels) > 1:
            advance(level, done, len(levels))
        yield level


def _categories_at(
    table: Table,
    column: str,
    levels: Sequence[str],
    asked: Levels,
    options: CompareOptions,
) -> dict[str, ColumnAnswer] | None:
    """Compare categories at several levels with those at the first; None if they spell numbers."""
    by, groups = asked.by, asked.groups
    counts = table.count_levels_at(column, by, levels)
    every = {level: counts[level] for level in levels}
    if options.kind != CATEGORY and are_numbers([table], every.values()):
        return None
    if options.kind != CATEGORY:
        require_no_units(column, every.values())
    if asked.beside is not None:
        raise no_designed_categories(column)

    def sample(level: str) -> LabelledLevels:
        missing_at = partial(table.missing_at, column, (by, level))
        found = LabelledLevels(every[level], column, level, missing_at, table.left_out)
        return found if groups is None else with_groups(found, table, groups, (by, level))

    first = sample(levels[0])
    return {
        level: compare_pair((first, sample(level)), options)
        for level in _announced(levels[1:], asked.advance)
    }


def _one_or_several(
    answers: dict[str, ColumnAnswer], options: CompareOptions, left_out: LeftOut | None = None
) -> ColumnAnswer | Comparisons:
    """The only answer, or a mapping of all of them."""
    if len(answers) == 1 and left_out is None:
        return next(iter(answers.values()))
    return Comparisons(answers, options.alpha, left_out)


def _names_no_level(found: dict[str, ColumnAnswer], table: Table, by: str) -> bool:
    """Whether a side is empty because the table does not have its level, or spells it otherwise."""
    sides = (side for answer in found.values() for side in (answer.reference, answer.current))
    empty = [side.label for side in sides if not side.size + side.nan]
    return any(label not in table.levels(by) for label in empty)


def _chosen_levels(table: Table, kind: str, asked: Levels) -> tuple[str, list[str], LeftOut | None]:
    """The reference's level, the levels to compare with it, and how many others there are.

    The table is asked for its levels only where one of the two is not given.
    """
    by, reference, current = asked.by, asked.reference, asked.current
    if reference is not None and current is not None:
        return _text_of(reference), [_text_of(current)], None
    levels = table.levels(by)
    if reference is None:
        raise ValueError(f"say which level of {by!r} is the reference: {listed(levels)}")
    base = level_like(_text_of(reference), by, levels, kind)
    others = [level for level in levels if level != base]
    if not others:
        raise ValueError(f"column {by!r} has no level but {base!r}")
    if asked.most is None or len(others) <= asked.most:
        return base, others, None
    rows = table.level_sizes(by)
    ranked = sorted(others, key=lambda level: -rows.get(level, 0))  # ties keep their order
    kept = set(ranked[: asked.most])
    left_out = LeftOut(by, len(others) - len(kept), len(kept))
    return base, [level for level in others if level in kept], left_out


def _text_of(level: Any) -> str:
    """A level that was asked for, as text."""
    return level_word(level) or str(level)


def level_like(level: str, by: str, levels: Sequence[str], kind: str) -> str:
    """The level as the table spells it: a number 1 may be written as 1.0 there; text is exact."""
    if level in levels:
        return level
    number = parse_number(level) if kind == NUMBER else None
    alike = [] if number is None else [each for each in levels if parse_number(each) == number]
    if len(alike) != 1:
        raise no_such_level(by, level, levels)
    return alike[0]


def listed(levels: Sequence[str]) -> str:
    """Up to 20 levels, in quotes."""
    return ", ".join(repr(level) for level in levels[:20])
