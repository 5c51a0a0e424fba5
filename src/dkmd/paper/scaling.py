"""Scaling: time and memory from a thousand to a hundred million values (sections 1, 4 and 7).

The paper claims "millions of samples in seconds" and "tens of millions of points". Each method runs
alone in its own process, and stops when its next size would take too long.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from dkmd.base.arrays import Array
from dkmd.paper.report import Heading, PaperTable, Value
from dkmd.paper.trials import SEED, Runner, serial
from dkmd.statistic.exact import exact
from dkmd.statistic.riemann import riemann, riemann_witness
from dkmd.statistic.witness import Witness

PSI = Witness(sigma=1.0, tau=1.0)
SIZES = (*(a * 10**e for e in range(3, 8) for a in (1, 3)), 10**8)
"""Values in both samples together; each sample has half of them."""

LIMIT = 8.0
"""A size is skipped if it is expected to take longer than this (in seconds)."""

PATIENCE = {"Algorithm 1 as printed": 2.5}
"""Factors on the limit: the paper claims "tens of millions of points" for this method."""

MEMORY_LIMIT = 3000.0
"""A size is skipped if it is expected to need more memory than this (in MiB)."""

REPEAT_FOR = 0.2
"""Each size is repeated for this many seconds, and the shortest time counts."""

BEYOND_FIXED_COST = 3.0
"""Slopes use times above this multiple of the smallest, because fixed costs dominate below."""

STATUS, PEAK_RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _algorithm_1(x: Array, y: Array) -> float:
    """The paper's Algorithm 1 as printed: one sort, arrays L, R and ψ̂, two means."""
    _, psi, from_x = riemann_witness(x, y, PSI)
    return float(psi[from_x].mean() - psi[~from_x].mean())


def _quadratic(x: Array, y: Array) -> float:
    """The Riemann estimator's formula by a kernel value for every pair (section 4.1)."""
    z = np.sort(np.concatenate([x, y]))
    step = np.diff(z, prepend=z[0]) * np.tanh(z)

    def mean_psi(sample: Array) -> float:
        kernel = np.subtract.outer(sample, z)  # (sample, pooled)
        np.abs(kernel, out=kernel)
        np.negative(kernel, out=kernel)
        np.exp(kernel, out=kernel)
        return float((kernel @ step).mean())

    return mean_psi(x) - mean_psi(y)


def _welch(x: Array, y: Array) -> object:
    from scipy.stats import ttest_ind

    return ttest_ind(x, y, equal_var=False)


def _mann_whitney(x: Array, y: Array) -> object:
    from scipy.stats import mannwhitneyu

    return mannwhitneyu(x, y)


def _kolmogorov(x: Array, y: Array) -> object:
    from scipy.stats import ks_2samp

    return ks_2samp(x, y)


METHODS: dict[str, Callable[[Array, Array], object]] = {
    "exact": partial(exact, witness=PSI),
    "riemann": partial(riemann, witness=PSI),
    "Algorithm 1 as printed": _algorithm_1,
    "quadratic formula": _quadratic,
    "SciPy t-test (Welch)": _welch,
    "SciPy Mann–Whitney": _mann_whitney,
    "SciPy Kolmogorov–Smirnov": _kolmogorov,
}


@dataclass(frozen=True)
class Timing:
    """One method at one size."""

    size: int
    seconds: float
    mebibytes: float
    """Peak memory beyond the inputs; NaN if the system does not report it."""


@dataclass(frozen=True)
class ScalingRow:
    """One method at all sizes that it ran."""

    method: str
    measured: tuple[Timing, ...]
    stopped: str = ""
    """Why the next size was skipped; empty if no size was."""

    @property
    def slope(self) -> float:
        """Exponent of the growth in time, fitted on log axes; NaN with fewer than two sizes."""
        least = BEYOND_FIXED_COST * self.measured[0].seconds
        return _slope([(m.size, m.seconds) for m in self.measured if m.seconds >= least])

    @property
    def largest(self) -> Timing:
        """The largest size that ran."""
        return self.measured[-1]


def _slope(points: Sequence[tuple[float, float]]) -> float:
    if len(points) < 2 or not all(value > 0.0 for _, value in points):
        return math.nan
    sizes, values = np.log(np.array(points)).T
    return float(np.polyfit(sizes, values, 1)[0])


@dataclass(frozen=True)
class _Task:
    method: str
    sizes: tuple[int, ...]
    limit: float
    seed: int


def scaling(
    sizes: Sequence[int] = SIZES, limit: float = LIMIT, seed: int = SEED, run: Runner = serial
) -> list[ScalingRow]:
    """Time and memory of every method; ``run`` should give each its own process and all cores."""
    tasks = [
        _Task(method, tuple(sizes), limit * PATIENCE.get(method, 1.0), seed) for method in METHODS
    ]
    return run(_measure, tasks)


def _measure(task: _Task) -> ScalingRow:
    """One method at growing sizes, until the next size would exceed a limit."""
    method = METHODS[task.method]
    rng = np.random.default_rng(task.seed)
    method(rng.normal(size=64), rng.normal(size=64))  # compiles and imports
    measured: list[Timing] = []
    for size in task.sizes:
        seconds = _expected([(m.size, m.seconds) for m in measured], size)
        mebibytes = _expected([(m.size, m.mebibytes) for m in measured], size)
        if seconds > task.limit:
            return ScalingRow(
                task.method, tuple(measured), f"{size:.0e} would take {seconds:.0f} s"
            )
        if mebibytes > MEMORY_LIMIT:
            return ScalingRow(
                task.method, tuple(measured), f"{size:.0e} would take {mebibytes:.0f} MiB"
            )
        x, y = rng.normal(size=size // 2), rng.normal(0.1, 1.0, size=size // 2)
        measured.append(_measure_once(method, x, y))
    return ScalingRow(task.method, tuple(measured))


def _expected(points: Sequence[tuple[float, float]], size: int) -> float:
    """Time or memory at ``size``, from the growth between the two sizes before it."""
    if len(points) < 2 or not points[-2][1] > 0.0:
        return 0.0
    growth = max(1.0, _slope(points[-2:]))
    last_size, last = points[-1]
    return last * math.pow(size / last_size, growth)


def _measure_once(method: Callable[[Array, Array], object], x: Array, y: Array) -> Timing:
    """The memory of the first call, and the time of the shortest call."""
    before = _restart_peak()
    best = math.inf
    mebibytes = math.nan
    start = time.perf_counter()
    while True:
        begin = time.perf_counter()
        method(x, y)
        best = min(best, time.perf_counter() - begin)
        if math.isnan(mebibytes):
            mebibytes = (_memory("VmHWM") - before) / 1024
        if time.perf_counter() - start > REPEAT_FOR:
            return Timing(x.size + y.size, best, mebibytes)


def _restart_peak() -> float:
    """Reset the peak memory of this process (Linux); returns KiB in use now, or NaN."""
    try:
        PEAK_RESET.write_text("5")
    except OSError:
        return math.nan
    return _memory("VmRSS")


def _memory(field: str) -> float:
    """A line of the process's status, in KiB."""
    try:
        found = re.search(rf"{field}:\s*(\d+)", STATUS.read_text())
    except OSError:
        return math.nan
    return float(found[1]) if found else math.nan


def tables(rows: Sequence[ScalingRow]) -> list[PaperTable]:
    """Times, memory, and a summary of each method."""
    sizes = sorted({m.size for row in rows for m in row.measured})
    return [
        _pivot("scaling-seconds", "Scaling: seconds", rows, sizes, "seconds", ".3g"),
        _pivot(
            "scaling-memory", "Scaling: peak MiB beyond inputs", rows, sizes, "mebibytes", ".1f"
        ),
        _summary(rows),
    ]


def _pivot(
    name: str, title: str, rows: Sequence[ScalingRow], sizes: list[int], field: str, format_: str
) -> PaperTable:
    """Sizes down, methods across."""
    by_method = [{m.size: float(getattr(m, field)) for m in row.measured} for row in rows]
    columns = [Heading("values"), *(Heading(row.method, format_) for row in rows)]
    values: list[list[Value]] = [
        [f"{size:.0e}".replace("e+0", "e"), *(column.get(size) for column in by_method)]
        for size in sizes
    ]
    note = "A dash: not tried, see the table that follows."
    return PaperTable(name, title, columns, values, note)


def _summary(rows: Sequence[ScalingRow]) -> PaperTable:
    columns = [
        Heading("method"),
        Heading("slope", ".2f"),
        Heading("largest size", ".0e"),
        Heading("seconds", ".3g"),
        Heading("ns a value", ".3g"),
        Heading("bytes a value", ".3g"),
        Heading("why no further"),
    ]
    values = [
        (
            row.method,
            row.slope,
            float(row.largest.size),
            row.largest.seconds,
            1e9 * row.largest.seconds / row.largest.size,
            2**20 * row.largest.mebibytes / row.largest.size,
            row.stopped.replace("e+0", "e"),
        )
        for row in rows
    ]
    note = (
        "Slope: growth of time with size on log axes, 1 is linear, 2 is quadratic. The best of "
        "several calls counts; a call is not repeated when it takes long."
    )
    return PaperTable("scaling-summary", "Scaling: the methods", columns, values, note)
