"""``Detector``: one stream against a reference. It says when the stream moved, and which way."""

from __future__ import annotations

import math
import os
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, real_numbers
from dkmd.base.documents import Document, packed, unpacked
from dkmd.bins.summary import Summary
from dkmd.bins.summary_file import content_of, summary_of
from dkmd.inference.kinds.neighbours import Middle
from dkmd.inference.test.margins import Margin
from dkmd.sequential import detection as loop
from dkmd.sequential.alarm import Alarm, Began, amount_of, beginning
from dkmd.sequential.baseline import Baseline
from dkmd.sequential.scores import scores_of
from dkmd.sequential.state import Stateful, state_files

ARL = 10_000

RECENT, RECENT_BLOCKS = 4096, 256
"""The recent values that a detector keeps to say when a change began: 4,096, or 256 blocks."""


class Detector(Stateful):
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
    The promise holds for independent values that are typically as large as those of the reference:
    E ψ(y − r) = 0 for a value y of the stream and a value r of the reference. The uncertainty of a
    short reference is counted: its standard error widens the tolerance, so small shifts are found
    later. After an alarm the evidence starts at 0 again.

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
    ('higher', 1021, 994)
    >>> detector.expected_false_alarms(per_day=86_400)
    8.64
    """

    files = state_files("detector", version=2)
    kind = "detector"

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
        self._fixed = loop.constants(baseline.scores, baseline.tolerance, self.arl, self.block)
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
    def n(self) -> int:
        """Values that were used."""
        return int(self._state[loop.SEEN] - self._state[loop.MISSING])

    @property
    def missing(self) -> int:
        """Missing values, which were skipped."""
        return int(self._state[loop.MISSING])

    @property
    def tolerance(self) -> float:
        """The mean score that is tolerated: the margin and the reference's uncertainty."""
        return self._baseline.tolerance

    def update(self, value: float) -> Self:
        """Take one value. ``drift_detected`` says whether it raised an alarm."""
        found = loop.bet(float(value), self._fixed, self._state, self._ring)
        self.drift_detected = found == loop.ALARM
        if found:
            self._check_neighbours()
            if self.drift_detected:
                self._alarm()
        return self

    def update_many(self, values: npt.ArrayLike) -> list[Alarm]:
        """Take many values. Returns the alarms; ``drift_detected`` says whether there are any."""
        numbers = np.ascontiguousarray(np.ravel(real_numbers(values, "values")), dtype=np.float64)
        alarms: list[Alarm] = []
        start, checks = 0, loop.checks_until(self._state[loop.SEEN])
        while start < numbers.size:
            at = int(loop.bet_many(numbers, start, self._fixed, self._state, self._ring))
            if at < 0:
                break
            self._check_neighbours()
            alarms.append(self._alarm())
            start = at + 1
        if loop.checks_until(self._state[loop.SEEN]) > checks:
            self._check_neighbours()
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
        values, p, positions = self._recent()
        first = given - values.size
        variance = self._baseline.variance / self.block
        estimate, low, high = (int(positions[i]) for i in beginning(sign * p, variance))
        since = values[estimate:]
        self.last_alarm = Alarm(
            direction="higher" if sign > 0.0 else "lower",
            at=given - 1,
            began=Began(first + estimate, first + low, first + high),
            strength=float((ups + downs) / self._fixed[loop.LIMIT]),
            measure=partial(amount_of, since[~np.isnan(since)], self.reference),
        )
        loop.restart(state)
        return self.last_alarm

    def _recent(self) -> tuple[Array, Array, npt.NDArray[np.int64]]:
        """The latest values since the start or the last alarm; their p, and where each p begins.

        With blocks, a p is the mean over a block.
        """
        given, since = int(self._state[loop.SEEN]), int(self._state[loop.SINCE])
        first = given - min(since, self._ring.size)
        values = self._ring[np.arange(first, given) % self._ring.size]
        p = scores_of(values, self._baseline.scores)
        positions = np.flatnonzero(~np.isnan(p))
        p = p[positions]
        p = p[: p.size - int(self._state[loop.IN_BLOCK])]  # the last block is not complete
        left = p.size % self.block  # the oldest block may have left the memory in part
        return values, p[left:].reshape(-1, self.block).mean(axis=1), positions[left :: self.block]

    def _check_neighbours(self) -> None:
        """Whether neighbours are alike, because alarms then come too soon."""
        what = "values" if self.block == 1 else f"blocks of {self.block} values"
        remedy = "Detector(..., block=...)" if self.block == 1 else "longer blocks"
        self._warn_of_neighbours(
            self._recent()[1],
            Middle(0.0, 1.0),
            f"neighbouring {what} have a correlation of {{:.2f}}, so false alarms come more often "
            f"than once in {self.arl:,.0f} values: use {remedy} (docs/watch.md)",
        )

    def document(self) -> Document:
        """The state as JSON, to be kept together with other state. See ``of_document``."""
        alarm = self.last_alarm
        return {
            "arl": self.arl, "margin": self.margin, "block": self.block,
            "reference": content_of(self.reference),
            "block_error": self._baseline.block_error,
            "state": packed(self._state), "ring": packed(self._ring),
            "drift_detected": self.drift_detected, "warned": self._warned,
            "last_alarm": None if alarm is None else alarm.document(),
        }  # fmt: skip

    @classmethod
    def of_document(cls, document: Document) -> Self:
        """The detector of a ``document``. Any error means that the document is damaged."""
        self = cls.__new__(cls)
        self.arl, self.margin = float(document["arl"]), document["margin"]
        self.block = int(document["block"])
        summary = summary_of(document["reference"])
        self._start(Baseline(summary, self.margin, float(document["block_error"])))
        state, ring = unpacked(document["state"]), unpacked(document["ring"])
        if state.size != self._state.size or ring.size != self._ring.size:
            raise ValueError("its state has another size")
        self._state, self._ring = state, ring
        self.drift_detected, self._warned = document["drift_detected"], document["warned"]
        alarm = document["last_alarm"]
        self.last_alarm = None if alarm is None else Alarm.of_document(alarm)
        return self

    def __repr__(self) -> str:
        return f"Detector(n={self.n}, arl={self.arl:g}, drift_detected={self.drift_detected})"
