"""``make demo``: two comparisons, a drift and a gate, then the answers of other statistics.

Each of the first four also becomes a page in build/demo.
"""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import numpy as np

import dkmd
from dkmd import peers
from dkmd.answers.comparison import Comparison, Comparisons
from dkmd.answers.gate import gate, load_benchmarks
from dkmd.base.wording import text_table
from dkmd.statistic.peers import direction_in_words

DATA = Path(__file__).parent / "data"
BENCH = Path(__file__).parent / "bench"
PAGES = Path(__file__).parent.parent.resolve() / "build" / "demo"


def main() -> None:
    """Show each answer below its command, with a sentence on what it means."""
    PAGES.mkdir(parents=True, exist_ok=True)
    with chdir(DATA):
        _show_latency()
        _show_flights()
    with chdir(BENCH):
        _show_gate()
    _show_peers()
    print(f"\nPages to look at (each is one file that opens offline) are in {PAGES}:")
    print(", ".join(sorted(page.name for page in PAGES.glob("*.html"))))


def _show_latency() -> None:
    """Requests before and after a change, with time-outs."""
    command = _say("dkmd compare latency_before.csv latency_after.csv --margin 2%")
    answer = dkmd.compare("latency_before.csv", "latency_after.csv", margin="2%")
    _show(answer, command, "compare")
    print(
        "\nWe slowed every request by 5%. A time-out is +inf and counts as a very slow request. So"
    )
    print("there is no mean to compare, but there is still a shift.")


def _show_flights() -> None:
    """The other airports against JFK, and July against January."""
    command = _say(
        "dkmd compare flights.parquet -c dep_delay --by origin --reference JFK --groups date"
    )
    answer = dkmd.compare(
        "flights.parquet", column="dep_delay", by="origin", reference="JFK", groups="date"
    )
    _show(answer, command, "origins")
    print("\nMinutes of delay compared with JFK. Flights of one day share the weather, so the days")
    print("are the groups. Without groups the intervals would be a third as wide, and wrong.")

    january, july = "flights_january.parquet", "flights_july.parquet"
    command = _say(f"dkmd drift {january} {july} --groups date --margin 0.1sd")
    _show(dkmd.drift(january, july, groups="date", margin="0.1sd"), command, "drift")
    print("\nJuly against January: flights left later. They took less time, but flew no less far.")
    print("More values are missing, because more flights were cancelled.\n")


def _show_gate() -> None:
    """A build that does 20% more work in one of two benchmarks."""
    main_build, branch = "hyperfine-main.json", "hyperfine-branch.json"
    command = _say(f"dkmd gate {main_build} {branch} --margin 3%")
    judged = gate(load_benchmarks(main_build), load_benchmarks(branch), margin="3%")
    print(text_table(judged.table()), judged.closing_line(), sep="\n\n")
    assert judged.call is not None
    judged = judged.with_call(judged.call.read_from((main_build, branch)))
    judged.report(PAGES / "gate.html", command=command)
    print("\nThe branch does 20% more work in count-words. The time rises by less: part of it is")
    print("Python starting up. A CI job would stop here with exit code 1.\n")


def _show(answer: Comparison | Comparisons, command: str, name: str) -> None:
    """Print an answer and write its page."""
    print(answer)
    answer.report(PAGES / f"{name}.html", command=command)


def _say(command: str) -> str:
    """Print the command of the next answer; it runs in examples/data or examples/bench."""
    print(f"\n$ {command}")
    return command


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
