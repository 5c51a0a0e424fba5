"""The paper's own estimator: Algorithm 1 (prefix–suffix scanning), and the same sum in one pass.

``riemann`` walks the merged samples once, in blocks that combine associatively. ``riemann_witness``
keeps the paper's arrays L, R and ψ̂ and follows Algorithm 1 line by line.

| paper           | here                                                       |
|-----------------|------------------------------------------------------------|
| z_k, Δz_k       | ``z``, ``step``: sorted pooled points and their gaps       |
| Δz_k · w(z_k)   | ``c``                                                      |
| 1/n or −1/m     | ``s``: the weight of a point in the statistic              |
| L_i, R_i, ψ̂_i   | ``prefix``, ``suffix``, ``psi``                            |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, RealArray, as_sample, nan_error, piece
from dkmd.base.compiled import compiled, spread
from dkmd.statistic.table import PolynomialTable, evaluate_sorted
from dkmd.statistic.witness import Witness

BLOCK = 1 << 15
"""Merged points in a block. Blocks of this size keep all threads busy."""


def riemann(x: npt.ArrayLike, y: npt.ArrayLike, witness: Witness) -> float:
    """DKMD of two arrays by the paper's Riemann estimator. See ``dkmd.riemann``."""
    require_laplace(witness)
    samples = (as_sample(x, "x"), as_sample(y, "y"))
    size = samples[0].size + samples[1].size
    sorted_x, sorted_y = (sample.copy() for sample in samples)
    spread(np.ndarray.sort, (sorted_x, sorted_y), size)  # in place
    require_finite_range(sorted_x, sorted_y)
    # where each block starts in the two sorted samples
    cuts = [_merge_cut(sorted_x, sorted_y, k) for k in (*range(0, size, BLOCK), size)]

    def block(between: tuple[tuple[int, int], tuple[int, int]]) -> RiemannBlock:
        (from_x, from_y), (to_x, to_y) = between
        x_part, y_part = piece(sorted_x, from_x, to_x), piece(sorted_y, from_y, to_y)
        return RiemannBlock.of(x_part, y_part, samples[0].size, samples[1].size, witness)

    blocks = spread(block, pairwise(cuts), size)
    return reduce(RiemannBlock.combine, blocks).total


@dataclass(frozen=True, slots=True)
class RiemannBlock:
    """A run of consecutive sorted points, reduced to what the rest of the walk needs.

    The estimator is Σ_k c_k s_k + Σ_{i<k} (c_k s_i + c_i s_k)·e^{−(z_k − z_i)/σ}. A block keeps
    its own part of that sum, and four exponential sums for the terms shared with its neighbours.
    So blocks combine associatively: threads, files or machines each summarise a range of values,
    and the summaries are combined in order.

    Attributes
    ----------
    first, last : float
        The smallest and the largest point.
    first_weight : float
        w at ``first``. The step to ``first`` is known only when a left neighbour is combined.
    total : float
        The block's part of the statistic.
    signs_at_last, steps_at_last : float
        Σ s_i e^{−(last − z_i)/σ} and Σ c_i e^{−(last − z_i)/σ}, for the right neighbour.
    signs_at_first, steps_at_first : float
        Σ s_i e^{−(z_i − first)/σ} and Σ c_i e^{−(z_i − first)/σ}, for the left neighbour.
    sigma : float
        The kernel's width.
    """

    first: float
    last: float
    first_weight: float
    total: float
    signs_at_last: float
    steps_at_last: float
    signs_at_first: float
    steps_at_first: float
    sigma: float

    @classmethod
    def of(cls, x: Array, y: Array, n: int, m: int, witness: Witness) -> RiemannBlock:
        """Summarise sorted runs ``x`` and ``y`` of two samples with n and m values in total.

        One of the runs may be empty. No value of another block may lie between their ends.
        """
        require_laplace(witness)
        weight = witness.weight_table
        if weight is None or x.size + y.size == 0:
            z, s = np.empty(x.size + y.size), np.empty(x.size + y.size)
            _merge(x, y, 0, 0, 1.0 / n, -1.0 / m, z, s)
            return cls.of_runs(z, s, witness)
        first = min(float(part[0]) for part in (x, y) if part.size)
        last = max(float(part[-1]) for part in (x, y) if part.size)
        state = _state_at(first)
        center, per_unit = witness.center, witness.per_unit
        _fused_pass(x, y, 1.0 / n, -1.0 / m, witness.sigma, weight, center, per_unit, state)
        return cls._after(first, last, state, witness)

    @classmethod
    def of_runs(cls, z: Array, s: Array, witness: Witness) -> RiemannBlock:
        """Summarise sorted points ``z``, each with its weight ``s`` in the statistic.

        Tied points may be given as one point: only the sum of their weights matters.
        """
        require_laplace(witness)
        if z.size == 0:
            raise ValueError("a block needs at least one point")
        state = _state_at(float(z[0]))
        _walk(z, witness.weigh(z), s, witness.sigma, np.empty_like(z), state)
        return cls._after(float(z[0]), float(z[-1]), state, witness)

    @classmethod
    def _after(cls, first: float, last: float, state: Array, witness: Witness) -> RiemannBlock:
        """The block for a walk from ``first`` to ``last`` that ended in ``state``."""
        total, signs_last, steps_last, signs_first, steps_first = state[_TOTAL:].tolist()
        return cls(
            first=first,
            last=last,
            first_weight=float(witness.weigh(first)),
            total=total,
            signs_at_last=signs_last,
            steps_at_last=steps_last,
            signs_at_first=signs_first,
            steps_at_first=steps_first,
            sigma=witness.sigma,
        )

    def combine(self, right: RiemannBlock) -> RiemannBlock:
        """This block followed by ``right``. The operation is associative but not commutative."""
        if right.first < self.last or right.sigma != self.sigma:
            raise ValueError(
                "blocks combine only in the order of their points and with the same sigma"
            )
        gap = right.first - self.last
        step = gap * right.first_weight  # c of right's first point, not known before
        bridge = math.exp(-gap / self.sigma)
        across_self = math.exp(-(self.last - self.first) / self.sigma) * bridge
        across_right = math.exp(-(right.last - right.first) / self.sigma)
        signs_in = self.signs_at_last * bridge
        steps_in = self.steps_at_last * bridge + step
        steps_of_right = right.steps_at_first + step
        return RiemannBlock(
            first=self.first,
            last=right.last,
            first_weight=self.first_weight,
            total=self.total
            + right.total
            + signs_in * steps_of_right
            + steps_in * right.signs_at_first,
            signs_at_last=right.signs_at_last + signs_in * across_right,
            steps_at_last=right.steps_at_last + steps_in * across_right,
            signs_at_first=self.signs_at_first + across_self * right.signs_at_first,
            steps_at_first=self.steps_at_first + across_self * steps_of_right,
            sigma=self.sigma,
        )


class RiemannWitness(NamedTuple):
    """The paper's discrete witness on the pooled sample."""

    z: Array
    """The pooled points, sorted."""
    psi: Array
    """ψ̂ at each point."""
    from_x: npt.NDArray[np.bool_]
    """Whether each point came from x."""


def riemann_witness(x: npt.ArrayLike, y: npt.ArrayLike, witness: Witness) -> RiemannWitness:
    """The discrete witness ψ̂ at every pooled point, by the scans of Algorithm 1.

    ψ̂ depends on the pooled sample only, not on which sample a point came from. The statistic is
    the mean of ``psi`` over x minus its mean over y.

    Examples
    --------
    >>> z, psi, from_x = riemann_witness([0.3, -1.2, 2.5], [0.1, 0.1, 4.0, -7.5], Witness())
    >>> statistic = psi[from_x].mean() - psi[~from_x].mean()
    >>> round(float(statistic), 12)  # riemann of the same samples
    -1.133285184728
    """
    require_laplace(witness)
    sample_x, sample_y = as_sample(x, "x"), as_sample(y, "y")
    pooled = np.concatenate([sample_x, sample_y]).astype(np.float64, copy=False)
    order = np.argsort(pooled, kind="stable")
    z = pooled[order]  # line 1
    require_finite_range(z)
    return RiemannWitness(z, _scan(z, witness.weigh(z), witness.sigma), order < sample_x.size)


@compiled
def _scan(z: Array, w: Array, sigma: float) -> Array:
    """Lines 3 to 12 of Algorithm 1; ``w`` is line 2. Indices start at 0, in the paper at 1."""
    size = z.size
    c = np.empty(size)  # Δz_i · w_i
    c[0] = 0.0  # line 3: Δz_1 = 0
    for i in range(1, size):
        c[i] = (z[i] - z[i - 1]) * w[i]

    prefix = np.empty(size)
    prefix[0] = c[0]  # line 4
    for i in range(1, size):  # lines 5 to 7
        prefix[i] = math.exp((z[i - 1] - z[i]) / sigma) * prefix[i - 1] + c[i]

    suffix = np.empty(size)
    suffix[size - 1] = c[size - 1]  # line 8
    for i in range(size - 2, -1, -1):  # lines 9 to 11
        suffix[i] = math.exp((z[i] - z[i + 1]) / sigma) * suffix[i + 1] + c[i]

    return prefix + suffix - c  # line 12


RUN = 512
"""Points merged, weighed and walked at a time, so that the buffers stay in the L1 cache."""

_HERE, _ACROSS, _TOTAL = 0, 1, 2  # the walk's state; the four sums of a RiemannBlock follow
_SIGNS_LAST, _STEPS_LAST, _SIGNS_FIRST, _STEPS_FIRST = 3, 4, 5, 6


def _state_at(first: float) -> Array:
    """The walk's state before the first point of a block."""
    state = np.zeros(7)
    state[_HERE], state[_ACROSS] = first, 1.0
    return state


@compiled
def _fused_pass(
    x: Array,
    y: Array,
    s_x: float,
    s_y: float,
    sigma: float,
    weight: PolynomialTable,
    center: float,
    per_unit: float,
    state: Array,
) -> None:
    """Merge, weigh and walk two sorted arrays, a run at a time."""
    z, s, w = np.empty(RUN), np.empty(RUN), np.empty(RUN)
    decay = np.empty(RUN)
    i = j = 0
    while i < x.size or j < y.size:
        i, j, count = _merge(x, y, i, j, s_x, s_y, z, s)
        evaluate_sorted(z[:count], center, per_unit, weight, 1.0, w[:count])
        _walk(z[:count], w, s, sigma, decay, state)


@compiled
def _merge(
    x: Array, y: Array, i: int, j: int, s_x: float, s_y: float, z: Array, s: Array
) -> tuple[int, int, int]:
    """Fill ``z`` with the next merged points, x first on ties, and ``s`` with their weights."""
    k = 0
    while k < z.size and i < x.size and j < y.size:
        # within this many points none of the three arrays can end
        for _ in range(min(z.size - k, x.size - i, y.size - j)):
            # an unsigned index spares Numba the test for negative ones
            from_x, from_y = x[np.uint64(i)], y[np.uint64(j)]
            take_y = from_y < from_x
            z[k] = from_y if take_y else from_x
            s[k] = s_y if take_y else s_x
            j += 1 if take_y else 0
            i += 0 if take_y else 1
            k += 1
    while k < z.size and i < x.size:
        z[k] = x[i]
        s[k] = s_x
        i += 1
        k += 1
    while k < z.size and j < y.size:
        z[k] = y[j]
        s[k] = s_y
        j += 1
        k += 1
    return i, j, k


@compiled
def _walk(z: Array, w: Array, s: Array, sigma: float, decay: Array, state: Array) -> None:
    """Extend the sums of a block by the points ``z``."""
    _decays(z, state[_HERE], sigma, decay)
    here, across, total = state[_HERE], state[_ACROSS], state[_TOTAL]
    signs_last, steps_last = state[_SIGNS_LAST], state[_STEPS_LAST]
    signs_first, steps_first = state[_SIGNS_FIRST], state[_STEPS_FIRST]
    for k in range(z.size):
        c = (z[k] - here) * w[k]
        here = z[k]
        signs_before = decay[k] * signs_last
        steps_before = decay[k] * steps_last
        total += c * (signs_before + s[k]) + s[k] * steps_before
        signs_last = signs_before + s[k]
        steps_last = steps_before + c
        across *= decay[k]  # e^{−(z_k − first)/σ}
        signs_first += across * s[k]
        steps_first += across * c
    state[_HERE], state[_ACROSS], state[_TOTAL] = here, across, total
    state[_SIGNS_LAST], state[_STEPS_LAST] = signs_last, steps_last
    state[_SIGNS_FIRST], state[_STEPS_FIRST] = signs_first, steps_first


@compiled
def _decays(z: Array, before: float, sigma: float, decay: Array) -> None:
    """e^{−gap/σ} for the gap before each point. For small gaps six terms of the series suffice."""
    per_sigma = 1.0 / sigma
    decay[0] = math.exp((before - z[0]) * per_sigma)
    if (z[-1] - z[0]) * per_sigma < 1.0 / 64.0:
        for k in range(1, z.size):
            d = (z[k - 1] - z[k]) * per_sigma
            series = 1.0 / 6.0 + d * (1.0 / 24.0 + d * (1.0 / 120.0 + d * (1.0 / 720.0)))
            decay[k] = 1.0 + d * (1.0 + d * (0.5 + d * series))
    else:
        for k in range(1, z.size):
            decay[k] = math.exp((z[k - 1] - z[k]) * per_sigma)


def _merge_cut(x: RealArray, y: RealArray, count: int) -> tuple[int, int]:
    """How many of the first ``count`` merged points come from x and from y (x first on ties)."""
    low, high = max(0, count - y.size), min(count, x.size)
    while low < high:
        middle = (low + high) // 2
        if x[middle] <= y[count - middle - 1]:
            low = middle + 1
        else:
            high = middle
    return low, count - low


def require_laplace(witness: Witness) -> None:
    """Reject kernels for which the scan has no recurrence."""
    if witness.kernel != "laplace":
        raise ValueError(
            "the Riemann estimator needs kernel='laplace' (its scan needs an exponential), "
            f"got kernel={witness.kernel!r}; exact() accepts any kernel"
        )


def require_finite_range(*sorted_samples: RealArray) -> None:
    """Reject NaN, ±inf and ranges that overflow. In sorted samples the ends show all of them."""
    for name, sample in zip(("x", "y"), sorted_samples, strict=False):
        if np.isnan(sample[-1]):
            raise nan_error(name if len(sorted_samples) > 1 else "the pooled sample", sample)
    low = min(float(sample[0]) for sample in sorted_samples)
    high = max(float(sample[-1]) for sample in sorted_samples)
    if not math.isfinite(high - low):
        raise infinite_range(low, high)


def infinite_range(low: float, high: float) -> ValueError:
    """The error for values without a finite range."""
    return ValueError(
        f"the Riemann estimator needs finite values and a finite range, got {low!r} to {high!r}: "
        "the step to an infinite point has no length; exact() accepts such values"
    )
