"""The gate's statistics at its door: correlated rounds, counters, one value per run.

Every claim is made through ``dkmd gate`` or ``dkmd.gate`` on files as benchmark tools write them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom
from shell import here

from dkmd.answers.gate import FAILED, PASSED, Gate, gate, load_benchmarks

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

Values = npt.NDArray[np.float64]
PASSES = ("same", "not worse", "better")


def _go(path: Path, **metrics: Sequence[float]) -> Path:
    """A file of ``go test -bench . -count N``; ``Sort_B`` are the bytes of ``Sort``."""
    units = {"": "ns/op", "B": "B/op", "allocs": "allocs/op"}
    lines = ["goos: linux", "goarch: amd64", "pkg: example.com/m"]
    for name in dict.fromkeys(name.partition("_")[0] for name in metrics):
        own = {key: values for key, values in metrics.items() if key.partition("_")[0] == name}
        for row in zip(*own.values(), strict=True):
            told = "\t".join(
                f"{value:.9g} {units[key.partition('_')[2]]}"
                for key, value in zip(own, row, strict=True)
            )
            lines.append(f"Benchmark{name}-8\t 1000\t{told}")
    path.write_text("\n".join(lines) + "\nPASS\n")
    return path


def _rounds(rng: np.random.Generator, count: int, correlation: float, noise: float) -> Values:
    """The noise of rounds that follow each other: an autoregression of standard deviation noise."""
    found = rng.normal(size=count)
    for i in range(1, count):
        found[i] = correlation * found[i - 1] + np.sqrt(1.0 - correlation**2) * found[i]
    return noise * found


def _json(*words: str) -> Any:
    return json.loads(here("gate", *words, "--json", code=None).stdout)


# correlated rounds: go test -count N


@pytest.mark.parametrize("count", [24, 25])
@pytest.mark.parametrize("drifts", [0, 1])
def test_rounds_that_drift_on_one_side_are_cut_into_blocks_on_both(
    count: int, drifts: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(11)
    noise = [rng.normal(0.0, 0.01, count) for _ in range(2)]
    noise[drifts] = 0.02 * np.sin(np.arange(count) / 3.0)
    sides = [str(_go(tmp_path / f"{i}.txt", Sort=1e4 * np.exp(noise[i]))) for i in range(2)]
    done = here("gate", *sides, "--margin", "10%")
    assert "blocks of neighbours are compared" in " ".join(done.stdout.split())
    assert "only 4 and 4" in done.stdout
    assert "processes" not in done.stdout
    assert "too few" not in done.stdout


def _go_gate(folder: Path, rng: np.random.Generator, slower: float = 1.0, **asked: Any) -> Gate:
    """A gate of five benchmarks, 25 rounds each, whose neighbours are more or less alike."""
    files = [
        _go(
            folder / f"{side}.txt",
            **{
                f"B{i}": 1e4 * factor * np.exp(_rounds(rng, 25, 0.15 * i, 0.01)) for i in range(5)
            },
        )
        for side, factor in (("main", 1.0), ("branch", slower))
    ]
    return gate(*map(load_benchmarks, files), **asked)


def test_gates_of_correlated_rounds_pass_and_never_find_too_few_inside_the_margin(
    tmp_path: Path,
) -> None:
    rng, times = np.random.default_rng(12), 60
    outcomes = []
    for _ in range(times):
        found = _go_gate(tmp_path, rng, margin="5%")
        outcomes.append(found.outcome)
        assert all(row.interval[1] >= 0.05 for row in found.rows if row.cause == "too few values")
    assert outcomes.count(PASSED) >= 0.9 * times
    assert outcomes.count(FAILED) == 0
    worse = [_go_gate(tmp_path, rng, slower=1.12, margin="5%").outcome for _ in range(times)]
    assert worse.count(FAILED) >= 0.9 * times
    assert worse.count(PASSED) == 0


def test_a_change_of_the_margin_in_correlated_rounds_keeps_both_promises(tmp_path: Path) -> None:
    """At the margin itself a gate may fail in alpha of the cases, and so may a benchmark pass."""
    rng, times = np.random.default_rng(13), 100
    found = [_go_gate(tmp_path, rng, slower=1.03, margin="3%") for _ in range(times)]
    fails = sum(each.outcome == FAILED for each in found)
    passes = sum(row.verdict in PASSES for each in found for row in each.rows)
    # docs/gate_runs.md: few correlated rounds keep rates of up to twice alpha
    assert fails <= binom.ppf(1.0 - 1e-4, times, 0.1)
    assert passes <= binom.ppf(1.0 - 1e-4, 5 * times, 0.1)


@pytest.mark.parametrize("count", [4, 8, 12, 25])
def test_quiet_go_files_of_any_count_pass(count: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(count)
    sides = [
        str(_go(tmp_path / f"{side}.txt", Sort=1e4 * np.exp(rng.normal(0.0, 0.01, size))))
        for side, size in (("main", count), ("branch", 25))
    ]
    assert _json(*sides, "--margin", "10%")["outcome"] == PASSED
