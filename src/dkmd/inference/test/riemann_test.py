"""The paper's estimator as a test: its permutation distribution, which the paper leaves open.

ψ̂ depends on the pooled sample only. So under relabelling the statistic is a sum drawn without
replacement from a fixed list. It has mean 0 and variance N·S²/(n·m), with S² the variance of that
list. It is normal in the limit unless a single ψ̂ dominates. In that case relabellings are drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.inference.test.resampling import extreme_share, generator_of, relabelled_sums
from dkmd.inference.test.tails import student_tails
from dkmd.statistic.riemann import riemann_witness
from dkmd.statistic.witness import Witness

DOMINATES = 0.02
"""If one point has more than this share of Σ(ψ̂ − mean)², the normal limit is doubtful."""

DEFAULT_RESAMPLES = 9_999


def riemann_outcome(
    x: npt.NDArray[Any], y: npt.NDArray[Any], witness: Witness, alternative: str, method: Any
) -> RiemannOutcome:
    """Test two clean samples. Relabellings are drawn for a ``method`` or if one point dominates."""
    _, psi, from_x = riemann_witness(x, y, witness)
    n, m = x.size, y.size
    statistic = math.fsum(psi[from_x]) / n - math.fsum(psi[~from_x]) / m
    around = psi - psi.mean()
    total = float(around @ around)
    standard_error = math.sqrt((n + m) * total / (n + m - 1) / (n * m))
    dominated = total > 0.0 and float(np.max(around**2)) > DOMINATES * total
    if method is None and not dominated:
        t = statistic / standard_error if standard_error > 0.0 else math.nan
        probability = float(student_tails(t, math.inf).pvalue(alternative))
    else:
        resamples = DEFAULT_RESAMPLES if method is None else int(method.n_resamples)
        rng = np.random.default_rng(0) if method is None else generator_of(method)
        once = np.ones(n + m, dtype=np.int64)
        sums = relabelled_sums(once, around[:, None], n, resamples, rng)[:, 0]
        values = sums / n + sums / m  # ``around`` sums to 0, so the sum over y is −sums
        probability = extreme_share(values, statistic, alternative, complete=False)
    return RiemannOutcome(statistic, probability, standard_error, witness, alternative)


@dataclass(frozen=True)
class RiemannOutcome:
    """A test by the paper's estimator against its permutation distribution. It has no shift."""

    statistic: float
    pvalue: float
    standard_error: float
    witness: Witness
    alternative: str
    df: float = math.inf
    notes: tuple[str, ...] = ()

    @property
    def shift(self) -> float:
        """Not defined, because the Riemann estimator is not a sum of a fixed ψ over the data."""
        raise AttributeError(NO_SHIFT)

    def statistic_interval(self, confidence_level: float) -> tuple[float, float]:
        """Not defined."""
        raise ValueError(NO_INTERVAL)

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """Not defined."""
        raise ValueError(NO_SHIFT)


NO_SHIFT = "the Riemann estimator has no shift: use estimator='exact' for an amount in data units"
NO_INTERVAL = (
    "the Riemann estimator has no interval, because its distribution is known only under the null: "
    "use estimator='exact'"
)
