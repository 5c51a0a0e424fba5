"""The work on many levels: levels of one table, or samples of a pasted result, against one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dkmd.answers.comparison import ColumnAnswer, Comparisons
from dkmd.answers.one_category import compare_categories
from dkmd.answers.one_column import compare_samples
from dkmd.answers.options import CompareOptions, Level
from dkmd.inference.column_kind import CATEGORY
from dkmd.sources.column_data import LabelledColumn, StoredColumn, unit_of
from dkmd.sources.kinds import NUMBER, are_text, no_such_column, the_numeric_column
from dkmd.sources.level_counts import LabelledLevels
from dkmd.sources.loading import are_numbers, no_grouped_categories
from dkmd.sources.number_words import no_such_level, parse_number
from dkmd.sources.pairs import better_grid
from dkmd.sources.table import Table


def compare_bins(
    path: str,
    column: str | None,
    reference: str | None,
    current: str | None,
    options: CompareOptions,
) -> ColumnAnswer | Comparisons:
    """Compare the samples in a result of ``dkmd sql`` with one of them."""
    from dkmd.sources.files.pasted_bins import read_bins

    found = read_bins(path)
    for level in (reference, current):
        if level is not None and level not in found:
            raise ValueError(f"{path} has no sample {level!r}: it has {', '.join(found)}")
    if reference is None:
        raise ValueError(f"say which sample is the reference: {', '.join(found)}")
    wanted = [current] if current is not None else [name for name in found if name != reference]
    if not wanted:
        raise ValueError(f"{path} has no sample but {reference!r}")
    name = column or "value"

    def sample(level: str) -> LabelledColumn:
        return LabelledColumn(StoredColumn(found[level]), name, level, unit_of(name))

    answers: dict[str, ColumnAnswer] = {}
    for level in wanted:
        better = better_grid(found[reference] + found[level])
        if better is not None:
            raise ValueError(
                f"{path}: the random sample that the grid was fitted to was not typical; ask again "
                f"with dkmd sql … --grid {better.center!r},{better.unit!r}"
            )
        answers[level] = compare_samples(sample(reference), sample(level), options)
    return _one_or_several(answers, options)


def compare_levels(
    table: Table,
    column: str | None,
    by: str,
    reference: Level | None,
    current: Level | None,
    groups: str | None,
    options: CompareOptions,
) -> ColumnAnswer | Comparisons:
    """Compare levels of one long table with one of them."""
    kinds = table.kinds()
    if by not in kinds:
        raise no_such_column(table.name, by, kinds)
    column = column or the_numeric_column(kinds, table.name, (by, groups))
    base, wanted = _chosen_levels(table, by, kinds[by], reference, current)
    kind = kinds.get(column, "")
    found = None
    if options.kind == CATEGORY or are_text([kind]):
        found = _categories_at(table, column, by, [base, *wanted], groups, options)
    if found is None:
        found = _numbers_at(table, (column, kind), by, [base, *wanted], groups, options)
    if _names_no_level(found, table, by):
        there = table.levels(by)
        alike = [_level_like(level, by, there, kinds[by]) for level in (base, *wanted)]
        if alike[0] == alike[-1] and base != wanted[-1]:  # two words for one level
            raise no_such_level(by, wanted[-1], there)
        return compare_levels(table, column, by, alike[0], alike[-1], groups, options)
    return _one_or_several(found, options)


def _numbers_at(
    table: Table,
    column: tuple[str, str],
    by: str,
    levels: Sequence[str],
    groups: str | None,
    options: CompareOptions,
) -> dict[str, ColumnAnswer]:
    """Compare numbers at several levels with those at the first one; a column has a kind."""
    name, kind = column
    unit = unit_of(name, kind)
    read = table.read_levels(name, by, levels, groups)

    def sample(level: str) -> LabelledColumn:
        missing_at = partial(table.missing_at, name, (by, level))
        return LabelledColumn(read[level], name, level, unit, kind, missing_at)

    first = sample(levels[0])
    return {level: compare_samples(first, sample(level), options) for level in levels[1:]}


def _categories_at(
    table: Table,
    column: str,
    by: str,
    levels: Sequence[str],
    groups: str | None,
    options: CompareOptions,
) -> dict[str, ColumnAnswer] | None:
    """Compare categories at several levels with those at the first; None if they spell numbers."""
    counts = table.count_levels_at(column, by, levels)
    every = {level: counts[level] for level in levels}
    if options.kind != CATEGORY and are_numbers([table], every.values()):
        return None
    if groups is not None:
        raise no_grouped_categories(column)

    def sample(level: str) -> LabelledLevels:
        missing_at = partial(table.missing_at, column, (by, level))
        return LabelledLevels(every[level], column, level, missing_at)

    first = sample(levels[0])
    return {level: compare_categories(first, sample(level), options) for level in levels[1:]}


def _one_or_several(
    answers: dict[str, ColumnAnswer], options: CompareOptions
) -> ColumnAnswer | Comparisons:
    """The only answer, or a mapping of all of them."""
    if len(answers) == 1:
        return next(iter(answers.values()))
    return Comparisons(answers, options.alpha)


def _names_no_level(found: dict[str, ColumnAnswer], table: Table, by: str) -> bool:
    """Whether a side is empty because the table does not have its level, or spells it otherwise."""
    sides = (side for answer in found.values() for side in (answer.reference, answer.current))
    empty = [side.label for side in sides if not side.size + side.nan]
    return any(label not in table.levels(by) for label in empty)


def _chosen_levels(
    table: Table, by: str, kind: str, reference: Level | None, current: Level | None
) -> tuple[str, list[str]]:
    """The reference's level and the levels to compare with it.

    The table is asked for its levels only where one of the two is not given.
    """
    if reference is not None and current is not None:
        return str(reference), [str(current)]
    levels = table.levels(by)
    if reference is None:
        raise ValueError(f"say which level of {by!r} is the reference: {_listed(levels)}")
    base = _level_like(str(reference), by, levels, kind)
    others = [level for level in levels if level != base]
    if not others:
        raise ValueError(f"column {by!r} has no level but {base!r}")
    return base, others


def _level_like(level: str, by: str, levels: Sequence[str], kind: str) -> str:
    """The level as the table spells it: a number 1 may be written as 1.0 there; text is exact."""
    if level in levels:
        return level
    number = parse_number(level) if kind == NUMBER else None
    alike = [] if number is None else [each for each in levels if parse_number(each) == number]
    if len(alike) != 1:
        raise no_such_level(by, level, levels)
    return alike[0]


def _listed(levels: Sequence[str]) -> str:
    """Up to 20 levels, in quotes."""
    return ", ".join(repr(level) for level in levels[:20])
