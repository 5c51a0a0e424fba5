"""The calibration study: ``make study``. Writes docs/study.md and its figures.

The limits are written down here, before a run. A cell whose 99% interval lies outside its limit is
marked and run again with a new seed and four times the trials. The page shows both runs. Every cell
gets a seed from its name, so it can be run again by itself.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

os.environ.setdefault("DKMD_NUM_THREADS", "1")  # processes share the cores

import numpy as np
import numpy.typing as npt
from distributions import FAMILIES, Array, Draw, Family
from scipy import stats

import dkmd
from dkmd import dkmd_2samp, sample_size
from dkmd.inference.test.rows import compare_rows
from dkmd.inference.test.two_sample import row_tails

ROOT = Path(__file__).parent.parent
SEED = 2027
SIZES = [(5, 5), (10, 10), (30, 30), (100, 100), (1000, 1000), (10, 100), (100, 1000), (7, 700)]
LEVELS = (0.05, 0.01, 0.001)
CONTINUOUS = [name for name, family in FAMILIES.items() if family.effect]

WIDER = 20
"""With fewer values in the wider sample, no limit is set if only spreads differ."""

LIMITS = {
    "size at 5 %": 0.065,
    "size at 1 %": 0.016,
    "size at 0.1 %": 0.003,
    "either tail at 5 %": 0.07,
    "size at 5 %, balanced, continuous, n ≥ 30: at least": 0.03,
    "only spreads differ, at 5 %, 20 values or more in the wider sample": 0.07,
    "only spreads differ, at 1 %": 0.019,
    "only spreads differ, at 0.1 %": 0.004,
    "groups, at 5 %": 0.065,
    "coverage of 95 % intervals of a shift: at least": 0.935,
    "coverage where shapes differ: at least": 0.925,
    "coverage where shapes differ, 30:30: at least": 0.91,
    "false discoveries at 0.05": 0.055,
    "equivalence at the margin, over its level": 1.3,
}


def rng_of(*words: object) -> np.random.Generator:
    """A random generator for one cell, seeded with its name."""
    return np.random.default_rng([SEED, zlib.crc32(repr(words).encode())])


@dataclass(frozen=True)
class Share:
    """A share of trials, and its limits."""

    value: float
    trials: int
    at_most: float = math.inf
    at_least: float = -math.inf

    @property
    def error(self) -> float:
        """One standard error."""
        return math.sqrt(max(self.value * (1.0 - self.value), 1.0 / self.trials) / self.trials)

    @property
    def outside(self) -> bool:
        """Whether the whole 99% interval lies beyond a limit."""
        reach = 2.576 * self.error
        return self.value - reach > self.at_most or self.value + reach < self.at_least

    def __str__(self) -> str:
        return f"{100 * self.value:.1f}"


@dataclass(frozen=True)
class Cell:
    """One simulation: what it simulated, and what it found."""

    part: str
    what: str
    sizes: str
    shares: dict[str, Share]
    again: bool = False  # run once more, with a new seed
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def outside(self) -> list[str]:
        """The shares that lie beyond their limits."""
        return [name for name, share in self.shares.items() if share.outside]


ADDED = {
    "exponential": 2.0,
    "gamma(3)": 4.2,
    "Weibull(0.7)": 1.6,
    "lognormal": 2.4,
    "Pareto(2)": 0.5,
}
"""Amounts added to positive data, in units of √(1/n + 1/m), that give a power near 70%."""

Task = tuple[str, str, int, int, float, int, int]
"""Part, family, n, m, a parameter of the part, trials, and the number of the attempt (0 or 1)."""


def run(task: Task) -> Cell:
    """Simulate one cell."""
    warnings.simplefilter("ignore")
    part, name, n, m, number, trials, attempt = task
    rng = rng_of(part, name, n, m, number, attempt)
    shares, extra = PARTS[part](rng, name, n, m, number, trials)
    return Cell(part, name, f"{n}:{m}", shares, attempt > 0, extra)


Found = tuple[dict[str, Share], dict[str, str]]


def _tails(x: Array, y: Array, delta: float = 0.0) -> tuple[Array, Array]:
    """Both one-sided p-values of every row."""
    tails = row_tails(x, y, delta=delta)
    return tails.upper, tails.lower


def _pvalues(x: Array, y: Array, delta: float = 0.0) -> Array:
    """The two-sided p-value of every row."""
    return np.asarray(row_tails(x, y, delta=delta).pvalue("two-sided"))


def _batches(trials: int, values: int) -> Iterator[int]:
    """Split the trials into batches of at most two million values."""
    most = max(1, 2_000_000 // values)
    while trials > 0:
        yield min(most, trials)
        trials -= most


def _draws(
    rng: np.random.Generator, family: Family, n: int, m: int, trials: int
) -> Iterator[tuple[Array, Array]]:
    for part in _batches(trials, n + m):
        yield family.draw(rng, (part, n)), family.draw(rng, (part, m))


def size(rng: np.random.Generator, name: str, n: int, m: int, _: float, trials: int) -> Found:
    """Nothing differs: the shares of p below three levels, and of either tail below 5%."""
    family = FAMILIES[name]
    tails = [_tails(x, y) for x, y in _draws(rng, family, n, m, trials)]
    above, below = (np.concatenate(each) for each in zip(*tails, strict=True))
    p = np.minimum(1.0, 2.0 * np.minimum(above, below))
    balanced = n == m >= 30 and not family.discrete
    shares = {
        f"{100 * level:g} %": Share(
            float(np.mean(p < level)), trials, limit, 0.03 if balanced and level == 0.05 else -1.0
        )
        for level, limit in zip(LEVELS, list(LIMITS.values())[:3], strict=True)
    }
    tail = LIMITS["either tail at 5 %"]
    shares["x larger"] = Share(float(np.mean(above < 0.05)), trials, tail)
    shares["y larger"] = Share(float(np.mean(below < 0.05)), trials, tail)
    return shares, {}


def spread(rng: np.random.Generator, name: str, n: int, m: int, ratio: float, trials: int) -> Found:
    """Only the spreads differ and the centre is the same: there is no direction to find."""
    p = np.concatenate(
        [_pvalues(ratio * x, y) for x, y in _draws(rng, FAMILIES[name], n, m, trials)]
    )
    names = [name for name in LIMITS if name.startswith("only spreads differ")]
    return {
        f"× {ratio:g}, {100 * level:g} %": Share(
            float(np.mean(p < level)), trials, LIMITS[limit] if n >= WIDER else math.inf
        )
        for level, limit in zip(LEVELS, names, strict=True)
    }, {}


SHAPE_PAIRS: dict[str, tuple[Draw, Draw]] = {
    "exponential − 1 against its mirror": (
        lambda rng, shape: rng.exponential(size=shape) - 1.0,
        lambda rng, shape: 1.0 - rng.exponential(size=shape),
    ),
    "5 · exponential against exponential": (
        lambda rng, shape: 5.0 * rng.exponential(size=shape),
        lambda rng, shape: rng.exponential(size=shape),
    ),
    "normal with 30 % at + 6 against normal": (
        lambda rng, shape: rng.normal(size=shape) + 6.0 * (rng.random(shape) < 0.3),
        lambda rng, shape: rng.normal(size=shape),
    ),
    "lognormal against gamma(2)": (
        lambda rng, shape: rng.lognormal(size=shape),
        lambda rng, shape: rng.gamma(2.0, size=shape),
    ),
}


def shapes(rng: np.random.Generator, name: str, n: int, m: int, _: float, trials: int) -> Found:
    """Shapes differ: how often the 95% interval contains the shift of very large samples."""
    one, two = SHAPE_PAIRS[name]
    large = (dkmd_2samp(one(rng, (1_000_000,)), two(rng, (1_000_000,))).shift for _ in range(4))
    limit = float(np.mean([*large]))
    covered = []
    for part in _batches(trials, n + m):
        covered.append(_pvalues(one(rng, (part, n)), two(rng, (part, m)), delta=limit) >= 0.05)
    least = LIMITS["coverage where shapes differ: at least"]
    if (n, m) == (30, 30):
        least = LIMITS["coverage where shapes differ, 30:30: at least"]
    share = Share(float(np.mean(np.concatenate(covered))), trials, at_least=least)
    return {"covered": share}, {"shift": f"{limit:+.3f}"}


def coverage(
    rng: np.random.Generator, name: str, n: int, m: int, shift: float, trials: int
) -> Found:
    """The 95% interval contains the true shift: (x − shift, y) is not rejected."""
    covered = [
        _pvalues(x + shift, y, delta=shift) >= 0.05
        for x, y in _draws(rng, FAMILIES[name], n, m, trials)
    ]
    least = LIMITS["coverage of 95 % intervals of a shift: at least"]
    return {"covered": Share(float(np.mean(np.concatenate(covered))), trials, at_least=least)}, {}


def equivalence(
    rng: np.random.Generator, name: str, n: int, m: int, margin: float, trials: int
) -> Found:
    """The shift is exactly the margin: how often it is called smaller, at 5% and at 2.5%."""
    p = np.concatenate([
        _tails(x + margin, y, margin)[1]
        for x, y in _draws(rng, FAMILIES[name], n, m, trials)
    ])  # fmt: skip
    factor = LIMITS["equivalence at the margin, over its level"]
    return {
        f"{100 * level:g} %": Share(float(np.mean(p < level)), trials, factor * level)
        for level in (0.05, 0.025)
    }, {}


def power(rng: np.random.Generator, name: str, n: int, m: int, added: float, trials: int) -> Found:
    """Power at 5%, and that of peers on the same data.

    Positive data are multiplied by a factor, or with ``added`` an amount is added to them.
    """
    family = FAMILIES[name]
    amount = (added or family.effect) * math.sqrt(1.0 / n + 1.0 / m)
    found: dict[str, list[npt.NDArray[np.bool_]]] = {}
    for part in _batches(trials, n + m):
        x, y = family.draw(rng, (part, n)) + amount, family.draw(rng, (part, m))
        if family.positive and not added:
            x = family.changed(rng, (part, n), amount)
        p = {"dkmd": _pvalues(x, y)}
        if family.positive:
            p["dkmd on logs"] = _pvalues(np.log(x), np.log(y))
        finite = np.where(np.isinf(x), np.nan, x), np.where(np.isinf(y), np.nan, y)
        p["Welch"] = stats.ttest_ind(*finite, axis=1, equal_var=False, nan_policy="omit").pvalue
        p["Mann-Whitney"] = stats.mannwhitneyu(x, y, axis=1, method="asymptotic").pvalue
        p["Brunner-Munzel"] = stats.brunnermunzel(x, y, axis=1).pvalue
        for method, values in p.items():
            found.setdefault(method, []).append(np.asarray(values) < 0.05)
    joined = {method: np.concatenate(parts) for method, parts in found.items()}
    shares = {m: Share(float(np.mean(r)), trials) for m, r in joined.items()}
    extra = {"change": "factor" if family.positive and not added else "shift"}
    for method in ("Welch", "Mann-Whitney", "Brunner-Munzel"):
        apart = joined["dkmd"].astype(float) - joined[method]
        error = apart.std(ddof=1) / math.sqrt(trials)
        extra[method] = f"{100 * apart.mean():+.1f} ± {100 * error:.1f}"
    return shares, extra


SHAPES: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "equal": lambda rng, groups, side: np.full(groups, 5),
    "lognormal": lambda rng, groups, side: np.maximum(1, np.round(rng.lognormal(1.5, 1.0, groups))),
    "one giant": lambda rng, groups, side: np.r_[5 * (groups - 1), np.full(groups - 1, 5)],
    "2 against 30": lambda rng, groups, side: np.full(groups, (2, 30)[side]),
    "30 against 2": lambda rng, groups, side: np.full(groups, (30, 2)[side]),
    "5 against 20": lambda rng, groups, side: np.full(groups, (5, 20)[side]),
    "20 against 5": lambda rng, groups, side: np.full(groups, (20, 5)[side]),
    "1 against 100": lambda rng, groups, side: np.full(groups, (1, 100)[side]),
    "200 against 3": lambda rng, groups, side: np.full(groups, (200, 3)[side]),
    "3 to 480 against 3": lambda rng, groups, side: (
        np.full(groups, 3) if side else np.round(np.geomspace(3, 480, groups))
    ),
}
"""The sizes of the groups of a side (0 is x)."""


def groups(rng: np.random.Generator, name: str, n: int, m: int, shift: float, trials: int) -> Found:
    """n against m groups with an intraclass correlation of 0.5: size, or power beside Welch's.

    Welch's test compares the means of the groups.
    """
    rejected, by_means = 0, 0
    for _trial in range(trials):
        sides, labels = [], []
        for side, count in enumerate((n, m)):
            sizes = SHAPES[name](rng, count, side).astype(np.int64)
            label = np.repeat(np.arange(count), sizes)
            noise = rng.normal(size=count)[label] + rng.normal(size=label.size)
            sides.append(math.sqrt(0.5) * noise + (0.0 if side else shift))
            labels.append(label)
        rejected += dkmd_2samp(*sides, groups=(labels[0], labels[1])).pvalue < 0.05
        means = (np.bincount(g, v) / np.bincount(g) for v, g in zip(sides, labels, strict=True))
        by_means += stats.ttest_ind(*means, equal_var=False).pvalue < 0.05
    limit = LIMITS["groups, at 5 %"] if not shift else math.inf
    what = "power" if shift else "size"
    found = {
        what: Share(rejected / trials, trials, limit),
        "Welch": Share(by_means / trials, trials),
    }
    return found, {}


def drift(rng: np.random.Generator, name: str, n: int, m: int, margin: float, trials: int) -> Found:
    """100 columns, Benjamini–Hochberg at 0.05: the mean share of false discoveries.

    Without a margin nothing differs. With a margin, 98 columns moved by exactly the margin and 2 by
    more.
    """
    false = []
    for _trial in range(trials):
        x, y = FAMILIES[name].draw(rng, (100, n)), FAMILIES[name].draw(rng, (100, m))
        if margin:
            x = x + np.where(np.arange(100) < 98, margin, 3.0 * margin)[:, None]
            beyond = _tails(x, y, margin)[0], _tails(x, y, -margin)[1]
            p = np.minimum(1.0, 2.0 * np.minimum(*beyond))
        else:
            p = _pvalues(x, y)
        found = stats.false_discovery_control(p) < 0.05
        false.append(
            found[:98].sum() / found.sum() if margin and found.any() else float(found.any())
        )
    return {"false": Share(float(np.mean(false)), trials, LIMITS["false discoveries at 0.05"])}, {}


def gate(rng: np.random.Generator, name: str, n: int, m: int, margin: float, trials: int) -> Found:
    """The times are exactly ``margin`` worse: alarms at 5% and passes at 5%, on logarithms."""
    delta = math.log1p(margin)
    worse, fine = [], []
    for x, y in _draws(rng, FAMILIES[name], n, m, trials):
        logs = np.log(x * (1.0 + margin)), np.log(y)
        upper, lower = _tails(*logs, delta)
        worse.append(upper < 0.05)
        fine.append(lower < 0.05)
    return {
        "alarms": Share(float(np.mean(np.concatenate(worse))), trials, 0.065),
        "passes": Share(float(np.mean(np.concatenate(fine))), trials, 0.065),
    }, {}


def plan(
    rng: np.random.Generator, name: str, ratio: int, _m: int, shift: float, trials: int
) -> Found:
    """Sizes planned for a power of 80% from a pilot of 4,000 values: the power they really have."""
    family = FAMILIES[name]
    n = sample_size(family.draw(rng, (4000,)), shift, ratio=float(ratio))
    m = n * ratio
    rejected = []
    for part in _batches(trials, n + m):
        x, y = family.draw(rng, (part, n)) + shift, family.draw(rng, (part, m))
        rejected.append(_pvalues(x, y) < 0.05)
    share = float(np.mean(np.concatenate(rejected)))
    return {"power": Share(share, trials)}, {"n": f"{n:,} and {m:,}", "shift": f"{shift:g}"}


def monotone(rng: np.random.Generator, name: str, n: int, m: int, _: float, trials: int) -> Found:
    """p(x + δ) for growing δ: by what factor p rises again, once below 0.05 and above 1e-4.

    In every second data set x moves down instead.
    """
    family = FAMILIES[name]
    steps = np.linspace(0.0, 6.0, 121)
    factors = []
    for trial in range(trials):
        x, y = family.draw(rng, (n,)), family.draw(rng, (m,))
        unit = 1.4826 * float(np.median(np.abs(y - np.median(y))))
        unit *= (-1.0) ** trial
        rows = compare_rows(x + unit * steps[:, None], np.broadcast_to(y, (steps.size, m)))
        numbers = rows.numbers("two-sided")
        p = numbers["pvalue"]
        below = np.flatnonzero((p < 0.05) & (unit * numbers["statistic"] > 0.0))
        if below.size:
            log_p = np.log(p[below[0] :])
            rise = log_p - np.minimum.accumulate(log_p)
            factors.append(math.exp(rise[log_p > math.log(1e-4)].max(initial=0.0)))
    found = np.array(factors)
    extra = {"largest": f"{found.max():.2f}", "99 %": f"{np.quantile(found, 0.99):.2f}"}
    return {"rises by more than 5 %": Share(float(np.mean(found > 1.05)), trials)}, extra


PARTS: dict[str, Callable[..., Found]] = {
    "size": size, "spread": spread, "coverage": coverage, "shapes": shapes,
    "equivalence": equivalence, "power": power, "groups": groups, "group power": groups,
    "drift": drift, "gate": gate, "plan": plan, "monotone": monotone,
}  # fmt: skip


def _group_tasks(trials: int) -> list[Task]:
    """Repeated measurements: size and power."""
    todo: list[Task] = []
    for shape in SHAPES:
        for n, m in ((8, 8), (20, 20), (8, 40), (4, 40)):
            todo.append(("groups", shape, n, m, 0.0, trials // 5, 0))
    for shape, n, m in (
        ("equal", 15, 15), ("2 against 30", 20, 20), ("30 against 2", 20, 20),
        ("5 against 20", 10, 10), ("20 against 5", 10, 10), ("200 against 3", 4, 40),
        ("3 to 480 against 3", 20, 40),
    ):  # fmt: skip
        todo.append(("group power", shape, n, m, 1.0, trials // 5, 0))
    return todo


def tasks(trials: int) -> list[Task]:
    """Every cell of the study, the long ones first."""
    todo: list[Task] = [("size", f, n, m, 0.0, trials, 0) for f in FAMILIES for n, m in SIZES]
    symmetric = [f for f, family in FAMILIES.items() if family.symmetric]
    for f in symmetric:
        for n, m in ((10, 10), (30, 30), (100, 100), (20, 200), (100, 10), (5, 50)):
            todo += [("spread", f, n, m, ratio, trials, 0) for ratio in (2.0, 4.0, 10.0)]
    for f in CONTINUOUS:
        for n, m in ((10, 10), (30, 30), (100, 100), (300, 300), (10, 100), (100, 10)):
            todo.append(("power", f, n, m, 0.0, trials // 2, 0))
            if f in ADDED:
                todo.append(("power", f, n, m, ADDED[f], trials // 2, 0))
        for n, m in ((10, 10), (30, 30), (100, 100), (10, 100), (5, 500)):
            todo.append(("coverage", f, n, m, 1.0, trials, 0))
        for n, m in ((30, 30), (10, 100)):
            todo.append(("equivalence", f, n, m, 0.5, trials, 0))
            todo.append(("monotone", f, n, m, 0.0, trials // 25, 0))
    for pair in SHAPE_PAIRS:
        todo += [
            ("shapes", pair, n, m, 0.0, trials, 0) for n, m in ((30, 30), (200, 200), (50, 500))
        ]
    todo += _group_tasks(trials)
    for f in ("normal", "exponential", "lognormal", "Poisson(3)"):
        todo += [("drift", f, n, m, 0.0, trials // 2, 0) for n, m in ((10, 100), (100, 100))]
    todo += [("drift", f, 100, 100, 0.5, trials // 10, 0) for f in ("normal", "exponential")]
    for f in ("gamma(3)", "lognormal", "exponential"):
        todo += [
            ("gate", f, n, m, 0.03, trials, 0) for n, m in ((5, 5), (10, 10), (20, 60), (5, 20))
        ]
    for f, shift in (("normal", 0.5), ("Laplace", 0.6), ("lognormal", 0.5), ("exponential", 0.3),
                     ("Cauchy", 1.0), ("Poisson(3)", 1.0)):  # fmt: skip
        todo += [("plan", f, ratio, 0, shift, trials // 2, 0) for ratio in (1, 10)]
    return sorted(todo, key=lambda t: -t[5] * (t[2] + t[3]))


def arguments_of() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--only", help="run one part of the study; the page is not written")
    parser.add_argument("--families", nargs="+", help="run only these families, with --only")
    parser.add_argument(
        "--sizes", nargs="+", help="run only these sizes, such as 10:100, with --only"
    )
    parser.add_argument(
        "--keep", action="store_true",
        help="with --only: replace these cells of study.json and write the page",
    )  # fmt: skip
    parser.add_argument(
        "--share",
        help="such as 1/2: run every second cell, and write only a file that study_page.py joins",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "study.md")
    arguments = parser.parse_args()
    if (arguments.families or arguments.sizes) and arguments.only is None:
        parser.error("--families and --sizes need --only: the page shows all of them")
    return arguments


def chosen(arguments: argparse.Namespace) -> list[Task]:
    """The cells that the options ask for."""
    todo = [t for t in tasks(arguments.trials) if arguments.only in (None, t[0])]
    if arguments.families:
        todo = [t for t in todo if t[1] in arguments.families]
    if arguments.sizes:
        todo = [t for t in todo if f"{t[2]}:{t[3]}" in arguments.sizes]
    if arguments.share:
        first, of = map(int, arguments.share.split("/"))
        todo = todo[first - 1 :: of]
    return todo


def main() -> int:
    """Run all cells, run those outside their limits again, write the page."""
    arguments = arguments_of()
    cells = _run_all(chosen(arguments), arguments.workers)
    outside = [task for task, cell in cells.items() if cell.outside]
    print(f"\n{len(outside)} cells outside their limits: run again, new seed, 4 × the trials")
    again = _run_all([(*task[:5], 4 * task[5], 1) for task in outside], arguments.workers)
    minutes = _processor_minutes()
    both = [*cells.values(), *again.values()]
    for cell in again.values():
        mark = "STILL OUTSIDE" if cell.outside else "inside"
        shown = ", ".join(f"{k} {v} ± {100 * v.error:.1f}" for k, v in cell.shares.items())
        print(f"{mark}: {cell.part}, {cell.what}, {cell.sizes}: {shown} {cell.extra}")
    if arguments.share:
        path = KEPT.with_suffix(f".{arguments.share.replace('/', '-of-')}.json")
        keep(both, arguments.trials, minutes, path)
    elif arguments.only is None:
        from study_page import write

        keep(both, arguments.trials, minutes)
        write(both, arguments.out, arguments.trials, minutes)
    elif arguments.keep:
        from study_page import load, write

        # every cell has a seed of its own, so the page is what a whole run would give
        kept, trials, minutes = load()
        new = {(c.part, c.what, c.sizes) for c in both}
        both = [c for c in kept if (c.part, c.what, c.sizes) not in new] + both
        keep(both, trials, minutes)
        write(both, arguments.out, trials, minutes)
    else:
        for cell in both:
            shares = {k: str(v) for k, v in cell.shares.items()}
            print(cell.part, cell.what, cell.sizes, shares, cell.extra)
    return 1 if any(cell.outside for cell in again.values()) else 0


KEPT = Path(__file__).with_name("study.json")


def keep(cells: list[Cell], trials: int, minutes: float, path: Path = KEPT) -> None:
    """Save every share of the run, so that the page can be written again without a run.

    ``minutes`` are those of processor time.
    """
    document = {
        "version": dkmd.__version__, "seed": SEED, "trials": trials, "minutes": minutes,
        "limits": LIMITS, "cells": [asdict(cell) for cell in cells],
    }  # fmt: skip
    path.write_text(json.dumps(document, ensure_ascii=False) + "\n")


def _processor_minutes() -> float:
    """The processor time of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used) / 60.0


def _run_all(todo: list[Task], workers: int) -> dict[Task, Cell]:
    """Run every task in several processes, and count on standard error."""
    cells = {}
    with ProcessPoolExecutor(workers) as pool:
        for i, (task, cell) in enumerate(zip(todo, pool.map(run, todo), strict=True)):
            cells[task] = cell
            if sys.stderr.isatty() or i % 100 == 0:
                print(f"\r{i + 1} of {len(todo)} cells", end="", file=sys.stderr, flush=True)
    return cells


if __name__ == "__main__":
    print(f"dkmd {dkmd.__version__}, limits: {LIMITS}")
    sys.exit(main())
