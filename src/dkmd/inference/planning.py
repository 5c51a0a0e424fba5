"""Planning: how many values a change needs, and what change a number of values can show.

The three questions have one answer, a ``Planned``. Plans for amounts, for yes/no data and for data
that are mostly one value are in ``plan_amounts``, ``plan_shares`` and ``plan_parts``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from dkmd.binned.summary import Summary
from dkmd.inference.defaults import ALPHA, require_shares
from dkmd.inference.plan_pilot import Pilot, pilot_of
from dkmd.inference.plan_search import Change, Plan, shift_for, size_for

Given = npt.ArrayLike | Summary
"""A pilot as users pass it."""

FEW = 200
"""A pilot of fewer values, groups, or values of the rarer kind gives an answer with a range."""

REPLICATES = 200
"""Pilots that are drawn from a small one for the range of an answer."""

RANGE = (0.1, 0.9)
"""The range leaves out a tenth of the drawn pilots at each end."""


def sample_size(
    pilot: Given,
    shift: float | None = None,
    power: float = 0.8,
    alpha: float = ALPHA,
    ratio: float = 1.0,
    scale: float | str | None = None,
    *,
    factor: float | None = None,
    share: float | None = None,
    groups: npt.ArrayLike | None = None,
    covariate: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> int:
    """Values that the first sample needs to show a change; the second has ``ratio`` times as many.

    Give one change: ``shift``, ``factor`` or ``share``. Data of two parts can change by a factor
    and a share together.

    Parameters
    ----------
    pilot : array_like or Summary
        Data like those to come. Two distinct values (booleans, 0 and 1) are yes/no data. If at
        least half of the values are equal (most customers buy nothing), the pilot has two parts.
    shift : float
        The shift to be shown, in data units. For yes/no data of 0 and 1 that is a difference of
        shares: 0.01 is one percentage point. Not for data of two parts.
    power : float
        The probability of showing it.
    alpha : float
        The level of the two-sided test.
    ratio : float
        Size of the second sample over that of the first.
    scale
        As in ``dkmd_2samp``; not used for yes/no data.
    factor : float
        All values are multiplied by this. For yes/no data it multiplies the share of the larger
        value, and for data of two parts the values other than the common one.
    share : float
        A difference of shares: of the larger of two values, or of values other than the common one.
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
    Yes/no data are planned for the exact test of two shares, by the score test's formula with
    pooled variance, corrected for skewness and for whole counts. From 5% to 6% the usual formula
    gives 8,155 values per side with unpooled and 8,158 with pooled variance. The corrections add
    15. Data of two parts are planned for p = min(1, 2·min(p_share, p_rest)).

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> sample_size(pilot, shift=0.5)  # about 2 · (2.8 · 10/0.5)², as for a t-test of normal data
    6477
    >>> converted = np.arange(1000) < 50
    >>> sample_size(converted, shift=0.01), sample_size(converted, factor=1.2)
    (8173, 8173)
    """
    _check_power(alpha, power)
    change = _change(shift, factor, share)
    _check_ratio(ratio)
    plan = pilot_of(pilot, groups, covariate, strata).plan(scale, alpha)
    plan.check(change)
    return math.ceil(size_for(plan, change, power, alpha, ratio))


def detectable_shift(
    pilot: Given,
    n: int,
    m: int | None = None,
    power: float = 0.8,
    alpha: float = ALPHA,
    scale: float | str | None = None,
    *,
    ratio: float = 1.0,
    groups: npt.ArrayLike | None = None,
    covariate: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> float:
    """The shift that samples of n and m values show with this power; m is ``ratio``·n by default.

    Yes/no data that have no room for a shift up give a shift down, which is negative.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> round(detectable_shift(pilot, n=5000), 2)
    0.57
    """
    _check_power(alpha, power)
    m = _second_size(n, m, ratio)
    plan = pilot_of(pilot, groups, covariate, strata).plan(scale, alpha)
    plan.check(Change(shift=1e-300))
    return float(shift_for(plan, n, m, power, alpha))


def power(
    pilot: Given,
    shift: float | None = None,
    n: int = 0,
    m: int | None = None,
    alpha: float = ALPHA,
    scale: float | str | None = None,
    *,
    ratio: float = 1.0,
    factor: float | None = None,
    share: float | None = None,
    groups: npt.ArrayLike | None = None,
    covariate: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> float:
    """The probability that samples of n and m values show a change; m is ``ratio``·n by default.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> round(power(pilot, shift=0.5, n=7000), 2), round(power(pilot, n=7000, factor=1.005), 2)
    (0.83, 0.83)
    """
    require_shares(alpha=alpha)
    m = _second_size(n, m, ratio)
    change = _change(shift, factor, share, nothing=True)
    plan = pilot_of(pilot, groups, covariate, strata).plan(scale, alpha)
    plan.check(change)
    return plan.power(change, n, m)


_power = power  # ``plan`` has an argument of that name


@dataclass(frozen=True)
class Planned:
    """A plan: two sizes, a change and a power, of which one was asked for."""

    n: int
    m: int
    change: Change
    power: float
    alpha: float
    kind: str
    """"amounts", "yes/no" or "two parts"."""
    asked: str
    """"n", "shift" or "power": the number that was worked out."""
    range: tuple[float, float] | None = None
    """Where that number lies for 80% of pilots drawn from this one; None for a large pilot."""
    groups: tuple[int, int] | None = None
    """How many groups the two sizes are; None without groups."""
    design_effect: float | None = None
    pilot_size: int = 0
    telling: int = 0
    """How many values or groups of the pilot the answer rests on: of shares, the rarer kind."""
    shares: tuple[float, float] | None = None
    """Before and after the change: of the larger of two values, or of values unlike ``common``."""
    common: float | None = None
    """The value that at least half of the pilot has; None if there is none."""
    worth: float | None = None
    """How many times the data covariates and strata are worth; None without them."""

    @property
    def by_shift(self) -> bool:
        """Whether the change is a shift."""
        return self.change.factor == 1.0 and not self.change.share


class _Options(TypedDict):
    """What all questions about a pilot accept."""

    alpha: float
    scale: float | str | None
    ratio: float
    groups: npt.ArrayLike | None
    covariate: npt.ArrayLike | None
    strata: npt.ArrayLike | None


class _Moves(TypedDict):
    """The change to plan for."""

    shift: float | None
    factor: float | None
    share: float | None


def plan(
    pilot: Given,
    shift: float | None = None,
    n: int | None = None,
    power: float = 0.8,
    alpha: float = ALPHA,
    *,
    ratio: float = 1.0,
    scale: float | str | None = None,
    factor: float | None = None,
    share: float | None = None,
    groups: npt.ArrayLike | None = None,
    covariate: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> Planned:
    """Sizes, change and power in one answer, with the range that a small pilot leaves open.

    Without ``n``, the answer is the sizes (``sample_size``). With ``n`` alone it is the shift
    (``detectable_shift``), and with ``n`` and a change it is the ``power``.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 100)
    >>> answer = plan(pilot, shift=1.0, ratio=4)
    >>> answer.n, answer.m, answer.range
    (1015, 4060, (776.0, 1197.0))
    """
    known = pilot_of(pilot, groups, covariate, strata)
    options = _Options(
        alpha=alpha, scale=scale, ratio=ratio, groups=groups, covariate=covariate, strata=strata
    )
    moves = _Moves(shift=shift, factor=factor, share=share)
    if n is None:
        asked, n = "n", sample_size(pilot, power=power, **options, **moves)
    else:
        asked = "shift" if shift is factor is share is None else "power"
    change = Change() if asked == "shift" else _change(shift, factor, share)
    if asked == "shift":
        change = Change(detectable_shift(pilot, n, power=power, **options))
    elif asked == "power":
        power = _power(pilot, n=n, **options, **moves)
    found = Planned(
        n, _second_size(n, None, ratio), change, power, alpha, known.kind, asked,
        pilot_size=known.size, telling=known.telling, shares=known.shares(change),
        common=known.common,
    )  # fmt: skip
    if known.columns is not None:
        found = replace(found, worth=known.worth())
    if known.codes is not None:
        design = known.design()
        of_n, of_m = (math.ceil(size / design.per_group) for size in (found.n, found.m))
        found = replace(found, groups=(of_n, of_m), design_effect=design.effect)
    if known.telling < FEW:
        found = replace(found, range=_range(known, found, scale, ratio))
    return found


def _range(
    pilot: Pilot, found: Planned, scale: float | str | None, ratio: float
) -> tuple[float, float]:
    """The answers of pilots drawn from a small one: closed forms, relative to their median.

    Drawn pilots have a smaller spread than the pilot itself, so their median is below its answer.
    """
    answer = _closed_form(found, ratio)
    rng = np.random.default_rng(5)
    worst = -math.inf if found.asked == "power" else math.inf
    answers = []
    for _ in range(REPLICATES):
        try:
            answers.append(answer(pilot.resampled(rng).plan(scale, found.alpha)))
        except ValueError:  # a drawn pilot without spread, or without room for the change
            answers.append(worst)
    low, own, high = np.quantile(answers, (RANGE[0], 0.5, RANGE[1]), method="closest_observation")
    if not math.isfinite(own):
        own = answer(pilot.plan(scale, found.alpha))
    if found.asked == "power":
        # powers are moved, not multiplied
        off = found.power - own
        return min(max(float(low) + off, 0.0), found.power), max(
            min(float(high) + off, 1.0), found.power
        )
    given = float(found.n) if found.asked == "n" else found.change.shift
    ends = sorted(given * end / own for end in (float(low), float(high)))
    if found.asked == "n":
        ends = [math.ceil(end) if math.isfinite(end) else end for end in ends]
    return float(min(ends[0], given)), float(max(ends[1], given))


def _closed_form(found: Planned, ratio: float) -> Callable[[Plan], float]:
    """The number that was asked for, from another plan and without simulation."""
    if found.asked == "n":
        return partial(_closed_size, found=found, ratio=ratio)
    if found.asked == "shift":
        return lambda plan: shift_for(plan, found.n, found.m, found.power, found.alpha, False)
    return lambda plan: plan.expected(found.change, found.n, found.m)


def _closed_size(plan: Plan, found: Planned, ratio: float) -> float:
    plan.check(found.change)
    return size_for(plan, found.change, found.power, found.alpha, ratio, simulate=False)


def _change(
    shift: float | None, factor: float | None, share: float | None, nothing: bool = False
) -> Change:
    """The change that was asked for; ``nothing`` allows a shift of 0."""
    if shift is None and factor is None and share is None:
        raise ValueError("give a change: a shift, a factor or a share")
    if shift is not None and (factor is not None or share is not None):
        raise ValueError("give a shift, or a factor or a share, not both")
    if shift is not None and not (math.isfinite(shift) and (nothing or shift != 0.0)):
        raise ValueError(f"shift must be a finite number other than 0, got {shift!r}")
    if factor is not None and not (0.0 < factor < math.inf and factor != 1.0):
        raise ValueError(f"factor must be a positive number other than 1, got {factor!r}")
    if share is not None and not (-1.0 <= share <= 1.0 and share != 0.0):
        raise ValueError(f"share must be a difference of shares other than 0, got {share!r}")
    return Change(shift or 0.0, 1.0 if factor is None else factor, share or 0.0)


def _second_size(n: int, m: int | None, ratio: float) -> int:
    """m, or ratio·n."""
    _check_ratio(ratio)
    if m is not None and ratio != 1.0:
        raise ValueError("give m or ratio, not both")
    m = math.ceil(ratio * n - 1e-9) if m is None else m
    if min(n, m) < 2:
        raise ValueError(f"each sample needs at least two values, got n={n!r}, m={m!r}")
    return m


def _check_ratio(ratio: float) -> None:
    if not (ratio > 0.0 and math.isfinite(ratio)):
        raise ValueError(f"ratio must be positive, got {ratio!r}")


def _check_power(alpha: float, power: float) -> None:
    require_shares(alpha=alpha, power=power)
    if power <= alpha:
        raise ValueError(
            f"power must be above alpha, which is reached without any shift; got power={power!r}, "
            f"alpha={alpha!r}"
        )
