"""The differences of pairs: one sample, compared with 0.

A pair is one unit measured twice. What its two values share cancels in their difference d. The test
is that the mean of ψ(d − δ) is 0, and the M-centre of the differences is the δ where it is. The
null fixes δ, so there is no centre to estimate: t = mean ψ/√(V/n) with n − 1 degrees of freedom.

Under the null each difference could as well have the opposite sign. If most differences
are 0, t does not know how few signs there are. Then each tail is at least its share of sign flips.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.inference.intervals import FAR_OUT, end_of, opened, score_of
from dkmd.inference.sides import EMPTY_SIDE, Form, Side, means_of, side_sums
from dkmd.inference.sides import m_center as _m_center
from dkmd.inference.tails import Tails, critical, student_tails, tail_share
from dkmd.statistic.witness import Witness

FEW_SIGNS = 16
"""Up to this many differences that are not 0, all sign flips are counted."""

NO_PSI = 1e-12
"""A ψ below this share of its limit counts as 0."""


class OneSampleTest(NamedTuple):
    """The test at one δ."""

    statistic: float  # mean ψ(d − δ)
    standard_error: float
    df: float
    tails: Tails

    @property
    def t(self) -> float:
        """The statistic in standard errors; ±inf if nothing varies."""
        if self.standard_error > 0.0:
            return self.statistic / self.standard_error
        return math.copysign(math.inf, self.statistic) if self.statistic else math.nan


@dataclass(frozen=True)
class OneSample:
    """Differences and the ψ that compares them with 0."""

    side: Side
    origin: float  # the zero point of the side's offsets
    witness: Witness  # its centre is 0

    def test(self, delta: float = 0.0) -> OneSampleTest:
        """The test that the M-centre of the differences is ``delta``."""
        n = self.side.size
        sums = side_sums(self.side, self.witness, delta - self.origin)
        error = math.sqrt(sums.variance / n)
        few = self._few_psi(delta)
        if few is not None:
            flips = Tails(*flipped_tails(few[0], few[1]))
        elif error > 0.0:
            flips = Tails(0.0, 0.0)
        else:  # all differences are alike, or far beyond ψ: one choice of signs, of 2^n
            least = 0.5 ** min(n, 1074.0)
            flips = Tails(least, 1.0) if sums.mean > 0.0 else Tails(1.0, least)
        if sums.mean == 0.0 and error == 0.0:
            return OneSampleTest(0.0, 0.0, n - 1.0, Tails(math.nan, math.nan))
        student = Tails(0.0, 0.0)
        if error > 0.0:
            student = student_tails(sums.mean / error, n - 1.0)
        tails = Tails(max(student.upper, flips.upper), max(student.lower, flips.lower))
        return OneSampleTest(sums.mean, error, n - 1.0, tails)

    def _few_psi(self, delta: float) -> tuple[Array, Array] | None:
        """ψ at the differences that are not ``delta``, with their counts.

        None if there are many, or if no difference is ``delta``: t is right there. Bins count as
        many.
        """
        side = self.side
        if side.offset.size > 4 * FEW_SIGNS or np.any(side.variance > 0.0):
            return None
        psi = np.asarray(self.witness(side.offset + (self.origin - delta)))
        bound = self.witness.bound
        psi = np.append(psi, [bound, -bound])
        counts = np.append(side.counts, [side.plus_inf, side.minus_inf])
        there = counts > 0.0
        kept = (np.abs(psi) > NO_PSI * bound) & there
        if counts[kept].sum() > FEW_SIGNS or np.array_equal(kept, there):
            return None
        return psi[kept], counts[kept]

    def center(self) -> float:
        """The M-centre of the differences; ±inf if half of them or more are there."""
        return self.origin + _m_center(self.side, EMPTY_SIDE, self.witness)

    @property
    def constant(self) -> bool:
        """Whether all differences are alike."""
        side = self.side
        places = side.offset.size + (side.plus_inf > 0.0) + (side.minus_inf > 0.0)
        return bool(places <= 1 and side.variance.max(initial=0.0) == 0.0)

    def slope(self, delta: float) -> float:
        """The mean of ψ'(d − delta)."""
        return means_of(self.side, delta - self.origin, Form.of(self.witness))[2]


@compiled
def flipped_tails(psi: Array, counts: Array) -> tuple[float, float]:
    """The shares of all sign flips whose sum of ψ is at least, and at most, the observed sum."""
    values = np.empty(int(counts.sum()))
    k = 0
    for i in range(psi.size):
        for _ in range(int(counts[i])):
            values[k] = psi[i]
            k += 1
    observed = values.sum()
    slack = 1e-12 * np.abs(values).sum()
    above = below = 0
    total = 1 << k
    for signs in range(total):
        flipped = 0.0
        for i in range(k):
            flipped += values[i] if (signs >> i) & 1 else -values[i]
        if flipped >= observed - slack:
            above += 1
        if flipped <= observed + slack:
            below += 1
    return above / total, below / total


@dataclass(frozen=True)
class PairedOutcome:
    """A test of pairs. Intervals are computed on request."""

    sample: OneSample
    test: OneSampleTest
    pvalue: float
    shift: float
    alternative: str
    robust_scale: float
    notes: tuple[str, ...] = ()

    @property
    def statistic(self) -> float:
        """mean ψ(x − y)."""
        return self.test.statistic

    @property
    def df(self) -> float:
        """Degrees of freedom of Student's t."""
        return self.test.df

    @property
    def standard_error(self) -> float:
        """Of the statistic."""
        return self.test.standard_error

    @property
    def witness(self) -> Witness:
        """The ψ of the differences."""
        return self.sample.witness

    def statistic_interval(self, confidence_level: float) -> tuple[float, float]:
        """D ± t·se."""
        share = tail_share(confidence_level, self.alternative)
        reach = 0.0
        if self.standard_error > 0.0:
            reach = critical(1.0 - share, self.df) * self.standard_error
        return opened(self.statistic - reach, self.statistic + reach, self.alternative)

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """The δ that the test does not reject. 0 is inside exactly when p ≥ 1 − confidence."""
        share = tail_share(confidence_level, self.alternative)
        middle = self.shift
        if math.isnan(self.test.t):  # all differences are 0
            return opened(0.0, 0.0, self.alternative)
        if self.sample.constant:
            return opened(middle, middle, self.alternative)
        length = self.sample.witness.length
        width = length
        if math.isfinite(middle):
            error, slope = self.sample.test(middle).standard_error, self.sample.slope(middle)
            if slope > 0.0:
                width = abs(critical(1.0 - share, self.df)) * error / slope
        width = min(max(width, 1e-6 * length), 1e3 * length)
        limit = critical(1.0 - share, math.inf)
        rejected = self.test.tails.pvalue(self.alternative) < 1.0 - confidence_level

        def beyond(delta: float, side: float) -> float:
            at = self.sample.test(delta)
            tail = at.tails.upper if side > 0.0 else at.tails.lower
            return score_of(tail, side, at.statistic) - side * limit

        ends = []
        for side in (1.0, -1.0):
            zero_beyond = rejected and (
                self.alternative != "two-sided" or self.statistic * side > 0.0
            )
            at_zero = abs(beyond(0.0, side)) or 1e-300
            at_zero = math.copysign(at_zero, side if zero_beyond else -side)
            known = ((middle, -side * min(limit, FAR_OUT)), (0.0, at_zero))
            ends.append(end_of(partial(beyond, side=side), known, width))
        return opened(ends[0], ends[1], self.alternative)

    def pvalue_beyond(self, delta: float, alternative: str) -> float:
        """The p-value of "the shift is above delta" ("greater") or below it ("less")."""
        return float(self.sample.test(delta).tails.pvalue(alternative))

    def equivalence(self, low: float, high: float) -> float:
        """The p-value of the null that the shift lies outside (low, high): two one-sided tests."""
        return max(self.pvalue_beyond(low, "greater"), self.pvalue_beyond(high, "less"))


def flip_pvalue(sample: OneSample, alternative: str, method: Any) -> float:
    """The p-value of mean ψ among sign flips, as ``PermutationMethod`` asks.

    Σψ² is the same for all flips, so ranks by Σψ are ranks by t. Flips are drawn per atom.
    """
    from dkmd.inference.resampling import bin_means

    side, bound = sample.side, sample.witness.bound
    psi = np.append(bin_means(side, sample.witness, -sample.origin)[:, 0], [bound, -bound])
    counts = np.append(side.counts, [side.plus_inf, side.minus_inf]).astype(np.int64)
    return flip_share(psi, counts, alternative, method)


def flip_share(psi: Array, counts: npt.NDArray[np.int64], alternative: str, method: Any) -> float:
    """The p-value of Σψ among its sign flips. ``counts`` says how often each ψ occurs."""
    from dkmd.inference.resampling import extreme_share, generator_of

    n, resamples = int(counts.sum()), int(method.n_resamples)
    observed = float(counts @ psi)
    complete = n <= MOST_ENUMERATED and 2**n <= resamples
    if complete:
        values = np.repeat(psi, counts)
        signs = 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1.0
        return extreme_share(signs @ values, observed, alternative, True)
    rng = generator_of(method)
    rows = max(1, AT_ONCE // counts.size)
    found = []
    for start in range(0, resamples, rows):
        up = rng.binomial(counts, 0.5, size=(min(rows, resamples - start), counts.size))
        found.append((2.0 * up - counts) @ psi)
    return extreme_share(np.concatenate(found), observed, alternative, False)


MOST_ENUMERATED = 20
"""Up to this many pairs, all sign flips may be enumerated."""

AT_ONCE = 2_000_000
"""Numbers drawn at a time."""
