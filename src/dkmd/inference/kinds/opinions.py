"""The answers of other statistics to the same comparison, side by side in one table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.quiet import without_warnings
from dkmd.base.wording import plain, short_p, text_table
from dkmd.statistic import peers

UP, DOWN, NONE = "current is larger", "current is smaller", "no direction"
WIDER, NARROWER = "current is wider", "current is narrower"

BROWN_FORSYTHE = "Brown-Forsythe, spread ratio"


class Opinion(NamedTuple):
    """One statistic: its value, its p-value (NaN if it has none) and its direction."""

    name: str
    value: float
    pvalue: float
    direction: str

    @property
    def of_spread(self) -> bool:
        """Whether it is about the spread; the others are about the shift or the whole shape."""
        return "spread" in self.name


@dataclass(frozen=True)
class Opinions:
    """Opinions that print as a table."""

    rows: tuple[Opinion, ...]

    def table(self) -> list[tuple[str, ...]]:
        """A heading and a row for each."""
        rows = ((o.name, plain(o.value), short_p(o.pvalue), o.direction) for o in self.rows)
        return [("", "value", "p", "direction"), *rows]

    def __str__(self) -> str:
        return text_table(self.table())


def direction_of(signed: float) -> str:
    """A sign in words about *current*."""
    if signed > 0.0:
        return UP
    return DOWN if signed < 0.0 else NONE


def opinions(
    own: Opinion,
    reference: Array,
    current: Array,
    scale: float,
    spread: Opinion | None = None,
    yes: float | None = None,
) -> Opinions:
    """dkmd's own answer, then the others. ``scale`` is the width of MMD's kernel.

    ``spread`` is dkmd's answer about the spread, which stands beside Brown–Forsythe's. ``yes`` is
    the value of yes in yes/no data, which have tests of two shares instead.
    """
    others = (
        _mean_difference(reference, current),
        _mann_whitney(reference, current),
        _kolmogorov_smirnov(reference, current),
        _mmd2(reference, current, scale),
        *(
            (() if spread is None else (spread,), _brown_forsythe(reference, current))
            if yes is None
            else (_shares(reference == yes, current == yes),)
        ),
    )
    return Opinions((own, *(o for several in others for o in several)))


def _mean_difference(reference: Array, current: Array) -> tuple[Opinion, ...]:
    if not (np.isfinite(reference).all() and np.isfinite(current).all()):
        note = "infinite values"
        names = ("mean difference", "Welch's t")
        return tuple(Opinion(name, math.nan, math.nan, note) for name in names)
    difference = peers.mean_difference(current, reference)
    direction = direction_of(difference)
    return (
        Opinion("mean difference", difference, math.nan, direction),
        Opinion("Welch's t", *peers.welch(current, reference), direction),
    )


def _mann_whitney(reference: Array, current: Array) -> tuple[Opinion, ...]:
    share, pvalue = peers.mann_whitney(current, reference)
    return (Opinion("Mann-Whitney, P(c > r)", share, pvalue, direction_of(share - 0.5)),)


def _kolmogorov_smirnov(reference: Array, current: Array) -> tuple[Opinion, ...]:
    test = peers.ks(current, reference)
    signed = test.x_larger - test.y_larger
    return (Opinion("Kolmogorov-Smirnov", test.statistic, test.pvalue, direction_of(signed)),)


def _mmd2(reference: Array, current: Array, scale: float) -> tuple[Opinion, ...]:
    finite = np.isfinite(reference).all() and np.isfinite(current).all()
    value = peers.mmd2(current, reference, scale) if finite and scale > 0.0 else math.nan
    return (Opinion("MMD², Laplacian", value, math.nan, "has no sign"),)


def _brown_forsythe(reference: Array, current: Array) -> tuple[Opinion, ...]:
    """Levene's test about the medians; its value is the ratio of mean distances from them."""
    if not (np.isfinite(reference).all() and np.isfinite(current).all()):
        return (Opinion(BROWN_FORSYTHE, math.nan, math.nan, "infinite values"),)
    if min(reference.size, current.size) < 2:
        return (Opinion(BROWN_FORSYTHE, math.nan, math.nan, NONE),)
    _, pvalue = peers.brown_forsythe(current, reference)
    with np.errstate(over="ignore"):
        before, after = (
            float(np.abs(side - np.median(side)).mean()) for side in (reference, current)
        )
    ratio = after / before if before > 0.0 else math.nan
    direction = NONE
    if after != before:
        direction = WIDER if after > before else NARROWER
    return (Opinion(BROWN_FORSYTHE, ratio, pvalue, direction),)


def _shares(
    reference: npt.NDArray[np.bool_], current: npt.NDArray[np.bool_]
) -> tuple[Opinion, ...]:
    """Fisher's exact test with the odds ratio, and the z-test with the pooled share."""
    from scipy.special import ndtr
    from scipy.stats import fisher_exact

    yes_y, m, yes_x, n = int(reference.sum()), reference.size, int(current.sum()), current.size
    direction = direction_of(yes_x / n - yes_y / m)
    with without_warnings():  # of tables with an empty row or column: the answer shows that
        fisher = fisher_exact([[yes_x, n - yes_x], [yes_y, m - yes_y]])
    pooled = (yes_x + yes_y) / (n + m)
    error = math.sqrt(pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m))
    z = (yes_x / n - yes_y / m) / error if error > 0.0 else math.nan
    return (
        Opinion(
            "Fisher's exact, odds ratio", float(fisher.statistic), float(fisher.pvalue), direction
        ),
        Opinion("two proportions, z", z, float(2.0 * ndtr(-abs(z))), direction),
    )
