"""The work on many levels: those of one table, or those of a pasted result, against one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dkmd.answers.comparison import Comparison, Comparisons
from dkmd.answers.one_column import compare_samples
from dkmd.answers.options import How
from dkmd.sources.memory.columns import (
    no_such_column,
    parse_number,
    the_numeric_column,
)
from dkmd.sources.pairs import better_grid
from dkmd.sources.samples import (
    Sample,
    Stored,
    Table,
    unit_of,
)


def compare_bins(
    path: str, column: str | None, reference: str | None, current: str | None, how: How
) -> Comparison | Comparisons:
    """Samples of a result of ``dkmd sql`` against one of them."""
    from dkmd.sources.engines.by_hand import read_bins

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

    def sample(level: str) -> Sample:
        return Sample(Stored(found[level]), name, level, unit_of(name))

    answers = {}
    for level in wanted:
        better = better_grid(found[reference] + found[level])
        if better is not None:
            raise ValueError(
                f"{path}: the sample that the grid was fitted to was odd; ask again with "
                f"dkmd sql … --grid {better.center!r},{better.unit!r}"
            )
        answers[level] = compare_samples(sample(reference), sample(level), how)
    return answers[wanted[0]] if len(wanted) == 1 else Comparisons(answers, how.alpha)


def compare_levels(
    table: Table,
    column: str | None,
    by: str,
    reference: Any,
    current: Any,
    groups: str | None,
    how: How,
) -> Comparison | Comparisons:
    """Levels of one long table against one of them."""
    kinds = table.kinds()
    if by not in kinds:
        raise no_such_column(table.name, by, kinds)
    column = column or the_numeric_column(kinds, table.name, (by, groups))
    base, wanted = _chosen_levels(table, by, reference, current)
    unit = unit_of(column, kinds.get(column, ""))
    read = table.read_levels(column, by, [base, *wanted], groups)

    def sample(level: str) -> Sample:
        return Sample(read[level], column, level, unit)

    first = sample(base)
    found = {level: compare_samples(first, sample(level), how) for level in wanted}
    for answer in found.values():
        for facts in (answer.reference, answer.current):
            if not facts.size + facts.nan and facts.label not in table.levels(by):
                alike = [_level_like(level, by, table.levels(by)) for level in (base, *wanted)]
                return compare_levels(table, column, by, alike[0], alike[-1], groups, how)
    return found[wanted[0]] if len(wanted) == 1 else Comparisons(found, how.alpha)


def _chosen_levels(table: Table, by: str, reference: Any, current: Any) -> tuple[str, list[str]]:
    """The reference's level and those to compare with it; looked up only where one is not given."""
    if reference is not None and current is not None:
        return str(reference), [str(current)]
    levels = table.levels(by)
    if reference is None:
        shown = ", ".join(repr(level) for level in levels[:20])
        raise ValueError(f"say which level of {by!r} is the reference: {shown}")
    base = _level_like(str(reference), by, levels)
    others = [level for level in levels if level != base]
    if not others:
        raise ValueError(f"column {by!r} has no level but {base!r}")
    return base, others


def _level_like(level: str, by: str, levels: Sequence[str]) -> str:
    """The level as the table has it: 1 may be written as 1.0 there."""
    if level in levels:
        return level
    number = parse_number(level)
    alike = [] if number is None else [each for each in levels if parse_number(each) == number]
    if len(alike) != 1:
        raise _no_such_level(by, level, levels)
    return alike[0]


def _no_such_level(by: str, level: str, levels: Sequence[str]) -> ValueError:
    shown = ", ".join(repr(each) for each in levels[:20])
    return ValueError(f"column {by!r} has no level {level!r}: it has {shown or 'none'}")
