"""Does looking all the time keep its promise, and what does it cost? The tables of docs/watch.md.

``make looks`` runs everything and writes the tables. ``--only`` runs some of them, and ``--runs``
and ``--streams`` set their size.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
from looks_arms import DKMD, FAMILIES, METHODS, Plan, draw, stopping_times
from looks_rivals import RIVALS, Rival, detector_streams, rival_streams, tuned
from looks_streams import scale_of, seed, streams
from timing import best_seconds

from dkmd import Detector
from dkmd.base.arrays import Array
from dkmd.base.whole_files import write_whole
from dkmd.inference.test.two_sample import row_tails
from dkmd.sequential import baseline

Row = list[str]
ALPHA = 0.05

ARMS: dict[str, Plan] = {
    **{name: Plan(number) for number, name in enumerate(FAMILIES[:9])},
    **{f"{FAMILIES[i]}, arms 1:10": Plan(i, ratio=10) for i in (0, 3, 4, 6, 9)},
    **{f"{FAMILIES[i]}, reference of 200": Plan(i, reference=200) for i in (0, 3, 4)},
    "Bernoulli 1%, reference of 2,000": Plan(6, reference=2_000),
}
"""Cells without a shift."""

PRICED = (0, 1, 3, 4)
PRICE_N = 500


def share(hits: float, runs: int) -> str:
    """A share in percent, with its Monte Carlo error."""
    p = hits / runs
    return f"{100.0 * p:.1f} ± {100.0 * math.sqrt(max(p * (1.0 - p), 0.25 / runs) / runs):.1f}"


def table(head: Row, rows: Iterable[Row]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def arms(runs: int) -> str:
    """Ever a false alarm, without a shift."""
    rows = []
    for number, (name, plan) in enumerate(ARMS.items()):
        alarms = np.count_nonzero(stopping_times(plan, runs, number), axis=0)
        rows.append([name, *(share(float(count), runs) for count in alarms)])
        print(rows[-1], flush=True)
    return table(["ever a false alarm, %", *METHODS], rows)


def coverage(runs: int) -> str:
    """Whether the sequence ever misses the true shift, half a scale of the family."""
    rows = []
    for number, (name, plan) in enumerate(ARMS.items()):
        shift = 0.5 * scale_of(plan.family)
        moved = plan._replace(shift=shift, truth=shift, peers=False)
        misses = np.count_nonzero(stopping_times(moved, runs, 100 + number)[:, DKMD])
        rows.append([name, share(float(misses), runs)])
        print(rows[-1], flush=True)
    return table(["x shifted by half a scale", "ever outside the sequence, %"], rows)


def detectable(family: int, power: float, trials: int = 2_000) -> float:
    """The shift that one test of ``PRICE_N`` values per arm finds with this power."""
    seed(2)
    x, y = (draw(family, trials * PRICE_N, False).reshape(trials, PRICE_N) for _ in range(2))

    def found(shift: float) -> float:
        return float(np.mean(row_tails(x + shift, y).pvalue("two-sided") < ALPHA))

    low, high = 0.0, scale_of(family)
    for _ in range(10):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if found(middle) < power else (low, middle)
    return 0.5 * (low + high)


def price(runs: int) -> str:
    """When a shift is found that one test of 500 values per arm finds with 80% power."""
    rows, runs = [], runs // 2  # means need fewer runs than small shares
    for family in PRICED:
        shift = detectable(family, 0.8)
        plan = Plan(family, shift=shift, expected_n=PRICE_N, every_value=20_000, peers=False)
        stops = stopping_times(plan, runs, 200 + family)[:, DKMD] / PRICE_N
        never = int(np.count_nonzero(stops == 0.0))
        stops = np.where(stops == 0.0, math.inf, stops)
        ends = np.quantile(stops, [0.5, 0.8], method="higher")
        ended = stops[np.isfinite(stops)]
        mean = f"{ended.mean():.2f} ± {ended.std() / math.sqrt(ended.size):.2f} ×"
        numbers = [mean, *(f"{end:.2f} ×" for end in ends), str(never)]
        rows.append([FAMILIES[family], f"{shift / scale_of(family):.2f}", *numbers])
        print(rows[-1], flush=True)
    head = ["family", "shift in scales", "mean", "half of the runs by", "80% by", "never by 20,000"]
    return table(head, rows)


CONTINUOUS = (0, 1, 2, 3, 4)
STREAM_FAMILIES = (0, 1, 2, 3, 4, 5, 6, 7)
BERNOULLI, LOGNORMAL = 6, 4
TOLERANCES = (0.0, 1.1, 2.0, 2.2, 2.5, 4.4)
WIDTHS = (0.025, 0.05, 0.1, 0.2, 0.4)
ARL = 10_000.0


def quiet(count: int) -> str:
    """Run lengths without a change."""
    rows = []
    for family in STREAM_FAMILIES:
        cells = []
        for size, arl in ((20_000, ARL), (200, 1_000.0)):
            if size == 200 and family == BERNOULLI:
                cells.append("–")  # 200 values have 2 ones, and a reference needs 5
                continue
            found = streams(family, count=count, n_reference=size, arl=arl, number=family)
            mean, error = found.length.mean(), found.length.std() / math.sqrt(count)
            cut = " (cut)" if np.mean(found.side == 0.0) > 0.01 else ""
            cells.append(f"{mean:,.0f} ± {error:,.0f}{cut}")
        rows.append([FAMILIES[family], *cells])
        print(rows[-1], flush=True)
    head = [
        "mean run length",
        "reference 20,000, ARL 10,000",
        "reference 200, ARL 1,000",
    ]
    return table(head, rows)


def tolerances(count: int) -> str:
    """What a tolerance of some standard errors does with a short reference."""
    rows = []
    for errors in TOLERANCES:
        with patch.object(baseline, "STANDARD_ERRORS", errors):
            lengths = [
                streams(
                    0, count=count, n_reference=200, arl=1_000.0, shift=shift, begins=100, number=9
                ).length
                for shift in (0.0, 0.5 * scale_of(0))
            ]
        cells = (f"{each.mean():,.0f} ± {each.std() / math.sqrt(count):,.0f}" for each in lengths)
        rows.append([f"{errors:g}", *cells])
        print(rows[-1], flush=True)
    return table(["tolerance in standard errors", "mean run length", "delay at ½ scale"], rows)


def delays(count: int) -> str:
    """Values from a change to the alarm."""
    rows = []
    for family in CONTINUOUS:
        cells, wrong = [], 0
        for amount in (0.5, 1.0, -1.0):
            found = streams(
                family, count=count, n_reference=20_000, arl=ARL, shift=amount * scale_of(family),
                begins=500, number=family,
            )  # fmt: skip
            error = found.length.std() / math.sqrt(count)
            cells.append(f"{found.length.mean():.0f} ± {error:.0f}")
            wrong += int(np.count_nonzero(found.side != np.sign(amount)))
        rows.append([FAMILIES[family], *cells, str(wrong)])
        print(rows[-1], flush=True)
    return table(["mean delay", "+½ scale", "+1 scale", "−1 scale", "wrong side"], rows)


def widths(count: int) -> str:
    """Whether another width of ψ finds a fall of skewed values sooner."""
    row = []
    for width in WIDTHS:
        with patch.object(baseline, "MULTIPLE", width):
            found = streams(
                LOGNORMAL, count=count, n_reference=20_000, arl=ARL, shift=-scale_of(LOGNORMAL),
                begins=500, number=LOGNORMAL,
            )  # fmt: skip
        row.append(f"{found.length.mean():.0f} ± {found.length.std() / math.sqrt(count):.0f}")
        print(width, row[-1], flush=True)
    head = ["width of ψ in scales", *(f"{width:g}" for width in WIDTHS)]
    return table(head, [["delay at −1 scale, lognormal(2)", *row]])


def correlated(count: int) -> str:
    """Run lengths of AR(1) streams."""
    rows = []
    for phi in (0.0, 0.3, 0.6, 0.9):
        row = [f"{phi:g}"]
        for block in (1, 10, 50, 100):
            found = streams(
                0, count=count, n_reference=20_000, arl=ARL, phi=phi, block=block, number=7
            )
            row.append(f"{found.length.mean():,.0f}")
        delay = streams(
            0, count=count, n_reference=20_000, arl=ARL, phi=phi, block=50, shift=scale_of(0),
            begins=500, number=8,
        )  # fmt: skip
        rows.append([*row, f"{delay.length.mean():.0f}"])
        print(rows[-1], flush=True)
    head = ["AR(1)", "block=1", "block=10", "block=50", "block=100", "delay at 1 scale, block=50"]
    return table(head, rows)


RIVAL_FAMILIES = (0, 1, 4)
RIVAL_SHIFTS = (0.0, 0.5, 1.0)  # in scales


def rivals(count: int) -> str:
    """River's detectors and ``Detector`` on the same normal, t2 and lognormal streams."""
    few = count // 5

    def ours(family: int, shift: float) -> Array:
        return detector_streams(family, few, shift, ARL)

    def theirs(rival: Rival) -> Callable[[int, float], Array]:
        size = max(10, count // rival.slowness)
        return lambda family, shift: rival_streams(rival, family, size, shift)

    equal = [tuned(rival, ARL, max(10, few // rival.slowness)) for rival in RIVALS]
    ways: dict[str, Callable[[int, float], Array]] = {
        "dkmd.Detector": ours,
        **{rival.name: theirs(rival) for rival in (*RIVALS, *equal)},
        "always fire": lambda _family, _shift: np.ones(1),
    }
    rows = []
    for name, lengths in ways.items():
        cells = ((f, amount * scale_of(f)) for f in RIVAL_FAMILIES for amount in RIVAL_SHIFTS)
        rows.append([name, *(f"{lengths(*cell).mean():,.0f}" for cell in cells)])
        print(rows[-1], flush=True)
    head = ["detector"]
    for family in RIVAL_FAMILIES:
        head += [f"{FAMILIES[family]}: run length", "½ scale", "1 scale"]
    return table(head, rows)


def speed(_count: int) -> str:
    """Time per value on one core, in turns with river's fastest good detector."""
    from river.drift import ADWIN

    rng = np.random.default_rng(1)
    values = rng.normal(size=20_000)
    long = rng.normal(size=1_000_000)
    detector, adwin = Detector(rng.normal(size=20_000), arl=1e15), ADWIN()

    def one_by_one(update: Callable[[float], object]) -> None:
        for value in values:
            update(value)

    seconds = best_seconds(
        lambda: detector.update_many(long),
        lambda: one_by_one(detector.update),
        lambda: one_by_one(adwin.update),
        budget=20.0,
        clock=time.process_time,
    )
    names = "Detector.update_many", "Detector.update", "river's ADWIN.update"
    sizes = long.size, values.size, values.size
    each = [1e9 * s / n for s, n in zip(seconds, sizes, strict=True)]
    head = ["CPU time per value", "ns", "ADWIN takes"]
    rows = zip(names, each, strict=True)
    return table(head, ([name, f"{ns:,.0f}", f"{each[2] / ns:.1f} ×"] for name, ns in rows))


TABLES: dict[str, Callable[[int], str]] = {
    "arms": arms, "coverage": coverage, "price": price,
    "quiet": quiet, "tolerances": tolerances, "delays": delays, "widths": widths,
    "correlated": correlated, "rivals": rivals, "speed": speed,
}  # fmt: skip
OF_RUNS = ("arms", "coverage", "price")


def written(document: str, name: str, text: str) -> str:
    """A document with one of its tables replaced."""
    marks = f"<!-- looks: {name} -->", f"<!-- looks: end of {name} -->"
    pattern = re.compile(f"{re.escape(marks[0])}.*?{re.escape(marks[1])}", re.S)
    if not pattern.search(document):
        raise ValueError(f"the document has no table {name}")
    return pattern.sub(lambda _: f"{marks[0]}\n{text}\n{marks[1]}", document)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write them into a document if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000, help="two-arm runs per cell")
    parser.add_argument("--streams", type=int, default=500, help="streams per cell")
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--write", type=Path, help="a document with marks for the tables")
    given = parser.parse_args(arguments)
    for name in given.only:
        start = time.perf_counter()
        text = TABLES[name](given.runs if name in OF_RUNS else given.streams)
        print(f"\n{name} ({time.perf_counter() - start:.0f} s)\n\n{text}\n", flush=True)
        if given.write is not None:
            write_whole(given.write, written(given.write.read_text(), name, text))


if __name__ == "__main__":
    main()
