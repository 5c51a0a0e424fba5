"""``Monitor``: two arms, or one arm against a fixed reference, looked at any number of times."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import present, real_numbers
from dkmd.base.documents import Document
from dkmd.base.errors import TooLittleError
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.inference.defaults import ALPHA
from dkmd.inference.margins import Margin
from dkmd.inference.neighbours import CORRELATED, neighbour_correlation
from dkmd.inference.scale import fitted_sides
from dkmd.inference.sides import EMPTY_SIDE, Side, m_center, side_sums
from dkmd.sequential.arms import TwoArms
from dkmd.sequential.gathering import (
    LATEST,
    OFF_THE_COMMON_VALUE,
    Batch,
    Gathering,
    off_the_common_value,
)
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
from dkmd.sequential.mixture import prior_information
from dkmd.statistic.witness import Witness

NOT_INDEPENDENT = (
    "neighbouring values of {} are alike (correlation {:.2f}): if they are in time order or "
    "repeated measurements, false decisions come more often than alpha says: update with one value "
    "per group or stretch of time, such as its mean (docs/watch.md)"
)


class Monitor(Looks):
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
        the burn-in), or "3%" with ``relative=True``. A margin makes "equivalent" possible.
    reference : array_like or Summary, optional
        A fixed y. Then only x is updated.
    witness : Witness, optional
        The ψ, known before the data. Only its shape and widths are used: the centre is solved anew
        at every look. Without a witness and a reference, the burn-in chooses ψ. ψ is chosen again
        when the smaller arm has grown fourfold (by default at 100, 400 and 1,600 values).
    burn_in : int
        Values per arm before the first answer. Five values must differ from the most frequent one,
        too.
    relative : bool
        Compare logarithms. ``shift`` is a relative change then, and all values must be positive.
    alternative, groups, pair_by
        Only two-sided questions about independent values are supported. Anything else raises an
        error.

    Notes
    -----
    With the verdict "higher" or "lower" the chance of a false decision, ever, is at most alpha if
    the centres do not differ, for independent values whose distribution does not change with time.
    docs/watch.md says what was measured and what this costs. A RuntimeWarning says once if
    neighbouring values are alike.

    With a witness or a reference, the state does not depend on the order or the batches of the
    values. Otherwise it depends on the batches that complete the burn-in and its multiples. The
    running p-value depends on the looks that were taken.

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

    def __init__(
        self,
        alpha: float = ALPHA,
        expected_n: float = EXPECTED_N,
        margin: Margin | None = None,
        reference: npt.ArrayLike | Summary | None = None,
        witness: Witness | None = None,
        burn_in: int = BURN_IN,
        *,
        relative: bool = False,
        alternative: str = "two-sided",
        groups: object = None,
        pair_by: object = None,
    ) -> None:
        _require_supported(alternative, groups, pair_by)
        settings = Settings(alpha, expected_n, margin, burn_in, relative)
        if witness is not None:
            require_bounded(witness)
        self._reference: Summary | None = None
        self._next_check: float = 0.0
        if reference is None:
            grid = None if witness is None else grid_of(witness)
            frame = None if witness is None else frame_of(witness)
            super().__init__(settings, Gathering(2, grid), frame)
            return
        self._reference = reference_of(reference, witness, settings)
        frame = frame_of(witness) if witness is not None else reference_frame(self._reference)
        gathering = Gathering(2, self._reference.grid)
        gathering.add(1, self._reference, "reference")
        super().__init__(settings, gathering, frame)
        if not isinstance(reference, Summary):
            values: Any = prepared(reference, "reference", settings.relative)
            gathering.latest[1].extend(present(values)[-LATEST:].tolist())

    def update(self, x: Batch | None = None, y: Batch | None = None) -> Self:
        """Add values: numbers, arrays or Summaries, to one arm or to both.

        NaN is counted and skipped. ±inf is data. Returns the monitor.
        """
        if y is not None and self._reference is not None:
            raise ValueError("this monitor has a fixed reference as y: update x only")
        batches = [
            (arm, self._prepared(batch, name), name)
            for arm, (batch, name) in enumerate(((x, "x"), (y, "y")))
            if batch is not None
        ]
        for arm, batch, name in batches:
            self._gathering.add(arm, batch, name)
        self._changed()
        self._warn_of_neighbours()
        return self

    def _warn_of_neighbours(self) -> None:
        """Warn once if neighbouring values of an arm are alike. Looks when the arms have grown."""
        frame, sizes = self._frame, self._gathering.sizes()
        if frame is None or not self._ready or min(sizes) < self._next_check:
            return
        self._next_check = 1.25 * min(sizes)
        for name, latest in zip("xy", self._gathering.latest, strict=True):
            values = np.array(latest)
            if values.size and not math.isinf(center := float(np.median(values))):
                found = neighbour_correlation(values, replace(frame.witness, center=center))
                if found > CORRELATED:
                    self._next_check = math.inf
                    warnings.warn(NOT_INDEPENDENT.format(name, found), RuntimeWarning, stacklevel=3)
                    return

    def _prepared(self, batch: Batch, name: str) -> Batch:
        """Checked values, as logarithms if the monitor is relative."""
        return prepared(batch, name, self.settings.relative)

    def _fitted_frame(self) -> Frame | None:
        """ψ of both arms together. It does not depend on which arm a value belongs to."""
        x, y = self._gathering.summaries
        of_x, of_y, fitted = fitted_sides(x, y, None, label_free=False)
        if not fitted.width > 0.0:
            return None
        witness = Witness(fitted.width, fitted.width)
        arms = TwoArms(of_x, of_y, witness, 1.0, 1.0)
        scale = math.sqrt(arms.spot.variance / (1.0 / x.size + 1.0 / y.size))
        if not (scale > 0.0 and math.isfinite(scale)):  # constants, or a centre at infinity
            scale = fitted.shape.spread
        return Frame(witness, scale, fitted.shape.spread, min(x.size, y.size))

    def _looked(self, frame: Frame) -> TwoArms:
        x, y = self._gathering.summaries
        expected = self.settings.expected_n / 2.0
        if self._reference is not None:
            expected = 1.0 / (1.0 / self.settings.expected_n + 1.0 / self._reference.size)
        r = prior_information(self.settings.alpha, expected)
        return TwoArms(Side.of(x), Side.of(y), frame.witness, frame.scale, r)

    def _more_state(self) -> Document:
        return {"has_reference": self._reference is not None}

    def _restore(self, document: Document) -> None:
        self._next_check = 0.0
        has_reference = document["has_reference"]
        self._reference = self._gathering.summaries[1] if has_reference else None


def prepared(batch: Batch, name: str, relative: bool) -> Batch:
    """Checked values, as logarithms if ``relative``."""
    if isinstance(batch, Summary):
        if relative:
            raise ValueError("a relative monitor needs the values themselves, not a Summary")
        return batch
    values = np.ravel(real_numbers(batch, name))
    return logarithms(values, name) if relative else values


def _require_supported(alternative: str, groups: object, pair_by: object) -> None:
    """Say no to questions that need another theory."""
    if alternative != "two-sided":
        raise ValueError(
            f"alternative={alternative!r}: a one-sided question needs a mixture of its own, which "
            "monitors do not have. A two-sided monitor also says which way"
        )
    if groups is not None:
        raise ValueError(
            "groups: monitors need independent values. Update with one value per group (such as "
            "its mean), or test once with dkmd.compare(groups=...)"
        )
    if pair_by is not None:
        raise ValueError("pair_by: use dkmd.PairMonitor and give it pairs in the same order")


def reference_of(
    reference: npt.ArrayLike | Summary, witness: Witness | None, settings: Settings
) -> Summary:
    """A reference as a Summary, large enough to compare with."""
    values: Any = prepared(reference, "reference", settings.relative)
    if isinstance(values, Summary):
        summary = values
    else:
        grid = Grid.fit(values) if witness is None else grid_of(witness)
        summary = Summary.of(values, grid)
    apart = off_the_common_value([summary])
    if summary.size < settings.burn_in or apart < OFF_THE_COMMON_VALUE:
        raise TooLittleError(
            f"the reference has {summary.size:,} values, of which {apart:,} differ from the most "
            f"frequent one: at least {settings.burn_in} and {OFF_THE_COMMON_VALUE} are needed"
        )
    return summary


def reference_frame(reference: Summary, scale: str | None = None, multiple: float = 1.0) -> Frame:
    """ψ and scales of a reference alone. The width of ψ is a multiple of what ``scale`` gives."""
    side, _, fitted = fitted_sides(reference, Summary(reference.grid), scale, label_free=True)
    width = multiple * fitted.width
    if not width > 0.0:
        raise TooLittleError("the reference has no scale: its values are equal or mostly infinite")
    witness = Witness(width, width)
    center = m_center(side, EMPTY_SIDE, witness, near=fitted.shape.median)
    sums = side_sums(side, witness, center)
    return Frame(witness, math.sqrt(sums.variance) / sums.slope, fitted.shape.spread)
