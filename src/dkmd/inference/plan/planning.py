"""Planning: how many values a change needs, and what change a number of values can show.

Every door checks one ``Question`` and answers it with a ``Plan``: a size, a change and a power, of
which two are given and the third is searched. ``models`` says what power data of a kind have.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from dkmd.base.defaults import ALPHA, require_shares
from dkmd.bins.summary import Summary
from dkmd.inference.kinds.column_kind import Sample
from dkmd.inference.plan.models import Model, Shares
from dkmd.inference.plan.pilot import (
    Given,
    amounts_of,
    read_pilot,
    rejected_by_design,
    shares_of,
    yes_and_no,
)
from dkmd.inference.test.intervals import end_of
from dkmd.inference.test.options import check_options

TRIALS, FEWEST_TRIALS, MOST_DRAWN = 1000, 200, 10_000_000
"""The check compares 1,000 pairs of samples, or fewer with 10 million values in all. A power of 80%
is then known to 1.3 points, and by 200 pairs to 2.8. Fewer pairs are not worth their time."""

DESIGN_TRIALS = 400
"""With groups, covariates or strata a comparison takes a millisecond. 400 of them give a power of
80% to 2 points."""

FEW = 200
"""A pilot with fewer values, groups, or values of the rarer kind gives a note."""

MOST = 10**15
"""No size is larger than this."""


class PlanOptions(TypedDict, total=False):
    """What every door accepts, as described in ``plan``."""

    scale: float | None
    ratio: float
    factor: float | None
    share: float | None
    other: Given | None
    groups: npt.ArrayLike | None
    covariate: npt.ArrayLike | None
    strata: npt.ArrayLike | None


class Check(NamedTuple):
    """The power that pairs of samples had, drawn from the pilot with a fixed seed."""

    power: float
    standard_error: float
    trials: int


@dataclass(frozen=True)
class Plan:
    """Two sizes, a change and a power, of which one was asked for."""

    n: int
    m: int
    power: float
    """In closed form."""
    alpha: float
    asked: str
    """"n", "shift" or "power": the number that was worked out."""
    pilot_size: int
    shift: float | None
    """The change in data units; None if it is a factor or a share."""
    factor: float | None
    share: float | None
    shares: tuple[float, float] | None
    """The share before and after the change; None for amounts."""
    common: float | None
    """A value that at least 30% of the pilot have; None without one, and for yes/no data."""
    groups: tuple[int, int] | None
    """How many groups the two sizes are; None without groups."""
    design_effect: float | None
    """The variance by groups over that of independent values; None without groups."""
    worth: float | None
    """How many times the data covariates and strata are worth; None without them."""
    check: Check | None
    """The power by simulation; None for samples that are too large to draw."""
    notes: tuple[str, ...]


class Solved(NamedTuple):
    """Sizes, a change in the units of the model, and the power."""

    n: int
    m: int
    delta: float
    power: float


@dataclass(frozen=True, eq=False)
class Question:
    """The arguments of every door, checked. One of n, the change and the power is asked for."""

    pilot: Given
    shift: float | None = None
    n: int | None = None
    m: int | None = None
    power: float | None = None
    alpha: float = ALPHA
    scale: float | None = None
    ratio: float = 1.0
    factor: float | None = None
    share: float | None = None
    other: Given | None = None
    groups: npt.ArrayLike | None = None
    covariate: npt.ArrayLike | None = None
    strata: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        require_shares(alpha=self.alpha)
        if self.power is not None:
            require_shares(power=self.power)
            if self.power <= self.alpha:
                raise ValueError(
                    "power must be above alpha, which is reached without any change; got "
                    f"power={self.power!r}, alpha={self.alpha!r}"
                )
        if not 0.0 < self.ratio < math.inf:
            raise ValueError(f"ratio must be positive, got {self.ratio!r}")
        if self.m is not None and self.ratio != 1.0:
            raise ValueError("give m or ratio, not both")
        changes = sum(each is not None for each in (self.shift, self.factor, self.share))
        if changes > 1:
            raise ValueError("give one change: a shift, a factor or a share")
        if changes == 0 and (self.n is None or self.power is None):
            raise ValueError("give a change: a shift, a factor or a share")
        if changes == 1 and self.n is not None and self.power is not None:
            raise ValueError("a size, a change and a power leave nothing to ask: give two of them")
        for name, value, fine, wanted in (
            ("shift", self.shift, math.isfinite, "a finite number"),
            ("factor", self.factor, lambda f: 0.0 < f < math.inf, "a positive number"),
            ("share", self.share, lambda s: -1.0 <= s <= 1.0, "a difference of shares"),
        ):
            if value is not None and not fine(value):
                raise ValueError(f"{name} must be {wanted}, got {value!r}")
        if self.n is not None and min(self.sizes(self.n)) < 2:
            n, m = self.sizes(self.n)
            raise ValueError(f"each sample needs at least two values, got n={n!r}, m={m!r}")

    def sizes(self, n: int) -> tuple[int, int]:
        """The sizes of both samples."""
        return n, math.ceil(self.ratio * n - 1e-9) if self.m is None else self.m

    @cached_property
    def sample(self) -> Sample:
        """The pilot: its values, or its summary."""
        return read_pilot(self.pilot, "pilot")

    @cached_property
    def model(self) -> Model:
        """The model for the pilot's kind of data."""
        beside = self._beside
        other = None if self.other is None else read_pilot(self.other, "other pilot")
        if self.share is None and yes_and_no(self.sample) is None:
            logs = self.factor is not None
            return amounts_of(self.sample, other, logs, self.scale, self.alpha, beside)
        if other is not None:
            raise ValueError("a plan for shares takes one pilot: give the one before the change")
        return shares_of(self.sample, self.alpha, beside)

    @property
    def delta(self) -> float | None:
        """The change in the units of the model; None if it is asked for."""
        model = self.model
        if not isinstance(model, Shares):
            return self.shift if self.factor is None else math.log(self.factor)
        delta = self.share
        if self.shift is not None:
            delta = self.shift / model.unit
        elif self.factor is not None:
            delta = model.share * (self.factor - 1.0)
        if delta is not None:
            model.require(delta)
        return delta

    def solved(self) -> Solved:
        """All numbers, with the one that was asked for."""
        n, delta, power = self.n, self.delta, self.power
        if n is None:
            assert delta is not None
            assert power is not None
            n = self._smallest_size(delta, power)
        n, m = self.sizes(n)
        if delta is None:
            assert power is not None
            delta = self._smallest_change(n, m, power)
        return Solved(n, m, delta, self.model.power(delta, n, m) if power is None else power)

    def _smallest_size(self, delta: float, power: float) -> int:
        """The smallest n that reaches the power."""

        def reaches(n: int) -> bool:
            return self.model.power(delta, *self.sizes(n)) >= power

        if not reaches(MOST):
            raise ValueError(
                "no size reaches that power: the change is lost in the spread of the pilot"
            )
        first = max(2, math.ceil(2.0 / self.ratio - 1e-9))
        return bisect_left(range(MOST), True, first, key=reaches)

    def _smallest_change(self, n: int, m: int, power: float) -> float:
        """The smallest change up that reaches the power; where none does, the smallest down."""
        model = self.model

        def lacking(up: float, size: float) -> float:
            return power - model.power(up * size, n, m)

        for up in (1.0, -1.0):
            none = 0.0, lacking(up, 0.0)
            found = end_of(partial(lacking, up), (none, none), model.step)
            if math.isfinite(found):
                return up * found
        raise ValueError("no shift reaches that power with so few values: plan for more values")

    def check(self, found: Solved) -> Check | None:
        """The same power by simulation; None if that takes too many values, or a second pilot."""
        model, plain = self.model, self.model.design.plain
        trials = TRIALS if plain else DESIGN_TRIALS
        if not (plain and isinstance(model, Shares)):  # whose counts are drawn, not their values
            trials = min(trials, MOST_DRAWN // (found.n + found.m))
        if trials < FEWEST_TRIALS or not (plain or self.other is None):
            return None
        if plain:
            rejected = model.rejected(found.delta, found.n, found.m, trials)
        else:
            rejected = self._rejected_by_design(found, trials)
        power = float(np.mean(rejected))
        return Check(power, math.sqrt(max(power * (1.0 - power), 1.0 / trials) / trials), trials)

    def _rejected_by_design(self, found: Solved, trials: int) -> npt.NDArray[np.bool_]:
        """The tests of samples whose groups, covariates and strata are drawn with their values."""
        model, values = self.model, self.sample
        assert not isinstance(values, Summary)  # a design needs single values
        options = check_options(None, self.scale, "exact", "two-sided", None, "raise")
        if isinstance(model, Shares):
            yes = values != model.common if model.common is not None else values == model.high
            values, options = yes.astype(np.float64), options.of_means()
        elif self.factor is not None:
            values = np.log(values)
        sizes = found.n, found.m
        return rejected_by_design(model, found.delta, values, self._beside, sizes, options, trials)

    @property
    def _beside(self) -> dict[str, npt.ArrayLike | None]:
        """What is known about the values of the pilot."""
        return {"groups": self.groups, "covariate": self.covariate, "strata": self.strata}

    def notes(self) -> tuple[str, ...]:
        """What to watch out for: few values that tell something, and many that are equal."""
        model, size = self.model, self.sample.size
        telling, what, notes = size, "values", []
        if self.groups is not None:
            telling, what = round(size / model.design.per_group), "groups"
        if isinstance(model, Shares):
            rarer = round(size * min(model.share, 1.0 - model.share))
            telling, what = min((telling, what), (rarer, "values of the rarer kind"))
        elif model.common is not None:
            notes.append(
                f"many values of the pilot are {model.common:g}, and this plan changes all values. "
                "--share 0.01 (share=0.01) plans for one percentage point more of the others, and "
                "a pilot of the others alone plans for their amount"
            )
        if telling < FEW:
            notes.append(f"the pilot has only {telling} {what}, so the plan is rough")
        return tuple(notes)


def plan(
    pilot: Given,
    shift: float | None = None,
    n: int | None = None,
    power: float = 0.8,
    alpha: float = ALPHA,
    **options: Unpack[PlanOptions],
) -> Plan:
    """Sizes, change and power in one answer, with a check by simulation.

    Without ``n``, the answer is the sizes. With ``n`` alone it is the shift, and with ``n`` and a
    change it is the power. Give one change: ``shift``, ``factor`` or ``share``.

    Parameters
    ----------
    pilot : array_like or Summary
        Data like those to come. Two distinct values (booleans, 0 and 1) are yes/no data.
    shift : float
        The shift to be shown, in data units. For yes/no data of 0 and 1 that is a difference of
        shares: 0.01 is one percentage point.
    n : int
        The size of the first sample, the one that changes.
    power : float
        The probability of showing the change.
    alpha : float
        The level of the two-sided test.
    ratio : float
        Size of the second sample over that of the first; 1 by default.
    factor : float
        All values are multiplied by this. The plan is for the test on logarithms, as in
        ``on_logs()`` and in margins in percent, and needs values above 0. For yes/no data it
        multiplies the share of the larger value.
    share : float
        A difference of shares: of the larger of two values, or, if at least 30% of the values are
        equal, of the others. These are tested as one of two parts, at alpha/2.
    scale : float
        As in ``dkmd_2samp``; not used for shares.
    other : array_like or Summary
        A second pilot, for the side that does not change. It may have another shape. The shift is
        then that between both sides, whatever the shift between the pilots is.
    groups : array_like
        A label per value of the pilot: values with one label are repeated measurements. The size is
        multiplied by their design effect. Groups to come are taken to be as large as the pilot's.
    covariate : array_like
        What will be known before the experiment about each value of the pilot: a column, or an
        array with several. The plan is for the test of randomised arms that is adjusted for it.
    strata : array_like
        Labels that will be known before, such as countries: a column, or an array with several.

    Notes
    -----
    docs/planning.md has the closed form, and how close it comes to simulated powers.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> answer = plan(pilot, shift=2.0, ratio=4)
    >>> answer.n, answer.m, answer.check.power
    (266, 1064, 0.793)
    """
    change = shift, options.get("factor"), options.get("share")
    asked = "n" if n is None else "shift" if change == (None, None, None) else "power"
    question = Question(
        pilot, shift, n, None, None if asked == "power" else power, alpha, **options
    )
    found, model = question.solved(), question.model
    design, moved = model.design, shift
    if asked == "shift":
        moved = found.delta * model.unit
    groups = math.ceil(found.n / design.per_group), math.ceil(found.m / design.per_group)
    adjusted = question.covariate is not None or question.strata is not None
    return Plan(
        n=found.n,
        m=found.m,
        power=found.power,
        alpha=alpha,
        asked=asked,
        pilot_size=question.sample.size,
        shift=moved,
        factor=question.factor,
        share=question.share,
        shares=(model.share, model.share + found.delta) if isinstance(model, Shares) else None,
        common=model.common,
        groups=None if question.groups is None else groups,
        design_effect=None if question.groups is None else design.effect,
        worth=design.worth if adjusted else None,
        check=question.check(found),
        notes=question.notes(),
    )


def sample_size(
    pilot: Given,
    shift: float | None = None,
    power: float = 0.8,
    alpha: float = ALPHA,
    **options: Unpack[PlanOptions],
) -> int:
    """Values that the first sample needs to show a change; the second has ``ratio`` times as many.

    Parameters are those of ``plan``.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> sample_size(pilot, shift=0.5)  # about 2 · (2.8 · 10/0.5)², as for a t-test of normal data
    6757
    >>> converted = np.arange(1000) < 50
    >>> sample_size(converted, shift=0.01), sample_size(converted, factor=1.2)
    (8173, 8173)
    """
    return Question(pilot, shift, None, None, power, alpha, **options).solved().n


def detectable_shift(
    pilot: Given,
    n: int,
    m: int | None = None,
    power: float = 0.8,
    alpha: float = ALPHA,
    **options: Unpack[PlanOptions],
) -> float:
    """The shift that samples of n and m values show with this power; m is ``ratio``·n by default.

    Parameters are those of ``plan``. Yes/no data that have no room for a shift up give a shift
    down, which is negative.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> round(detectable_shift(pilot, n=5000), 2)
    0.58
    """
    question = Question(pilot, None, n, m, power, alpha, **options)
    return question.solved().delta * question.model.unit


def power(
    pilot: Given,
    shift: float | None = None,
    n: int = 0,
    m: int | None = None,
    alpha: float = ALPHA,
    **options: Unpack[PlanOptions],
) -> float:
    """The probability that samples of n and m values show a change; m is ``ratio``·n by default.

    Parameters are those of ``plan``.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> round(power(pilot, shift=0.5, n=7000), 2), round(power(pilot, n=7000, factor=1.005), 2)
    (0.81, 0.81)
    """
    return Question(pilot, shift, n, m, None, alpha, **options).solved().power
