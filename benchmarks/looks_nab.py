"""``Detector`` and river's detectors on the Numenta Anomaly Benchmark: a table of docs/watch.md.

    git clone https://github.com/numenta/NAB
    python benchmarks/looks_nab.py NAB

The benchmark has the MIT licence. None of its data are part of dkmd.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from looks_rivals import RIVALS, Rival

from dkmd import Detector
from dkmd.base.arrays import Array
from dkmd.base.errors import TooLittleError

LEARNING = 0.15
"""The first part of each series, without alarms. NAB calls it the probationary period."""


class Series(NamedTuple):
    """One file: its values, and which of them are in a labelled window."""

    values: Array
    window: npt.NDArray[np.int64]  # the number of the window from 1 on, 0 outside
    learnt: int


def corpus(folder: Path) -> Iterator[Series]:
    """All series of the benchmark."""
    labels = json.loads((folder / "labels" / "combined_windows.json").read_text())
    for name, windows in labels.items():
        table = pd.read_csv(folder / "data" / name, parse_dates=["timestamp"])
        times = table["timestamp"].to_numpy()
        window = np.zeros(times.size, dtype=np.int64)
        for number, (start, end) in enumerate(windows, 1):
            window[(times >= np.datetime64(start)) & (times <= np.datetime64(end))] = number
        values = table["value"].to_numpy(dtype=np.float64)
        yield Series(values, window, int(LEARNING * values.size))


def of_river(rival: Rival) -> Callable[[Series], list[int]]:
    """Where a detector of river alarms."""

    def alarms(series: Series) -> list[int]:
        detector, found = rival.make(rival.option), []
        for i, value in enumerate(series.values.tolist()):
            detector.update(value)
            if detector.drift_detected:
                found.append(i)
        return found

    return alarms


def of_dkmd(block: int) -> Callable[[Series], list[int]]:
    """Where ``Detector`` alarms, with the first part of a series as its reference."""

    def alarms(series: Series) -> list[int]:
        reference, rest = series.values[: series.learnt], series.values[series.learnt :]
        try:
            detector = Detector(reference, block=block)
        except TooLittleError:  # nearly constant
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # nearly all series are correlated
            return [series.learnt + alarm.at for alarm in detector.update_many(rest)]

    return alarms


def row(name: str, alarms: Callable[[Series], list[int]], series: list[Series]) -> list[str]:
    """How many windows have an alarm, and how often there is one outside."""
    found = windows = outside = values = quiet = silent = 0
    for each in series:
        later = [at for at in alarms(each) if at >= each.learnt]
        hit = {int(each.window[at]) for at in later} - {0}
        there = set(each.window[each.learnt :].tolist()) - {0}
        found, windows = found + len(hit), windows + len(there)
        outside += sum(each.window[at] == 0 for at in later)
        values += int(np.count_nonzero(each.window[each.learnt :] == 0))
        if not each.window.any():
            quiet, silent = quiet + 1, silent + (not later)
    rate = f"{1_000.0 * outside / values:.1f}"
    return [name, f"{found} of {windows}", rate, f"{silent} of {quiet}"]


def main() -> None:
    """Print the table."""
    series = list(corpus(Path(sys.argv[1])))
    ways = {
        "dkmd.Detector": of_dkmd(1),
        "dkmd.Detector(block=10)": of_dkmd(10),
        "dkmd.Detector(block=50)": of_dkmd(50),
        **{rival.name: of_river(rival) for rival in RIVALS},
        "always fire": lambda each: list(range(each.values.size)),
    }
    head = [
        "detector",
        "windows with an alarm",
        "alarms per 1,000 values outside",
        "silent on series without a window",
    ]
    print("| " + " | ".join(head) + " |\n" + "| --- " * len(head) + "|")
    for name, alarms in ways.items():
        print("| " + " | ".join(row(name, alarms, series)) + " |", flush=True)


if __name__ == "__main__":
    main()
