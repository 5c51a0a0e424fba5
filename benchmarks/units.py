"""Size and power of paired units, the paired t of unit means and Wilcoxon's: docs/inference.md.

Run ``python benchmarks/units.py``: 4,000 trials per cell of size and 1,000 of power. It takes a few
minutes. ``--trials 20`` is a quick try.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from dkmd.base.arrays import Array
from dkmd.inference.design.outcome import compare_designed
from dkmd.inference.test.options import DesignArguments, check_options

TRIALS, POWER_TRIALS = 4_000, 1_000

Draw = Callable[[np.random.Generator, Array], Array]

NOISE: dict[str, Draw] = {
    "normal": lambda rng, level: level + rng.normal(size=level.size),
    "t2": lambda rng, level: level + rng.standard_t(2, level.size),
    "exponential": lambda rng, level: level + rng.exponential(size=level.size),
    "counts": lambda rng, level: rng.poisson(np.exp(level - 0.5)).astype(float),
}
"""Values of units at some level."""

OPTIONS = {
    weigh: check_options(None, None, "exact", "two-sided", None, "propagate", weigh)
    for weigh in ("units", "values", None)
}
"""How units are weighed. None: equal labels are different units."""


class Sample(NamedTuple):
    """Values and the units that they belong to."""

    values: Array
    units: npt.NDArray[np.int64]

    def means(self) -> Array:
        """The mean of every unit."""
        return np.bincount(self.units, self.values) / np.bincount(self.units)


class Design(NamedTuple):
    """Units in x, in y and on both sides, and how many values each has."""

    name: str
    in_x: int
    in_y: int
    shared: int
    sizes: Callable[[np.random.Generator, int], npt.NDArray[np.int64]]
    weigh: tuple[str, ...] = ("units",)

    def draw(self, rng: np.random.Generator, noise: Draw, spread: float) -> tuple[Sample, Sample]:
        """Two samples of units that did not change."""
        level = spread * rng.normal(size=self.in_x + self.in_y - self.shared)
        x = np.repeat(np.arange(self.in_x), self.sizes(rng, self.in_x))
        first = self.in_x - self.shared
        y = np.repeat(np.arange(first, level.size), self.sizes(rng, self.in_y))
        return Sample(noise(rng, level[x]), x), Sample(noise(rng, level[y]), y)


def _five(_rng: np.random.Generator, units: int) -> npt.NDArray[np.int64]:
    return np.full(units, 5)


def _unequal(rng: np.random.Generator, units: int) -> npt.NDArray[np.int64]:
    return np.maximum(1, rng.lognormal(1.2, 1.0, units).astype(np.int64))


DESIGNS = (
    Design("8, all shared, 5 values each", 8, 8, 8, _five),
    Design("8, all shared, 1 to 30 values", 8, 8, 8, _unequal, ("units", "values")),
    Design("30, all shared, 1 to 30 values", 30, 30, 30, _unequal),
    Design("12 and 12, 6 shared, 5 values each", 12, 12, 6, _five, ("values",)),
    Design("5 and 40, 3 shared, 1 to 30 values", 5, 40, 3, _unequal, ("values",)),
)

SPREADS = {"0": 0.0, "0.5": 1.0, "0.9": 3.0}
"""Standard deviations of levels, by the intra-class correlation of normal values."""


def pvalue(x: Sample, y: Sample, weigh: str | None) -> float:
    """The p-value of the test of units; 1 if there is none."""
    design = DesignArguments(groups=(x.units, y.units))
    found = compare_designed(x.values, y.values, design, OPTIONS[weigh]).pvalue
    return 1.0 if np.isnan(found) else found


def sizes(trials: int) -> Iterator[str]:
    """How often units that did not change are found to have changed, at 5% and 1%."""
    yield "| units | weigh | noise | rejected at 5%, 1%: correlation 0 | 0.5 | 0.9 |"
    yield "|---|---|---|---|---|---|"
    for design in DESIGNS:
        for weigh in design.weigh:
            for name, noise in NOISE.items():
                cells = []
                for spread in SPREADS.values():
                    rng = np.random.default_rng([int(spread), design.in_y, *name.encode()])
                    pairs = (design.draw(rng, noise, spread) for _ in range(trials))
                    found = np.array([pvalue(x, y, weigh) for x, y in pairs])
                    cells.append(f"{100 * np.mean(found < 0.05):.1f}%, "
                                 f"{100 * np.mean(found < 0.01):.1f}%")  # fmt: skip
                yield f"| {design.name} | {weigh} | {name} | {' | '.join(cells)} |"


def moving_traffic(trials: int) -> Iterator[str]:
    """Slow hosts get more requests in x, fast ones in y. No host changed."""
    rng = np.random.default_rng(2)
    busy = np.linspace(2, 12, 20).astype(int)
    found: dict[str, list[float]] = {"units": [], "values": [], "unpaired, by groups": []}
    for _ in range(trials):
        level = 3.0 * np.sort(rng.normal(size=20))
        x, y = (
            Sample(level[g] + rng.normal(size=g.size), g)
            for g in (np.repeat(np.arange(20), busy), np.repeat(np.arange(20), busy[::-1]))
        )
        for weigh in ("units", "values"):
            found[weigh].append(pvalue(x, y, weigh))
        found["unpaired, by groups"].append(pvalue(x, y, None))
    shares = (f"{name} {100 * np.mean(np.array(p) < 0.05):.1f}%" for name, p in found.items())
    told = "Traffic moves between 20 hosts of which none changed. Rejected at 5%: "
    yield told + "; ".join(shares)


def powers(trials: int) -> Iterator[str]:
    """30 hosts with 10 values on each side, as spread as the noise, and a shift of 0.25."""
    yield "| noise | paired units | equal labels as different units | paired t | Wilcoxon |"
    yield "|---|---|---|---|---|"
    design = Design("", 30, 30, 30, lambda _rng, units: np.full(units, 10))
    for name in ("normal", "t2", "exponential"):
        rng = np.random.default_rng([30, *name.encode()])
        found = np.empty((trials, 4))
        for row in found:
            x, y = design.draw(rng, NOISE[name], 1.0)
            x = Sample(x.values + 0.25, x.units)
            of_x, of_y = x.means(), y.means()
            row[:] = (
                pvalue(x, y, "units"),
                pvalue(x, y, None),
                stats.ttest_rel(of_x, of_y).pvalue,
                stats.wilcoxon(of_x, of_y).pvalue,
            )
        yield f"| {name} | {' | '.join(f'{100 * p:.0f}%' for p in (found < 0.05).mean(axis=0))} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS, help="per cell of size")
    trials = parser.parse_args().trials
    for part in (sizes, moving_traffic, powers):
        for line in part(trials if part is sizes else min(trials, POWER_TRIALS)):
            print(line, flush=True)
        print(flush=True)


if __name__ == "__main__":
    main()
