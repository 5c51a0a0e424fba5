"""Size, power and real embeddings of ``dkmd_multivariate``. Writes the tables of docs/matrices.md.

    python benchmarks/matrices.py                                 (every part)
    python benchmarks/matrices.py --part power --trials 200       (one part, fewer trials)
    python benchmarks/matrices.py --write docs/matrices.md        (tables from what was run)

A study runs in rounds. Each round adds a share of the trials to every cell, and each result goes to
``benchmarks/matrices_study/PART.jsonl``. A study that was stopped goes on where it stopped, even in
another clone, and its tables can be written at any time. Delete the files of a part after a change
of what it measures.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from scipy.special import fdtrc
from timing import best_seconds, extra_mebibytes

from dkmd.inference.test.two_sample import row_tails
from dkmd.matrices.length import debiased_square
from dkmd.matrices.multivariate import run_multivariate
from dkmd.statistic.witness import Witness

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Array]

KEPT = Path(__file__).parent / "matrices_study"
"""Where results are kept."""

ALPHA = 0.05
RESAMPLES = 999
"""As many as ``dkmd_multivariate`` draws by default. Peers draw as many."""

ROUNDS = 8


def normal(rng: np.random.Generator, n: int, d: int) -> Array:
    """Independent standard normal columns."""
    return rng.normal(size=(n, d))


def t2(rng: np.random.Generator, n: int, d: int) -> Array:
    """Joint t with 2 degrees of freedom: whole rows are far out."""
    return rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(2, size=(n, 1)) / 2.0)


def lognormal(rng: np.random.Generator, n: int, d: int) -> Array:
    """Independent lognormal columns."""
    return np.exp(rng.normal(size=(n, d)))


def autoregressive(rng: np.random.Generator, n: int, d: int, rho: float = 0.5) -> Array:
    """Neighbouring columns have the correlation rho."""
    rows = rng.normal(size=(n, d))
    for j in range(1, d):
        rows[:, j] = rho * rows[:, j - 1] + math.sqrt(1.0 - rho * rho) * rows[:, j]
    return rows


def factor(rng: np.random.Generator, n: int, d: int) -> Array:
    """A common factor: every two columns have the correlation 0.5."""
    rows: Array = (rng.normal(size=(n, 1)) + rng.normal(size=(n, d))) / math.sqrt(2.0)
    return rows


def outliers(rng: np.random.Generator, n: int, d: int) -> Array:
    """Normal rows, of which 5% are 20 times as long."""
    rows: Array = normal(rng, n, d) * np.where(rng.random((n, 1)) < 0.05, 20.0, 1.0)
    return rows


FAMILIES: dict[str, Draw] = {
    "normal": normal, "t2": t2, "lognormal": lognormal, "AR 0.5": autoregressive, "factor": factor,
}  # fmt: skip

OPPOSITE = "1:3, AR 0.9 and −0.9"
"""Neighbours have opposite correlations on the two sides: a hard case."""

SPREADS: dict[str, tuple[Draw, Draw]] = {
    "1:3": (normal, lambda rng, n, d: 3.0 * normal(rng, n, d)),
    "1:3, AR 0.5 on both": (
        autoregressive,
        lambda rng, n, d: 3.0 * autoregressive(rng, n, d),
    ),
    "1:3, one side with a factor": (normal, lambda rng, n, d: 3.0 * factor(rng, n, d)),
    "1:1, one side with a factor": (normal, factor),
    OPPOSITE: (
        lambda rng, n, d: autoregressive(rng, n, d, 0.9),
        lambda rng, n, d: 3.0 * autoregressive(rng, n, d, -0.9),
    ),
}


class Cell(NamedTuple):
    """One line of a table."""

    name: str
    columns: int
    n: int
    m: int


def size_cells() -> Iterator[Cell]:
    """Equal distributions."""
    for d in (2, 10, 100, 1000):
        for name in FAMILIES:
            for n, m in ((30, 30), (30, 150), (100, 100), (100, 500)):
                yield Cell(name, d, n, m)
        for name in ("normal", "t2", "lognormal") if d < 1000 else ("normal",):
            yield Cell(name, d, 1000, 1000)


def spread_cells() -> Iterator[Cell]:
    """Equal centres, other spreads or correlations."""
    for d in (2, 10, 100, 1000):
        for name in SPREADS:
            for n, m in ((30, 30), (100, 100), (30, 150), (150, 30), (50, 250), (250, 50)):
                if name != OPPOSITE or (d == 10 and n + m == 300):
                    yield Cell(name, d, n, m)
        if d < 1000:
            yield Cell("1:3, one side with a factor", d, 1000, 1000)


def size(cell: Cell, draws: tuple[Draw, Draw], trials: int, round_: int) -> dict[str, float]:
    """Shares of p ≤ 5%: of the answer, of relabellings alone, of flips alone; and of covers."""
    rng = np.random.default_rng([cell.columns, cell.n, cell.m, round_])
    found = []
    for _ in range(trials):
        x, y = draws[0](rng, cell.n, cell.columns), draws[1](rng, cell.m, cell.columns)
        seed = int(rng.integers(2**31))
        result = run_multivariate(x, y, n_resamples=RESAMPLES, rng=seed)
        assert result.fit is not None
        flips = result.fit.flips
        # the interval of the length starts at 0 if 2.5% of resamples or more are as long
        longer = np.mean(flips.squared >= result.fit.shift @ result.fit.shift)
        families = bool((result.column_pvalues <= ALPHA).any())
        alone = result.fit.relabelled.pvalues()[2], flips.statistics.pvalues()[2]
        found.append(
            (
                result.pvalue <= ALPHA,
                alone[0] <= ALPHA,
                alone[1] <= ALPHA,
                families,
                longer > 0.5 * ALPHA,
            )
        )
    shares = np.mean(np.array(found, dtype=np.float64), axis=0)
    names = ("size", "relabelled", "flipped", "any column", "0 in interval")
    return dict(zip(names, map(float, shares), strict=True))


def rare(rng: np.random.Generator, n: int, d: int) -> Array:
    """Yes or no: 2% of the values are 1, the others 0."""
    return np.asarray(rng.random((n, d)) < 0.02, dtype=np.float64)


def mostly_zero(rng: np.random.Generator, n: int, d: int) -> Array:
    """90% of the values are 0, the others lognormal."""
    return np.where(rng.random((n, d)) < 0.9, 0.0, lognormal(rng, n, d))


def few_counts(rng: np.random.Generator, n: int, d: int) -> Array:
    """Counts with a mean of 0.5."""
    return rng.poisson(0.5, size=(n, d)).astype(np.float64)


def cauchy(rng: np.random.Generator, n: int, d: int) -> Array:
    """Independent Cauchy columns."""
    return rng.standard_cauchy((n, d))


def mixed(rng: np.random.Generator, n: int, d: int) -> Array:
    """Normal columns, but the first is a rare yes, the second very skewed, the third rounded."""
    rows = normal(rng, n, d)
    rows[:, 0], rows[:, 1], rows[:, 2] = (
        rows[:, 0] > 2.0,
        np.exp(3.0 * rows[:, 1]),
        rows[:, 2].round(),
    )
    return rows


ODD: dict[str, tuple[Draw, Sequence[tuple[int, int, int]]]] = {
    "2% yes": (rare, ((10, 100, 100), (10, 30, 150), (100, 100, 500))),
    "90% zeros": (mostly_zero, ((10, 100, 100), (10, 30, 150))),
    "counts, mean 0.5": (few_counts, ((3, 50, 50), (10, 10, 100))),
    "Cauchy": (cauchy, ((10, 30, 30), (100, 10, 100))),
    "mixed kinds": (mixed, ((5, 20, 200),)),
    "normal": (normal, ((5, 5, 5), (10, 5, 500))),
    "lognormal": (lognormal, ((10, 5, 500), (100, 10, 100))),
    "normal, groups of 5 rows": (normal, ((10, 20, 20), (3, 10, 40))),
    "lognormal, pairs": (lognormal, ((10, 30, 30), (100, 100, 100))),
}
"""Equal distributions that may break a test: the draw, and (columns, n, m)."""


def odd_cells() -> Iterator[Cell]:
    """Atoms, zeros, counts, few rows, groups, pairs."""
    for name, (_, sizes) in ODD.items():
        for sizes_of_cell in sizes:
            yield Cell(name, *sizes_of_cell)


def odd(cell: Cell, trials: int, round_: int) -> dict[str, float]:
    """Shares of p at most 5% and 1%, of any column at most 5%, and of covers of 0."""
    rng = np.random.default_rng([cell.columns, cell.n, cell.m, len(cell.name), round_])
    found = []
    for _ in range(trials):
        x, y = (ODD[cell.name][0](rng, rows, cell.columns) for rows in (cell.n, cell.m))
        groups = None
        if (
            "groups" in cell.name
        ):  # each row becomes the unit of five, with as much noise of its own
            x, y = (
                np.repeat(rows, 5, axis=0) + normal(rng, 5 * len(rows), cell.columns)
                for rows in (x, y)
            )
            groups = np.arange(len(x)) // 5, np.arange(len(y)) // 5
        if "pairs" in cell.name:  # what both rows of a pair share
            shared = 3.0 * lognormal(rng, cell.n, cell.columns)
            x, y = x + shared, y + shared
        result = run_multivariate(
            x, y, groups=groups, paired="pairs" in cell.name, n_resamples=RESAMPLES,
            rng=int(rng.integers(2**31)),
        )  # fmt: skip
        p, columns = result.pvalue, result.column_pvalues
        found.append((p <= 0.05, p <= 0.01, bool((columns <= ALPHA).any()),
                      result.length_interval().low == 0.0))  # fmt: skip
    names = ("5%", "1%", "any column", "0 in interval")
    return dict(
        zip(names, np.mean(np.array(found, dtype=np.float64), axis=0).tolist(), strict=True)
    )


COVERED: dict[str, tuple[Draw, Draw]] = {
    **{name: (FAMILIES[name],) * 2 for name in ("normal", "t2", "lognormal", "factor")},
    "1:3": SPREADS["1:3"],
}


def coverage_cells() -> Iterator[Cell]:
    """A move of every column, about one scale long together."""
    for d in (2, 10, 100):
        for name in COVERED:
            for n, m in ((30, 30), (50, 250), (200, 200)):
                yield Cell(name, d, n, m)


def coverage(cell: Cell, trials: int, round_: int) -> dict[str, float]:
    """Shares of intervals that hold the true length, and all true shifts; and of wrong equivalence.

    The last one is the share of p ≤ 5% against "at least as long as it is". Beside them, the mean
    of the squared length without noise, as a share of the true one.
    """
    rng = np.random.default_rng([cell.columns, cell.n, cell.m, 100 + round_])
    moved, found = 1.0 / math.sqrt(cell.columns), []
    draws = COVERED[cell.name]
    for _ in range(trials):
        x = draws[0](rng, cell.n, cell.columns) + moved
        y = draws[1](rng, cell.m, cell.columns)
        result = run_multivariate(x, y, n_resamples=RESAMPLES, rng=int(rng.integers(2**31)))
        assert result.fit is not None
        length = moved * math.sqrt(float(np.sum(result.scale**-2.0)))
        low, high = result.length_interval()
        below, above = result.shift_interval()
        squared = debiased_square(result.fit.shift, result.fit.sides)
        found.append((low <= length <= high, bool(((below <= moved) & (moved <= above)).all()),
                      result.equivalence(length) <= ALPHA, squared / length**2))  # fmt: skip
    names = ("length", "all columns", "equivalent", "length² / true")
    return dict(
        zip(names, np.mean(np.array(found, dtype=np.float64), axis=0).tolist(), strict=True)
    )


def hotelling(x: Array, y: Array, rng: np.random.Generator) -> float:
    """The p-value of Hotelling's T²; NaN if there are too few rows."""
    n, m, d = len(x), len(y), x.shape[1]
    if n + m - 2 <= d:
        return math.nan
    pooled = ((n - 1) * np.cov(x.T) + (m - 1) * np.cov(y.T)) / (n + m - 2)
    difference = x.mean(axis=0) - y.mean(axis=0)
    squared = n * m / (n + m) * difference @ np.linalg.solve(np.atleast_2d(pooled), difference)
    return float(fdtrc(d, n + m - d - 1, squared * (n + m - d - 1) / (d * (n + m - 2))))


def _permuted(kernel: Array, n: int, rng: np.random.Generator) -> float:
    """The p-value of the sum of a kernel over labels 1/n and −1/m, by relabelling."""
    labels = _labels(n, len(kernel) - n, rng)
    values = np.einsum("ij,ij->i", labels @ kernel, labels)
    return float(np.mean(values >= values[0] * (1.0 - 1e-12)))


def _labels(n: int, m: int, rng: np.random.Generator) -> Array:
    """1/n for rows of x and −1/m for rows of y: as they are, then relabelled at random."""
    labels = np.full((RESAMPLES + 1, n + m), -1.0 / m)
    labels[:, :n] = 1.0 / n
    rng.permuted(labels[1:], axis=1, out=labels[1:])
    return labels


def mmd(x: Array, y: Array, rng: np.random.Generator) -> float:
    """Gaussian MMD with the median heuristic."""
    squared = cdist(np.vstack([x, y]), np.vstack([x, y]), "sqeuclidean")
    width = np.median(squared[np.triu_indices(len(squared), 1)])
    return _permuted(np.exp(-squared / width), len(x), rng)


def energy(x: Array, y: Array, rng: np.random.Generator) -> float:
    """The energy distance."""
    return _permuted(-cdist(np.vstack([x, y]), np.vstack([x, y])), len(x), rng)


def slices(x: Array, y: Array, rng: np.random.Generator) -> float:
    """DKMD on 50 random directions: the largest squared t, by relabelling."""
    directions = rng.normal(size=(x.shape[1], 50))
    pooled = np.vstack([x, y]) @ (directions / np.linalg.norm(directions, axis=0))
    middle = np.median(pooled, axis=0)
    scale = 1.4826 * np.median(np.abs(pooled - middle), axis=0)
    psi = Witness(1.0, 1.0)((pooled - middle) / scale)
    psi = (psi - psi.mean(axis=0)) / psi.std(axis=0)
    values = np.abs(_labels(len(x), len(y), rng) @ psi).max(axis=1)
    return float(np.mean(values >= values[0] * (1.0 - 1e-12)))


def bonferroni(x: Array, y: Array, rng: np.random.Generator) -> float:
    """``dkmd_2samp`` of each column, corrected for their number."""
    tails = row_tails(np.ascontiguousarray(x.T), np.ascontiguousarray(y.T))
    smallest = 2.0 * float(np.minimum(tails.upper, tails.lower).min())
    return float(min(1.0, x.shape[1] * smallest))


def ours(x: Array, y: Array, rng: np.random.Generator) -> float:
    """``dkmd_multivariate``."""
    return float(run_multivariate(x, y, n_resamples=RESAMPLES, rng=int(rng.integers(2**31))).pvalue)


TESTS = {
    "dkmd": ours, "Hotelling": hotelling, "MMD": mmd, "energy": energy, "slices": slices,
    "Bonferroni": bonferroni,
}  # fmt: skip

SHIFTS = {"dense": 0, "sparse": 1}
"""How many columns move; 0 stands for all of them."""

POWER_FAMILIES: dict[str, Draw] = {
    "normal": normal,
    "t2": t2,
    "outliers": outliers,
    "factor": factor,
}


def power_cells() -> Iterator[Cell]:
    """Shifts that the best test finds about half of the time or more often."""
    for d in (2, 10, 100, 500):
        for family in POWER_FAMILIES:
            for kind in SHIFTS:
                yield Cell(f"{family}, {kind}", d, 60, 60)


def shift_of(cell: Cell) -> Array:
    """How far each column moves in a cell of the power study."""
    family, kind = cell.name.split(", ")
    moved = SHIFTS[kind] or cell.columns
    # a length whose chance of being seen changes little with the number of columns
    length = 0.6 * (2.0 if kind == "sparse" and cell.columns > 2 else 1.0)
    length *= cell.columns**0.25 if kind == "dense" else 0.75 + 0.05 * math.log(cell.columns)
    length *= 1.0 if cell.columns == 2 else 0.75
    length *= 1.6 if family == "t2" else 2.2 if family == "factor" and kind == "dense" else 1.0
    shift = np.zeros(cell.columns)
    shift[:moved] = length / math.sqrt(moved)
    return shift


def moved_samples(
    cell: Cell, trials: int, round_: int
) -> Iterator[tuple[Array, Array, np.random.Generator]]:
    """The two samples of each trial, and the generator of its resamples."""
    rng, shift = np.random.default_rng([cell.columns, len(cell.name), round_]), shift_of(cell)
    draw = POWER_FAMILIES[cell.name.split(", ")[0]]
    for _ in range(trials):
        x = draw(rng, cell.n, cell.columns) + shift
        yield x, draw(rng, cell.m, cell.columns), rng


def power(cell: Cell, trials: int, round_: int) -> dict[str, float]:
    """The share of p ≤ 5% of each test."""
    found = []
    for x, y, rng in moved_samples(cell, trials, round_):
        found.append([test(x, y, rng) for test in TESTS.values()])
    return _found(TESTS, found)


def _found(names: Iterable[str], pvalues: Sequence[Sequence[float]]) -> dict[str, float]:
    """The share of p ≤ 5% under each name; NaN for a test that cannot be used."""
    values = np.array(pvalues)
    shares = np.where(np.isnan(values).all(axis=0), np.nan, np.mean(values <= ALPHA, axis=0))
    return dict(zip(names, map(float, shares), strict=True))


def behind_cells() -> Iterator[Cell]:
    """Cells of the power study in which another test is more than 3 points better."""
    for name, columns in (
        ("t2, sparse", 2),
        ("factor, sparse", 2),
        ("normal, dense", 10),
        ("outliers, dense", 10),
        ("factor, sparse", 10),
        ("factor, dense", 100),
        ("normal, sparse", 500),
    ):
        yield Cell(name, columns, 60, 60)


def behind(cell: Cell, trials: int, round_: int) -> dict[str, float]:
    """The share of p ≤ 5% of the answer, and of its two parts alone."""
    found = []
    for x, y, rng in moved_samples(cell, trials, round_):
        seed = int(rng.integers(2**31))
        p = run_multivariate(x, y, n_resamples=RESAMPLES, rng=seed).pvalues
        found.append((p.both, p.total, p.largest))
    return _found(("dkmd", "sum alone", "largest alone"), found)


def digits() -> tuple[Array, npt.NDArray[np.bool_]]:
    """Digits of scikit-learn as 64 pixels, and which of them are fours."""
    from sklearn.datasets import load_digits

    found = load_digits()
    return found.data.astype(np.float64), found.target == 4


def paragraphs() -> tuple[Array, npt.NDArray[np.bool_]]:
    """Paragraphs of Python's own help: TF-IDF and SVD to 50 columns; which are on strings."""
    from pydoc_data.topics import topics

    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    topic_of: dict[str, str] = {}
    for topic, text in topics.items():
        for paragraph in (" ".join(part.split()) for part in text.split("\n\n")):
            if len(paragraph) >= 60:
                topic_of.setdefault(paragraph, topic)
    weights = TfidfVectorizer(sublinear_tf=True, min_df=3).fit_transform(topic_of)
    vectors = TruncatedSVD(50, random_state=0).fit_transform(weights)
    return vectors, np.array([topic == "string-methods" for topic in topic_of.values()])


REAL: dict[str, tuple[Callable[[], tuple[Array, npt.NDArray[np.bool_]]], int]] = {
    "digits, more fours": (cache(digits), 64),
    "paragraphs, more on strings": (cache(paragraphs), 50),
}
"""Vectors and their number of columns."""


def embedding_cells() -> Iterator[Cell]:
    """Real vectors of which a share is replaced."""
    for name, (_, columns) in REAL.items():
        for percent in (0, 10, 20, 30):
            yield Cell(f"{name}: {percent}%", columns, 200, 200)


def embeddings(cell: Cell, trials: int, round_: int) -> dict[str, float]:
    """The share of p ≤ 5% for equal mixtures, or for mixtures with more of one kind."""
    name, percent = cell.name.split(": ")
    replaced = cell.n * int(percent.rstrip("%")) // 100
    vectors, special = REAL[name][0]()
    rng = np.random.default_rng([replaced, round_])
    found = []
    for _ in range(trials):
        order = rng.permutation(len(vectors))
        x, y = vectors[order[: cell.n]].copy(), vectors[order[cell.n : cell.n + cell.m]]
        rest = order[cell.n + cell.m :]
        others = vectors[rest][special[rest]]
        x[:replaced] = others[rng.integers(0, len(others), replaced)]
        found.append([TESTS[test](x, y, rng) for test in ("dkmd", "MMD", "energy")])
    powers = np.mean(np.array(found) <= ALPHA, axis=0)
    return dict(zip(("dkmd", "MMD", "energy"), map(float, powers), strict=True))


CELLS = {
    "size": size_cells,
    "spread": spread_cells,
    "odd": odd_cells,
    "coverage": coverage_cells,
    "power": power_cells,
    "behind": behind_cells,
    "embeddings": embedding_cells,
}


def run_cell(part: str, cell: Cell, trials: int, round_: int) -> dict[str, float]:
    """The shares of a cell in one round."""
    if part == "power":
        return power(cell, trials, round_)
    if part == "behind":
        return behind(cell, trials, round_)
    if part == "embeddings":
        return embeddings(cell, trials, round_)
    if part == "odd":
        return odd(cell, trials, round_)
    if part == "coverage":
        return coverage(cell, trials, round_)
    draws = SPREADS[cell.name] if part == "spread" else (FAMILIES[cell.name],) * 2
    return size(cell, draws, trials, round_)


def study(
    parts: Sequence[str],
    trials: int,
    out: Path,
    seconds: float,
    jobs: int,
    rounds: int,
    least_rows: int,
) -> None:
    """Run the first rounds of cells that are not in the files yet, in several processes.

    A round goes through all parts, so cells have about equal numbers of trials at any time. After
    ``seconds`` no other cell is begun.
    """
    each = math.ceil(trials / ROUNDS)
    done = {(part, *line["cell"], line["round"]) for part in parts for line in _lines(out, part)}
    asked = [
        (part, cell, round_)
        for round_ in range(rounds)
        for part in parts
        for cell in CELLS[part]()
        if (part, *cell, round_) not in done and min(cell.n, cell.m) >= least_rows
    ]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read by processes that start from now on
    started, left = time.monotonic(), iter(asked)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running: dict[Future[dict[str, float]], tuple[str, Cell, int]] = {}
        while True:
            while len(running) < jobs and time.monotonic() - started < seconds:
                task = next(left, None)
                if task is None:
                    break
                part, cell, round_ = task
                running[pool.submit(run_cell, part, cell, each, round_)] = task
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                part, cell, round_ = running.pop(future)
                line = {"cell": cell, "round": round_, "trials": each}
                _append(out, part, {**line, **future.result()})
                print(part, *line.values(), future.result(), flush=True)


def merged(part: str, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per cell, in the order of the cells: all of its rounds together."""
    cells: dict[tuple[Any, ...], dict[str, Any]] = {}
    order = list(CELLS[part]())
    for line in sorted(lines, key=lambda line: order.index(Cell(*line["cell"]))):
        weight = line["trials"]
        sums = {k: weight * v for k, v in line.items() if k not in ("cell", "round", "trials")}
        before = cells.setdefault(tuple(line["cell"]), dict.fromkeys(("trials", *sums), 0))
        before["trials"] += weight
        for name, value in sums.items():
            before[name] += value
    return [
        {
            "cell": list(cell),
            **{k: v if k == "trials" else v / total["trials"] for k, v in total.items()},
        }
        for cell, total in cells.items()
    ]


def _append(out: Path, part: str, line: dict[str, Any]) -> None:
    with (out / f"{part}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def _lines(out: Path, part: str) -> list[dict[str, Any]]:
    path = out / f"{part}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100.0 * value:.1f}"


def speed(rows: int = 100_000, columns: int = 768) -> dict[str, Any]:
    """CPU times and memory for large float32 matrices, the best of three, beside NumPy and MMD."""
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((rows, columns), dtype=np.float32) for _ in range(2))
    run_multivariate(x[:300], y[:300])

    def numpy_moments() -> None:
        for side in (x, y):
            side.mean(0)
            side.var(0)

    few = [side[:5000].astype(np.float64) for side in (x, y)]
    ours, theirs = best_seconds(
        lambda: run_multivariate(x, y), numpy_moments, rounds=3, clock=time.process_time
    )
    of_few, of_pairs = best_seconds(
        lambda: run_multivariate(few[0], few[1]),
        lambda: hyppo_mmd(few[0], few[1]),
        rounds=1,
        clock=time.process_time,
    )
    draw = f"rng.standard_normal(({rows}, {columns}), dtype=np.float32)"
    setup = (
        "import numpy as np\nfrom dkmd.matrices.multivariate import run_multivariate\n"
        f"rng = np.random.default_rng(0)\nx, y = {draw}, {draw}\n"
        "run_multivariate(x[:300], y[:300])"
    )
    return {
        "rows of each side": rows,
        "columns": columns,
        "dkmd_multivariate, seconds": ours,
        "mean(0) and var(0) of both sides, seconds": theirs,
        "ratio": ours / theirs,
        "memory beyond the input, MiB": extra_mebibytes(setup, "run_multivariate(x, y)"),
        "dkmd_multivariate of 5,000 rows, seconds": of_few,
        "hyppo's MMD of 5,000 rows without permutations, seconds": of_pairs,
        "hyppo's MMD / dkmd_multivariate": of_pairs / of_few,
    }


def hyppo_mmd(x: Array, y: Array) -> float:
    """hyppo's Gaussian MMD with its approximation of the p-value."""
    from hyppo.ksample import MMD

    return float(MMD(compute_kernel="gaussian").test(x, y, auto=True)[1])


def table(part: str, out: Path) -> str:
    """A table in Markdown."""
    lines = _lines(out, part)
    if part == "speed":
        last = lines[-1]
        head, rows = (
            ["what", "measured"],
            [[k, f"{v:,}" if isinstance(v, int) else f"{v:.3g}"] for k, v in last.items()],
        )
        return _markdown(head, rows)
    lines = merged(part, lines)
    names = [name for name in lines[0] if name not in ("cell", "trials")]
    head = ["data", "columns", "rows", "trials", *names]
    rows = [
        [line["cell"][0], str(line["cell"][1]), f"{line['cell'][2]}:{line['cell'][3]}",
         str(line["trials"]), _with_error(line[names[0]], line["trials"]),
         *(_percent(line[name]) for name in names[1:])] for line in lines
    ]  # fmt: skip
    if part == "power":
        head.append("behind the best")
        for row, line in zip(rows, lines, strict=True):
            row.append(_percent(np.nanmax([line[name] for name in names]) - line["dkmd"]))
    return _markdown(head, rows)


def _with_error(share: float, trials: int) -> str:
    """A share in percent, and its Monte Carlo standard error."""
    return f"{_percent(share)} ± {100.0 * math.sqrt(share * (1.0 - share) / trials):.1f}"


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def write(page: Path, out: Path) -> None:
    """Put the tables between the marks of a page. Parts that were not run keep their table."""
    text = page.read_text()
    for part in (part for part in (*PARTS, "speed") if _lines(out, part)):
        start, end = f"<!-- {part}: begin -->\n", f"<!-- {part}: end -->"
        before, _, rest = text.partition(start)
        text = before + start + table(part, out) + "\n" + end + rest.partition(end)[2]
    page.write_text(text)


PARTS = ("odd", "coverage", "spread", "size", "power", "behind", "embeddings")


def main() -> None:
    """Run parts of the study, or write its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=KEPT)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no cell after")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of all rounds, the first ones")
    parser.add_argument("--least-rows", type=int, default=0, help="of each side of a cell")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--speed", action="store_true")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.write is not None:
        write(asked.write, asked.out)
        return
    if asked.speed:
        found = speed()
        _append(asked.out, "speed", found)
        print(found)
        limit = 3.0 * found["mean(0) and var(0) of both sides, seconds"] + 2.0
        slow = found["dkmd_multivariate, seconds"] > limit
        raise SystemExit(int(slow or found["memory beyond the input, MiB"] > 200.0))
    how = asked.seconds, asked.jobs, asked.rounds, asked.least_rows
    study(asked.part or PARTS, asked.trials, asked.out, *how)


if __name__ == "__main__":
    main()
