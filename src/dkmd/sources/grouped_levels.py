"""Levels of repeated measurements: which level and which group each row has.

This needs the rows in memory, in one order: data frames, plain values, and files that are held.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dkmd.base.errors import ColumnTypeError
from dkmd.sources.column_data import LARGE, Labels
from dkmd.sources.kinds import missing_label, unlabelled
from dkmd.sources.level_counts import LabelledLevels, LevelCounts, LevelGroups
from dkmd.sources.memory.columns import as_marks, known_labels
from dkmd.sources.table import Aligned, AtLevel, Table

NOT_HELD = (
    "holds categories, which are tested with groups only if the rows are in memory (data frames, "
    f"or files of up to {LARGE:,} rows)"
)
"""Why categories of long files and engines are not tested with groups."""


def can_be_grouped(levels: LevelCounts, table: Table) -> bool:
    """Whether the rows of a column can be read one by one, with their groups."""
    return isinstance(table, Aligned) and levels.size + levels.missing <= LARGE


def with_groups(
    levels: LabelledLevels, table: Table, groups: str, where: AtLevel = None
) -> LabelledLevels:
    """The levels of a column of a table, with the groups of its rows."""
    if not isinstance(table, Aligned) or not can_be_grouped(levels.data, table):
        raise ColumnTypeError(f"column {levels.name!r} {NOT_HELD}")
    labels = table.marks(groups, where)
    _require_labels(labels, f"{table.name}, column {groups!r}")
    return _grouped(levels, LevelGroups(table.marks(levels.name, where), labels))


def of_values(levels: LabelledLevels, values: Any, groups: Any) -> LabelledLevels:
    """Plain values as levels, with the groups of the values."""
    marks = as_marks(values)
    labels, known = known_labels(groups, f"groups of {levels.label}")
    if known.size == marks.size and not known.all():
        marks = marks[known]
        levels = replace(levels, note=unlabelled(levels.label, "groups", int((~known).sum())))
    if marks.size != labels.size:
        raise ValueError(
            f"groups: {levels.label} has {marks.size} values and needs as many labels, got "
            f"{labels.size}"
        )
    return _grouped(levels, LevelGroups(marks, labels))


def _grouped(levels: LabelledLevels, groups: LevelGroups) -> LabelledLevels:
    return replace(levels, data=replace(LevelCounts.of_groups(groups), order=levels.data.order))


def _require_labels(labels: Labels, where: str) -> None:
    """Every row needs a group."""
    for row, label in enumerate(labels, start=1):
        if label is None:
            raise missing_label(where, row)
