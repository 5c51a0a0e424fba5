"""Plans for yes/no data: the power of ``share_tails`` when a share moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dkmd.inference.plan_search import Change
from dkmd.inference.tails import relabelled_skewness

STEP_OF_COUNTS = 0.125
"""The difference must exceed the limit by this part of (1/n + 1/m)/2, because counts are whole.

Fisher's test needs 1, the score test 0. The tests behind ``share_tails`` lie close to 0.
"""

MOST_SKEWED = 0.5
"""A larger skewness counts as this: one term of Cornish and Fisher's series reaches no further."""

STEEPEST = 0.8
"""The slope of z·s changes the weight of a sample by this part at most.

With fewer than some five counts the slope is larger, and the formula would lose its order in n.
"""


@dataclass(frozen=True)
class SharesPlan:
    """A share of yes, and the two values that say no and yes."""

    share: float
    alpha: float
    low: float = 0.0
    high: float = 1.0
    closed_form: bool = True

    @property
    def spread(self) -> float:
        """The standard deviation of one value."""
        return (self.high - self.low) * math.sqrt(self.share * (1.0 - self.share))

    @property
    def room(self) -> tuple[float, float]:
        """To a share of 0 and to a share of 1, in data units."""
        unit = self.high - self.low
        return unit * self.share, unit * (1.0 - self.share)

    def moved(self, change: Change) -> float:
        """The share after the change."""
        return (
            self.share * change.factor + change.shift / (self.high - self.low) + change.share
        )  # fmt: skip

    def check(self, change: Change) -> None:
        """Reject a share outside 0 to 1."""
        moved = self.moved(change)
        if not 0.0 <= moved <= 1.0:
            unit = self.high - self.low
            point = f"{0.01 * unit:g} is one percentage point"
            raise ValueError(
                f"the pilot's share of {self.high:g} is {100 * self.share:.3g}%, and the change "
                f"would make it {100 * moved:.3g}%: shares lie between 0% and 100% (a shift of "
                f"{point})"
            )

    def expected(self, change: Change, n: float, m: float) -> float:
        """The probability of p < alpha, for either direction."""
        x, y = min(max(self.moved(change), 0.0), 1.0), self.share
        above = share_found_larger(x, y, n, m, self.alpha)
        return above + share_found_larger(1.0 - x, 1.0 - y, n, m, self.alpha)

    def power(self, change: Change, n: float, m: float) -> float:
        """The same: the closed form is checked against exact sums in the tests."""
        return self.expected(change, n, m)


def share_found_larger(x: float, y: float, n: float, m: float, alpha: float) -> float:
    """The probability that the test tells shares x and y of n and m values apart; x is larger.

    The score test rejects where â − b̂ > z·s, s² = p̂(1 − p̂)(1/n + 1/m) with the pooled share p̂
    (the pooled variance, as in the usual formula). Three corrections bring the normal law of
    â − b̂ − z·s close to the exact tests of ``share_tails``: s varies with the data, so its slope
    enters the variance (the delta method); the law under relabelling is skewed for unequal sizes,
    so z is that of Cornish and Fisher; counts are whole (``STEP_OF_COUNTS``).
    """
    from scipy.special import ndtr, ndtri

    pooled, both = (n * x + m * y) / (n + m), 1.0 / n + 1.0 / m
    single = pooled * (1.0 - pooled)
    if single <= 0.0:
        return 0.0
    s = math.sqrt(single * both)
    limit = -float(ndtri(0.5 * alpha))
    skewness = relabelled_skewness((1.0 - 2.0 * pooled) / math.sqrt(single), n, m)
    limit += min(max(skewness, -MOST_SKEWED), MOST_SKEWED) * (limit * limit - 1.0) / 6.0
    slope = limit * both * (1.0 - 2.0 * pooled) / (2.0 * s * (n + m))
    slope = min(max(slope, -STEEPEST / max(n, m)), STEEPEST / max(n, m))
    variance = (1.0 - slope * n) ** 2 * x * (1.0 - x) / n
    variance += (1.0 + slope * m) ** 2 * y * (1.0 - y) / m
    beyond = x - y - 0.5 * STEP_OF_COUNTS * both - limit * s
    if variance <= 0.0:
        return float(beyond > 0.0)
    return float(ndtr(beyond / math.sqrt(variance)))
