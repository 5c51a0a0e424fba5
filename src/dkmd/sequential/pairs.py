"""``PairMonitor``: rounds that measure x and y together, looked at any number of times."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.defaults import ALPHA
from dkmd.inference.test.margins import Margin
from dkmd.inference.test.one_sample import OneSample
from dkmd.inference.test.rel import WIDTH
from dkmd.inference.test.sides import Side
from dkmd.inference.test.width import robust_scale
from dkmd.sequential.base_monitor import EXPECTED_N, BaseMonitor, Frame, Settings
from dkmd.sequential.gathering import BURN_IN, Gathering, prepared_values
from dkmd.sequential.look import scale_of_a_value
from dkmd.statistic.witness import Witness


class PairMonitor(BaseMonitor):
    """Compare pairs while they come in, and look as often as you like.

    Each round measures x and y under the same conditions. What the two values share cancels in
    their difference.

    Parameters
    ----------
    alpha, expected_n, margin, burn_in
        As in ``Monitor``. ``expected_n`` and ``burn_in`` count pairs, and "sd" in a margin is the
        robust scale of the differences.
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
        burn_in: int = BURN_IN,
        *,
        relative: bool = False,
    ) -> None:
        settings = Settings(alpha, expected_n, margin, burn_in, relative)
        super().__init__(settings, Gathering(1), None)

    def update(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Add pairs: two numbers, or two arrays of one length. Returns the monitor.

        A pair with NaN is counted as missing. So is a pair that is infinite on both sides with the
        same sign, because it has no difference.
        """
        relative = self.settings.relative
        first, second = (prepared_values(v, name, relative) for v, name in ((x, "x"), (y, "y")))
        if first.size != second.size:
            raise ValueError(
                f"pairs need as many values in x as in y, got {first.size} and {second.size}"
            )
        with np.errstate(invalid="ignore"):
            differences: Array = first - second
        self._gathering.add(0, differences, "x")
        return self._changed()

    def _counted(self, n: float, m: float) -> float:
        """Pairs count as pairs."""
        return n

    def _fitted_frame(self) -> Frame | None:
        (summary,) = self._gathering.summaries
        robust = robust_scale(Side.of(summary))
        if not robust > 0.0:
            return None
        tester = self._tester(WIDTH * robust)
        return Frame(tester.width, scale_of_a_value(tester, summary.size, robust), robust)

    def _tester(self, width: float) -> OneSample:
        (summary,) = self._gathering.summaries
        return OneSample(Side.of(summary), summary.grid.center, Witness(width, width))
