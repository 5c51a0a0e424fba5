"""dkmd as a drift detector of river: a reference or the first values, then one value at a time."""

from __future__ import annotations

from typing import Any

from dkmd.base.errors import needs_packages
from dkmd.inference.test.margins import Margin
from dkmd.sequential.alarm import Alarm
from dkmd.sequential.detector import ARL, Detector

try:
    from river.base import DriftDetector
except ImportError as error:
    raise needs_packages("dkmd.adapters.river", error, "dkmd[adapters]") from None


class DkmdDrift(DriftDetector):
    """Raise an alarm when a stream moves, with a bound on false alarms.

    Parameters
    ----------
    warm_up : int
        Without a reference, this many values become the reference: the first ones, and after an
        alarm the next ones. At least 25.
    reference : array_like, Summary or path, optional
        The values to compare with. They stay the reference after an alarm.
    arl : float
        The mean number of values until a false alarm is at least this. Warm-up not counted.
    margin : float or str
        A shift of up to this much is tolerated: a number in data units, or "0.1sd".
    block : int
        Bet on the means of this many values, for streams whose neighbours are correlated.

    Attributes
    ----------
    drift_detected : bool
        Whether the last update raised an alarm.
    last_alarm : Alarm or None
        Which way the stream moved, by how much, and since when. Positions count from the end of
        the warm-up.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(12)
    >>> stream = np.concatenate([rng.normal(100, 10, 1000), rng.normal(108, 10, 1000)])
    >>> detector = DkmdDrift(warm_up=500)
    >>> for i, value in enumerate(stream):
    ...     detector.update(value)
    ...     if detector.drift_detected:
    ...         print(i, detector.last_alarm.direction)
    1024 higher
    """

    def __init__(
        self,
        warm_up: int = 500,
        reference: Any = None,
        arl: float = ARL,
        margin: Margin = 0.0,
        block: int = 1,
    ) -> None:
        super().__init__()
        if warm_up < 25:
            raise ValueError(f"warm_up must be at least 25 values, got {warm_up!r}")
        self.warm_up, self.reference = warm_up, reference
        self.arl, self.margin, self.block = arl, margin, block
        self.last_alarm: Alarm | None = None
        self._gathered: list[float] = []
        self._detector = None if reference is None else self._against(reference)

    def _against(self, reference: Any) -> Detector:
        return Detector(reference, arl=self.arl, margin=self.margin, block=self.block)

    def update(self, x: float) -> None:
        """Take one value. ``drift_detected`` says whether it raised an alarm."""
        if self._drift_detected and self.reference is None:
            self._detector, self._gathered = None, []  # learn the new level
        self._drift_detected = False
        if self._detector is None:
            self._gathered.append(float(x))
            if len(self._gathered) >= self.warm_up:
                self._detector = self._against(self._gathered)
            return
        self._detector.update(x)
        self._drift_detected = self._detector.drift_detected
        if self._drift_detected:
            self.last_alarm = self._detector.last_alarm
