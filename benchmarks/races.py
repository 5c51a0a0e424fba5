"""``dkmd race`` and hyperfine on the same commands: false alarms, and time to find 5%.

Run ``python benchmarks/races.py``: about 50 minutes, with hyperfine installed. The tools take
turns, so both have the same load. The tables are in docs/race.md. Every race is a line of
``build/races.jsonl``: an interrupted run goes on from there, and ``--table`` prints what there is.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from dkmd import PairMonitor
from dkmd.answers.race import Racers, Rules, race
from dkmd.answers.race.racing import EXPECTED, FEWEST
from dkmd.sources.commands.running import Runner

LOG = Path("build/races.jsonl")
SAME, SLOWER = "same", "5% slower"
WALL, CPU, PEER = "dkmd race", "dkmd race --metric cpu", "hyperfine, Welch"
RACES = {
    WALL: {SAME: 300, SLOWER: 20},
    CPU: {SAME: 60, SLOWER: 30},
    PEER: {SAME: 30, SLOWER: 20},
}
"""How many races there are; hyperfine needs 6 seconds or more for each."""

ALPHA = 0.05
MOST = {SAME: Rules(ALPHA, max_rounds=50), SLOWER: Rules(ALPHA, max_time=30.0)}
"""When races end. Those of equal commands seldom end earlier."""

LOOPS = 40_000


def command(loops: int) -> str:
    """A program that counts, for some milliseconds."""
    return f"perl -e 'for (my $i = 0; $i < {loops}; $i++) {{}}'"


def slower(loops: int, share: float) -> int:
    """Loops that take this share more time, with the start of the program: of the fastest runs."""
    runner = Runner(shell="")
    counts = (1, loops)
    fastest = dict.fromkeys(counts, math.inf)
    for _ in range(300):
        for each in counts:
            run, _ = runner.run(command(each))
            fastest[each] = min(fastest[each], run.user + run.system)
    start, whole = fastest[1], fastest[loops]
    return round(loops * (1.0 + share * whole / (whole - start)))


def by_race(first: str, second: str, rules: Rules) -> dict[str, Any]:
    """One race of dkmd."""
    start = time.monotonic()
    answer = race(Racers((first, second), ("first", "second")), rules, Runner(shell=""))
    change, low, high = answer.change
    return {
        "verdict": answer.verdict, "rounds": answer.rounds, "change": change,
        "low": low, "high": high, "seconds": time.monotonic() - start,
    }  # fmt: skip


def by_hyperfine(first: str, second: str) -> dict[str, Any]:
    """hyperfine's defaults, and Welch's test as in its ``scripts/welch_ttest.py``."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "times.json")
        words = ["hyperfine", "-N", "--style", "none", "--export-json", path, first, second]
        start = time.monotonic()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        results = json.loads(Path(path).read_text())["results"]
    one, two = (np.array(result["times"]) for result in results)
    change = float(two.mean() / one.mean() - 1.0)
    different = bool(stats.ttest_ind(one, two, equal_var=False).pvalue < ALPHA)
    verdict = ("higher" if change > 0.0 else "lower") if different else "inconclusive"
    return {
        "verdict": verdict, "rounds": min(one.size, two.size), "change": change,
        "seconds": seconds,
    }  # fmt: skip


def run_all() -> None:
    """Every race that the log lacks, the tools in turns."""
    LOG.parent.mkdir(exist_ok=True)
    done = {(row["tool"], row["case"], row["number"]) for row in logged()}
    loops = slower(LOOPS, 0.05)
    for number in range(max(most for races in RACES.values() for most in races.values())):
        for case in (SAME, SLOWER):
            pair = command(LOOPS), command(LOOPS if case == SAME else loops)
            for tool, races in RACES.items():
                if number >= races[case] or (tool, case, number) in done:
                    continue
                rules = replace(MOST[case], seed=number, metric="cpu" if tool == CPU else "wall")
                found = by_hyperfine(*pair) if tool == PEER else by_race(*pair, rules)
                row = {"tool": tool, "case": case, "number": number, "loops": loops, **found}
                with LOG.open("a") as log:
                    log.write(json.dumps(row) + "\n")


def logged() -> list[dict[str, Any]]:
    """The races so far."""
    return [json.loads(line) for line in LOG.read_text().splitlines()] if LOG.exists() else []


def print_tables() -> None:
    """Two Markdown tables, with binomial standard errors."""
    print("| equal commands | races | called different | runs of each |")
    print("|---|---|---|---|")
    for tool, rows in _by_tool(SAME):
        wrong = [row["verdict"] in ("higher", "lower") for row in rows]
        print(f"| {tool} | {len(rows)} | {_share(wrong)} | {_median(rows, 'rounds'):,.0f} |")
    print("\n| 5% slower | races | found | wrong way | median seconds | 80% by | runs of each |")
    print("|---|---|---|---|---|---|---|")
    for tool, rows in _by_tool(SLOWER):
        found = [row["verdict"] == "higher" for row in rows]
        wrong = [row["verdict"] == "lower" for row in rows]
        late = np.quantile([row["seconds"] for row in rows], 0.8)
        print(
            f"| {tool} | {len(rows)} | {_share(found)} | {_share(wrong)} | "
            f"{_median(rows, 'seconds'):.1f} | {late:.1f} s | {_median(rows, 'rounds'):,.0f} |"
        )


def _by_tool(case: str) -> list[tuple[str, list[dict[str, Any]]]]:
    rows = [row for row in logged() if row["case"] == case]
    tools = dict.fromkeys(row["tool"] for row in rows)
    return [(tool, [row for row in rows if row["tool"] == tool]) for tool in tools]


def _median(rows: list[dict[str, Any]], key: str) -> float:
    return float(np.median([row[key] for row in rows]))


def _share(hits: list[bool]) -> str:
    share = sum(hits) / len(hits)
    error = math.sqrt(share * (1.0 - share) / len(hits))
    return f"{100.0 * share:.1f}% ± {100.0 * error:.1f}"


def pretended(noise: float, change: float, seed: int) -> int:
    """Rounds that a race needs on a machine whose runs vary by ``noise`` (standard deviation)."""
    rng = np.random.default_rng(seed)
    monitor = PairMonitor(ALPHA, EXPECTED, burn_in=FEWEST, relative=True)
    for rounds in range(1, 5_001):
        first, second = rng.lognormal(0.0, noise, 2)
        if monitor.update((1.0 + change) * second, first).result.decided:
            return rounds
    return 5_000


def print_quiet() -> None:
    """How many runs a 5% difference needs on quieter machines, by simulation."""
    runs = {seconds: max(10, round(3.0 / seconds)) for seconds in (0.005, 0.05, 0.5)}
    heads = " | ".join(f"hyperfine, {1e3 * seconds:g} ms" for seconds in runs)
    print(f"\n| runs vary by | rounds: median | 80% by | {heads} |")
    print("|---|---|---|---|---|---|")
    for noise in (0.01, 0.02, 0.05, 0.1):
        rounds = [pretended(noise, 0.05, seed) for seed in range(200)]
        cells = " | ".join(f"{count:,} runs" for count in runs.values())
        late = np.quantile(rounds, 0.8)
        print(f"| {100 * noise:g}% | {np.median(rounds):.0f} | {late:.0f} | {cells} |")


def main() -> None:
    """Race, then print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="print the tables of the log only")
    if not parser.parse_args(sys.argv[1:]).table:
        run_all()
    print_tables()
    print_quiet()


if __name__ == "__main__":
    main()
