"""The answer of a race: a table like hyperfine's, the answer last, and hyperfine's JSON."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

from dkmd.answers.comparison import FORMAT_VERSION, to_json
from dkmd.base.units import shown_in
from dkmd.base.wording import count, percent, rounded
from dkmd.inference.test.margins import Margin
from dkmd.sequential.result import MonitorResult
from dkmd.sources.commands.running import Run

WALL, CPU = "wall", "cpu"
"""What is compared: the time from start to end, or the processor time of the command."""

TIMES_AS_FAST = 2.0
"""From this ratio on, "2.31 times as fast" is easier to read than percent."""

LONGEST_NAME = 40
"""Characters of a command in a sentence."""

SHORT = 0.005
"""Seconds below which the start of a shell matters."""


@dataclass(frozen=True)
class Runs:
    """All runs of one command."""

    command: str
    name: str
    runs: tuple[Run, ...]

    @property
    def times(self) -> list[float]:
        """Wall times in seconds, in the order of the rounds."""
        return [run.wall for run in self.runs]

    def hyperfine(self) -> dict[str, Any]:
        """An entry of ``hyperfine --export-json``."""
        times = self.times
        return {
            "command": self.command,
            "mean": statistics.fmean(times),
            "stddev": statistics.stdev(times) if len(times) > 1 else None,
            "median": statistics.median(times),
            "user": statistics.fmean(run.user for run in self.runs),
            "system": statistics.fmean(run.system for run in self.runs),
            "min": min(times),
            "max": max(times),
            "times": times,
            "exit_codes": [run.code if run.code >= 0 else None for run in self.runs],
        }

    def short(self) -> str:
        """The name for a sentence."""
        if len(self.name) <= LONGEST_NAME:
            return self.name
        return f"{self.name[: LONGEST_NAME - 1]}…"


@dataclass(frozen=True)
class Race:
    """Two commands and what is known about the ratio of their times.

    Attributes
    ----------
    sides : pair of Runs
        The commands in the order in which they were given.
    result : MonitorResult
        The time of the second command relative to the first: 0.02 is 2% slower.
    seconds : float
        How long the race took, without the warm-up.
    """

    sides: tuple[Runs, Runs]
    result: MonitorResult
    alpha: float
    margin: Margin | None
    seconds: float
    shell: str
    metric: str = WALL
    interrupted: bool = False

    @property
    def rounds(self) -> int:
        """Rounds that both commands finished."""
        return len(self.sides[1].runs)

    @property
    def pairs(self) -> list[tuple[Run, Run]]:
        """The runs of each round."""
        return list(zip(self.sides[0].runs, self.sides[1].runs, strict=True))

    @property
    def decided(self) -> bool:
        """Whether one command is faster, or both are the same within the margin."""
        return self.result.decided

    @property
    def verdict(self) -> str:
        """The time of the second command is "higher", "lower", "equivalent" or "inconclusive"."""
        return self.result.verdict

    @property
    def faster(self) -> str | None:
        """The name of the faster command; None if there is none."""
        side = {"higher": 0, "lower": 1}.get(self.verdict)
        return None if side is None else self.sides[side].name

    @property
    def change(self) -> tuple[float, float, float]:
        """The time of the second command relative to the first, and its interval: 0.02 is +2%."""
        return self.result.shift, *self.result.interval

    def headline(self) -> str:
        """The answer in one sentence."""
        after = f"after {count(self.rounds)} {'round' if self.rounds == 1 else 'rounds'}"
        if self.metric == CPU:
            after += " of processor time"
        first, second = (side.short() for side in self.sides)
        change, low, high = self.change
        if self.verdict == "higher":
            return f"{first} is {_faster((change, low, high), second)}, {after}."
        if self.verdict == "lower":
            swapped = (1.0 / (1.0 + each) - 1.0 for each in (change, high, low))
            return f"{second} is {_faster(tuple(swapped), first)}, {after}."
        range_ = f"{percent(change)} ({_ends(low, high)})"
        if self.verdict == "equivalent":
            return (
                f"{first} and {second} are EQUIVALENT within {self.margin}: the time of the second "
                f"differs by {range_}, {after}."
            )
        if math.isnan(change):
            return f"INCONCLUSIVE {after}: too few. Let the race run longer (--max-time)."
        return (
            f"INCONCLUSIVE {after}: the time of {second} differs from that of {first} by {range_}. "
            "Let the race run longer (--max-time)."
        )

    def status(self) -> str:
        """The race so far, for a progress bar."""
        change, low, high = self.change
        if not (math.isfinite(low) and math.isfinite(high)):
            return f"round {self.rounds:,}"
        return f"round {self.rounds:,}: {percent(change)} ({_ends(low, high)})"

    def table(self) -> list[tuple[str, ...]]:
        """A heading and a row for each command."""
        head = ("command", "mean ± sd", "min … max", "user", "system", "runs")
        return [head, *(_row(side) for side in self.sides if side.runs)]

    def notes(self) -> list[str]:
        """What may disturb the race."""
        found = []
        whole = [side for side in self.sides if side.runs]
        unknown = sum(min(measure(run, self.metric) for run in pair) <= 0.0 for pair in self.pairs)
        if unknown:
            found.append(f"{count(unknown)} rounds were too short to measure, and do not count")
        if self.shell and any(statistics.median(side.times) < SHORT for side in whole):
            found.append(
                "the start of the shell is part of times below 5 ms, and hides differences: -N "
                "starts commands without a shell"
            )
        for side in whole:
            failed = sum(run.code != 0 for run in side.runs)
            if failed:
                found.append(f"{side.short()} failed in {count(failed)} of {self.rounds:,} rounds")
            if _slow_start(side.times):
                found.append(
                    f"the first run of {side.short()} was much slower than the others: fill caches "
                    "with --warmup 3"
                )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded. Signed numbers are positive when the second is slower."""
        change, low, high = self.change
        return {
            "format": "dkmd-race",
            "version": FORMAT_VERSION,
            "verdict": self.verdict,
            "decided": self.decided,
            "interrupted": self.interrupted,
            "faster": self.faster,
            "relative_change": change,
            "interval": [low, high],
            "pvalue": self.result.pvalue,
            "alpha": self.alpha,
            "margin": self.margin,
            "rounds": self.rounds,
            "seconds": self.seconds,
            "shell": self.shell or None,
            "metric": self.metric,
            "commands": [{"name": side.name, **side.hyperfine()} for side in self.sides],
            "headline": self.headline(),
            "notes": self.notes(),
        }

    def export(self) -> str:
        """The file of ``hyperfine --export-json``."""
        return to_json({"results": [side.hyperfine() for side in self.sides]}, indent=2) + "\n"


def measure(run: Run, metric: str) -> float:
    """The time of a run that is compared, in seconds."""
    return run.wall if metric == WALL else run.cpu


def _faster(change: tuple[float, ...], loser: str) -> str:
    """How much faster, where the loser takes 1 + change of the winner's time."""
    middle, low, high = change
    if 1.0 + middle >= TIMES_AS_FAST:
        ends = f"{rounded(1.0 + low)} to {rounded(1.0 + high)}"
        return f"{rounded(1.0 + middle)} times as fast as {loser} ({ends})"
    saved = [100.0 * each / (1.0 + each) for each in (middle, low, high)]
    ends = f"{_digits(saved[1])} to {_digits(saved[2])}%"
    return f"{_digits(saved[0])}% faster than {loser} ({ends})"


def _digits(value: float) -> str:
    """A percentage with one decimal, or two digits if it is smaller than 1."""
    return f"{value:.1f}" if abs(value) >= 0.95 else rounded(abs(value), 2)


def _ends(low: float, high: float) -> str:
    return f"{percent(low).removesuffix('%')} to {percent(high)}"


def _row(side: Runs) -> tuple[str, ...]:
    """A row of the table, all times in one unit."""
    entry = side.hyperfine()
    factor, unit = shown_in("s", entry["mean"])
    shown = {
        key: rounded(factor * entry[key], 4 if key == "mean" else 3)
        for key in ("mean", "stddev", "min", "max", "user", "system")
        if entry[key] is not None
    }
    return (
        side.name,
        f"{shown['mean']} ± {shown.get('stddev', '–')} {unit}",
        f"{shown['min']} … {shown['max']} {unit}",
        f"{shown['user']} {unit}",
        f"{shown['system']} {unit}",
        count(len(side.runs)),
    )


def _slow_start(times: list[float]) -> bool:
    """Whether the first run took much longer than the others, as hyperfine decides it."""
    if len(times) < 5:
        return False
    middle = statistics.median(times)
    spread = statistics.median(abs(time - middle) for time in times)
    return times[0] - middle > SLOW_START * spread


SLOW_START = 10.0 / 0.6745
"""hyperfine's limit of a modified z-score: 10."""
