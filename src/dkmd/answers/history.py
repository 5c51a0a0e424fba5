"""A history of benchmarks: levels over time, where they changed, and what a gate could see.

The variance of a run's level is that of the gate (``inference.runs``). From it follows the
smallest change that a gate would find, and whether an unchanged benchmark would pass it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dkmd.answers.comparison import FORMAT_VERSION
from dkmd.base.defaults import ALPHA, require_shares
from dkmd.base.whole_files import locked
from dkmd.base.wording import count, plain, rounded, signed_number
from dkmd.inference.runs.between_runs import RunVariance, from_history
from dkmd.inference.runs.heavy_tails import RunsOfPast, tails_of_means, with_tails
from dkmd.inference.runs.level_changes import Stretch, stretches
from dkmd.inference.runs.moderation import moderated
from dkmd.inference.test.margins import Margin, parse_margin
from dkmd.inference.test.tails import critical
from dkmd.sources.files.history_file import (
    History,
    history_in_unit,
    merged,
    read_history,
    write_history,
)
from dkmd.sources.files.run_files import runs_to_store

POWER = 0.8
"""The power at which a change counts as detectable, and a benchmark as quiet enough."""

TOO_FEW = 4
"""With fewer runs than this nothing is said about a benchmark."""


@dataclass(frozen=True)
class LevelChange:
    """A change of level for good: the first run at the new level, and by how much."""

    date: str
    label: str
    change: float  # relative: 0.02 is 2%


@dataclass(frozen=True)
class BenchmarkHistory:
    """One benchmark over time. Shares are relative: 0.02 is 2%; NaN where nothing is known."""

    name: str
    unit: str
    dates: tuple[str, ...]
    labels: tuple[str, ...]
    levels: tuple[float, ...]  # in the unit, oldest first
    level: float  # of the latest stretch
    between: float  # standard deviation between runs
    within: float  # standard error of one run's level by noise within the run
    detectable: float  # the smallest change that the gate would find
    too_noisy: bool  # an unchanged benchmark would often be inconclusive
    changes: tuple[LevelChange, ...]
    firsts: tuple[int, ...]  # the first run of each stretch

    def last_change(self) -> str:
        """The latest change of level in words; empty if there is none."""
        if not self.changes:
            return ""
        last = self.changes[-1]
        return f"{signed_number(100.0 * last.change)}% {last.date[:10] or last.label}"


@dataclass(frozen=True)
class HistoryAnswer:
    """What a history says about every benchmark, for a gate of some runs per side."""

    benchmarks: tuple[BenchmarkHistory, ...]
    runs: int  # in the history
    margin: str
    per_side: int
    alpha: float
    power: float

    def headline(self) -> str:
        """How many benchmarks changed, and how many are too noisy to gate."""
        total = len(self.benchmarks)
        changed = sum(bool(each.changes) for each in self.benchmarks)
        noisy = sum(each.too_noisy for each in self.benchmarks)
        runs = "1 run" if self.runs == 1 else f"{count(self.runs)} runs"
        return (
            f"{runs} of {count(total)} benchmarks: {count(changed)} changed level, {count(noisy)} "
            f"too noisy to gate at {self.margin} with {_per_side(self.per_side)}."
        )

    def table(self) -> list[tuple[str, ...]]:
        """A heading and a row for each benchmark: changed ones first, then noisy ones."""
        head = ("", "runs", "level", "run to run", "detects", "last change", "gate")
        return [head, *map(self.row, self.ordered())]

    def ordered(self) -> list[BenchmarkHistory]:
        """Changed benchmarks first, then noisy ones."""
        return sorted(self.benchmarks, key=lambda each: (not each.changes, not each.too_noisy))

    def row(self, each: BenchmarkHistory) -> tuple[str, ...]:
        """The cells of one benchmark."""
        unit = each.unit and f" {each.unit}"
        gated = "too noisy" if each.too_noisy else "fine"
        return (
            each.name, count(len(each.levels)), f"{plain(each.level)}{unit}", _share(each.between),
            _share(each.detectable), each.last_change(),
            "too few runs" if math.isnan(each.detectable) else gated,
        )  # fmt: skip

    def notes(self) -> list[str]:
        """What is too little to say."""
        few = [each.name for each in self.benchmarks if len(each.levels) < TOO_FEW]
        if not few:
            return []
        return [f"fewer than {TOO_FEW} runs: {', '.join(few)}"]

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded."""
        return {
            "format": "dkmd-history-answer",
            "version": FORMAT_VERSION,
            "runs": self.runs,
            "margin": self.margin,
            "per_side": self.per_side,
            "alpha": self.alpha,
            "power": self.power,
            "benchmarks": [asdict(each) for each in self.benchmarks],
        }

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        command: str | None = None,
        advance: Callable[[int, int], None] | None = None,
    ) -> None:
        """Write a page that draws each benchmark over time: one self-contained HTML file.

        ``advance`` is called with the numbers of benchmarks that are drawn and of all.
        """
        from dkmd.answers.history_page import write_history_page

        write_history_page(self, path, command)
        if advance is not None:
            advance(len(self.benchmarks), len(self.benchmarks))


def history_of(
    history: History,
    *,
    margin: Margin = "5%",
    per_side: int = 1,
    alpha: float = ALPHA,
    power: float = POWER,
    names: Sequence[str] = (),
) -> HistoryAnswer:
    """What a history says about its benchmarks.

    Parameters
    ----------
    history : tuple of StoredRun
        Runs, oldest first, as ``read_histories`` gives them.
    margin : str
        The margin of the gate, in percent.
    per_side : int
        How many runs of each build the gate would compare.
    alpha, power : float
        The level of the gate over all benchmarks, and the power at which a change is detectable.
    names : sequence of str
        Only these benchmarks; all by default.

    Returns
    -------
    HistoryAnswer
    """
    require_shares(alpha=alpha, power=power)
    amount, kind = parse_margin(margin)
    if kind != "%":
        raise ValueError(f"the margin of a history is a percentage such as 5%, got {margin!r}")
    if per_side < 1:
        raise ValueError(f"a gate compares at least one run per side, got {per_side}")
    every = list(dict.fromkeys(name for run in history for name in run.levels))
    if not every:
        raise ValueError("the history holds no benchmark")
    unknown = [name for name in names if name not in every]
    if unknown:
        raise ValueError(f"the history has no benchmark {unknown[0]!r}")
    past = {name: _of_one(name, history) for name in every}
    pasts = [each.known for each in past.values()]
    found = with_tails(moderated([from_history(each.levels) for each in pasts]), pasts)
    question = _Question(math.log1p(amount / 100.0), per_side, alpha, power, len(every))
    rows = [
        _row(each, between, question)
        for each, between in zip(past.values(), found, strict=True)
        if not names or each.name in names
    ]
    shown = f"{amount:g}%"
    return HistoryAnswer(tuple(rows), len(history), shown, per_side, alpha, power)


@dataclass(frozen=True)
class _Past:
    """The runs of one benchmark, in the unit of the latest."""

    name: str
    unit: str
    dates: tuple[str, ...]
    labels: tuple[str, ...]
    known: RunsOfPast


@dataclass(frozen=True)
class _Question:
    """The gate that is asked about."""

    margin: float  # as a logarithm
    per_side: int
    alpha: float
    power: float
    benchmarks: int

    def detectable(self, error: float, df: float) -> float:
        """The least log change that exceeds the margin clearly with this power, after Holm."""
        clear = critical(1.0 - self.alpha / self.benchmarks, df)
        return self.margin + (clear + critical(self.power, df)) * error

    def too_noisy(self, error: float, df: float) -> bool:
        """Whether no change at all would be shown to lie within the margin with less power."""
        return (critical(1.0 - self.alpha, df) + critical(self.power, df)) * error > self.margin


def _of_one(name: str, history: History) -> _Past:
    """The runs of one benchmark; runs in a unit that cannot be compared are left out."""
    unit = next(run.levels[name].unit for run in reversed(history) if name in run.levels)
    known = history_in_unit(name, history, unit)
    runs = [history[place] for place in known.runs]
    dates, labels = tuple(run.date for run in runs), tuple(run.label for run in runs)
    return _Past(name, unit, dates, labels, known)


def _row(past: _Past, between: RunVariance | None, question: _Question) -> BenchmarkHistory:
    """One benchmark: its stretches, and what the gate would see."""
    levels = np.array([level.center for level in past.known.levels])
    cut = [Stretch(0, levels.size - 1, float(np.median(levels)))]
    detectable, too_noisy, sd = math.nan, False, math.nan
    if between is not None and levels.size >= TOO_FEW:
        cut = stretches(levels, between.total, between.df)
        error = math.sqrt(2.0 * between.total / question.per_side)
        df = min(between.df, tails_of_means(between.tails, question.per_side))
        detectable = math.expm1(question.detectable(error, df))
        too_noisy = question.too_noisy(error, df)
        sd = between.sd
    changes = tuple(
        LevelChange(
            past.dates[after.first],
            past.labels[after.first],
            math.expm1(after.level - before.level),
        )
        for before, after in pairwise(cut)
    )
    within = [math.sqrt(level.variance) for level in past.known.levels if level.variance >= 0.0]
    return BenchmarkHistory(
        name=past.name,
        unit=past.unit,
        dates=past.dates,
        labels=past.labels,
        levels=tuple(math.exp(level) for level in levels.tolist()),
        level=math.exp(cut[-1].level),
        between=sd,
        within=float(np.median(within)) if within else math.nan,
        detectable=detectable,
        too_noisy=too_noisy,
        changes=changes,
        firsts=tuple(each.first for each in cut),
    )


def _per_side(runs: int) -> str:
    return "1 run per side" if runs == 1 else f"{runs} runs per side"


def _share(value: float) -> str:
    """A share in percent; a dash if it is not known."""
    return "–" if math.isnan(value) else f"{rounded(100.0 * value, 2)}%"


def added(
    given: Sequence[str],
    store: str | os.PathLike[str],
    label: str | None = None,
    date: str | None = None,
    keep: int | None = None,
) -> tuple[History, History]:
    """Add runs to a store and write it; the history before and after.

    Runs that the store already has are not added again. If nothing changes, nothing is written.
    The store is locked meanwhile, so that processes that add runs at once lose none.
    """
    found = runs_to_store(given, label, date)
    with locked(store):
        before = read_history(store) if os.path.exists(store) else ()
        known = {run.digest for run in before}
        new = [run for run in found if run.digest not in known]
        after = merged(before, new, keep=keep)
        if after != before or not os.path.exists(store):
            write_history(store, after)
    return before, after
