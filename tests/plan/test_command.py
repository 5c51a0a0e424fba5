"""``dkmd plan``: options reach the plan, and the answer says what it rests on."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shell import here

from dkmd import detectable_shift, plan, power, sample_size
from dkmd.inference.test.sides import side_of_sorted
from dkmd.inference.test.width import robust_scale

DATA = Path(__file__).parents[2] / "examples" / "data"
BEFORE = str(DATA / "latency_before.csv")
EXPERIMENT = ("plan", str(DATA / "experiment.csv"), "-c", "revenue", "--factor", "1.1")
RNG = np.random.default_rng(5)
LAG = RNG.gamma(4.0, 5.0, 300)
HOST = RNG.integers(0, 30, 300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with one missing value."""
    path = tmp_path_factory.mktemp("plan")
    lag = np.append(LAG, math.nan)
    table = pd.DataFrame({"lag_ms": lag, "host": np.append(HOST, 0)})
    table.to_csv(path / "a.csv", index=False)
    return path


def _document(folder: Path, *words: str) -> dict[str, Any]:
    done = here("plan", "a.csv", "-c", "lag_ms", "--json", *words, cwd=folder)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _told(folder: Path, *words: str, code: int = 0) -> str:
    done = here("plan", *words, cwd=folder, code=code)
    return " ".join((done.stdout + done.stderr).split())


def test_the_three_questions_have_one_answer() -> None:
    def answer(*words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(here("plan", BEFORE, "--json", *words).stdout)
        return found

    n = str(answer("--shift", "3", "--power", "0.9")["n"])
    assert answer("-n", n, "--power", "0.9")["shift"] == pytest.approx(3.0, rel=0.01)
    assert answer("-n", n, "--shift", "3")["power"] == pytest.approx(0.9, abs=0.01)


def test_options_reach_the_plan(folder: Path) -> None:
    options = ("--alpha", "0.2", "--power", "0.6")
    assert _document(folder, "-n", "50", *options)["shift"] == detectable_shift(
        LAG, 50, power=0.6, alpha=0.2
    )
    assert _document(folder, "--shift", "2", *options)["n"] == sample_size(LAG, 2.0, 0.6, 0.2)
    both = _document(folder, "--shift", "2", "-n", "40", "--alpha", "0.2")
    assert both["power"] == power(LAG, 2.0, 40, alpha=0.2)
    assert (both["alpha"], both["unit"], both["pilot_size"]) == (0.2, "ms", 300)
    check = plan(LAG, 2.0, n=40, alpha=0.2).check
    assert check is not None
    assert both["check"] == check._asdict()


def test_a_shift_has_three_units(folder: Path) -> None:
    percent = _document(folder, "--shift", "7%", "-n", "40")
    assert (percent["shift"], percent["factor"]) == (None, pytest.approx(1.07))
    assert percent["power"] == power(LAG, n=40, factor=percent["factor"])
    scale = robust_scale(side_of_sorted(np.sort(LAG), 0.0))
    found = _document(folder, "--shift", "0.3sd", "-n", "40")["shift"]
    assert found == pytest.approx(0.3 * scale, rel=1e-9)
    words = ("a.csv", "-c", "lag_ms", "--shift")
    assert "detect a shift of 7% with power" in _told(folder, *words, "7%", "-n", "40")
    assert "detect a shift of 2 ms with power" in _told(folder, *words, "2", "-n", "40")
    assert "--shift needs a number" in _told(folder, *words, "much", code=2)


def test_sizes_and_groups_reach_the_plan(folder: Path) -> None:
    expected = plan(LAG, factor=1.2, ratio=4.0)
    found = _document(folder, "--factor", "1.2", "--ratio", "1:4")
    assert (found["n"], found["m"], found["factor"]) == (expected.n, 4 * expected.n, 1.2)
    assert found["shift"] is None
    assert _document(folder, "--factor", "1.2", "--ratio", "4")["m"] == 4 * expected.n
    assert _document(folder, "--shift", "2", "-n", "40", "--ratio", "2:1")["m"] == 20
    grouped = plan(LAG, 3.0, groups=HOST)
    found = _document(folder, "--shift", "3", "--groups", "host")
    assert (found["n"], found["groups"]) == (grouped.n, list(grouped.groups or ()))
    assert found["design_effect"] == grouped.design_effect
    words = _told(folder, "a.csv", "-c", "lag_ms", "--shift", "3", "--groups", "host")
    assert f"you need {grouped.n} values per side in {grouped.groups[0]} groups." in words  # type: ignore[index]
    for wrong in ("0:3", "x", "1:-2", "1:2:3", "inf"):
        refused = _told(folder, "a.csv", "-c", "lag_ms", "-n", "9", "--ratio", wrong, code=2)
        assert "--ratio needs" in refused


def test_covariates_and_strata_reach_the_plan() -> None:
    told = json.loads(here(*EXPERIMENT, "--covariate", "revenue_before", "--json").stdout)
    assert told["worth"] > 2.0
    both = here(*EXPERIMENT, "--covariate", "revenue_before", "--strata", "country").stdout
    assert "The covariates and strata are as good as" in " ".join(both.split())


def test_a_summary_is_a_pilot_without_rows(folder: Path) -> None:
    here("summarize", "a.csv", "-c", "lag_ms", "-o", "a.dkmd", "--force", cwd=folder)
    found = json.loads(here("plan", "a.dkmd", "-n", "50", "--json", cwd=folder).stdout)
    assert found["shift"] == pytest.approx(detectable_shift(LAG, 50), rel=1e-3)
    for option in ("--groups", "--covariate", "--strata"):
        refused = here("plan", "a.dkmd", "-n", "50", option, "host", cwd=folder, code=2).stderr
        assert len(refused.strip().splitlines()) == 1


def test_the_simulation_stands_beside_the_closed_form(folder: Path) -> None:
    words = _told(folder, "a.csv", "-c", "lag_ms", "--shift", "2", "-n", "60")
    found = plan(LAG, 2.0, n=60)
    assert found.check is not None
    assert f"with power {found.power:.3g}. 1,000 simulated comparisons have power" in words
    assert words.endswith(f"{found.check.power:.2f} ± {found.check.standard_error:.2f}.")


def test_what_to_watch_out_for_is_said(folder: Path) -> None:
    table = pd.read_csv(folder / "a.csv").head(150)
    table.to_csv(folder / "few.csv", index=False)
    few = ("few.csv", "-c", "lag_ms", "-n", "50")
    assert "the pilot has only 150 values, so the plan is rough" in _told(folder, *few)
    assert "rough" not in _told(folder, *few, "--quiet")
    missing = "missing values in the pilot, left out: 1"
    assert missing in _told(folder, "a.csv", "-c", "lag_ms", "-n", "50")
    done = here("plan", "a.csv", "-c", "lag_ms", "-n", "50", "--json", cwd=folder)
    assert missing in done.stderr


def test_shares_and_mostly_zeros(tmp_path: Path) -> None:
    rows = [f"{str(i % 20 == 0).lower()},{(i % 20 == 0) * (1 + i % 7)}" for i in range(8000)]
    (tmp_path / "x.csv").write_text("\n".join(["yes,spent", *rows]))

    def told(*words: str, code: int = 0) -> str:
        return _told(tmp_path, "x.csv", "-c", *words, code=code)

    assert told("yes", "--shift", "0.01").startswith(
        "To detect a shift of 0.01 (from 5% to 6%) with power 0.8, you need 8,173 values per side."
    )
    for same in (("--factor", "1.2"), ("--share", "0.01"), ("--shift", "1pp")):
        assert "a share that goes from 5% to 6% with power 0.8, you need 8,173" in told(
            "yes", *same
        )
    unequal = told("yes", "--share", "0.01", "--ratio", "1:4")
    assert " values on the changed side and " in unequal
    assert "(from 5% to 9.59%)" in told("yes", "-n", "500")
    assert "would make it 105%" in told("yes", "--shift", "1", code=2)
    assert "--factor 1.2" in told("yes", "--shift", "1%", code=2)
    assert "many values of the pilot are 0" in told("spent", "--shift", "1")
    assert "a pilot of the values above 0" in told("spent", "--factor", "1.5", code=2)
    share = told("spent", "--share", "0.02", "-n", "900")
    assert "a share of values other than 0 that goes from 5% to 7%" in share


@pytest.mark.parametrize("least", ["0", "-1"])
def test_a_percentage_needs_values_above_0(least: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("\n".join([least, *(f"{5 + i % 7}" for i in range(40))]))
    refused = _told(tmp_path, "x.txt", "--shift", "3%", "-n", "50", code=2)
    assert "a percentage work on logarithms, and the pilot has values of 0 or below" in refused


def test_a_command_without_a_question_is_one_line(folder: Path) -> None:
    words = ("a.csv", "-c", "lag_ms")
    assert "give the change to detect" in _told(folder, *words, code=2)
    both = _told(folder, *words, "--shift", "1", "--factor", "1.1", code=2)
    assert "give one change: --shift, --factor or --share" in both
