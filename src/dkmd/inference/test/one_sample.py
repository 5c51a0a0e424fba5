"""The differences of pairs: one sample, compared with 0.

A pair is one unit measured twice. What its two values share cancels in their difference d. The test
is that the mean of ψ(d − δ) is 0, and the M-centre of the differences is the δ where it is. The
null fixes δ, so there is no centre to estimate: t = mean ψ/√(V/n) with n − 1 degrees of freedom.

Under the null each difference could as well have the opposite sign. t does not know how few signs
there are. So each tail is at least its share of sign flips (``flip_tails``).

Swapping x and y negates the differences. They are tested with the sign that ``leaning`` chooses,
and the answer is turned back. So the paper's Theorem 1 holds to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.inference.test.pair import Studentized
from dkmd.inference.test.sides import Form, Side, m_center, means_of, side_sums
from dkmd.inference.test.tails import Tails
from dkmd.statistic.witness import Witness

MOST_SUMS = 20_000
"""Up to this many different sums of ψ, all sign flips are counted (DESIGN 2.6)."""

MANY_SIGNS = 1_000.0
"""With so many differences of similar size, t and sign flips agree to three digits at p = 1e-6."""

NO_PSI = 1e-12
"""A ψ below this share of its limit counts as 0."""


@dataclass(frozen=True)
class OneSample:
    """Differences and the ψ that compares them with 0."""

    side: Side
    origin: float  # the zero point of the side's offsets
    witness: Witness  # its centre is 0

    @property
    def coarse(self) -> OneSample:
        """The differences as they are."""
        return self

    @property
    def sides(self) -> tuple[Side, Side]:
        """Pairs have none."""
        raise ValueError("pairs are compared by their differences")

    @property
    def constant(self) -> bool:
        """Whether all differences are alike."""
        return self.side.constant

    @property
    def width(self) -> float:
        """The width σ of ψ."""
        return self.witness.sigma

    def test(self, delta: float = 0.0) -> Studentized:
        """The test that the M-centre of the differences is ``delta``."""
        n = self.side.size
        sums = side_sums(self.side, self.witness, delta - self.origin)
        error = math.sqrt(sums.variance / n)
        floor = math.exp(-min(n * math.log(2.0), 700.0))
        if sums.mean == 0.0 and error == 0.0:
            return Studentized(0.0, 0.0, n - 1.0, floor=floor)
        least = flip_tails(*self._psi(delta))
        return Studentized(sums.mean, error, n - 1.0, (), floor, least)

    def _psi(self, delta: float) -> tuple[Array, Array]:
        """ψ of every atom, ±inf included, and its count."""
        side, bound = self.side, self.witness.bound
        psi = np.asarray(self.witness(side.offset + (self.origin - delta)))
        counts = np.append(side.counts, [side.plus_inf, side.minus_inf])
        return np.append(psi, [bound, -bound]), counts

    def shift(self) -> float:
        """The M-centre of the differences; ±inf if half of them or more are there."""
        return self.origin + m_center(self.side, self.witness)

    def reach(self, middle: float, _error: float = math.nan) -> float:
        """About the standard error of the shift."""
        length = self.witness.length
        if not math.isfinite(middle):
            return length
        _, variance, slope, _, _ = means_of(self.side, middle - self.origin, Form.of(self.witness))
        error = length * math.sqrt(variance / self.side.size)
        return min(max(error / slope, 1e-6 * length), 1e3 * length) if slope > 0.0 else length


def leaning(differences: Array) -> float:
    """1 or −1: the sign with which differences are tested; 0 if they are their own mirror image.

    d and −d have opposite signs, so both are tested in the same form.
    """
    up, down = int((differences > 0.0).sum()), int((differences < 0.0).sum())
    if up != down:
        return 1.0 if up > down else -1.0
    ordered = np.sort(differences)
    with np.errstate(invalid="ignore"):
        apart = ordered + ordered[::-1]  # NaN for −inf and inf, which mirror each other
    uneven = apart[~np.isnan(apart) & (apart != 0.0)]
    return math.copysign(1.0, uneven[0]) if uneven.size else 0.0


def flip_tails(psi: Array, counts: Array) -> Tails:
    """The shares of sign flips whose sum of ψ is at least, and at most, the observed sum.

    ``counts`` says how often each ψ occurs. Flips are counted if few sums are possible. Otherwise
    the saddlepoint formula of Lugannani and Rice gives the share. Both are 0 where t is as good.
    """
    kept = (counts > 0.0) & (np.abs(psi) > NO_PSI * np.abs(psi).max(initial=0.0))
    psi, counts = psi[kept], counts[kept]
    if not psi.size:
        return Tails(1.0, 1.0)
    if counts @ psi**2 > MANY_SIGNS * (psi**2).max():
        return Tails(0.0, 0.0)
    observed = float(counts @ psi)
    sizes, times = _merged(np.abs(psi), counts)
    if np.log(times + 1.0).sum() <= math.log(MOST_SUMS):
        return _counted(sizes, times, observed)
    share = float(flipped_beyond(np.abs(psi), counts, abs(observed)))
    return Tails(share, 1.0 - share) if observed > 0.0 else Tails(1.0 - share, share)


def _merged(sizes: Array, counts: Array) -> tuple[Array, Array]:
    """|ψ| without repetitions, up to rounding errors, and how often each occurs."""
    order = np.argsort(sizes)
    sizes, counts = sizes[order], counts[order]
    new = np.append(True, np.diff(sizes) > NO_PSI * sizes[-1])
    starts = np.flatnonzero(new)
    return sizes[starts], np.add.reduceat(counts, starts)


def _counted(sizes: Array, times: Array, observed: float) -> Tails:
    """``flip_tails`` by all sums Σ ±|ψ| with their probabilities."""
    sums, chances = np.zeros(1), np.ones(1)
    for size, count in zip(sizes, times, strict=True):
        plus = np.arange(count + 1.0)
        sums = np.add.outer(sums, size * (2.0 * plus - count)).ravel()
        ways = [
            math.lgamma(count + 1.0) - math.lgamma(k + 1.0) - math.lgamma(count - k + 1.0)
            for k in plus
        ]
        chances = np.multiply.outer(chances, np.exp(np.array(ways) - count * math.log(2.0))).ravel()
    slack = 1e-9 * float(sizes @ times)
    above, below = sums >= observed - slack, sums <= observed + slack
    return Tails(min(1.0, float(chances[above].sum())), min(1.0, float(chances[below].sum())))


@compiled
def flipped_beyond(sizes: Array, counts: Array, observed: float) -> float:
    """P(Σ ±|ψ| ≥ observed) for observed ≥ 0, never below the share of the single largest sum.

    K(λ) = Σ log cosh(λ|ψ|) is the cumulant function of the sum. K' is concave, so Newton's method
    comes from below.
    """
    count = counts.sum()
    least = math.exp(-min(count * math.log(2.0), 700.0))
    largest = (counts * sizes).sum()
    if not observed < largest * (1.0 - 1e-12):
        return least
    squares = (counts * sizes * sizes).sum()
    at = observed / squares
    for _ in range(100):
        rise = curve = 0.0
        for i in range(sizes.size):
            tanh = math.tanh(at * sizes[i])
            rise += counts[i] * sizes[i] * tanh
            curve += counts[i] * sizes[i] * sizes[i] * (1.0 - tanh * tanh)
        step = (observed - rise) / curve if curve > 0.0 else 0.0
        at += step
        if not step > 1e-10 * at:
            break
    cumulant = curve = 0.0
    for i in range(sizes.size):
        away = at * sizes[i]
        cumulant += counts[i] * (away + math.log1p(math.exp(-2.0 * away)) - math.log(2.0))
        curve += counts[i] * (sizes[i] / math.cosh(min(away, 300.0))) ** 2
    root = math.sqrt(max(2.0 * (at * observed - cumulant), 0.0))
    if root < 1e-3:  # the formula is 0/0 at the middle
        return 0.5
    score = root + math.log(max(at * math.sqrt(curve), 1e-300) / root) / root
    return max(least, 0.5 * math.erfc(score / math.sqrt(2.0)))


def flip_pvalue(sample: OneSample, alternative: str, method: Any) -> float:
    """The p-value of mean ψ among sign flips, as ``PermutationMethod`` asks.

    Σψ² is the same for all flips, so ranks by Σψ are ranks by t. Flips are drawn per atom.
    """
    from dkmd.inference.test.resampling import bin_means

    side, bound = sample.side, sample.witness.bound
    psi = np.append(bin_means(side, sample.witness, -sample.origin)[:, 0], [bound, -bound])
    counts = np.append(side.counts, [side.plus_inf, side.minus_inf]).astype(np.int64)
    return flip_share(psi, counts, alternative, method)


def flip_share(psi: Array, counts: npt.NDArray[np.int64], alternative: str, method: Any) -> float:
    """The p-value of Σψ among its sign flips. ``counts`` says how often each ψ occurs."""
    from dkmd.inference.test.resampling import extreme_share, generator_of

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
