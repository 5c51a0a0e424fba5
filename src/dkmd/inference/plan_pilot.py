"""A pilot at the door of planning: what kind of data it holds, and the plan for that kind."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, as_sample, nan_error
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.inference.column_kind import without
from dkmd.inference.defaults import ALPHA
from dkmd.inference.groups import group_codes
from dkmd.inference.plan_amounts import AmountsPlan
from dkmd.inference.plan_covariates import AdjustedPlan, Explained, columns_of, explained
from dkmd.inference.plan_groups import Codes, Design, GroupedPlan, design_of
from dkmd.inference.plan_parts import TwoPartPlan
from dkmd.inference.plan_search import Change, Plan
from dkmd.inference.plan_shares import SharesPlan
from dkmd.statistic.witness import Witness

AMOUNTS, YES_NO, TWO_PARTS = "amounts", "yes/no", "two parts"
"""Kinds of pilots."""

MOSTLY = 0.5
"""If one value has at least this share, the pilot has two parts."""

SAME = 1e-6
"""Values of a summary that differ by less than this part of its range are one value."""


@dataclass(frozen=True)
class Pilot:
    """The values of a pilot, or a summary of them, and their kind.

    ``special`` holds the two values of yes/no data, or the common value of two parts.
    """

    summary: Summary
    values: Array | None = None
    codes: Codes | None = None
    kind: str = AMOUNTS
    special: tuple[float, ...] = ()
    columns: Array | None = None
    """Bounded columns of covariates, (values, columns)."""

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.summary.size

    @property
    def groups(self) -> int | None:
        """How many groups there are; None without groups."""
        return None if self.codes is None else int(self.codes.max()) + 1

    @property
    def telling(self) -> int:
        """How many values, or groups, an answer rests on. For shares only the rarer kind counts."""
        counts = [self.size] if self.groups is None else [self.groups]
        shares = self.shares(Change())
        if shares is not None:
            counts.append(round(self.size * min(shares[0], 1.0 - shares[0])))
        return min(counts)

    def plan(self, scale: float | str | None, alpha: float) -> Plan:
        """The plan for this kind of pilot."""
        plan = self._plan(scale, alpha)
        if self.columns is not None:
            plan = AdjustedPlan(plan, self._explained().worth)
        return plan if self.codes is None else GroupedPlan(plan, self.design(), alpha)

    def _plan(self, scale: float | str | None, alpha: float) -> Plan:
        if self.kind == YES_NO:
            low, high = self.special
            return SharesPlan(self._share_of(high), alpha, low, high)
        if self.kind == TWO_PARTS:
            return TwoPartPlan(self.special[0], self._rest(), self.size, scale, alpha)
        return AmountsPlan(self.summary, scale, alpha)

    def design(self) -> Design:
        """The design effect of the groups on what the test looks at, or on what is left of it."""
        assert self.values is not None
        assert self.codes is not None
        if self.columns is not None:
            return design_of([(self._explained().left, self.codes)], self.size)
        if self.kind == AMOUNTS:
            return design_of([(_psi(self.values), self.codes)], self.size)
        yes = self.values == self.special[-1]
        parts = [(yes.astype(np.float64), self.codes)]
        if self.kind == TWO_PARTS and (~yes).sum() > 2:
            parts.append((_psi(self.values[~yes]), self.codes[~yes]))
        return design_of(parts, self.size)

    def worth(self) -> float:
        """How many times the data adjusting for the covariates is worth."""
        worth = self._explained().worth
        if self.codes is None:
            return worth
        plain = replace(self, columns=None).design().effect
        return max(1.0, worth * plain / self.design().effect)

    def _explained(self) -> Explained:
        """What the covariates leave of the numbers that the test looks at."""
        assert self.values is not None
        assert self.columns is not None
        if self.kind == TWO_PARTS:
            raise ValueError(
                "covariates and strata are for amounts and yes/no data: if most values are equal, "
                "plan without them"
            )
        yes = self.kind == YES_NO
        e = (self.values == self.special[-1]).astype(np.float64) if yes else _psi(self.values)
        return explained(e, self.columns)

    @property
    def common(self) -> float | None:
        """The value that at least half have, in data of two parts."""
        return self.special[0] if self.kind == TWO_PARTS else None

    def shares(self, change: Change) -> tuple[float, float] | None:
        """The shares that yes/no data, or the rest of two parts, have before and after a change."""
        plan = None if self.kind == AMOUNTS else self._plan(None, ALPHA)
        if isinstance(plan, SharesPlan):
            return plan.share, plan.moved(change)
        if isinstance(plan, TwoPartPlan):
            return plan.shares.share, plan.shares.share + change.share
        return None

    def resampled(self, rng: np.random.Generator) -> Pilot:
        """A pilot of the same kind from values, or whole groups, drawn with replacement."""
        values = self.single_values()
        if self.codes is None and self.columns is None:
            values = np.sort(values)  # the order of rows does not matter, nor does a summary
        codes = None
        if self.codes is None:
            rows = rng.integers(values.size, size=values.size)
        else:
            groups = int(self.codes.max()) + 1
            members = [np.flatnonzero(self.codes == g) for g in rng.integers(groups, size=groups)]
            rows = np.concatenate(members)
            codes = np.repeat(np.arange(groups), [each.size for each in members])
        columns = None if self.columns is None else self.columns[rows]
        drawn = values[rows]
        return replace(self, summary=_summary(drawn), values=drawn, codes=codes, columns=columns)

    def single_values(self) -> Array:
        """The values; of a small summary, its points."""
        if self.values is not None:
            return self.values
        values, weights = self.summary.all_points()
        return np.repeat(values, np.maximum(np.round(weights), 1.0).astype(np.int64))

    def _share_of(self, value: float) -> float:
        values, weights = self._points()
        return float(weights[np.abs(values - value) <= SAME * abs(np.ptp(self.special))].sum()
                     / self.size)  # fmt: skip

    def _points(self) -> tuple[Array, Array]:
        if self.values is None:
            return self.summary.all_points()
        values, counts = np.unique(self.values, return_counts=True)
        return values, counts.astype(np.float64)

    def _rest(self) -> Summary:
        """The values other than the common one."""
        rest = without(self.summary if self.values is None else self.values, self.special[0])
        return rest if isinstance(rest, Summary) else _summary(rest)


def pilot_of(
    given: npt.ArrayLike | Summary,
    groups: npt.ArrayLike | None,
    covariate: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> Pilot:
    """A pilot from what a user passes, with its kind."""
    adjusted = covariate is not None or strata is not None
    if isinstance(given, Summary):
        if adjusted:
            raise ValueError(
                "covariates and strata need the single values, which a summary does not hold"
            )
        if groups is not None:
            raise ValueError("groups need the single values, which a summary does not hold")
        return _with_kind(Pilot(given))
    sample = as_sample(given, "pilot")
    if np.isnan(sample).any():
        raise nan_error("pilot", sample)
    values = sample.astype(np.float64)
    codes = None if groups is None else group_codes(groups, values.size, "pilot")
    columns = columns_of(covariate, strata, values) if adjusted else None
    return _with_kind(Pilot(_summary(values), values, codes, columns=columns))


def _with_kind(pilot: Pilot) -> Pilot:
    """Two distinct values are yes/no data. One value with half of the data makes two parts."""
    values, weights = pilot._points()
    if not np.isfinite(values).any():
        return pilot
    low, high = pilot.summary.minimum, pilot.summary.maximum
    ends = np.minimum(np.abs(values - low), np.abs(values - high)) <= SAME * (high - low)
    if ends.all() and high > low and pilot.size > 2 and (pilot.values is None or values.size == 2):
        return replace(pilot, kind=YES_NO, special=(low, high))
    most = int(weights.argmax())
    rest = values.size - 1
    if weights[most] >= MOSTLY * pilot.size and math.isfinite(values[most]) and rest >= 2:
        return replace(pilot, kind=TWO_PARTS, special=(float(values[most]),))
    return pilot


def _summary(values: npt.NDArray[np.float64]) -> Summary:
    return Summary.of(values, Grid.fit(values))


def _psi(values: Array) -> Array:
    """ψ of values at their own centre and robust scale. The design effect is measured on it."""
    from dkmd.inference.pooled_shape import median_and_spread

    median, spread = median_and_spread(_summary(values))
    if not (math.isfinite(median) and spread > 0.0):
        return np.asarray(values - values.mean(), dtype=np.float64)
    return np.asarray(Witness(spread, spread, center=median)(values) / spread, dtype=np.float64)
