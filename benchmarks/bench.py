"""Speed and memory of the estimators as ratios to named peers: ``make bench``.

The two sides of a ratio run in turn in one process; the best of several runs counts. The numbers
also go to benchmarks/bench.json. The exit code is 1 if a ratio is above its limit.

``python benchmarks/bench.py --cpu`` measures only the test, in CPU time on one thread. Other
processes affect CPU time less, so these ratios are also of use on a busy machine.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.stats import PermutationMethod, mannwhitneyu, permutation_test, ttest_ind
from statsmodels.stats.weightstats import ztest
from timing import best_seconds, extra_mebibytes, machine

from dkmd import Grid, Summary, Witness, dkmd_2samp, exact, riemann, riemann_witness
from dkmd.sequential.detector import Detector
from dkmd.statistic.peers import mmd2

OUTPUT = Path(__file__).with_name("bench.json")
PSI = Witness()


@dataclass(frozen=True)
class Ratio:
    """One row of the table."""

    what: str
    values: str
    against: str
    ours_ms: float
    theirs_ms: float
    ratio: float
    at_most: float | None


def main() -> int:
    """Measure, print, write."""
    if "--cpu" in sys.argv[1:]:
        return _cpu_main()
    ratios = [
        *_exact_rows(), *_riemann_rows(), _mmd2_row(), *_test_rows(), *_design_rows(),
        *_units_rows(), *_slices_rows(), _permutation_row(), *_detector_rows(),
    ]  # fmt: skip
    _print_ratios(ratios)
    memory = _memory()
    curve = _cost_curve()
    result = {
        **_kept_cpu_rows(),
        "machine": machine() | {"cores": str(os.cpu_count())},
        "ratios": [asdict(row) for row in ratios],
        "memory": memory,
        "cost_curve": curve,
    }
    OUTPUT.write_text(json.dumps(result, indent=1) + "\n")
    too_slow = [row for row in ratios if row.at_most is not None and row.ratio > row.at_most]
    print(f"\n{len(too_slow)} of {len(ratios)} ratios above their limit")
    return 1 if too_slow else 0


def _kept_cpu_rows() -> dict[str, object]:
    """The rows of an earlier run with ``--cpu``."""
    kept = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    return {key: kept[key] for key in ("cpu_one_thread",) if key in kept}


def _cpu_main() -> int:
    """CPU time of the test and of filling its bins on one thread, beside a t-test's."""
    rows = []
    print(f"{'values':>10}{'test':>12}{'filling':>12}{'t-test':>12}{'ratio':>9}{'filling':>9}")
    for n in (2_000, 100_000, 2_000_000):
        x, y = _samples(n)
        grid = Grid.fit(x, y)
        with _threads("1"):
            test, filling, welch = best_seconds(
                lambda: _everything(x, y),  # noqa: B023
                lambda: (Summary.of(x, grid), Summary.of(y, grid)),  # noqa: B023
                lambda: _welch_with_interval(x, y),  # noqa: B023
                budget=10.0, rounds=1000, clock=time.process_time,
            )  # fmt: skip
        print(
            f"{f'2 x {n:.0e}':>10}{1e3 * test:9.3f} ms{1e3 * filling:9.3f} ms{1e3 * welch:9.3f} ms"
            f"{test / welch:9.3f}{filling / welch:9.3f}"
        )
        milliseconds = {"test_ms": 1e3 * test, "filling_ms": 1e3 * filling, "welch_ms": 1e3 * welch}
        rows.append({"values": n, **milliseconds})
    kept = json.loads(OUTPUT.read_text())
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    kept["cpu_one_thread"] = {"machine": machine(), "load_average": load, "rows": rows}
    OUTPUT.write_text(json.dumps(kept, indent=1) + "\n")
    return 0


def _samples(n: int, seed: int | None = None, shift: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n if seed is None else seed)
    return rng.normal(size=n), rng.normal(shift, 1.0, size=n)


def _row(
    what: str,
    n: int,
    against: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    at_most: float | None,
) -> Ratio:
    a, b = best_seconds(ours, theirs, budget=6.0)
    print(".", end="", flush=True, file=sys.stderr)
    return Ratio(what, f"2 x {n:.0e}", against, 1e3 * a, 1e3 * b, a / b, at_most)


def _exact_rows() -> list[Ratio]:
    rows = []
    for n, limit in ((2_000, 0.2), (200_000, 0.6), (2_000_000, 0.5), (20_000_000, 0.5)):
        x, y = _samples(n)
        ours = lambda x=x, y=y: exact(x, y, PSI)  # noqa: E731
        welch = lambda x=x, y=y: ttest_ind(x, y, equal_var=False)  # noqa: E731
        rows.append(_row("exact", n, "scipy ttest_ind (Welch)", ours, welch, limit))
        if n == 20_000_000:
            fastest = lambda x=x, y=y: ztest(x, y)  # noqa: E731
            rows.append(_row("exact", n, "statsmodels ztest", ours, fastest, None))
    return rows


def _riemann_rows() -> list[Ratio]:
    rows = []
    for n in (200_000, 2_000_000, 20_000_000):
        x, y = _samples(n)
        ours = lambda x=x, y=y: riemann(x, y, PSI)  # noqa: E731
        sort = lambda x=x, y=y: np.sort(np.concatenate([x, y]))  # noqa: E731
        rows.append(_row("riemann", n, "np.sort of both", ours, sort, 1.8))
        if n == 2_000_000:
            printed = lambda x=x, y=y: _algorithm_1(x, y)  # noqa: E731
            rows.append(_row("riemann", n, "Algorithm 1 as printed", ours, printed, 0.35))
    return rows


def _algorithm_1(x: np.ndarray, y: np.ndarray) -> float:
    """The paper's listing: argsort, L and R loops (compiled), then the two means."""
    _, psi, from_x = riemann_witness(x, y, PSI)
    return float(psi[from_x].mean() - psi[~from_x].mean())


def _test_rows() -> list[Ratio]:
    rows = []
    for n, limit in ((2_000, 3.0), (100_000, 1.0), (2_000_000, 0.8), (20_000_000, 0.8)):
        x, y = _samples(n)
        welch = lambda x=x, y=y: _welch_with_interval(x, y)  # noqa: E731
        whole = lambda x=x, y=y: _everything(x, y)  # noqa: E731
        rows.append(_row("dkmd_2samp", n, "scipy ttest_ind (Welch)", whole, welch, limit))
        if n == 20_000_000:
            rows += _filling_rows(x, y, welch)
    return rows


def _design_rows() -> list[Ratio]:
    """Groups and a covariate, in CPU time of one thread, beside what their limits are made of.

    "plain" is ``dkmd_2samp`` of the same values without them, "unique" is ``np.unique`` of the
    labels with their inverse, and a pass is ``np.sum`` of both samples.
    """
    n = 1_000_000
    x, y = _samples(n)
    rng = np.random.default_rng(7)
    small = rng.integers(0, 1_000, n), rng.integers(0, 1_000, n)
    names = rng.integers(0, 2**50, 1_000)
    large = names[small[0]], names[small[1]]
    known = _samples(n, seed=5, shift=0.0)
    runs: list[Callable[[], object]] = [
        lambda: dkmd_2samp(x, y),
        lambda: (np.sum(x), np.sum(y)),
        lambda: [np.unique(labels, return_inverse=True) for labels in large],
        lambda: dkmd_2samp(x, y, groups=small),
        lambda: dkmd_2samp(x, y, groups=large),
        lambda: dkmd_2samp(x, y, covariate=known, randomized=True),
    ]
    with _threads("1"):
        seconds = best_seconds(*runs, budget=math.inf, rounds=15, clock=time.process_time)
    plain, reading, unique, by_small, by_large, adjusted = (1e3 * each for each in seconds)
    print(".", end="", flush=True, file=sys.stderr)
    peers = [
        ("groups 0, 1, …, 999", "plain", by_small, plain, 3.0),
        (
            "groups, large",
            "plain + 1.2 unique + pass",
            by_large,
            plain + 1.2 * unique + reading,
            1.0,
        ),
        ("a covariate", "2 x plain + a pass", adjusted, 2.0 * plain + reading, 1.0),
    ]
    return [
        Ratio(what, f"2 x {n:.0e}", against, ours, theirs, ours / theirs, limit)
        for what, against, ours, theirs, limit in peers
    ]


def _units_rows() -> list[Ratio]:
    """The same units on both sides, beside the plain test of the same values."""
    n = 1_000_000
    x, y = _samples(n)
    rng = np.random.default_rng(7)
    hosts = rng.integers(0, 1_000, n), rng.integers(0, 1_000, n)
    known = np.array([f"host-{i}" for i in range(1_000)])
    names = tuple(known[each] for each in hosts)
    kinds = {
        "numbers": (hosts, 2.0),
        "categories": (tuple(map(pd.Categorical, names)), 2.0),
        "dictionaries": (tuple(pa.array(each).dictionary_encode() for each in names), 2.0),
        "text": (names, None),
        "Arrow text": (tuple(pa.array(each) for each in names), None),
    }
    rows = []
    for what, (labels, limit) in kinds.items():
        paired = lambda labels=labels: dkmd_2samp(x, y, groups=labels, paired=True)  # noqa: E731
        plain = lambda: dkmd_2samp(x, y)  # noqa: E731
        rows.append(_row(f"units, {what}", n, "dkmd_2samp", paired, plain, limit))
    return rows


def _everything(x: np.ndarray, y: np.ndarray) -> None:
    """Run the test with its defaults and both of its intervals."""
    result = dkmd_2samp(x, y)
    result.confidence_interval()
    result.shift_interval()


def _welch_with_interval(x: np.ndarray, y: np.ndarray) -> None:
    ttest_ind(x, y, equal_var=False).confidence_interval()


def _slices_rows() -> list[Ratio]:
    """Many small tests along an axis, on one thread: 2,000 slices of 100 + 100 values."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2_000, 100)), rng.normal(size=(2_000, 100))
    ours = lambda: dkmd_2samp(x, y, axis=1).pvalue  # noqa: E731
    peers = {
        "one dkmd_2samp each": lambda: [dkmd_2samp(a, b) for a, b in zip(x, y, strict=True)],
        "mannwhitneyu(axis=1)": lambda: mannwhitneyu(x, y, axis=1),
        "ttest_ind(axis=1)": lambda: ttest_ind(x, y, axis=1, equal_var=False),
    }
    with _threads("1"):
        rows = [_row("2,000 slices", 100, peer, ours, f, None) for peer, f in peers.items()]
    each = rows[0].ours_ms / 2_000
    limit = SLICE_LIMIT_MS
    print(f"a slice takes {each:.3f} ms (limit {limit} ms)", file=sys.stderr)
    return rows


SLICE_LIMIT_MS = 0.15
"""The limit for one slice of 100 + 100 values among many, on one core."""


def _filling_rows(x: np.ndarray, y: np.ndarray, welch: Callable[[], object]) -> list[Ratio]:
    grid = Grid.fit(x, y)
    rows = []
    for threads, limit in (("1", 0.5), (None, None)):
        with _threads(threads):
            fill = lambda: (Summary.of(x, grid), Summary.of(y, grid))  # noqa: E731
            what = "Summary, 1 thread" if threads else "Summary"
            rows.append(_row(what, x.size, "scipy ttest_ind (Welch)", fill, welch, limit))
    return rows


@contextmanager
def _threads(count: str | None) -> Iterator[None]:
    if count is not None:
        os.environ["DKMD_NUM_THREADS"] = count
    try:
        yield
    finally:
        os.environ.pop("DKMD_NUM_THREADS", None)


def _permutation_row() -> Ratio:
    x, y = _samples(10_000)
    method = PermutationMethod(n_resamples=9_999, rng=np.random.default_rng(0))

    def mean_difference(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(a.mean(axis=axis) - b.mean(axis=axis))

    def scipys() -> object:
        rng = np.random.default_rng(0)
        samples = (x, y)
        return permutation_test(
            samples, mean_difference, vectorized=True, n_resamples=9_999, batch=100, rng=rng
        )

    ours = lambda: dkmd_2samp(x, y, method=method)  # noqa: E731
    return _row("permutation", 10_000, "scipy permutation_test", ours, scipys, 0.1)


def _detector_rows() -> list[Ratio]:
    """Time per value of a stream, against the quickest of river's detectors that are any good."""
    from river.drift import ADWIN

    n = 20_000
    values = np.random.default_rng(1).normal(size=n)
    detector, adwin = Detector(values, arl=1e15), ADWIN()

    def each(update: Callable[[float], object]) -> Callable[[], object]:
        return lambda: [update(value) for value in values]

    many, single, peer = best_seconds(
        lambda: detector.update_many(values), each(detector.update), each(adwin.update)
    )
    return [
        Ratio(what, f"{n:.0e}", "river ADWIN.update", 1e3 * ours, 1e3 * peer, ours / peer, limit)
        for what, ours, limit in (
            ("Detector.update_many", many, 0.3), ("Detector.update", single, 20.0),
        )
    ]  # fmt: skip


def _mmd2_row() -> Ratio:
    x, y = _samples(20_000)

    def gram_matrix() -> float:
        blocks = [np.exp(-np.abs(a[:, None] - b)) for a, b in ((x, x), (y, y), (x, y))]
        return float(blocks[0].mean() + blocks[1].mean() - 2 * blocks[2].mean())

    return _row(
        "mmd2", 20_000, "Gram matrices in NumPy", lambda: mmd2(x, y, 1.0), gram_matrix, 0.01
    )


def _print_ratios(ratios: list[Ratio]) -> None:
    print(
        f"\n{'':20}{'values':>10}  {'against':26}{'ours':>11}{'theirs':>12}{'ratio':>9}{'limit':>8}"
    )
    for r in ratios:
        limit = f"{r.at_most:8.2f}" if r.at_most is not None else f"{'-':>8}"
        print(
            f"{r.what:20}{r.values:>10}  {r.against:26}{r.ours_ms:8.3f} ms{r.theirs_ms:9.2f} ms"
            f"{r.ratio:9.3f}{limit}"
        )


def _memory() -> list[dict[str, object]]:
    """Peak memory beyond the inputs, in a fresh process for each row."""
    setup = (
        "import numpy as np; from dkmd import Witness, exact, riemann\n"
        "warm = np.arange(300_000.0); {f}(warm, warm, Witness())\n"
        "rng = np.random.default_rng(0)\n"
        "x, y = (rng.standard_normal(20_000_000, dtype='{dtype}') for _ in range(2))"
    )
    rows: list[dict[str, object]] = []
    print(f"\n{'memory':12}{'type':>9}{'inputs':>12}{'extra':>12}{'share':>8}")
    for function in ("exact", "riemann"):
        for dtype in ("float64", "float32"):
            inputs = 2 * 20_000_000 * np.dtype(dtype).itemsize / 2**20
            code = setup.format(f=function, dtype=dtype)
            extra = extra_mebibytes(code, f"{function}(x, y, Witness())")
            share = extra / inputs
            print(f"{function:12}{dtype:>9}{inputs:8.0f} MiB{extra:8.1f} MiB{share:8.3f}")
            rows.append(
                {"function": function, "type": dtype, "inputs_mib": inputs, "extra_mib": extra}
            )
    return rows


def _cost_curve() -> list[dict[str, float]]:
    """Nanoseconds per value, from 1e3 to 1e8 values in all. A constant means linear cost."""
    print(f"\n{'values':>10}{'exact':>16}{'riemann':>16}{'riemann / log2 N':>20}")
    rows = []
    for exponent in range(3, 9):
        size = 10**exponent
        x, y = _samples(size // 2)
        a, b = best_seconds(lambda: exact(x, y, PSI), lambda: riemann(x, y, PSI), budget=2.0)  # noqa: B023
        per = 1e9 / size
        per_log = b * per / math.log2(size)
        print(f"{size:10.0e}{a * per:9.2f} ns each{b * per:9.2f} ns each{per_log:20.3f}")
        rows.append({"values": size, "exact_ns": a * per, "riemann_ns": b * per})
    return rows


if __name__ == "__main__":
    sys.exit(main())
