"""The power of a test that is planned: in closed form, and by simulation to check it.

The closed form asks what the test says about samples of n and m values that are exactly like the
pilot. The normal score of that p-value is about what the test reaches on average. The scores of
single samples scatter around it with a standard deviation of about 1. docs/planning.md compares
this with simulated powers.

| class     | data                                     | test                          |
|-----------|------------------------------------------|-------------------------------|
| `Amounts` | numbers, or logarithms for a factor      | ``dkmd_2samp``                |
| `Shares`  | yes or no, or a common value and others  | ``share_tails``               |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.inference.kinds.proportions import Counts, share_tails
from dkmd.inference.test.pair import (
    NO_VARIANCE,
    Pair,
    Studentized,
    plain_test,
)
from dkmd.inference.test.sides import Side
from dkmd.inference.test.tails import (
    Tails,
    one_of_all,
    relabelled_skewness,
    satterthwaite,
    student_tail,
)
from dkmd.inference.test.two_sample import row_tails
from dkmd.statistic.witness import Witness

Rejected = npt.NDArray[np.bool_]


class Design(NamedTuple):
    """What groups and covariates do to a plan: n values tell as much as n·worth/effect others."""

    effect: float = 1.0  # the variance by groups over that of independent values
    worth: float = 1.0  # the variance without covariates over that with them
    per_group: float = 1.0
    columns: int = 0  # degrees of freedom that the covariates cost

    @property
    def plain(self) -> bool:
        """Whether values are independent and nothing is known about them."""
        return self == PLAIN

    def independent(self, size: float) -> float:
        """As many independent values tell the same."""
        return max(2.0, size * self.worth / self.effect)

    def df(self, part_x: float, part_y: float, n: float, m: float) -> float:
        """Degrees of freedom of the variance, if groups are as large as those of the pilot."""
        of_x, of_y = (max(1.0, size / self.per_group - 1.0) for size in (n, m))
        found = float(satterthwaite(((part_x, of_x), (part_y, of_y))))
        return max(1.0, found - self.columns)


PLAIN = Design()


def power_at(by_t: Tails, whole: Tails, alpha: float) -> float:
    """The probability of p < alpha from the tails of Student's t and of the whole expected test.

    A guard measures T in standard errors of its own, and a least p-value does not scatter at all.
    So the normal score z of a guarded tail moves more slowly than T, and its distance from the
    limit counts in standard errors of t.
    """
    from scipy.special import ndtr, ndtri

    limit, power = -float(ndtri(0.5 * alpha)), 0.0
    for tails in zip(by_t, whole, strict=True):
        z_of_t, z = (-float(ndtri(min(max(p, 1e-300), 1.0 - 1e-15))) for p in tails)
        power += float(ndtr((z - limit) * (1.0 + (z_of_t - z) / max(z, limit))))
    return min(power, 1.0)


@dataclass(frozen=True)
class Amounts:
    """A pilot as x, and the same pilot or another one as y. A change moves x by δ."""

    x: Side
    y: Side
    width: float
    alpha: float
    scale: float | None = None  # as the user gave it
    design: Design = PLAIN
    pairs_of_itself: float = 0.0  # the share of pairs (x, y) that are one value of the pilot
    common: float | None = None  # a value that many have

    unit: ClassVar[float] = 1.0  # of δ, in data units

    @property
    def step(self) -> float:
        """The first change that a search tries."""
        return 1e-3 * self.width

    def power(self, delta: float, n: float, m: float) -> float:
        """The probability of p < alpha with n values that moved by δ and m others."""
        floor = one_of_all(n / self.design.per_group, m / self.design.per_group)
        if floor >= 0.5 * self.alpha:
            return 0.0
        n_told, m_told = self.design.independent(n), self.design.independent(m)
        pair = Pair(self.x.scaled_to(n_told), self.y.scaled_to(m_told), self.width, 0.0)
        found = pair.moments(-delta)
        # a value is not compared with itself: in the data to come no two values are the same one
        itself = self.pairs_of_itself * float(Witness(self.width, self.width)(delta)) / pair.bound
        found = found._replace(mean=(found.mean - itself) / (1.0 - self.pairs_of_itself))
        part_x, part_y = found.variance_x / n_told, found.variance_y / m_told
        by_t = Studentized(found.mean, math.sqrt(part_x + part_y), math.inf)
        if not part_x + part_y > NO_VARIANCE:
            by_t = by_t._replace(standard_error=0.0)
            whole = by_t
        elif self.design.plain:
            test = plain_test(found, n_told, m_told)
            by_t = by_t._replace(df=test.df)
            least = Tails(test.least_upper, test.least_lower)
            whole = by_t._replace(guards=(test.guard(n_told + m_told),), least=least)
        else:
            by_t = by_t._replace(df=self.design.df(part_x, part_y, n, m))
            whole = by_t
        return power_at(by_t.tails(), whole._replace(floor=floor).tails(), self.alpha)

    def moved(self, values: Array, delta: float, rng: np.random.Generator) -> Array:
        """Values of the side that changes."""
        return values + delta

    def rejected(self, delta: float, n: int, m: int, trials: int) -> Rejected:
        """The tests of samples that are drawn from the pilot, as many as ``trials``."""
        x, y = (
            np.interp(np.random.default_rng(seed).random((trials, size)), *quantiles(side))
            for seed, size, side in ((1, n, self.x), (2, m, self.y))
        )
        tails = row_tails(x + delta, y, self.scale)
        return np.asarray(tails.pvalue("two-sided") < self.alpha)


def quantiles(side: Side) -> tuple[Array, Array]:
    """The quantile function of a side as a polygon: its knots, and the offsets there.

    It is upright at ties and at infinities. Between single values, and between the means of bins,
    it is a line, so that draws do not repeat the values of a small pilot.
    """
    offset = np.concatenate([[-math.inf], side.offset, [math.inf]])
    counts = np.concatenate([[side.minus_inf], side.counts, [side.plus_inf]])
    apart = np.concatenate([[False], (side.counts <= 1.0) | (side.variance > 0.0), [False]])
    ends = np.concatenate([[0.0], np.cumsum(counts)]) / counts.sum()
    knots = np.column_stack([ends[:-1], ends[1:]])
    knots[apart] = knots[apart].mean(axis=1, keepdims=True)
    kept = counts > 0.0
    return knots[kept].reshape(-1), np.repeat(offset[kept], 2)


@dataclass(frozen=True)
class Shares:
    """A share of yes, and the two values that say no and yes. A change moves the share by δ."""

    share: float
    alpha: float
    low: float = 0.0
    high: float = 1.0
    common: float | None = None  # yes is any other value than this
    design: Design = PLAIN

    @property
    def unit(self) -> float:
        """The unit of δ in data units: a change of the share by 1."""
        return self.high - self.low

    step: ClassVar[float] = 1e-4
    """The first change that a search tries."""

    def require(self, delta: float) -> None:
        """Reject a change to a share below 0 or above 1."""
        moved = self.share + delta
        if -1e-12 <= moved <= 1.0 + 1e-12:
            return
        yes = f"{self.high:g}" if self.common is None else f"values other than {self.common:g}"
        raise ValueError(
            f"the pilot's share of {yes} is {100 * self.share:.3g}%, and the change would make it "
            f"{100 * moved:.3g}%: shares lie between 0% and 100% (a shift of {0.01 * self.unit:g} "
            "is one percentage point)"
        )

    def power(self, delta: float, n: float, m: float) -> float:
        """The probability of p < alpha with n values whose share moved by δ, and m others."""
        x, y = min(max(self.share + delta, 0.0), 1.0), self.share
        sizes = self.design.independent(n), self.design.independent(m)
        above = share_found_larger(x, y, *sizes, self.alpha)
        below = share_found_larger(1.0 - x, 1.0 - y, *sizes, self.alpha)
        if self.design.plain:
            return above + below
        part_x, part_y = (p * (1.0 - p) / size for p, size in zip((x, y), sizes, strict=True))
        if not part_x + part_y > 0.0:
            return above + below
        tails = self._by_units(above, below, self.design.df(part_x, part_y, n, m))
        return power_at(tails, tails, self.alpha)

    def _by_units(self, above: float, below: float, df: float) -> Tails:
        """Both tails of Student's t with these degrees of freedom, at the scores of two powers."""
        from scipy.special import ndtri

        limit = -float(ndtri(0.5 * self.alpha))
        scores = (limit + float(ndtri(min(p, 1.0 - 1e-12))) for p in (above, below))
        return Tails(*(float(student_tail(score, df)) for score in scores))

    def moved(self, values: Array, delta: float, rng: np.random.Generator) -> Array:
        """Values of the side that changes, 0 and 1: some of one kind become the other."""
        kind, share = (0.0, 1.0 - self.share) if delta >= 0.0 else (1.0, self.share)
        turn = rng.random(values.size) < abs(delta) / max(share, 1e-300)
        return np.where(turn, 1.0 - kind, values)

    def rejected(self, delta: float, n: int, m: int, trials: int) -> Rejected:
        """The tests of counts that are drawn, as many as ``trials``."""
        yes_x, yes_y = (
            np.random.default_rng(seed).binomial(size, min(max(share, 0.0), 1.0), trials)
            for seed, size, share in ((1, n, self.share + delta), (2, m, self.share))
        )
        counts = (Counts(int(a), n, int(b), m) for a, b in zip(yes_x, yes_y, strict=True))
        return np.array([_share_pvalue(each) < self.alpha for each in counts])


@lru_cache(maxsize=10_000)
def _share_pvalue(counts: Counts) -> float:
    return float(share_tails(counts).pvalue("two-sided"))


Model = Amounts | Shares


STEP_OF_COUNTS = 0.125
"""The difference must exceed the limit by this part of (1/n + 1/m)/2, because counts are whole.

Fisher's test needs 1, the score test 0. The tests behind ``share_tails`` lie close to 0. Plans for
80 and 95% (shares of 1 to 99%, 15 to 2,000 values a side) miss simulated powers by 1.4 points (root
mean square). With half of this step it is 1.6, and with twice of it 1.5.
"""


def share_found_larger(x: float, y: float, n: float, m: float, alpha: float) -> float:
    """The probability that the test tells shares x and y of n and m values apart; x is larger.

    The score test rejects where â − b̂ > z·s, s² = p̂(1 − p̂)(1/n + 1/m) with the pooled share p̂
    (the pooled variance, as in the usual formula). Three corrections bring the normal law of
    â − b̂ − z·s close to the exact tests of ``share_tails``: s varies with the data, so its slope
    enters the variance (the delta method); the law under relabelling is skewed for unequal sizes,
    so z is that of Cornish and Fisher; counts are whole (``STEP_OF_COUNTS``). Without a yes in x or
    a no in y, no test finds x larger.
    """
    from scipy.special import ndtr, ndtri

    pooled, both = (n * x + m * y) / (n + m), 1.0 / n + 1.0 / m
    single = pooled * (1.0 - pooled)
    if single <= 0.0:
        return 0.0
    s = math.sqrt(single * both)
    limit = -float(ndtri(0.5 * alpha))
    skewness = relabelled_skewness((1.0 - 2.0 * pooled) / math.sqrt(single), n, m)
    limit += skewness * (limit * limit - 1.0) / 6.0
    slope = limit * both * (1.0 - 2.0 * pooled) / (2.0 * s * (n + m))
    variance = (1.0 - slope * n) ** 2 * x * (1.0 - x) / n
    variance += (1.0 + slope * m) ** 2 * y * (1.0 - y) / m
    beyond = x - y - 0.5 * STEP_OF_COUNTS * both - limit * s
    most = 1.0 - float(max((1.0 - x) ** n, y**m))
    if variance <= 0.0:
        return most * float(beyond > 0.0)
    return min(most, float(ndtr(beyond / math.sqrt(variance))))
