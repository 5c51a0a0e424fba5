"""Shares of "yes" in two samples: a test that is exact with few counts, and intervals.

The p-value is Boschloo's. Fisher's conditional p-value is the statistic of an exact unconditional
test. The unknown common share is searched within a range that the data allow (Berger and Boos). The
p-value is never above Fisher's own and needs no large counts. With some hundreds of counts, the
mid-p version of Fisher's test agrees with it and is cheaper. Differences other than 0 are tested by
the score test of Farrington and Manning. Intervals invert this test (Miettinen and Nurminen).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.base.defaults import CONFIDENCE
from dkmd.inference.test.intervals import FAR_OUT, root_between
from dkmd.inference.test.tails import Tails, critical, student_tails, tail_share

EXACT_COUNTS = 200
"""Up to this many counts of the rarer answer, on both sides together, the test is Boschloo's."""

NUISANCE_POINTS = 160
"""Values of the unknown common share at which the exact test looks for its largest p-value."""

NEGLIGIBLE = 1e-4
"""The share of Fisher's p-value that common shares outside the searched range may add."""

TIE = 1e-10
"""Tables whose Fisher p-values differ by less than this share are equally extreme."""


class Counts(NamedTuple):
    """How many of each sample said yes: ``yes_x`` of ``n``, and ``yes_y`` of ``m``."""

    yes_x: int
    n: int
    yes_y: int
    m: int

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of yes in x and in y; NaN for a sample without values."""
        return (
            self.yes_x / self.n if self.n else math.nan,
            self.yes_y / self.m if self.m else math.nan,
        )

    @property
    def difference(self) -> float:
        """The share of x minus the share of y."""
        share_x, share_y = self.shares
        return share_x - share_y

    def swapped(self) -> Counts:
        """The same counts with x and y exchanged."""
        return Counts(self.yes_y, self.m, self.yes_x, self.n)

    def negated(self) -> Counts:
        """The same counts with yes and no exchanged."""
        return Counts(self.n - self.yes_x, self.n, self.m - self.yes_y, self.m)


def share_tails(counts: Counts) -> Tails:
    """P-values of "x has the larger share" (upper) and of "x has the smaller share" (lower).

    Examples
    --------
    Twenty of a thousand against none of a hundred may well be chance:

    >>> round(share_tails(Counts(0, 100, 20, 1000)).pvalue("two-sided"), 3)
    0.174
    """
    if counts.n == 0 or counts.m == 0:
        return Tails(math.nan, math.nan)
    if counts.yes_x + counts.yes_y > (counts.n + counts.m) // 2:  # work with the rarer answer
        upper, lower = share_tails(counts.negated())
        return Tails(lower, upper)
    return Tails(_one_sided(counts), _one_sided(counts.swapped()))


def _one_sided(counts: Counts) -> float:
    """The p-value of "x has the larger share", for counts of the rarer answer."""
    a, n, b, m = counts
    total = a + b
    if total == 0:
        return 1.0
    above, at = fisher_tail(a, n, total, m)
    if total > EXACT_COUNTS:
        return float(min(1.0, above + 0.5 * at))
    fisher = min(1.0, above + at)
    low, high = _nuisance_range(total, n + m, NEGLIGIBLE * fisher)
    most = int(_binomial_reach(max(n, m), high, NEGLIGIBLE * fisher))
    limits = _rejected_up_to(fisher * (1.0 + TIE), n, m, min(n, most), min(m, most))
    shares = _between(low, high, NUISANCE_POINTS)
    values = np.array([_region(share, limits, n, m) for share in shares])
    best = int(values.argmax())
    around = _between(shares[max(best - 1, 0)], shares[min(best + 1, shares.size - 1)], 24)
    sharper = max(_region(share, limits, n, m) for share in around)
    return float(min(fisher, max(float(values.max()), sharper) + NEGLIGIBLE * fisher))


@compiled
def fisher_tail(a: int, n: int, total: int, m: int) -> tuple[float, float]:
    """P(more than a) and P(exactly a) of ``total`` counts are from x (hypergeometric law)."""
    at = math.exp(_log_choose(n, a) + _log_choose(m, total - a) - _log_choose(n + m, total))
    above, term = 0.0, at
    for i in range(a, min(n, total)):
        term *= (n - i) * (total - i) / ((i + 1.0) * (m - total + i + 1.0))
        above += term
        if term < 1e-18 * above:
            break
    return above, at


@compiled
def _log_choose(n: float, k: float) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@compiled
def _rejected_up_to(limit: float, n: int, m: int, most_x: int, most_y: int) -> Array:
    """For each count i of x, the largest count of y at which Fisher's p-value is at most ``limit``.

    It is −1 if there is no such count. It grows with i, so each search starts where the last ended.
    """
    limits = np.full(most_x + 1, -1.0)
    j = -1
    for i in range(most_x + 1):
        while j < most_y:
            above, at = fisher_tail(i, n, i + j + 1, m)
            if above + at > limit:
                break
            j += 1
        limits[i] = j
    return limits


@compiled
def _region(share: float, limits: Array, n: int, m: int) -> float:
    """The probability of the rejected tables when both samples have this share."""
    log_odds, log_no = math.log(share) - math.log1p(-share), math.log1p(-share)
    term_y = math.exp(m * log_no)
    odds = math.exp(log_odds)
    log_y, log_x = m * log_no, n * log_no
    total, below, j = 0.0, 0.0, -1
    for i in range(limits.size):
        while j < limits[i]:
            j += 1
            if j > 0:
                log_y += math.log((m - j + 1.0) / j * odds)
                term_y = math.exp(log_y)
            below += term_y
        if i > 0:
            log_x += math.log((n - i + 1.0) / i * odds)
        total += math.exp(log_x) * below
    return total


def _nuisance_range(total: int, size: int, outside: float) -> tuple[float, float]:
    """A range that misses the true common share with probability ``outside`` at most."""
    from scipy.special import betainccinv, betaincinv

    half = 0.5 * outside
    low = float(betaincinv(total, size - total + 1, half)) if total else 0.0
    high = float(betainccinv(total + 1, size - total, half)) if total < size else 1.0
    return max(low, 1e-300), min(high, 1.0 - 1e-12)


def _binomial_reach(size: int, share: float, outside: float) -> float:
    """A bound that a binomial count exceeds with probability ``outside`` at most."""
    mean, bound = size * share, -math.log(outside)
    # Bernstein's inequality
    return mean + bound / 3.0 + math.sqrt(bound * bound / 9.0 + 2.0 * mean * bound) + 1.0


def _between(low: float, high: float, points: int) -> Array:
    """Shares from ``low`` to ``high``, evenly spaced on the variance-stabilising scale."""
    ends = np.arcsin(np.sqrt([low, high]))
    shares = np.sin(np.linspace(ends[0], ends[1], points)) ** 2
    return np.asarray(np.clip(shares, 1e-300, 1.0 - 1e-12))


def share_tails_at(counts: Counts, difference: float) -> Tails:
    """P-values of "the difference of shares is larger" (upper) or "smaller" than a value."""
    if difference == 0.0:
        return share_tails(counts)
    score = _score(counts, difference)
    if math.isnan(score):
        return Tails(math.nan, math.nan)
    return student_tails(score, math.inf)


def _score(counts: Counts, difference: float) -> float:
    """The difference of shares minus ``difference``, in standard errors under that hypothesis."""
    a, n, b, m = counts
    if not -1.0 < difference < 1.0 or n == 0 or m == 0:
        return math.nan
    share_x, share_y = _shares_given(counts, difference)
    variance = share_x * (1.0 - share_x) / n + share_y * (1.0 - share_y) / m
    variance *= (n + m) / (n + m - 1.0)
    off = a / n - b / m - difference
    if variance <= 0.0:
        return math.copysign(math.inf, off) if off else 0.0
    return off / math.sqrt(variance)


def _shares_given(counts: Counts, difference: float) -> tuple[float, float]:
    """The likeliest shares that differ by ``difference``: a root of Farrington-Manning's cubic."""
    a, n, b, m = counts
    x, y, theta = a / n, b / m, m / n
    one = 1.0 + theta
    two = -(one + x + theta * y + difference * (theta + 2.0))
    three = difference * difference + difference * (2.0 * x + one) + x + theta * y
    four = -x * difference * (1.0 + difference)
    third = two / (3.0 * one)
    v = third**3 - two * three / (6.0 * one * one) + four / (2.0 * one)
    u = math.copysign(math.sqrt(max(0.0, third * third - three / (3.0 * one))), v)
    angle = 0.0
    if u != 0.0:
        angle = (math.pi + math.acos(max(-1.0, min(1.0, v / u**3)))) / 3.0
    share = 2.0 * u * math.cos(angle) - third
    share = min(max(share, 0.0, difference), 1.0, 1.0 + difference)
    return share, share - difference


def share_interval(
    counts: Counts, confidence_level: float = CONFIDENCE, alternative: str = "two-sided"
) -> tuple[float, float]:
    """The differences of shares that the score test does not reject.

    0 lies inside exactly when the exact p-value is at least 1 − confidence_level.

    Examples
    --------
    >>> low, high = share_interval(Counts(62, 100, 37, 100))
    >>> round(low, 3), round(high, 3)
    (0.112, 0.379)
    """
    if counts.n == 0 or counts.m == 0:
        return math.nan, math.nan
    limit = critical(1.0 - tail_share(confidence_level, alternative), math.inf)
    low, high = _score_end(counts, limit), _score_end(counts, -limit)
    rejected = share_tails(counts).pvalue(alternative) < 1.0 - confidence_level
    if not rejected:
        low, high = min(low, 0.0), max(high, 0.0)
    elif counts.difference > 0.0:
        low = max(low, TOUCHING)
    else:
        high = min(high, -TOUCHING)
    return (
        -1.0 if alternative == "less" else low,
        1.0 if alternative == "greater" else high,
    )


TOUCHING = 1e-12
"""The end of an interval that must not contain 0 although the score test would include 0."""


STRAIGHT = 1e-3
"""A length over which scores are nearly straight lines. So ends are right to 1e-9; with 0.1 some
were off by 5e-5."""


def _score_end(counts: Counts, limit: float) -> float:
    """The difference with this score. Scores fall as differences grow."""

    def beyond(difference: float) -> float:
        return max(-FAR_OUT, min(FAR_OUT, _score(counts, difference))) - limit

    found, last = counts.difference, -math.copysign(1.0, limit)
    known = (found, -limit), (last, -last * FAR_OUT - limit)
    return found if found == last else root_between(beyond, *known, STRAIGHT)


def wilson_interval(
    yes: int, size: int, confidence_level: float = CONFIDENCE
) -> tuple[float, float]:
    """Wilson's score interval of one share.

    Examples
    --------
    >>> low, high = wilson_interval(1, 20)
    >>> round(low, 4), round(high, 4)
    (0.0089, 0.2361)
    """
    if size == 0:
        return math.nan, math.nan
    z = critical(0.5 + 0.5 * confidence_level, math.inf)
    share, weight = yes / size, z * z / size
    middle = (share + 0.5 * weight) / (1.0 + weight)
    half = z / (1.0 + weight) * math.sqrt((share * (1.0 - share) + 0.25 * weight) / size)
    return (
        0.0 if yes == 0 else max(0.0, middle - half),
        1.0 if yes == size else min(1.0, middle + half),
    )


def ratio_interval(counts: Counts, confidence_level: float = CONFIDENCE) -> tuple[float, float]:
    """The ratio of shares, x over y, from Wilson's intervals of both (Donner and Zou).

    Examples
    --------
    >>> low, high = ratio_interval(Counts(62, 100, 37, 100))
    >>> round(low, 2), round(high, 2)
    (1.25, 2.27)
    """
    share_x, share_y = counts.shares
    if math.isnan(share_x) or math.isnan(share_y):
        return math.nan, math.nan
    low_x, high_x = wilson_interval(counts.yes_x, counts.n, confidence_level)
    low_y, high_y = wilson_interval(counts.yes_y, counts.m, confidence_level)
    product = share_x * share_y
    room_low = max(
        0.0, product * product - low_x * high_y * (2.0 * share_x - low_x) * (2.0 * share_y - high_y)
    )
    room_high = max(
        0.0, product * product - high_x * low_y * (2.0 * share_x - high_x) * (2.0 * share_y - low_y)
    )
    above = low_y * (2.0 * share_y - low_y)
    bottom = product + math.sqrt(room_low)
    low = low_x * (2.0 * share_x - low_x) / bottom if bottom > 0.0 else 0.0
    high = (product + math.sqrt(room_high)) / above if above > 0.0 else math.inf
    return max(0.0, low), high
