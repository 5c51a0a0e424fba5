"""What all monitors share: the burn-in, looks, the decision that stays, and the saved state."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.documents import Document, Format
from dkmd.base.errors import ColumnError, StateFileError
from dkmd.base.wording import direction_in_words
from dkmd.binned.grid import UNITS_PER_SCALE, Grid
from dkmd.binned.logarithms import LARGEST_LOG, as_change
from dkmd.inference.defaults import ALPHA, require_shares
from dkmd.inference.margins import Margin, parse_margin
from dkmd.sequential.gathering import OFF_THE_COMMON_VALUE, Gathering
from dkmd.sequential.mixture import Looked, confidence_sequence
from dkmd.sequential.result import (
    DECIDED,
    MonitorResult,
    burn_in_in_words,
    reason_of,
    sizes_in_words,
    verdict_of,
)
from dkmd.statistic.witness import Witness

FILES = Format(
    name="dkmd-monitor",
    noun="a saved dkmd monitor",
    version=1,
    remedy="Start the monitor anew",
    error=StateFileError,
)

BURN_IN = 25
EXPECTED_N = 1000

GROWTH, SETTLED = 4, 1600
"""ψ is chosen again when the smaller arm has grown fourfold: the last time at 1,600 values or more.

The choice treats both arms as one sample, so it adds no evidence (measured: docs/watch.md)."""


class Frame(NamedTuple):
    """What the burn-in fixes: ψ, the scale of information, and the robust scale of the data."""

    witness: Witness
    scale: float  # s of I = s²/Var(shift)
    spread: float  # what "sd" in a margin means
    chosen_at: int | None = None  # values of the smaller arm; None if ψ is never chosen again

    @property
    def next_choice(self) -> float:
        """The size of the smaller arm at which ψ is chosen again; inf if never."""
        chosen_at = self.chosen_at
        return math.inf if chosen_at is None or chosen_at >= SETTLED else GROWTH * chosen_at

    def document(self) -> Document:
        """For a file. A kernel or weight that is a function cannot be saved."""
        psi = self.witness
        if not (isinstance(psi.kernel, str) and isinstance(psi.weight, str)):
            raise ValueError("a monitor whose kernel or weight is a function cannot be saved")
        fields = psi.sigma, psi.tau, psi.center, psi.kernel, psi.weight
        return {
            "witness": list(fields),
            "scale": self.scale,
            "spread": self.spread,
            "chosen_at": self.chosen_at,
        }

    @classmethod
    def of_document(cls, document: Document) -> Frame:
        """From a file."""
        scales = document["scale"], document["spread"]
        return cls(Witness(*document["witness"]), *scales, document.get("chosen_at"))


def require_bounded(witness: Witness) -> None:
    """Reject a ψ without a bound."""
    if math.isinf(witness.bound):
        raise ValueError(f"a monitor needs a bounded weight such as 'tanh', not {witness.weight!r}")


def grid_of(witness: Witness) -> Grid:
    """A grid that is fine enough for a witness."""
    width = witness.sigma if witness.weight == "sign" else min(witness.sigma, witness.tau)
    return Grid(witness.center, width / UNITS_PER_SCALE)


def frame_of(witness: Witness) -> Frame:
    """The frame of a witness that was known beforehand: its width is the scale."""
    return Frame(witness, witness.length, witness.length)


@dataclass(frozen=True)
class Settings:
    """How a monitor was asked. Only monitors with the same settings can be added."""

    alpha: float = ALPHA
    expected_n: float = EXPECTED_N
    margin: Margin | None = None
    burn_in: int = BURN_IN
    relative: bool = False

    def __post_init__(self) -> None:
        require_shares(alpha=self.alpha)
        if not (self.expected_n > 0 and math.isfinite(self.expected_n)):
            raise ValueError(f"expected_n must be a positive number, got {self.expected_n!r}")
        if isinstance(self.burn_in, bool) or int(self.burn_in) != self.burn_in or self.burn_in < 2:
            raise ValueError(f"burn_in must be a whole number from 2 up, got {self.burn_in!r}")
        if self.margin is None:
            return
        _, kind = parse_margin(self.margin)
        if kind == "pp":
            raise ValueError("monitors have no margin in percentage points: give data units")
        if (kind == "%") != self.relative:
            raise ValueError(
                f"margin={self.margin!r}: a margin in percent and relative=True need each other. "
                "A relative monitor compares logarithms"
            )

    @property
    def log_limit(self) -> float:
        """The ln E that decides."""
        return -math.log(self.alpha)

    def region(self, spread: float) -> tuple[float, float]:
        """The shifts that do not matter, as the monitor measures them (logarithms if relative)."""
        if self.margin is None:
            return 0.0, 0.0
        amount, kind = parse_margin(self.margin)
        if kind == "%":
            share = amount / 100.0
            return math.log1p(-share) if share < 1.0 else -math.inf, math.log1p(share)
        amount *= spread if kind == "sd" else 1.0
        return -amount, amount

    @property
    def margin_in_words(self) -> str:
        """The margin as it was given; empty without one."""
        if self.margin is None or parse_margin(self.margin)[0] == 0.0:
            return ""
        return f"±{self.margin}"


class Decision(NamedTuple):
    """The first decision, and how many values there were."""

    verdict: str
    n_x: int
    n_y: int


class Looks(ABC):
    """A monitor: gathers values, and answers at any look."""

    kind: ClassVar[str]
    paired: ClassVar[bool]

    def __init__(self, settings: Settings, gathering: Gathering, frame: Frame | None) -> None:
        self.settings = settings
        self._gathering = gathering
        self._frame = frame
        self._ready = False  # whether the burn-in is complete
        self._best = 0.0  # the largest ln E at the looks so far
        self._decision: Decision | None = None
        self._looks = 0
        self._result: MonitorResult | None = None

    @property
    def grid(self) -> Grid | None:
        """The bins, once they are fixed. Summaries for this monitor need this grid."""
        return self._gathering.grid

    @property
    def witness(self) -> Witness | None:
        """The ψ in use, None during the burn-in. Its centre is not used."""
        return None if self._frame is None else self._frame.witness

    @property
    def sizes(self) -> tuple[int, int]:
        """Values of x and of y, without missing ones."""
        return self._sizes()

    @property
    def region(self) -> tuple[float, float] | None:
        """The shifts within the margin, in the units of ``result.interval``; (0, 0) without one.

        None until the burn-in is complete.
        """
        if self._frame is None:
            return None
        low, high = self.settings.region(self._frame.spread)
        return (as_change(low), as_change(high)) if self.settings.relative else (low, high)

    @property
    def until_choice(self) -> float:
        """So many more values can choose ψ, or choose it again; fewer cannot. inf if ψ stays.

        Batches of at most this size make the choice independent of how values are batched.
        """
        smaller = min(self._gathering.sizes())
        if self._frame is None:
            apart = self._gathering.apart()
            return max(self.settings.burn_in - smaller, OFF_THE_COMMON_VALUE - apart, 1)
        return max(self._frame.next_choice - smaller, 1)

    @property
    def result(self) -> MonitorResult:
        """A look: the answer now. Looking costs nothing, and looking again gives the same."""
        if self._result is None:
            self._looks += 1
            self._result = self._look()
        return self._result

    @abstractmethod
    def _fitted_frame(self) -> Frame | None:
        """What the values so far fix; None if they cannot."""

    @abstractmethod
    def _looked(self, frame: Frame) -> Looked:
        """The data for one look."""

    def _changed(self) -> Self:
        """After new values: forget the last answer; complete the burn-in if that is possible."""
        self._result = None
        self._ready = self._ready or self._gathering.burnt_in(self.settings.burn_in)
        if self._ready and self._frame is None:
            if not self._gathering.summaries:
                self._gathering.fix(self._gathering.fitted_grid())
            self._frame = self._fitted_frame()
        elif self._frame is not None and min(self._gathering.sizes()) >= self._frame.next_choice:
            chosen = self._fitted_frame() or self._frame
            self._frame = chosen._replace(spread=self._frame.spread)  # the margin stays the same
        return self

    def _sizes(self) -> tuple[int, int]:
        sizes = self._gathering.sizes()
        return sizes[0], sizes[-1]

    def _look(self) -> MonitorResult:
        """Evidence, interval and verdict of the values so far."""
        frame = self._frame
        if frame is None or not self._ready:
            return self._too_early()
        looked = self._looked(frame)
        limit = self.settings.log_limit
        log_e = looked.evidence(0.0, limit).log_e
        self._best = max(self._best, log_e)
        ends = confidence_sequence(looked, frame.scale, limit)
        region = self.settings.region(frame.spread)
        now = verdict_of(ends, region)
        n_x, n_y = self._sizes()
        if self._decision is None and now in DECIDED:
            self._decision = Decision(now, n_x, n_y)
        return self._answer(now, looked, ends, log_e)

    def _answer(
        self, now: str, looked: Looked, ends: tuple[float, float], log_e: float
    ) -> MonitorResult:
        n_x, n_y = self._sizes()
        relative = self.settings.relative
        shift, interval = float(looked.shift), (float(ends[0]), float(ends[1]))
        if relative:
            shift, interval = as_change(shift), (as_change(ends[0]), as_change(ends[1]))
        decided = self._decision or Decision(now, n_x, n_y)
        reason = reason_of(
            decided.verdict,
            shift,
            interval,
            self.settings.margin_in_words,
            relative,
            sizes_in_words(decided.n_x, decided.n_y, self.paired),
        )
        if decided.verdict != now:
            reason += " The interval of this look alone would not show it."
        missing = self._gathering.missing
        return MonitorResult(
            verdict=decided.verdict,
            decided=self._decision is not None,
            direction=direction_in_words(shift),
            shift=shift,
            interval=interval,
            pvalue=math.exp(-max(self._best, 0.0)),
            evalue=math.exp(min(log_e, LARGEST_LOG)),
            n_x=n_x,
            n_y=n_y,
            information=looked.information,
            reason=reason,
            missing_x=missing[0],
            missing_y=missing[-1],
            looks=self._looks,
            relative=relative,
        )

    def _too_early(self) -> MonitorResult:
        """The answer before the burn-in is complete."""
        n_x, n_y = self._sizes()
        missing = self._gathering.missing
        apart = self._gathering.apart()
        return MonitorResult(
            verdict="inconclusive", decided=False, direction=direction_in_words(math.nan),
            shift=math.nan, interval=(-math.inf, math.inf), pvalue=1.0, evalue=1.0,
            n_x=n_x, n_y=n_y, information=0.0,
            reason=burn_in_in_words(
                self._gathering.sizes(), self.settings.burn_in, apart, OFF_THE_COMMON_VALUE
            ),
            missing_x=missing[0], missing_y=missing[-1],
            looks=self._looks, relative=self.settings.relative,
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, in one step. ``load`` continues from there."""
        FILES.write(path, self.document())

    def document(self) -> Document:
        """The state as JSON, to be kept together with other state. See ``of_document``."""
        settings = self.settings
        return {
            "kind": self.kind,
            "settings": {
                "alpha": settings.alpha, "expected_n": settings.expected_n,
                "margin": settings.margin, "burn_in": settings.burn_in,
                "relative": settings.relative,
            },
            "frame": None if self._frame is None else self._frame.document(),
            "gathering": self._gathering.document(),
            "best": self._best,
            "decision": self._decision,
            "looks": self._looks,
            "looked": self._result is not None,
            **self._more_state(),
        }  # fmt: skip

    def _more_state(self) -> Document:
        return {}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file written by ``save``. Any other file raises a StateFileError."""
        document = FILES.read(path)
        name = os.fspath(path)
        if document.get("kind") != cls.kind:
            raise StateFileError(f"{name} is not the state of a {cls.__name__}")
        try:
            return cls.of_document(document)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise StateFileError(f"{name} is damaged: {error}") from None

    @classmethod
    def of_document(cls, document: Document) -> Self:
        """The monitor of a ``document``. Any error means that the document is damaged."""
        self = cls.__new__(cls)
        frame = document["frame"]
        Looks.__init__(
            self,
            Settings(**document["settings"]),
            Gathering.of_document(document["gathering"]),
            None if frame is None else Frame.of_document(frame),
        )
        self._best = float(document["best"])
        self._looks = int(document["looks"]) - bool(document["looked"])  # taken again by ``result``
        decision = document["decision"]
        self._decision = None if decision is None else Decision(*decision)
        self._restore(document)
        return self._changed()

    def _restore(self, document: Document) -> None:
        """What a kind of monitor keeps beside the rest. Most keep nothing."""
        del document

    def __repr__(self) -> str:
        result = self.result
        return f"{type(self).__name__}({result.verdict!r}, n_x={result.n_x}, n_y={result.n_y})"


def logarithms(values: Any, name: str) -> Array:
    """ln of positive values. NaN stays NaN."""
    numbers = np.asarray(values, dtype=np.float64)
    bad = int(np.count_nonzero(numbers <= 0.0))
    if bad:
        raise ColumnError(
            f"a relative monitor needs positive values, but {bad:,} of {name} are 0 or below"
        )
    logs: Array = np.log(numbers)
    return logs
