"""``Detector``: one stream against a reference. It says when the stream moved, and which way."""

from __future__ import annotations

import math
import os
import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, real_numbers
from dkmd.base.documents import Document, Format, packed, unpacked
from dkmd.base.errors import StateFileError
from dkmd.binned.summary import Summary
from dkmd.binned.summary_file import content_of, summary_of
from dkmd.inference.margins import Margin
from dkmd.sequential import detection as loop
from dkmd.sequential.alarm import Alarm, Began, KnownAmount, Since, beginning
from dkmd.sequential.baseline import Baseline
from dkmd.statistic.witness import Witness

FILES = Format(
    name="dkmd-detector",
    noun="a saved dkmd detector",
    version=1,
    remedy="Start the detector anew",
    error=StateFileError,
)

ARL = 10_000

RECENT, RECENT_BLOCKS = 4096, 256
"""The recent values that a detector keeps to say when a change began: 4,096, or 256 blocks."""

CLEAR_CORRELATION, CLEAR_SCORES = 0.1, 4.0
"""A correlation of neighbours above 0.1 and four standard errors is worth a warning."""


class Detector:
    """Raise an alarm when a stream moves away from a reference.

    Parameters
    ----------
    reference : array_like, Summary or path of a summary file
        The values to compare with: at least 25, of which 5 differ from the most frequent one.
    arl : float
        The mean number of values until a false alarm is at least this.
    margin : float or str
        A shift of up to this much is tolerated: a number in data units, or "0.1sd" (times the
        robust scale of the reference).
    block : int
        Bet on the means of this many consecutive values. For streams whose neighbours are
        correlated: take several times as many values as the correlation lasts.

    Attributes
    ----------
    drift_detected : bool
        Whether the last update raised an alarm.
    last_alarm : Alarm or None
    n, missing : int
        Values that were used, and missing values (NaN), which are counted and skipped.

    Notes
    -----
    The promise holds for independent values with any distribution whose centre is that of the
    reference. The uncertainty of a short reference is counted: its standard error widens the
    tolerance, so small shifts are found later. After an alarm the evidence starts at 0 again.

    Memory is bounded: the last 4,096 values (or 256 blocks, if that is more) and the reference.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> detector = Detector(rng.normal(100, 10, 5000))
    >>> for value in rng.normal(100, 10, 1000):
    ...     detector = detector.update(value)
    >>> detector.last_alarm is None
    True
    >>> alarms = detector.update_many(rng.normal(108, 10, 60))
    >>> alarms[0].direction, alarms[0].at, alarms[0].began.estimate
    ('higher', 1022, 994)
    >>> detector.expected_false_alarms(per_day=86_400)
    8.64
    """

    def __init__(
        self,
        reference: npt.ArrayLike | Summary | str | os.PathLike[str],
        arl: float = ARL,
        margin: Margin = 0.0,
        block: int = 1,
    ) -> None:
        if not (arl > 1.0 and math.isfinite(arl)):
            raise ValueError(f"arl must be a number above 1, got {arl!r}")
        if isinstance(block, bool) or int(block) != block or block < 1:
            raise ValueError(f"block must be a whole number from 1 up, got {block!r}")
        if arl < 2 * block:
            raise ValueError(f"arl must be at least two blocks, got arl={arl!r}, block={block!r}")
        self.arl, self.margin, self.block = float(arl), margin, int(block)
        self._start(Baseline.of(reference, margin, self.block))

    def _start(self, baseline: Baseline) -> None:
        """All evidence and counts at 0."""
        self._baseline = baseline
        self._fixed = baseline.constants(self.arl, self.block)
        self._state = np.zeros(loop.STATE_SIZE)
        self._ring = np.full(max(RECENT, RECENT_BLOCKS * self.block), math.nan)
        self.drift_detected = False
        self.last_alarm: Alarm | None = None
        self._warned = False

    @property
    def reference(self) -> Summary:
        """The reference as a Summary."""
        return self._baseline.summary

    @property
    def witness(self) -> Witness:
        """The ψ of the bets. Its centre is not used."""
        return self._baseline.witness

    @property
    def n(self) -> int:
        """Values that were used."""
        return int(self._state[loop.SEEN] - self._state[loop.MISSING])

    @property
    def missing(self) -> int:
        """Missing values, which were skipped."""
        return int(self._state[loop.MISSING])

    @property
    def tolerance(self) -> float:
        """The mean of ψ/bound that is tolerated: the margin and the reference's uncertainty."""
        return self._baseline.tolerance

    @property
    def correlation(self) -> float:
        """The correlation of neighbouring values (or blocks) since the last alarm."""
        return loop.correlation(self._state)

    def update(self, value: float) -> Self:
        """Take one value. ``drift_detected`` says whether it raised an alarm."""
        found = loop.bet(float(value), self._fixed, self._state, self._ring)
        self.drift_detected = found == loop.ALARM
        if found:
            self._warn_of_correlation()
            if self.drift_detected:
                self._alarm()
        return self

    def update_many(self, values: npt.ArrayLike) -> list[Alarm]:
        """Take many values. Returns the alarms; ``drift_detected`` says whether there are any."""
        numbers = np.ascontiguousarray(np.ravel(real_numbers(values, "values")), dtype=np.float64)
        alarms: list[Alarm] = []
        start = 0
        while start < numbers.size:
            at = int(loop.bet_many(numbers, start, self._fixed, self._state, self._ring))
            if at < 0:
                break
            self._warn_of_correlation()
            alarms.append(self._alarm())
            start = at + 1
        self._warn_of_correlation()
        self.drift_detected = bool(alarms)
        return alarms

    def reset(
        self, reference: npt.ArrayLike | Summary | str | os.PathLike[str] | None = None
    ) -> Self:
        """Start anew, with the same reference or another one."""
        baseline = self._baseline
        if reference is not None:
            baseline = Baseline.of(reference, self.margin, self.block)
        self._start(baseline)
        return self

    def expected_false_alarms(self, per_day: float) -> float:
        """At most how many false alarms to expect in a day of ``per_day`` values."""
        if not per_day >= 0.0:
            raise ValueError(f"per_day must be a number of values, got {per_day!r}")
        return per_day / self.arl

    def _alarm(self) -> Alarm:
        """Describe the alarm that the last value raised, and start the evidence anew."""
        state = self._state
        ups, downs = state[loop.UP : loop.DOWN].sum(), state[loop.DOWN :].sum()
        sign = 1.0 if ups >= downs else -1.0
        given = int(state[loop.SEEN])
        known = min(int(state[loop.SINCE]), self._ring.size)
        first = given - known
        values = self._ring[np.arange(first, given) % self._ring.size]
        p, positions = self._bets_on(values)
        variance = self._baseline.variance / self.block
        estimate, low, high = (int(positions[i]) for i in beginning(sign * p, variance))
        recent = values[estimate:]
        limit = 2.0 * loop.N_BETS * self._fixed[loop.THRESHOLD]
        self.last_alarm = Alarm(
            direction="higher" if sign > 0.0 else "lower",
            at=given - 1,
            began=Began(first + estimate, first + low, first + high),
            strength=float((ups + downs) / limit),
            amount=Since(recent[~np.isnan(recent)], self.reference, self._baseline.witness.sigma),
        )
        loop.restart(state)
        return self.last_alarm

    def _bets_on(self, values: Array) -> tuple[Array, npt.NDArray[np.int64]]:
        """p of recent values, or the means of whole blocks, and where each begins."""
        p = loop.psi_of(values, self._fixed)
        positions = np.flatnonzero(~np.isnan(p))
        p = p[positions]
        if self.block == 1:
            return p, positions
        whole = p.size // self.block
        kept = p.size - whole * self.block  # the oldest block may have left the memory in part
        return p[kept:].reshape(whole, self.block).mean(axis=1), positions[kept :: self.block]

    def _warn_of_correlation(self) -> None:
        """Warn once if neighbours are clearly correlated, because alarms then come too soon."""
        found = self.correlation
        enough = max(CLEAR_CORRELATION, CLEAR_SCORES / math.sqrt(max(self._state[loop.COUNT], 1.0)))
        if self._warned or not found > enough:
            return
        self._warned = True
        what = "values" if self.block == 1 else f"blocks of {self.block} values"
        remedy = "Detector(..., block=...)" if self.block == 1 else "longer blocks"
        warnings.warn(
            f"neighbouring {what} have a correlation of {found:.2f}, so false alarms come more "
            f"often than once in {self.arl:,.0f} values: use {remedy} (docs/watch.md)",
            RuntimeWarning,
            stacklevel=3,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, in one step. ``load`` continues from there."""
        FILES.write(path, self.document())

    def document(self) -> Document:
        """The state as JSON, to be kept together with other state. See ``of_document``."""
        alarm = self.last_alarm
        saved: Document | None = None
        if alarm is not None:
            amounts = np.array([alarm.shift, *alarm.interval, alarm.strength])
            saved = {
                "direction": alarm.direction,
                "at": alarm.at,
                "began": list(alarm.began),
                "amounts": packed(amounts),
            }
        return {
            "arl": self.arl, "margin": self.margin, "block": self.block,
            "reference": content_of(self.reference),
            "error": self._baseline.error,
            "state": packed(self._state), "ring": packed(self._ring),
            "drift_detected": self.drift_detected, "warned": self._warned, "last_alarm": saved,
        }  # fmt: skip

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file written by ``save``. Any other file raises a StateFileError."""
        document = FILES.read(path)
        try:
            return cls.of_document(document)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise StateFileError(f"{os.fspath(path)} is damaged: {error}") from None

    @classmethod
    def of_document(cls, document: Document) -> Self:
        """The detector of a ``document``. Any error means that the document is damaged."""
        self = cls.__new__(cls)
        self.arl, self.margin = float(document["arl"]), document["margin"]
        self.block = int(document["block"])
        summary = summary_of(document["reference"])
        self._start(Baseline.of_summary(summary, self.margin, float(document["error"])))
        state, ring = unpacked(document["state"]), unpacked(document["ring"])
        if state.size != self._state.size or ring.size != self._ring.size:
            raise ValueError("its state has another size")
        self._state, self._ring = state, ring
        self.drift_detected, self._warned = document["drift_detected"], document["warned"]
        self.last_alarm = _alarm_of(document["last_alarm"])
        return self

    def __repr__(self) -> str:
        return f"Detector(n={self.n}, arl={self.arl:g}, drift_detected={self.drift_detected})"


def _alarm_of(saved: Any) -> Alarm | None:
    """The alarm of a file."""
    if saved is None:
        return None
    shift, low, high, strength = unpacked(saved["amounts"]).tolist()
    began = Began(*saved["began"])
    return Alarm(saved["direction"], saved["at"], began, strength, KnownAmount(shift, (low, high)))
