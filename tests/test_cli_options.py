"""Every option of the command has its effect: the answers equal those of the functions.

The sides differ in size and shape, and options are combined. So a lost or swapped option changes a
number.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shell import ROOT, answer_in, here

from dkmd import Grid, Summary, compare, detectable_shift, drift, plan, power, sample_size
from dkmd.answers.comparison import to_json
from dkmd.answers.gate import gate, load_benchmarks
from dkmd.inference.pooled_shape import median_and_spread

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


def test_bins_are_compared_with_all_options() -> None:
    words = ["compare", "--from-bins", str(DATA / "flights_bins.csv"), "-c", "dep_delay"]
    words += ["--reference", "JFK", "--current", "EWR", "--json"]
    wide, narrow = (
        json.loads(here(*words, "--alpha", alpha, "--margin", "0.5").stdout)
        for alpha in ("0.01", "0.3")
    )
    assert (wide["alpha"], narrow["alpha"]) == (0.01, 0.3)
    assert wide["shift"] == narrow["shift"]
    assert wide["shift_interval"][0] < narrow["shift_interval"][0]
    assert wide["margin"] == 0.5


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


@pytest.fixture(scope="module")
def pilot(folder: Path) -> Summary:
    """The pilot values that ``plan`` reads from the first table."""
    values = pd.read_csv(folder / "a.csv")["lag_ms"].to_numpy()
    return Summary.of(values, Grid.fit(values))


def test_options_of_plan_reach_it(pilot: Summary, folder: Path) -> None:
    def answer(*words: str) -> dict[str, Any]:
        done = here("plan", "a.csv", "-c", "lag_ms", "--json", *words, cwd=folder)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    options = ("--alpha", "0.2", "--power", "0.6")
    assert answer("-n", "50", *options)["shift"] == detectable_shift(
        pilot, 50, power=0.6, alpha=0.2
    )
    assert answer("--shift", "2", *options)["n"] == sample_size(pilot, 2.0, 0.6, 0.2)
    both = answer("--shift", "2", "-n", "40", "--alpha", "0.2")
    assert both["power"] == power(pilot, 2.0, 40, alpha=0.2)
    assert (both["alpha"], both["unit"], both["pilot_size"]) == (0.2, "ms", 90)
    median, robust = pilot.median(), median_and_spread(pilot)[1]
    assert answer("--shift", "7%", "-n", "40")["shift"] == pytest.approx(0.07 * median, rel=1e-12)
    assert answer("--shift", "0.3sd", "-n", "40")["shift"] == pytest.approx(0.3 * robust, rel=1e-12)


def test_changes_sizes_and_groups_of_plan_reach_it(folder: Path) -> None:
    def answer(*words: str) -> dict[str, Any]:
        done = here("plan", "a.csv", "-c", "lag_ms", "--json", *words, cwd=folder)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    table = pd.read_csv(folder / "a.csv")
    lag, host = table["lag_ms"].to_numpy(), table["host"].to_numpy()
    expected = plan(lag, factor=1.2, ratio=4.0)
    found = answer("--factor", "1.2", "--ratio", "1:4")
    assert (found["n"], found["m"], found["factor"]) == (expected.n, 4 * expected.n, 1.2)
    assert found["shift"] is None
    assert expected.range is not None
    assert found["range"] == {"of": "n", "low": expected.range[0], "high": expected.range[1]}
    assert answer("--factor", "1.2", "--ratio", "4")["m"] == 4 * expected.n
    assert answer("--shift", "2", "-n", "40", "--ratio", "2:1")["m"] == 20
    grouped = plan(lag, 3.0, groups=host)
    found = answer("--shift", "3", "--groups", "host")
    assert (found["n"], found["groups"]) == (grouped.n, list(grouped.groups or ()))
    assert found["design_effect"] == grouped.design_effect


def test_plans_of_shares_and_of_mostly_zeros(tmp_path: Path) -> None:
    rows = [f"{str(i % 20 == 0).lower()},{(i % 20 == 0) * (1 + i % 7)}" for i in range(8000)]
    (tmp_path / "x.csv").write_text("\n".join(["yes,spent", *rows]))

    def told(*words: str, code: int = 0) -> str:
        done = here("plan", "x.csv", *words, cwd=tmp_path, code=code)
        return " ".join((done.stdout + done.stderr).split())

    assert told("-c", "yes", "--shift", "0.01").startswith(
        "To detect a shift of 0.01 (from 5% to 6%) with power 0.8, you need 8,173 values per side."
    )
    assert "a share that goes from 5% to 6%" in told("-c", "yes", "--factor", "1.2")
    unequal = told("-c", "yes", "--share", "0.01", "--ratio", "1:4")
    assert " values on the changed side and " in unequal
    assert "(from 5% to 9.59%)" in told("-c", "yes", "-n", "500")
    assert "would make it 105%" in told("-c", "yes", "--shift", "1", code=2)
    assert "--factor 1.2" in told("-c", "yes", "--shift", "1%", code=2)
    assert "95% of the pilot's values are 0" in told("-c", "spent", "--shift", "1", code=2)
    assert "95% of the pilot's values are 0" in told("-c", "spent", "-n", "100", code=2)
    factor = told("-c", "spent", "--factor", "1.5")
    assert "a factor of 1.5 in the values other than 0" in factor
    share = told("-c", "spent", "--share", "0.02", "-n", "900")
    assert "a share of values other than 0 that goes from 5% to 7%" in share
    (tmp_path / "x.csv").write_text("\n".join(["yes,spent", *rows[:2000]]))
    assert "because only 100 of the pilot's values are of the rarer kind" in told(
        "-c", "yes", "--shift", "0.01"
    )
    for wrong in ("0:3", "x", "1:-2", "1:2:3", "inf"):
        assert "--ratio needs" in told("-c", "yes", "--share", "0.1", "--ratio", wrong, code=2)


def test_the_range_of_a_small_pilot_is_said(folder: Path) -> None:
    words = ("plan", "a.csv", "-c", "lag_ms")
    for more, pattern in (
        (("--shift", "2"), r"you need [\d,]+ values per side \([\d,]+ to [\d,]+, because the"),
        (("-n", "60"), r"shift of [\d.]+ ms \([\d.]+ to [\d.]+ ms, because the pilot is small\)"),
        (("-n", "60", "--shift", "2"), r"power [\d.]+ \([\d.]+ to [\d.]+, because the pilot"),
        (("--shift", "3", "--groups", "host"), r"values per side in \d+ groups \([\d,]+ to"),
    ):
        assert re.search(pattern, answer_in(here(*words, *more, cwd=folder).stdout))


def test_a_small_pilot_is_told(tmp_path: Path) -> None:
    for size, told in ((29, True), (30, False)):
        (tmp_path / "x.txt").write_text("".join(f"{i % 11 + i / 97}\n" for i in range(size)))
        shown = here("plan", "x.txt", "-n", "50", cwd=tmp_path).stdout
        assert (f"the pilot has only {size} values" in shown) == told


def test_a_summary_keeps_the_unit_and_the_grid_it_was_asked_for(folder: Path) -> None:
    here("summarize", "a.csv", "-c", "lag_ms", "-o", "a.dkmd", cwd=folder)
    here("summarize", "b.csv", "-c", "lag_ms", "-o", "b.dkmd", "--like", "a.dkmd", cwd=folder)
    first, second = (Summary.load(folder / f"{name}.dkmd") for name in "ab")
    assert (first.column, first.column_unit) == ("lag_ms", "ms")
    assert first.grid == second.grid
    answer = json.loads(here("compare", "a.dkmd", "b.dkmd", "--json", cwd=folder).stdout)
    assert answer["unit"] == "ms"


def test_the_grid_of_a_query_is_center_and_unit() -> None:
    words = ("sql", "t", "--dialect", "duckdb", "-c", "v", "--by", "g")
    text = here(*words, "--grid", "1234.5,0.0625").stdout
    assert "CAST('1234.5' AS DOUBLE) AS \"center\"" in text
    assert "CAST('0.0625' AS DOUBLE) AS \"unit\"" in text
    for wrong in ("1", "1,2,3", "a,b", "1,0"):
        here(*words, "--grid", wrong, code=2)


@pytest.mark.parametrize("least", ["0", "-1"])
def test_a_plan_in_percent_needs_values_above_0(least: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("\n".join([least, *(f"{5 + i % 7}" for i in range(40))]))
    told = here("plan", "x.txt", "--shift", "3%", "-n", "50", cwd=tmp_path, code=2).stderr
    assert "--shift 3%: a percentage needs values above 0 only" in told
