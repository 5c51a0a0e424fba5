"""The race itself: rounds of two runs each, in random order, until the question is decided.

A round is a pair (DESIGN 2.7): what slows the machine for a while slows both commands. The rounds
go to a ``PairMonitor``, whose answer holds at any number of looks, so the race may end whenever it
is decided.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dkmd.answers.race.result import WALL, Race, Runs, measure
from dkmd.inference.test.margins import Margin
from dkmd.sequential.pairs import PairMonitor
from dkmd.sources.commands.running import CommandError, Run, Runner

Report = Callable[[Race], None]

EXPECTED, FEWEST = 100, 10
"""Rounds after which a decision is expected (the race is most sensitive there), and at least."""


@dataclass(frozen=True)
class Racers:
    """The two commands, what they are called, and what runs before each run."""

    commands: tuple[str, str]
    names: tuple[str, str]
    prepare: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True)
class Rules:
    """When a race ends, and how it is judged."""

    alpha: float = 0.05
    margin: Margin | None = None
    warmup: int = 0
    min_rounds: int = FEWEST
    max_rounds: int | None = None
    max_time: float = 60.0
    ignore_failure: bool = False
    metric: str = WALL
    seed: int | None = None

    def __post_init__(self) -> None:
        if not (self.max_time > 0.0 and math.isfinite(self.max_time)):
            raise ValueError(f"--max-time must be a positive number, got {self.max_time:g}")
        if self.max_rounds is not None and self.max_rounds < self.min_rounds:
            raise ValueError(
                f"--max-rounds {self.max_rounds} is less than --min-rounds {self.min_rounds}"
            )


def race(
    racers: Racers,
    rules: Rules,
    runner: Runner,
    report: Report = lambda so_far: None,
    clock: Callable[[], float] = time.monotonic,
) -> Race:
    """Run two commands in turns until it is decided which is faster, or until the time is up.

    Parameters
    ----------
    racers : Racers
        The commands.
    rules : Rules
        When the race ends.
    runner : Runner
        How commands are run.
    report : callable
        Is called with the state of the race after every round.
    clock : callable
        Seconds that passed.

    Returns
    -------
    Race
        After Ctrl-C, the race so far (``interrupted`` is true then).
    """
    rng = np.random.default_rng(rules.seed)
    _compile()
    track = _Track(racers, rules, runner)
    start = clock()
    try:
        for _ in range(rules.warmup):
            for side in rng.permutation(2).tolist():
                track.run(side, "the warm-up")
        start = clock()
        while True:
            track.round(rng.permutation(2).tolist())
            so_far = track.answer(clock() - start)
            report(so_far)
            if track.is_over(clock() - start, so_far.decided):
                return so_far
    except KeyboardInterrupt:
        return track.answer(clock() - start, interrupted=True)


class _Track:
    """A race under way: the runs so far, and what the monitor says about them."""

    def __init__(self, racers: Racers, rules: Rules, runner: Runner) -> None:
        self.racers, self.rules, self.runner = racers, rules, runner
        self.runs: tuple[list[Run], list[Run]] = ([], [])
        self.monitor = PairMonitor(
            rules.alpha, EXPECTED, rules.margin, burn_in=FEWEST, relative=True
        )
        for command in (*racers.commands, *filter(None, racers.prepare)):
            runner.words(command)  # an unknown program is an error before anything runs

    def run(self, side: int, when: str) -> Run:
        """One run of a command, with what prepares it."""
        prepare = self.racers.prepare[side]
        if prepare is not None:
            done, tail = self.runner.run(prepare)
            if done.code:
                raise CommandError(_failure(f"--prepare {prepare!r}", done, tail, when))
        done, tail = self.runner.run(self.racers.commands[side])
        if done.code and not self.rules.ignore_failure:
            what = f"command {self.racers.commands[side]!r}"
            told = _failure(what, done, tail, when)
            raise CommandError(f"{told}. --ignore-failure races on")
        return done

    def round(self, order: Sequence[int]) -> None:
        """One run of each command. A round that is not finished does not count."""
        number = len(self.runs[0]) + 1
        done = {side: self.run(side, f"round {number:,}") for side in order}
        for side, run in done.items():
            self.runs[side].append(run)
        first, second = (measure(done[side], self.rules.metric) for side in (0, 1))
        if min(first, second) > 0.0:
            self.monitor.update(second, first)

    def is_over(self, seconds: float, decided: bool) -> bool:
        rounds, most = len(self.runs[0]), self.rules.max_rounds
        if most is not None and rounds >= most:
            return True
        return seconds >= self.rules.max_time or (decided and rounds >= self.rules.min_rounds)

    def answer(self, seconds: float, interrupted: bool = False) -> Race:
        whole = len(self.runs[1])  # an interrupt may come between the two sides
        sides = [
            Runs(command, name, tuple(runs[:whole]))
            for command, name, runs in zip(
                self.racers.commands, self.racers.names, self.runs, strict=True
            )
        ]
        return Race(
            (sides[0], sides[1]),
            self.monitor.result,
            alpha=self.rules.alpha,
            margin=self.rules.margin,
            seconds=seconds,
            shell=self.runner.shell,
            metric=self.rules.metric,
            interrupted=interrupted,
        )


def _compile() -> None:
    """Compile what a look needs, so that no round waits for it."""
    practice = PairMonitor(burn_in=FEWEST, relative=True)
    rng = np.random.default_rng(0)
    _ = practice.update(rng.lognormal(size=2 * FEWEST), rng.lognormal(size=2 * FEWEST)).result


def _failure(what: str, run: Run, tail: str, when: str) -> str:
    shown = f": {tail}" if tail else "; it wrote nothing to standard error (try --show-output)"
    return f"{what} {run.ended()} in {when}{shown}"
