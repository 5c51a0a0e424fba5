"""Is the gate quiet when nothing changed? ``make gate-runs`` writes docs/gate_runs.md.

Runs of suites are drawn in which nothing changed, or one benchmark did. The tables say how often
the gate fails at margin 0, where false alarms are most frequent. Most tables draw the level of a
run and the variance within the run, and use the functions of the gate from there on. One table
draws single values and asks the whole gate. Everything is seeded. The exit code is 1 if a promised
rate exceeds alpha by more than three standard errors.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from gate_files import Suite

from dkmd.answers.gate import FAILED, PASSED, Gate, gate
from dkmd.answers.gate.decide import holm
from dkmd.inference.runs.between_runs import from_history, from_repeated_runs, together
from dkmd.inference.runs.blocks import blocks_of, common_count
from dkmd.inference.runs.heavy_tails import RunsOfPast, with_tails
from dkmd.inference.runs.moderation import moderated
from dkmd.inference.runs.outcome import SideRuns, shift_error
from dkmd.inference.runs.run_levels import RunLevel
from dkmd.inference.test.tails import student_tails
from dkmd.inference.test.two_sample import dkmd_2samp
from dkmd.sources.files.benchmarks import BenchmarkFile, parse_benchmarks
from dkmd.sources.files.history_file import History, stored_run

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]
ALPHA, PROCESSES = 0.05, 20
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"


@dataclass(frozen=True)
class Design:
    """How many runs of reference and current, and how many in the history."""

    reference: int
    current: int
    history: int

    def __str__(self) -> str:
        past = f", history {self.history}" if self.history else ""
        return f"{self.reference} + {self.current}{past}"

    @property
    def promised(self) -> bool:
        """Whether the documentation promises the level."""
        return self.history >= 10 or min(self.reference, self.current) >= 3


@dataclass(frozen=True)
class World:
    """How runs vary: standard deviations between and within runs, on the logarithmic scale."""

    between: Draw
    within: Draw
    noise: str = "normal"
    present: float = 1.0  # the share of runs of the history that have a benchmark
    step: float = 0.0  # how far levels move in the middle of the history
    wild: float = 0.0  # how far off one run of the history is


def same(value: float) -> Draw:
    """Every benchmark alike."""
    return lambda _rng, size: np.full(size, value)


def from_to(low: float, high: float) -> Draw:
    """Uniform over a range."""
    return lambda rng, size: rng.uniform(low, high, size)


def one_in(few: int, usual: float, other: float) -> Draw:
    """One benchmark in ``few`` is another."""
    return lambda rng, size: np.where(rng.random(size) < 1.0 / few, other, usual)


Levels = list[list[RunLevel]]


def levels(
    world: World, sds: tuple[Array, Array], runs: int, rng: np.random.Generator, past: bool = False
) -> Levels:
    """Levels of runs, and the variances within runs as a gate would estimate them.

    In a ``past``, levels move and runs are wild as the world says.
    """
    between, within = sds[0][:, None], sds[1][:, None] / math.sqrt(PROCESSES)
    shape = sds[0].size, runs
    unit = rng.normal(size=shape)
    if world.noise == "t3":
        unit = rng.standard_t(3, size=shape) / math.sqrt(3.0)
    centers = between * unit + within * rng.normal(size=shape)
    if past:
        centers[:, runs // 2 :] += world.step
        centers[:, runs // 3] += world.wild
    df = PROCESSES - 1.0
    variances = within**2 * rng.chisquare(df, size=shape) / df
    return [
        [RunLevel(c, v, df, 3 * PROCESSES, PROCESSES) for c, v in zip(*row, strict=True)]
        for row in zip(centers.tolist(), variances.tolist(), strict=True)
    ]


def history(
    world: World, sds: tuple[Array, Array], runs: int, rng: np.random.Generator
) -> list[RunsOfPast]:
    """A history, in which a benchmark may be absent from some runs."""
    if not runs:
        return [RunsOfPast([], []) for _ in sds[0]]
    found = []
    for past in levels(world, sds, runs, rng, past=True):
        there = [i for i in range(runs) if rng.random() < world.present]
        found.append(RunsOfPast([past[i] for i in there], there))
    return found


def pvalues(
    world: World, design: Design, size: int, slower: float, rng: np.random.Generator
) -> Array:
    """The corrected p-values of one gate at margin 0; the first benchmark is slower."""
    sds = world.between(rng, size), world.within(rng, size)
    if slower:
        sds[0][0], sds[1][0] = np.median(sds[0]), np.median(sds[1])
    before = levels(world, sds, design.reference, rng)
    after = levels(world, sds, design.current, rng)
    after[0] = [level._replace(center=level.center + math.log1p(slower)) for level in after[0]]
    past = history(world, sds, design.history, rng)
    variances = [
        together(from_history(h.levels), from_repeated_runs(b, a))
        for b, a, h in zip(before, after, past, strict=True)
    ]
    known = with_tails(moderated(variances), past)
    found = []
    for b, a, between in zip(before, after, known, strict=True):
        one, other = SideRuns(b), SideRuns(a)
        error, df = math.sqrt(one.within + other.within), one.df + other.df
        if between is not None:
            error, df = shift_error(one, other, between)
        found.append(float(student_tails((other.center - one.center) / error, df).upper))
    return holm(np.array(found), ALPHA).pvalues


def rate(
    world: World, design: Design, size: int, times: int, slower: float = 0.0
) -> tuple[float, float]:
    """How often the gate fails (or finds the slower benchmark), and the standard error."""
    seed = zlib.crc32(repr((design, size, slower, times)).encode())
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(times):
        corrected = pvalues(world, design, size, slower, rng)
        found += bool((corrected[0] if slower else corrected.min()) < ALPHA)
    share = found / times
    return share, math.sqrt(max(share, 1.0 / times) * (1.0 - min(share, 0.999)) / times)


class Failures:
    """Promised rates that are too high."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def check(self, what: str, share: float, times: int) -> None:
        """Note a rate that exceeds alpha by more than three standard errors."""
        if share > ALPHA + 3.0 * math.sqrt(ALPHA * (1.0 - ALPHA) / times):
            self.seen.append(f"{what}: {share:.3f}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def shown(share: float, error: float) -> str:
    """A rate with its standard error, in percent."""
    return f"{100.0 * share:.1f} ± {100.0 * error:.1f}"


DESIGNS = [
    Design(1, 1, 0), Design(1, 1, 10), Design(1, 1, 20),
    Design(2, 2, 0), Design(3, 3, 0), Design(3, 3, 10), Design(10, 10, 0),
]  # fmt: skip

FEWER = (Design(1, 1, 0), Design(1, 1, 10), Design(1, 1, 20), Design(3, 3, 0), Design(10, 10, 0))
"""The designs for which suites of 100 benchmarks are drawn."""

MIXED = from_to(0.005, 0.03)
USUAL = from_to(0.004, 0.019)

WORLDS = {
    ("0", "0.5%"): World(same(0.0), same(0.005)),
    ("0", "3%"): World(same(0.0), same(0.03)),
    ("0.5%", "0.5%"): World(same(0.005), same(0.005)),
    ("0.5%", "3%"): World(same(0.005), same(0.03)),
    ("2%", "0.5%"): World(same(0.02), same(0.005)),
    ("2%", "3%"): World(same(0.02), same(0.03)),
    ("0 to 2%", "0.5 to 3%"): World(from_to(0.0, 0.02), MIXED),
    ("0, and 2% for one in 4", "0.5 to 3%"): World(one_in(4, 0.0, 0.02), MIXED),
}


def false_alarms(
    size: int, times: int, failures: Failures, designs: Sequence[Design] = DESIGNS
) -> str:
    """The rates at which a gate fails although nothing changed."""
    rows = []
    for name, world in WORLDS.items():
        row = [*name]
        for design in designs:
            share, error = rate(world, design, size, times)
            row.append(shown(share, error))
            if design.promised:
                failures.check(f"{size} benchmarks, {name}, {design}", share, times)
        rows.append(row)
        print(f"{size} benchmarks: {' | '.join(row)}", file=sys.stderr, flush=True)
    return table(["between runs", "within a run", *map(str, designs)], rows)


ODD = {
    "nothing odd": World(USUAL, MIXED),
    "levels moved by 10% in the middle of the history": World(USUAL, MIXED, step=0.1),
    "one run of the history is 30% off": World(USUAL, MIXED, wild=0.3),
    "each benchmark is in half of the history": World(USUAL, MIXED, present=0.5),
    "changes between runs with tails of t₃": World(USUAL, MIXED, noise="t3"),
    "one benchmark in 20 is ten times as noisy": World(one_in(20, 0.002, 0.02), MIXED),
}


def oddities(size: int, times: int) -> str:
    """The rates where something about the runs is odd."""
    designs = [Design(1, 1, 10), Design(1, 1, 20), Design(1, 1, 40), Design(3, 3, 0)]
    designs += [Design(2, 6, 0), Design(3, 3, 20)]
    rows = []
    for name, world in ODD.items():
        row = [shown(*rate(world, design, size, times)) for design in designs]
        rows.append([name, *row])
        print(f"{name}: {' | '.join(row)}", file=sys.stderr, flush=True)
    return table(["odd", *map(str, designs)], rows)


def power(size: int, times: int) -> str:
    """How often a slower benchmark is found."""
    designs = [Design(1, 1, 10), Design(1, 1, 30), Design(3, 3, 0), Design(3, 3, 30)]
    designs += [Design(10, 10, 0)]
    rows = []
    for name, between in (("0.5%", 0.005), ("1%", 0.01), ("2%", 0.02)):
        for slower in (0.02, 0.05, 0.1):
            world = World(same(between), same(0.01))
            row = [
                f"{100.0 * rate(world, design, size, times, slower)[0]:.0f}" for design in designs
            ]
            rows.append([name, f"{100.0 * slower:g}%", *row])
    return table(["between runs", "slower by", *map(str, designs)], rows)


def whole_gate(times: int, failures: Failures) -> str:
    """The rates of the whole gate, from single values in files to the outcome."""
    rows = []
    for design in (Design(1, 1, 0), Design(1, 1, 10), Design(3, 3, 0), Design(3, 3, 10)):
        rng = np.random.default_rng(zlib.crc32(repr(design).encode()))
        failed = sum(_fails(design, rng) for _ in range(times))
        share = failed / times
        if design.promised:
            failures.check(f"whole gate, {design}", share, times)
        rows.append([str(design), shown(share, math.sqrt(share * (1.0 - share) / times))])
        print(f"whole gate, {design}: {rows[-1][1]}", file=sys.stderr, flush=True)
    return table(["runs", "failed"], rows)


def _fails(design: Design, rng: np.random.Generator) -> bool:
    """Whether the gate fails for two builds of a suite of 20 benchmarks that did not change."""
    suite = Suite.drawn(20, rng, processes=10, values=2)
    runs = [_read(suite.run(rng)) for _ in range(design.reference + design.current)]
    past: History = tuple(
        stored_run(_read(suite.run(rng, day)), "", f"{day}") for day in range(design.history)
    )
    before, after = runs[: design.reference], runs[design.reference :]
    return gate(before, after, margin=0.0, history=past).outcome == FAILED


def one_value(times: int) -> str:
    """The rates of the whole gate if every run has one value per benchmark, at a margin of 10%."""
    rows = []
    for size in (1, 5, 20):
        for past in (10, 20):
            rng = np.random.default_rng([17, size, past])
            same, moved, slower = (
                [_of_one_value(size, past, factor, rng) for _ in range(times)]
                for factor in (1.0, 1.1, 1.35)
            )
            passes = [row.verdict in PASSES for each in moved for row in each.rows]
            shares = [
                np.mean([each.outcome == FAILED for each in same]),
                np.mean([each.outcome == PASSED for each in same]),
                np.mean([each.outcome == FAILED for each in moved]),
                np.mean(passes),
                np.mean([each.outcome == FAILED for each in slower]),
            ]
            rows.append([f"{size}", f"{past}", *(f"{100.0 * share:.1f}" for share in shares)])
            print("one value,", *rows[-1], file=sys.stderr, flush=True)
    head = ["benchmarks", "history", "unchanged fails", "unchanged passes", "10% slower fails",
            "10% slower passes", "35% slower fails"]  # fmt: skip
    return table(head, rows)


PASSES = ("same", "not worse", "better")


def _of_one_value(size: int, past: int, slower: float, rng: np.random.Generator) -> Gate:
    """A gate of google-benchmark's files without repetitions; between runs 0.4% to 2%, noise 1%."""
    between = np.exp(rng.uniform(math.log(0.004), math.log(0.02), size))

    def run(factor: float = 1.0) -> BenchmarkFile:
        logs = between * rng.normal(size=size) + 0.01 * rng.normal(size=size)
        times = 100.0 * factor * np.exp(logs)
        entries = [{"name": f"BM_{i}", "real_time": t} for i, t in enumerate(times.tolist())]
        return _read({"benchmarks": entries})

    history: History = tuple(stored_run(run(), "", f"{day:02}") for day in range(past))
    return gate(run(), run(slower), margin="10%", history=history)


def _read(document: dict[str, object]) -> BenchmarkFile:
    return parse_benchmarks(json.dumps(document), "a run")


def correlated(times: int) -> str:
    """How often a test of correlated measurements of the same code rejects at 5%, before/after."""
    rows = []
    for size in (25, 50, 100, 300, 1000):
        for share in (0.0, 0.3, 0.6, 0.9):
            rng = np.random.default_rng([size, round(100 * share)])
            plain = blocked = 0
            for _ in range(times):
                x, y = (_neighbours(size, share, rng) for _ in range(2))
                result = dkmd_2samp(x, y)
                plain += result.pvalue < ALPHA
                count = common_count([(x, None), (y, None)])
                if count is not None:
                    blocks = [blocks_of(side, None, count) for side in (x, y)]
                    groups = [np.arange(size) if b is None else b for b in blocks]
                    result = dkmd_2samp(x, y, groups=groups)
                blocked += result.pvalue < ALPHA
            cells = [
                shown(n / times, math.sqrt(max(n, 1) / times * (1.0 - n / times) / times))
                for n in (plain, blocked)
            ]
            rows.append([f"{size:,}", f"{share:g}", *cells])
    return table(["values per side", "correlation of neighbours", "single values", "blocks"], rows)


def _neighbours(size: int, share: float, rng: np.random.Generator) -> Array:
    """Values about 100 whose neighbours are correlated (an autoregression of order 1)."""
    from scipy.signal import lfilter

    noise = rng.normal(size=size + 200)
    return np.asarray(100.0 + lfilter([1.0], [1.0, -share], noise)[200:])


def sections(times: int, failures: Failures) -> Iterator[str]:
    """The tables with their words."""
    yield (
        "### False alarms\n\nHow often (%) a gate at margin 0 fails although nothing changed, with "
        f"its standard error. alpha is 5%. {2 * times:,} gates of 10 benchmarks:\n"
    )
    yield false_alarms(10, 2 * times, failures)
    yield f"\n{times:,} gates of 100 benchmarks:\n"
    yield false_alarms(100, times, failures, FEWER)
    yield (
        f"\nThe whole gate, from single values to the outcome: {max(100, times // 2):,} gates of "
        "20 benchmarks, between runs 0.4% to 1.9%, within a run 0.5% to 3%:\n"
    )
    yield whole_gate(max(100, times // 2), failures)
    yield (
        "\n### Odd histories\n\nThe same rates (%), 50 benchmarks, between runs 0.4% to 1.9%, "
        f"within a run 0.5% to 3%, {times:,} gates:\n"
    )
    yield oddities(50, times)
    yield (
        "\n### Power\n\nHow often (%) one slower benchmark among 50 is found at margin 0; within a "
        f"run 1%, {times // 2:,} gates, standard error at most {71.0 / math.sqrt(times):.0f}:\n"
    )
    yield power(50, times // 2)
    yield (
        f"\n### One value per run\n\nShares (%) of {times:,} gates at a margin of 10%, and of "
        "benchmarks in the column *10% slower passes*; between runs 0.4% to 2%, within a run 1%:\n"
    )
    yield one_value(times)
    yield (
        "\n### Correlated measurements within a run\n\nHow often (%) two samples of the same "
        f"autoregression differ at 5%, {times:,} pairs. Values of both sides are in blocks "
        "if neighbours are alike on one of them:\n"
    )
    yield correlated(times)


def main() -> int:
    """Print the tables, or write them into a document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=400, help="gates of 100 benchmarks")
    parser.add_argument("--write", type=Path, help="a document with the marks of the tables")
    given = parser.parse_args()
    started = time.monotonic()
    failures = Failures()
    text = "\n".join(sections(given.times, failures))
    if given.write is None:
        print(text)
    else:
        document = given.write.read_text()
        before, after = document.split(BEGIN)[0], document.split(END)[1]
        given.write.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
    for failure in failures.seen:
        print(f"too many false alarms: {failure}", file=sys.stderr)
    return int(bool(failures.seen))


if __name__ == "__main__":
    sys.exit(main())
