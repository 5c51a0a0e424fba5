"""How wide ψ should be: error and coverage of the shift, and power, for three widths k·s.

The shift of two samples estimates a limit, the shift of the two distributions. Where shapes differ
that limit depends on the width, so each width has its own. The tests are those of dkmd. Usage::

    python benchmarks/studies/shift_coverage.py > tables.md

Seeds follow from the names of the cells, so all widths see the same data.
"""

from __future__ import annotations

import argparse
import math
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from dkmd.inference.test.rows import RowTests, compare_rows
from dkmd.inference.test.sides import side_of_sorted
from dkmd.inference.test.two_sample import dkmd_2samp
from dkmd.inference.test.width import MULTIPLE, scale_of_two

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
Test = Callable[[Array, Array], Array]

WIDTHS = (0.1, 0.15, 0.2)
"""k: the width of ψ over the robust scale s."""

SIZES = ((30, 30), (200, 200), (50, 500))
LIMIT_FROM, LIMITS = 400_000, 3
"""A limit is the mean of so many shifts of two samples of so many values."""

PER_MAD, PER_IQR = 1.4826, 1.349


class Shapes(NamedTuple):
    """The distributions of x and of y."""

    x: Draw
    y: Draw


SHAPES = {
    "exp − 1, its mirror": Shapes(
        lambda r, s: r.exponential(size=s) - 1.0, lambda r, s: 1.0 - r.exponential(size=s)
    ),
    "5 exp, exp": Shapes(
        lambda r, s: 5.0 * r.exponential(size=s), lambda r, s: r.exponential(size=s)
    ),
    "30% at + 6, normal": Shapes(
        lambda r, s: r.normal(size=s) + 6.0 * (r.random(s) < 0.3), lambda r, s: r.normal(size=s)
    ),
    "lognormal, gamma(2)": Shapes(
        lambda r, s: r.lognormal(size=s), lambda r, s: r.gamma(2.0, size=s)
    ),
    "lognormal + 1, lognormal": Shapes(
        lambda r, s: r.lognormal(size=s) + 1.0, lambda r, s: r.lognormal(size=s)
    ),
    "rounded normal + 1, rounded normal": Shapes(
        lambda r, s: np.round(r.normal(size=s)) + 1.0, lambda r, s: np.round(r.normal(size=s))
    ),
}

POWER: dict[str, tuple[Draw, float]] = {
    "normal + 0.5": (lambda r, s: r.normal(size=s), 0.5),
    "t3 + 0.55": (lambda r, s: r.standard_t(3, s), 0.55),
    "Laplace + 0.55": (lambda r, s: r.laplace(size=s), 0.55),
    "Cauchy + 0.8": (lambda r, s: r.standard_cauchy(s), 0.8),
    "lognormal + 0.5": (lambda r, s: r.lognormal(size=s), 0.5),
    "exponential + 0.4": (lambda r, s: r.exponential(size=s), 0.4),
    "uniform + 0.16": (lambda r, s: r.random(size=s), 0.16),
    "gamma(2) + 0.6": (lambda r, s: r.gamma(2.0, size=s), 0.6),
    "40% at + 6, + 1.2": (lambda r, s: r.normal(size=s) + 6.0 * (r.random(s) < 0.4), 1.2),
}
"""Families, and the shift at 50:50. At 20:200 it is 1.2 times as large."""

RULES = ((0.1, True), (0.15, True), (0.2, True), (0.1, False), (0.2, False))
"""k, and whether s is at least the mean interquartile range over 1.349."""


def generator(words: str) -> np.random.Generator:
    """Random numbers for a cell."""
    return np.random.default_rng([2026, zlib.crc32(words.encode())])


def robust_scales(x: Array, y: Array, floor: bool) -> Array:
    """s of each row of two arrays, with and without its floor by interquartile ranges.

    Each sample weighs one half. Distances of 0 are skipped if they have half of the weight.
    """
    away = [np.abs(v - np.median(v, axis=1, keepdims=True)) for v in (x, y)]
    weights = np.repeat([1.0 / x.shape[1], 1.0 / y.shape[1]], [x.shape[1], y.shape[1]])
    distances = np.concatenate(away, axis=1)
    order = np.argsort(distances, axis=1)
    distances, reached = np.take_along_axis(distances, order, 1), np.cumsum(weights[order], axis=1)
    at_zero = (weights[order] * (distances == 0.0)).sum(axis=1)
    skipped = np.where(at_zero >= 1.0 - 1e-9, at_zero, 0.0)
    target = skipped + 0.5 * (2.0 - skipped)
    first = ((reached >= target[:, None] - 1e-9) & (distances > 0.0)).argmax(axis=1)
    scales = PER_MAD * distances[np.arange(len(distances)), first]
    if floor:
        levels = [np.quantile(v, [0.25, 0.75], 1, method="averaged_inverted_cdf") for v in (x, y)]
        ranges = np.mean([high - low for low, high in levels], axis=0)
        scales = np.maximum(scales, ranges / PER_IQR)
    return np.asarray(scales)


def require_dkmds_scale(x: Array, y: Array) -> None:
    """Stop if the scales here are not those of dkmd."""
    found = robust_scales(x, y, floor=True)
    for row, scale in enumerate(found):
        sides = (side_of_sorted(np.sort(v[row]), 0.0) for v in (x, y))
        if not math.isclose(float(scale_of_two(*sides)), scale, rel_tol=1e-9):
            raise AssertionError(f"another scale than that of dkmd in row {row}")


def tested(x: Array, y: Array, widths: Array) -> RowTests:
    """The tests of rows with a width each: in units of its width, every ψ has the width 1."""
    return compare_rows(x / widths[:, None], y / widths[:, None], 1.0)


def limits(name: str) -> dict[float, tuple[float, float]]:
    """The shift of the distributions for each k, and its standard error."""
    rng, shapes = generator(f"limit {name}"), SHAPES[name]
    shifts: dict[float, list[float]] = {k: [] for k in WIDTHS}
    for _ in range(LIMITS):
        x, y = shapes.x(rng, (LIMIT_FROM,)), shapes.y(rng, (LIMIT_FROM,))
        scale = dkmd_2samp(x, y).width / MULTIPLE
        for k in WIDTHS:
            shifts[k].append(dkmd_2samp(x, y, scale=k * scale).shift)
    return {
        k: (float(np.mean(each)), float(np.std(each, ddof=1) / math.sqrt(LIMITS)))
        for k, each in shifts.items()
    }


class Error(NamedTuple):
    """How the shift of small samples differs from its limit."""

    coverage: float  # percent
    bias: float
    root_mean_square: float


def errors(name: str, n: int, m: int, limit: dict[float, float], trials: int) -> dict[float, Error]:
    """Coverage, bias and root mean square error for each k, from the same samples."""
    rng, shapes = generator(f"errors {name} {n}:{m}"), SHAPES[name]
    x, y = shapes.x(rng, (trials, n)), shapes.y(rng, (trials, m))
    require_dkmds_scale(x[:20], y[:20])
    scales = robust_scales(x, y, floor=True)
    found = {}
    for k in WIDTHS:
        widths = k * scales
        tests = tested(x - limit[k], y, widths)
        covered = 100.0 * float(np.mean(tests.tails().pvalue("two-sided") >= 0.05))
        off = tests.shift * widths
        found[k] = Error(covered, float(off.mean()), float(np.sqrt(np.mean(off**2))))
    return found


def powers(name: str, n: int, m: int, trials: int) -> list[tuple[float, float]]:
    """Power and size in percent for each rule and each peer, from the same samples."""
    draw, shift = POWER[name]
    rng = generator(f"power {name} {n}:{m}")
    x, y = draw(rng, (trials, n)), draw(rng, (trials, m))
    moved = x + (shift if n == m else 1.2 * shift)
    tests: list[Test] = [partial(_ours, k=k, floor=floor) for k, floor in RULES]
    tests += PEERS.values()
    return [(_rejected(test(moved, y)), _rejected(test(x, y))) for test in tests]


def _ours(x: Array, y: Array, k: float, floor: bool) -> Array:
    """The p-values of rows with the width k·s."""
    tests = tested(x, y, k * robust_scales(x, y, floor))
    return np.asarray(tests.tails().pvalue("two-sided"))


PEERS: dict[str, Test] = {
    "Mann–Whitney": lambda x, y: np.asarray(stats.mannwhitneyu(x, y, axis=1).pvalue),
    "Welch": lambda x, y: np.asarray(stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue),
}


def _rejected(p: Array) -> float:
    """P-values of at most 5%, in percent."""
    return 100.0 * float(np.mean(p <= 0.05))


UPPER: dict[str, Shapes] = {
    "normal, 10% of x + 6": Shapes(
        lambda r, s: r.normal(size=s) + 6.0 * (r.random(s) < 0.1), lambda r, s: r.normal(size=s)
    ),
    "half zeros, amounts of x doubled": Shapes(
        lambda r, s: 2.0 * r.exponential(size=s) * (r.random(s) < 0.5),
        lambda r, s: r.exponential(size=s) * (r.random(s) < 0.5),
    ),
}
"""Changes of the upper part alone, which a mean sees best."""


def upper_table(trials: int) -> str:
    """Power of the default test and of its peers at 100:100."""
    rows = []
    for name, shapes in UPPER.items():
        rng = generator(f"upper {name}")
        x, y = shapes.x(rng, (trials, 100)), shapes.y(rng, (trials, 100))
        tests: list[Test] = [partial(_ours, k=MULTIPLE, floor=True), *PEERS.values()]
        rows.append([f"{name}, 100:100", *(f"{_rejected(test(x, y)):.1f}" for test in tests)])
    return _table(["power, %", f"{MULTIPLE:g}", *PEERS], rows)


NESTED = (200, 1_000, 5_000, 20_000, 100_000)


def nested_table() -> str:
    """One x of 100,000 values against the first m values of one y: the shift and its interval."""
    rows = []
    for name in ("30% at + 6, normal", "5 exp, exp", "lognormal, gamma(2)"):
        rng, shapes = generator(f"nested {name}"), SHAPES[name]
        x, y = shapes.x(rng, (NESTED[-1],)), shapes.y(rng, (NESTED[-1],))
        cells = []
        for m in NESTED:
            result = dkmd_2samp(x, y[:m])
            low, high = result.shift_interval()
            told = [_told(value, ".2f") for value in (result.shift, low, high)]
            cells.append("{} ({} to {})".format(*told))
        rows.append([name, _told(limits(name)[MULTIPLE][0], ".3f"), *cells])
    return _table(["x, y", "limit", *(f"m = {m:,}" for m in NESTED)], rows)


def _told(value: float, form: str) -> str:
    """A number with a real minus sign."""
    return format(value, form).replace("-", "−")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def error_table(few: int, many: int) -> str:
    """Coverage, bias and error of every cell, the three widths side by side."""
    rows = []
    for name in SHAPES:
        known = limits(name)
        values = {k: value for k, (value, _) in known.items()}
        for n, m in SIZES:
            found = errors(name, n, m, values, many if min(n, m) >= 100 else few)
            told = [
                " / ".join(_told(getattr(found[k], field), form) for k in WIDTHS)
                for field, form in (
                    ("coverage", ".1f"),
                    ("bias", "+.3f"),
                    ("root_mean_square", ".3f"),
                )
            ]
            limit = " / ".join(_told(values[k], "+.3f") for k in WIDTHS)
            rows.append([f"{name}, {n}:{m}", limit, *told])
    names = " / ".join(f"{k:g}" for k in WIDTHS)
    heads = [f"x, y; k = {names}", "limit", "coverage, %", "bias", "root mean square error"]
    return _table(heads, rows)


def power_table(trials: int) -> str:
    """Power and size of every family by rule."""
    rows = []
    for name in POWER:
        for n, m in ((50, 50), (20, 200)):
            found = powers(name, n, m, trials)
            rows.append([f"{name}, {n}:{m}", *(f"{p:.1f} ({size:.1f})" for p, size in found)])
    names = [f"{k:g}" if floor else f"{k:g}, no floor" for k, floor in RULES]
    return _table(["power (size), %; k =", *names, *PEERS], rows)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--few", type=int, default=10_000, help="trials at 30:30 and 50:500")
    parser.add_argument("--many", type=int, default=4_000, help="trials at 200:200")
    parser.add_argument("--power", type=int, default=10_000, help="trials of power and size")
    asked = parser.parse_args()
    start = time.process_time()
    print(error_table(asked.few, asked.many))
    print(power_table(asked.power))
    print(upper_table(asked.power))
    print(nested_table())
    print(f"{time.process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
