"""``Monitor``: two arms, or one arm against a fixed reference, looked at any number of times."""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import present
from dkmd.base.defaults import ALPHA
from dkmd.base.errors import TooLittleError
from dkmd.bins.summary import Summary
from dkmd.inference.kinds.neighbours import Middle
from dkmd.inference.test.margins import Margin
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.sides import Side
from dkmd.inference.test.width import MULTIPLE, chosen_width, robust_scale, scale_of_two
from dkmd.sequential.base_monitor import EXPECTED_N, BaseMonitor, Frame, Settings
from dkmd.sequential.gathering import BURN_IN, LATEST, Batch, Gathering, known_sample, prepared
from dkmd.sequential.look import scale_of_a_value

NOT_INDEPENDENT = (
    "neighbouring values of ARM are alike (correlation {:.2f}): if they are in time order or "
    "repeated measurements, false decisions come more often than alpha says: update with one value "
    "per group or stretch of time, such as its mean (docs/watch.md)"
)


class Monitor(BaseMonitor):
    """Compare two arms while the values come in, and look as often as you like.

    Parameters
    ----------
    alpha : float
        The chance of ever being wrong, over all looks together.
    expected_n : float
        The number of values per arm at which you expect a decision. The monitor is most sensitive
        there. The promise holds whatever you expect.
    margin : float or str, optional
        The smallest shift that matters: a number in data units, "0.1sd" (times the robust scale of
        y in the burn-in), or "3%" with ``relative=True``. A margin makes "equivalent" possible.
    reference : array_like or Summary, optional
        A fixed y. Then only x is updated.
    pilot : array_like or Summary, optional
        Values that are known before the data, such as last week's. They fix the width of ψ and the
        bins, and are not data themselves. Without a pilot and a reference, the burn-in does this.
    burn_in : int
        Values per arm before the first answer. Five values must differ from the most frequent one,
        too.
    relative : bool
        Compare logarithms. ``shift`` is a relative change then, and all values must be positive.

    Notes
    -----
    With the verdict "higher" or "lower" the chance of a false decision, ever, is at most alpha if
    there is no shift, for independent values whose distribution does not change with time.
    docs/watch.md says what was measured and what this costs. A RuntimeWarning says once if
    neighbouring values are alike.

    With a pilot or a reference, the answer does not depend on the order or the batches of the
    values. Otherwise it depends on the batch that completes the burn-in. The running p-value
    depends on the looks that were taken.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(5)
    >>> monitor = Monitor(expected_n=500)
    >>> while not monitor.result.decided:
    ...     monitor = monitor.update(x=rng.normal(10.4, 1, 50), y=rng.normal(10, 1, 50))
    >>> monitor.result.verdict, monitor.result.n_x, round(monitor.result.shift, 1)
    ('higher', 150, 0.4)
    """

    kind: ClassVar[str] = "two arms"
    paired: ClassVar[bool] = False
    _next_check = 0.0  # the size of the smaller arm at the next check of neighbours

    def __init__(
        self,
        alpha: float = ALPHA,
        expected_n: float = EXPECTED_N,
        margin: Margin | None = None,
        reference: npt.ArrayLike | Summary | None = None,
        burn_in: int = BURN_IN,
        *,
        pilot: npt.ArrayLike | Summary | None = None,
        relative: bool = False,
    ) -> None:
        settings = Settings(alpha, expected_n, margin, burn_in, relative)
        if reference is not None and pilot is not None:
            raise ValueError("give a reference or a pilot, not both: a reference is its own pilot")
        given, name = (pilot, "pilot") if reference is None else (reference, "reference")
        if given is None:
            super().__init__(settings, Gathering(2), None)
            return
        values = prepared(given, name, relative)
        known = known_sample(values, name, burn_in)
        side = Side.of(known)
        frame = _frame_of(side, side)
        if frame is None:
            raise TooLittleError(f"the {name} has no scale: too few of its values are finite")
        gathering = Gathering(2, known.grid)
        if reference is not None:
            ordered = np.empty(0) if isinstance(values, Summary) else present(values)[-LATEST:]
            gathering.fix_reference(known, ordered)
        super().__init__(settings, gathering, frame)

    def update(self, x: Batch | None = None, y: Batch | None = None) -> Self:
        """Add values: numbers, arrays or Summaries, to one arm or to both.

        NaN is counted and skipped. ±inf is data. Returns the monitor.
        """
        if y is not None and self._gathering.fixed_size is not None:
            raise ValueError("this monitor has a fixed reference as y: update x only")
        batches = [
            (arm, prepared(batch, name, self.settings.relative), name)
            for arm, (batch, name) in enumerate(((x, "x"), (y, "y")))
            if batch is not None
        ]
        for arm, values, name in batches:
            self._gathering.add(arm, values, name)
        self._changed()
        self._check_neighbours()
        return self

    def _check_neighbours(self) -> None:
        """Whether neighbouring values of an arm are alike. Looks when the arms have grown."""
        frame, size = self._frame, min(self._gathering.sizes())
        if frame is None or not self._ready or self._warned or size < self._next_check:
            return
        self._next_check = 1.25 * size
        for name, latest in zip("xy", self._gathering.latest, strict=True):
            values = np.array(latest)
            center = float(np.median(values)) if latest else math.inf
            if not math.isinf(center):
                middle = Middle(center, frame.width / MULTIPLE)
                self._warn_of_neighbours(values, middle, NOT_INDEPENDENT.replace("ARM", name))

    def _fitted_frame(self) -> Frame | None:
        x, y = (Side.of(summary) for summary in self._gathering.summaries)
        return _frame_of(x, y)

    def _tester(self, width: float) -> Pair:
        x, y = self._gathering.summaries
        return Pair(Side.of(x), Side.of(y), width, x.grid.center).coarse


def _frame_of(x: Side, y: Side) -> Frame | None:
    """The width of ψ for two arms and the scales that belong to it; None if they have no scale."""
    infinite = x.finite + y.finite < x.size + y.size
    if infinite and scale_of_two(x, y) == 0.0:  # any width would do, but not for later values
        return None
    width = chosen_width(x, y, None, label_free=False)
    if not width > 0.0:
        return None
    values = 1.0 / (1.0 / x.size + 1.0 / y.size)
    scale = scale_of_a_value(Pair(x, y, width, 0.0), values, width / MULTIPLE)
    spread = robust_scale(y)  # NaN if no value of y is finite
    return Frame(width, scale, spread if spread > 0.0 else 0.0)
