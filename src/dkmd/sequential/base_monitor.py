"""What all monitors share: settings, the burn-in, looks, the decision that stays, and the state."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, Self

from dkmd.base.defaults import ALPHA, require_shares
from dkmd.base.documents import Document
from dkmd.base.wording import direction_in_words
from dkmd.bins.grid import Grid
from dkmd.bins.logarithms import LARGEST_LOG, as_change
from dkmd.inference.test.margins import Margin, against_margin, parse_margin
from dkmd.sequential.gathering import BURN_IN, OFF_THE_COMMON_VALUE, Gathering
from dkmd.sequential.look import Look, Tester
from dkmd.sequential.mixture import prior_information
from dkmd.sequential.result import (
    DECIDED,
    MonitorResult,
    burn_in_in_words,
    reason_of,
    sizes_in_words,
)
from dkmd.sequential.state import Stateful, state_files

EXPECTED_N = 1000


class Frame(NamedTuple):
    """What the burn-in, a reference or a pilot fixes."""

    width: float  # σ = τ of ψ
    scale: float  # s of I = s²/Var(shift)
    spread: float  # what "sd" in a margin means


@dataclass(frozen=True)
class Settings:
    """How a monitor was asked."""

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


class BaseMonitor(Stateful):
    """A monitor: gathers values, and answers at any look."""

    files = state_files("monitor", version=2)
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

    @abstractmethod
    def _fitted_frame(self) -> Frame | None:
        """What the values of the burn-in fix; None if they have no scale."""

    @abstractmethod
    def _tester(self, width: float) -> Tester:
        """The values so far."""

    def _counted(self, n: float, m: float) -> float:
        """How many values n and m values are worth: ``Look.values``."""
        return 1.0 / (1.0 / n + 1.0 / m)

    @property
    def grid(self) -> Grid | None:
        """The bins, once they are fixed. Summaries for this monitor need this grid."""
        return self._gathering.grid

    @property
    def width(self) -> float | None:
        """The width σ = τ of ψ. It is None during the burn-in and never changes afterwards."""
        return None if self._frame is None else self._frame.width

    @property
    def sizes(self) -> tuple[int, int]:
        """Values of x and of y, without missing ones."""
        sizes = self._gathering.sizes()
        return sizes[0], sizes[-1]

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
        """So many more values can choose the width of ψ; fewer cannot. inf if it is known.

        Batches of at most this size make the choice independent of how values are batched.
        """
        if self._frame is not None:
            return math.inf
        missing = self.settings.burn_in - min(self._gathering.sizes())
        return max(missing, OFF_THE_COMMON_VALUE - self._gathering.apart(), 1)

    @property
    def result(self) -> MonitorResult:
        """A look: the answer now. Looking costs nothing, and looking again gives the same."""
        if self._result is None:
            self._looks += 1
            frame = self._frame if self._ready else None
            self._result = self._too_early() if frame is None else self._look(frame)
        return self._result

    def _changed(self) -> Self:
        """After new values: forget the last answer; complete the burn-in if that is possible."""
        self._result = None
        self._ready = self._ready or self._gathering.burnt_in(self.settings.burn_in)
        if self._ready and self._frame is None:
            if not self._gathering.summaries:
                self._gathering.fix(self._gathering.fitted_grid())
            self._frame = self._fitted_frame()
        return self

    def _look(self, frame: Frame) -> MonitorResult:
        """Evidence, interval and verdict of the values so far."""
        expected = self.settings.expected_n
        expected_y = self._gathering.fixed_size or expected
        r = prior_information(self.settings.alpha, self._counted(expected, expected_y))
        look = Look(self._tester(frame.width), self._counted(*self.sizes), frame.scale, r)
        limit = self.settings.log_limit
        log_e = look.evidence(0.0, limit).log_e
        self._best = max(self._best, log_e)
        ends = look.sequence(limit)
        now = against_margin(*ends, *self.settings.region(frame.spread))
        if self._decision is None and now in DECIDED:
            self._decision = Decision(now, *self.sizes)
        decided = self._decision or Decision(now, *self.sizes)
        relative = self.settings.relative
        shift, low, high = (
            as_change(amount) if relative else float(amount) for amount in (look.shift, *ends)
        )
        reason = reason_of(
            decided.verdict,
            shift,
            (low, high),
            self.settings.margin_in_words,
            relative,
            sizes_in_words(decided.n_x, decided.n_y, self.paired),
        )
        if decided.verdict != now:
            reason += " The interval of this look alone would not show it."
        return MonitorResult(
            verdict=decided.verdict,
            decided=self._decision is not None,
            direction=direction_in_words(shift),
            shift=shift,
            interval=(low, high),
            pvalue=math.exp(-max(self._best, 0.0)),
            evalue=math.exp(min(log_e, LARGEST_LOG)),
            information=look.information,
            reason=reason,
            **self._counts(),
        )

    def _too_early(self) -> MonitorResult:
        """The answer before the burn-in is complete."""
        sizes, apart = self._gathering.sizes(), self._gathering.apart()
        reason = burn_in_in_words(sizes, self.settings.burn_in, apart, OFF_THE_COMMON_VALUE)
        return MonitorResult(reason=reason, **self._counts())

    def _counts(self) -> dict[str, Any]:
        """What every result has, whatever the values say."""
        (n_x, n_y), missing = self.sizes, self._gathering.missing
        return {
            "n_x": n_x, "n_y": n_y, "missing_x": missing[0], "missing_y": missing[-1],
            "looks": self._looks, "relative": self.settings.relative,
        }  # fmt: skip

    def document(self) -> Document:
        """The state as JSON, to be kept together with other state. See ``of_document``."""
        return {
            "settings": asdict(self.settings),
            "frame": self._frame,
            "gathering": self._gathering.document(),
            "best": self._best,
            "decision": self._decision,
            "looks": self._looks,
            "looked": self._result is not None,
        }

    @classmethod
    def of_document(cls, document: Document) -> Self:
        """The monitor of a ``document``. Any error means that the document is damaged."""
        self = cls.__new__(cls)
        frame, decision = document["frame"], document["decision"]
        BaseMonitor.__init__(
            self,
            Settings(**document["settings"]),
            Gathering.of_document(document["gathering"]),
            None if frame is None else Frame(*map(float, frame)),
        )
        self._best = float(document["best"])
        self._looks = int(document["looks"]) - bool(document["looked"])  # taken again by ``result``
        self._decision = None if decision is None else Decision(*decision)
        return self._changed()

    def __repr__(self) -> str:
        result = self.result
        return f"{type(self).__name__}({result.verdict!r}, n_x={result.n_x}, n_y={result.n_y})"
