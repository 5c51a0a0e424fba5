"""``make demo``: two comparisons, a drift and a gate, then the answers of other statistics.

Each of the first four also becomes a page in build/demo. The commands run as they are printed, in
the root of the repository, so a terminal gets colours.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

import dkmd
from dkmd import peers
from dkmd.base.wording import direction_in_words

ROOT = Path(__file__).parent.parent.resolve()
DATA = ROOT / "examples" / "data"
PAGES = Path("build") / "demo"
MEANT = (0, 1)
"""Exit codes of the demo: the gate finds something worse, and says so by 1."""


def main() -> None:
    """Show each answer below its command, with a sentence on what it means."""
    (ROOT / PAGES).mkdir(parents=True, exist_ok=True)
    _run(
        "compare examples/data/latency_before.csv examples/data/latency_after.csv --margin 2%",
        "compare",
        "We slowed every request by 5%. A time-out is +inf and counts as a very slow request. So\n"
        "there is no mean to compare, but there is still a shift.",
    )
    _run(
        "compare examples/data/flights.parquet -c dep_delay --by origin --reference JFK "
        "--groups date",
        "origins",
        "Minutes of delay compared with JFK. Flights of one day share the weather, so the days\n"
        "are the groups. Without groups the intervals would be a third as wide, and wrong.",
    )
    _run(
        "drift examples/data/flights_january.parquet examples/data/flights_july.parquet "
        "--groups date --margin 0.05sd",
        "drift",
        "July against January: flights left later. They took less time, but flew no less far.\n"
        "More values are missing, because more flights were cancelled.",
    )
    suite = "examples/bench/suite"
    _run(
        f"gate '{suite}/main-*.json' '{suite}/branch-*.json' --history {suite}/history.json "
        "--margin 4%",
        "gate",
        "The branch makes parse 9% slower and render 30% faster. The rest is unchanged. A CI job\n"
        "would stop here with exit code 1.",
    )
    _show_peers()
    print(f"\nPages to look at (each is one file that opens offline) are in {ROOT / PAGES}:")
    print(", ".join(sorted(page.name for page in (ROOT / PAGES).glob("*.html"))))


def _run(words: str, page: str, meaning: str) -> None:
    """Print a command, run it with a page, and say what its answer means."""
    command = f"dkmd {words} --report {PAGES / page}.html"
    print(f"$ {command}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)], cwd=ROOT, check=False
    ).returncode
    if done not in MEANT:
        sys.exit(done)
    print(f"\n{meaning}\n", flush=True)


def _show_peers() -> None:
    """Print the table with the hung request and without it."""
    before, after = (np.loadtxt(DATA / f"{name}.txt") for name in ("before", "after"))
    hung = before.argmax()
    print("Request latency in ms. x = after (50 values), y = before (60 values).")
    print("'after' is 8 ms slower by construction. Positive means: x is larger.\n")
    print(f"{'':30}{'one request hung':>30}   {'without that request':>30}")
    for row, without in zip(
        _rows(after, before), _rows(after, np.delete(before, hung)), strict=True
    ):
        print(f"{row[0]:30}{_cell(*row[1:]):>30}   {_cell(*without[1:]):>30}")
    print("\nWithout the outlier the exact estimator hardly changes. The mean difference and the")
    print("paper's Riemann estimator change sign. Distances have no sign at all.")


def _cell(value: float, words: str) -> str:
    return f"{value:12.4g}  {words:16}"


def _rows(x: np.ndarray, y: np.ndarray) -> list[tuple[str, float, str]]:
    """Name, value and direction of every statistic."""
    pooled = np.concatenate([x, y])
    center = float(np.median(pooled))
    scale = 1.4826 * float(np.median(np.abs(pooled - center)))
    witness = dkmd.Witness(sigma=scale, tau=scale, center=center)
    kolmogorov = peers.ks(x, y)
    signed = [
        ("dkmd, exact", dkmd.exact(x, y, witness)),
        ("dkmd, Riemann (paper)", dkmd.riemann(x, y, witness)),
        ("mean difference", peers.mean_difference(x, y)),
        ("signed Wasserstein", peers.signed_wasserstein(x, y)),
    ]
    embedding = peers.mean_embedding_test(x, y, [90.0, 110.0], scale)
    return [
        *((name, value, direction_in_words(value)) for name, value in signed),
        ("Kolmogorov-Smirnov", kolmogorov.statistic, kolmogorov.direction),
        ("MMD², biased", peers.mmd2(x, y, scale), "(no sign)"),
        ("MMD², unbiased", peers.mmd2(x, y, scale, unbiased=True), "(no sign)"),
        ("energy distance", peers.energy_distance(x, y), "(no sign)"),
        ("Wasserstein", peers.wasserstein(x, y), "(no sign)"),
        ("mean embedding at 90 ms", float(embedding.differences[0]), "(local)"),
        ("mean embedding at 110 ms", float(embedding.differences[1]), "(local)"),
        ("mean embedding test, p", embedding.pvalue, "(no sign)"),
    ]


if __name__ == "__main__":
    main()
