"""``PairMonitor``: rounds that measure x and y together, looked at any number of times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import real_numbers
from dkmd.inference.defaults import ALPHA
from dkmd.inference.margins import Margin
from dkmd.inference.options import check_options
from dkmd.inference.rel import WIDTH_FROM, paired_width
from dkmd.inference.sides import EMPTY_SIDE, Side, m_center, side_sums
from dkmd.sequential.gathering import Gathering
from dkmd.sequential.looks import (
    BURN_IN,
    EXPECTED_N,
    Frame,
    Looks,
    Settings,
    frame_of,
    grid_of,
    logarithms,
    require_bounded,
)
from dkmd.sequential.mixture import (
    Evidence,
    critical_t,
    information,
    log_evidence,
    prior_information,
)
from dkmd.statistic.witness import Witness


@dataclass(frozen=True)
class Differences:
    """Differences of pairs and the ψ that compares them with 0, at one look."""

    side: Side
    origin: float  # the zero point of the side's offsets
    witness: Witness
    scale: float
    r: float

    @cached_property
    def shift(self) -> float:
        """The M-centre of the differences."""
        return self.origin + m_center(self.side, EMPTY_SIDE, self.witness)

    @cached_property
    def information(self) -> float:
        """s²/Var(shift): about the number of pairs."""
        if not math.isfinite(self.shift):
            return 0.0
        sums = side_sums(self.side, self.witness, self.shift - self.origin)
        if not sums.slope > 0.0:
            return 0.0
        variance = sums.variance / (self.side.size * sums.slope**2)
        return float(information(variance, self.scale))

    def evidence(self, delta: float, log_limit: float) -> Evidence:
        """The evidence against the shift ``delta``: the one-sample t mixture.

        Signs flip with equal chances under the null. The t with Σψ² in place of the variance is
        the same t, so there is no second variance to guard with.
        """
        sums = side_sums(self.side, self.witness, delta - self.origin)
        n = self.side.size
        if sums.mean == 0.0:
            return Evidence(log_evidence(0.0, n - 1.0, self.information, self.r), 0.0)
        t = math.copysign(math.inf, sums.mean)
        if sums.variance > 0.0:
            t = sums.mean / math.sqrt(sums.variance / n)
        # at most 2^n choices of signs, of which one is this extreme on either side
        most = (n - 1.0) * math.log(2.0)
        log_e = min(log_evidence(t, n - 1.0, self.information, self.r), most)
        score = abs(t) / critical_t(n - 1.0, self.information, self.r, log_limit)
        return Evidence(log_e, math.copysign(score, t))


class PairMonitor(Looks):
    """Compare pairs while they come in, and look as often as you like.

    Each round measures x and y under the same conditions. What the two values share cancels in
    their difference.

    Parameters
    ----------
    alpha, expected_n, margin, burn_in
        As in ``Monitor``. ``expected_n`` and ``burn_in`` count pairs.
    witness : Witness, optional
        The ψ of the differences (of the logarithms, if ``relative``), known before the data.
    relative : bool
        Compare the logarithms of x/y. ``shift`` is a relative change then: 0.05 means that x is 5%
        larger. All values must be positive.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> race = PairMonitor(expected_n=100, relative=True)
    >>> while not race.result.decided:
    ...     load = rng.lognormal(sigma=0.5)
    ...     a, b = 1.10 * load * rng.lognormal(sigma=0.05), load * rng.lognormal(sigma=0.05)
    ...     race = race.update(a, b)
    >>> race.result.verdict, race.result.n_x, round(race.result.shift, 2)
    ('higher', 25, 0.1)
    """

    kind: ClassVar[str] = "pairs"
    paired: ClassVar[bool] = True

    def __init__(
        self,
        alpha: float = ALPHA,
        expected_n: float = EXPECTED_N,
        margin: Margin | None = None,
        witness: Witness | None = None,
        burn_in: int = BURN_IN,
        *,
        relative: bool = False,
    ) -> None:
        settings = Settings(alpha, expected_n, margin, burn_in, relative)
        grid, frame = None, None
        if witness is not None:
            require_bounded(witness)
            grid, frame = grid_of(witness), frame_of(witness)
        super().__init__(settings, Gathering(1, grid), frame)

    def update(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Add pairs: two numbers, or two arrays of one length. Returns the monitor.

        A pair with NaN is counted as missing. So is a pair that is infinite on both sides with the
        same sign, because it has no difference.
        """
        first, second = (np.ravel(real_numbers(v, name)) for v, name in ((x, "x"), (y, "y")))
        if first.size != second.size:
            raise ValueError(
                f"pairs need as many values in x as in y, got {first.size} and {second.size}"
            )
        if self.settings.relative:
            first, second = logarithms(first, "x"), logarithms(second, "y")
        with np.errstate(invalid="ignore"):
            differences = np.asarray(first, dtype=np.float64) - np.asarray(second, np.float64)
        self._gathering.add(0, differences, "x")
        return self._changed()

    def _fitted_frame(self) -> Frame | None:
        """ψ of the differences, at the end of the burn-in."""
        (summary,) = self._gathering.summaries
        points = min(summary.size, WIDTH_FROM)
        few = np.sort(np.asarray(summary.quantile((np.arange(points) + 0.5) / points)))
        options = check_options(None, None, "exact", "two-sided", None, "propagate")
        width, spread = paired_width(few, options)
        if not width > 0.0:
            return None
        witness = Witness(width, width)
        side = Side.of(summary)
        center = m_center(side, EMPTY_SIDE, witness)
        scale = spread
        if math.isfinite(center):
            sums = side_sums(side, witness, center)
            if sums.slope > 0.0 and sums.variance > 0.0:
                scale = math.sqrt(sums.variance) / sums.slope
        return Frame(witness, scale, spread)

    def _looked(self, frame: Frame) -> Differences:
        (summary,) = self._gathering.summaries
        r = prior_information(self.settings.alpha, self.settings.expected_n)
        side, origin = Side.of(summary), summary.grid.center
        return Differences(side, origin, frame.witness, frame.scale, r)
