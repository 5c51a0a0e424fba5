"""How to compare: what ``compare``, ``drift`` and the command line let users choose.

The test's own options (scale, method, NaN policy) live in ``two_sample.Options``. Margin and alpha
say how its result is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy.typing as npt

from dkmd.answers.sample_ratio import parse_ratio
from dkmd.base.defaults import ALPHA, require_shares
from dkmd.inference.kinds.column_kind import parse_kind
from dkmd.inference.kinds.percentiles import LEVELS, parse_levels
from dkmd.inference.test.margins import Margin, parse_margin
from dkmd.inference.test.options import Options, check_options

Level = str | float | bool
"""A value of the column that says which sample a row belongs to."""

GroupLabels = Sequence[npt.ArrayLike] | str
"""Labels of reference and current, a pair; or the name of a column that both tables have."""

Columns = list[str] | tuple[str, ...]
"""The names of several columns."""

Ratio = str | Sequence[float]
"""The expected sizes of reference and current: "1:1", or a pair of numbers."""

Advance = Callable[[str, int, int], None]
"""Called with a column or level, how many are done and how many there are."""

MOST_LEVELS = 100
"""Levels of a column that are compared unless the user asks for more, the most frequent first."""

DEFAULT_TEST = check_options(None, None, "exact", "two-sided", None, "omit")
"""The test of every answer unless users choose otherwise: two-sided, with a fitted scale."""


def units_or_groups(groups: GroupLabels | None, pair_by: GroupLabels | None) -> GroupLabels | None:
    """The labels of units, or of groups. Only one of them may be given."""
    if groups is not None and pair_by is not None:
        raise ValueError(
            "give groups or pair_by, not both: pair_by already says which values are repeated "
            "measurements of one unit"
        )
    return groups if pair_by is None else pair_by


def weigh_of(weigh: str | None, pair_by: object) -> str | None:
    """How units on both sides are weighed; None without units."""
    if pair_by is None:
        if weigh is not None:
            raise ValueError("weigh says how units on both sides count: give pair_by too")
        return None
    return weigh or "units"


def column_names(column: str | int | Columns | None) -> list[str]:
    """The names of the columns that were asked for, each once."""
    if column is None:
        return []
    given = [column] if isinstance(column, str | int) else list(column)
    if not given:
        raise ValueError("column= needs at least one name")
    names = list(map(str, given))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"column {twice!r} is named twice")
    return names


def segment_columns(segments: str | Sequence[str] | None, cross: bool) -> tuple[str, ...]:
    """The columns of segments, each once."""
    given = [segments] if isinstance(segments, str) else list(segments or ())
    columns = tuple(str(name) for name in given)
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"segments: column {twice!r} is named twice")
    if segments is not None and not columns:
        raise ValueError("segments= needs at least one column")
    if cross and len(columns) < 2:
        raise ValueError("cross= combines the levels of two or more columns of segments")
    return columns


class Settings(TypedDict, total=False):
    """The keywords that every form of ``compare`` accepts."""

    margin: Margin | None
    kind: str | Mapping[str, str] | None
    alpha: float
    scale: float | None
    method: Any  # PermutationMethod or BootstrapMethod: scipy.stats has no types
    nan_policy: str
    pair_by: GroupLabels | None
    weigh: str | None
    covariate: Any  # ``designs.Beside``
    strata: Any
    randomized: bool
    weights: Any
    counts: Any
    estimand: str | None
    per: Any
    where: Any  # an expression of Ibis, which has no types
    table: str | Sequence[str] | None
    expect_ratio: Ratio | None
    percentiles: Sequence[float | str] | None
    most_levels: int | None
    decimal: str | None
    advance: Advance | None


@dataclass(frozen=True)
class CompareOptions:
    """How to test and how to read the result. The same options serve every column and level."""

    margin: Margin | None = None
    alpha: float = ALPHA
    test: Options = DEFAULT_TEST
    expect_ratio: tuple[float, float] | None = None
    """The expected sizes of reference and current; None if they are not checked."""
    levels: tuple[float, ...] = LEVELS
    """The levels of the percentiles."""
    kind: str | None = None
    """The kind of the column; None to see it from the values."""

    def __post_init__(self) -> None:
        require_shares(alpha=self.alpha)
        if self.margin is not None:
            parse_margin(self.margin)

    @classmethod
    def of(
        cls,
        margin: Margin | None = None,
        alpha: float = ALPHA,
        scale: float | None = None,
        method: Any = None,
        nan_policy: str = "omit",
        expect_ratio: Ratio | None = None,
        percentiles: Sequence[float | str] | None = None,
        kind: str | None = None,
        weigh: str | None = None,
        estimand: str = "shift",
    ) -> CompareOptions:
        """From the keywords of ``compare``, all checked before any data is read."""
        test = check_options(None, scale, "exact", "two-sided", method, nan_policy, weigh, estimand)
        ratio = None if expect_ratio is None else parse_ratio(expect_ratio)
        known = None if kind is None else parse_kind(kind)
        return cls(margin, alpha, test, ratio, parse_levels(percentiles), known)

    @property
    def confidence(self) -> float:
        """The confidence level of intervals."""
        return 1.0 - self.alpha
