"""Every option of the command has its effect: the answers equal those of the functions.

The sides differ in size and shape, and options are combined. So a lost or swapped option changes a
number.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shell import ROOT, here

from dkmd import Summary, compare, drift
from dkmd.answers.comparison import to_json
from dkmd.answers.gate import gate, load_benchmarks

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

DATA = ROOT / "examples" / "data"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables that differ, with groups, text and levels."""
    folder = tmp_path_factory.mktemp("options")
    rng = np.random.default_rng(31)
    for name, rows, moved in (("a", 90, 0.0), ("b", 140, 1.5)):
        host = rng.integers(12 if name == "a" else 20, size=rows)
        lag = rng.gamma(3.0, 4.0, rows) + moved + rng.normal(size=20)[host]
        frame = pd.DataFrame({"lag_ms": lag, "size": rng.normal(5.0, 1.0, rows), "host": host})
        frame.assign(level=np.where(host % 3, "x", "y")).to_csv(folder / f"{name}.csv", index=False)
    return folder


def _same(words: list[str], expected: Any, folder: Path, code: int = 0) -> None:
    """The command's JSON equals the JSON of an answer."""
    found = json.loads(here(*words, "--json", cwd=folder, code=code).stdout)
    assert found == json.loads(to_json(expected.to_dict()))


OPTIONS: list[dict[str, Any]] = [
    {},
    {"alpha": 0.2},
    {"margin": 1.0},
    {"margin": "3%", "alpha": 0.3},
    {"margin": "0.2sd", "groups": "host"},
    {"groups": "host", "alpha": 0.01},
    {"margin": 0.1, "groups": "host", "alpha": 0.3},
]


def _flags(options: dict[str, Any]) -> list[str]:
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


@pytest.mark.parametrize("options", OPTIONS)
def test_options_of_compare_and_drift_reach_them(options: dict[str, Any], folder: Path) -> None:
    files = ["a.csv", "b.csv"]
    old, new = (folder / name for name in files)
    words = [*files, *_flags(options)]
    expected: Any = compare(old, new, column="lag_ms", **options)
    _same(["compare", *words, "-c", "lag_ms"], expected, folder)
    expected = drift(old, new, ["lag_ms", "size"], **options)
    _same(["drift", *words, "-c", "lag_ms", "-c", "size"], expected, folder)
    _same(["drift", *words], drift(old, new, **options), folder)
    levels: dict[str, Any] = {"column": "lag_ms", "by": "level", "reference": "x", "current": "y"}
    long = compare(new, **levels, **options)
    _same(["compare", "b.csv", *_flags(levels), *_flags(options)], long, folder)


@pytest.mark.parametrize("worse", ["higher", "lower"])
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_options_of_the_gate_reach_it(worse: str, alpha: float, folder: Path) -> None:
    how: dict[str, Any] = {"column": "lag_ms", "by": "level", "groups": "host"}
    before, after = (load_benchmarks(str(folder / f"{name}.csv"), **how) for name in "ab")
    for margin in ("0.5ms", "4%"):
        expected = gate(before, after, margin=margin, worse=worse, alpha=alpha)
        code = {"passed": 0, "failed": 1, "inconclusive": 3}[expected.outcome]
        options = {"margin": margin, "worse": worse, "alpha": alpha}
        _same(["gate", "a.csv", "b.csv", *_flags(how), *_flags(options)], expected, folder, code)


def test_a_margin_that_is_a_number_has_the_unit_of_the_data(folder: Path) -> None:
    words = ("compare", "a.csv", "b.csv", "-c", "lag_ms", "--margin", "0.5", "-q")
    assert "by more than 0.5 ms" in here(*words, cwd=folder).stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--where", "v > 1"), "--table and --where need --connect"),
        (("--table", "t"), "--table and --where need --connect"),
        (("--connect", "duckdb://x", "--table", "t"), "not both"),
    ],
)
def test_options_of_databases_are_refused_beside_files(
    words: tuple[str, ...], reason: str, folder: Path
) -> None:
    assert reason in here("compare", "a.csv", "b.csv", *words, cwd=folder, code=2).stderr


def test_a_summary_keeps_the_unit_and_the_grid_it_was_asked_for(folder: Path) -> None:
    here("summarize", "a.csv", "-c", "lag_ms", "-o", "a.dkmd", cwd=folder)
    here("summarize", "b.csv", "-c", "lag_ms", "-o", "b.dkmd", "--like", "a.dkmd", cwd=folder)
    first, second = (Summary.load(folder / f"{name}.dkmd") for name in "ab")
    assert (first.column, first.column_unit) == ("lag_ms", "ms")
    assert first.grid == second.grid
    answer = json.loads(here("compare", "a.dkmd", "b.dkmd", "--json", cwd=folder).stdout)
    assert answer["unit"] == "ms"
