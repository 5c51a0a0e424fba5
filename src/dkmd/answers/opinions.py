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
    finite = bool(np.isfinite(reference).all() and np.isfinite(current).all())
    mean, t = math.nan, (math.nan, math.nan)
    by_mean, apart = "infinite values", math.nan
    if finite:
        mean, t = peers.mean_difference(current, reference), peers.welch(current, reference)
        by_mean = direction_of(mean)
        apart = peers.mmd2(current, reference, scale) if scale > 0.0 else math.nan
    ranks, steps = peers.mann_whitney(current, reference), peers.ks(current, reference)
    lead = direction_of(steps.x_larger - steps.y_larger)
    rows = (
        own,
        Opinion("mean difference", mean, math.nan, by_mean),
        Opinion("Welch's t", *t, by_mean),
        Opinion("Mann-Whitney, P(c > r)", *ranks, direction_of(ranks[0] - 0.5)),
        Opinion("Kolmogorov-Smirnov", steps.statistic, steps.pvalue, lead),
        Opinion("MMD², Laplacian", apart, math.nan, "has no sign"),
    )
    if yes is not None:
        return Opinions((*rows, *_shares(reference == yes, current == yes)))
    ours = () if spread is None else (spread,)
    return Opinions((*rows, *ours, _brown_forsythe(reference, current, finite)))


def _brown_forsythe(reference: Array, current: Array, finite: bool) -> Opinion:
    """Levene's test about the medians; its value is the ratio of mean distances from them."""
    if not finite or min(reference.size, current.size) < 2:
        return Opinion(BROWN_FORSYTHE, math.nan, math.nan, NONE if finite else "infinite values")
    _, pvalue = peers.brown_forsythe(current, reference)
    with np.errstate(over="ignore"):
        before, after = (
            float(np.abs(side - np.median(side)).mean()) for side in (reference, current)
        )
    direction = NONE
    if after != before:
        direction = WIDER if after > before else NARROWER
    return Opinion(BROWN_FORSYTHE, after / before if before > 0.0 else math.nan, pvalue, direction)


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
