"""``compare`` of means and of ratios of sums: estimand="mean", per=, --estimand, --per."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shell import answer_in, here

import dkmd
from dkmd import compare, dkmd_2samp
from dkmd.answers.comparison import Comparisons, to_json
from dkmd.answers.page import page_of
from dkmd.base.arrays import Array
from dkmd.render.report.page import page_html

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

SCHEMA = json.loads(
    (Path(dkmd.__file__).parent / "answers" / "schema" / "answers.json").read_text()
)


def _visits(seed: int, revenue: float, users: int = 500) -> pd.DataFrame:
    """A row per user: sessions, revenue of about ``revenue`` per session, last month, country."""
    rng = np.random.default_rng(seed)
    sessions = 1 + rng.poisson(3.0, users)
    taste = rng.gamma(4.0, 0.25, users)
    return pd.DataFrame(
        {
            "sessions": sessions,
            "revenue": sessions * taste * rng.gamma(8.0, revenue / 8.0, users),
            "before": sessions * taste * rng.gamma(8.0, revenue / 8.0, users),
            "store": rng.integers(0, 40, users),
        }
    )


OLD, NEW = _visits(1, 5.0), _visits(2, 6.0)


def _ratio(frame: pd.DataFrame) -> float:
    return float(frame.revenue.sum() / frame.sessions.sum())


def _linear(frame: pd.DataFrame) -> Array:
    """Values whose mean is the ratio of sums, and whose variance is that of the delta method."""
    ratio, size = _ratio(frame), frame.sessions.mean()
    return np.asarray(ratio + (frame.revenue - ratio * frame.sessions) / size)


def _valid(answer: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(answer.to_json())
    jsonschema.validate(document, SCHEMA)
    return document


def test_means_of_arrays_of_one_size_are_compared_as_welch_does() -> None:
    old, new = OLD.revenue.to_numpy(), NEW.revenue.to_numpy()
    answer = compare(old, new, estimand="mean")
    welch = stats.ttest_ind(new, old, equal_var=False)
    assert answer.shift == pytest.approx(new.mean() - old.mean(), rel=1e-12)
    assert answer.pvalue == pytest.approx(welch.pvalue, rel=1e-9)
    assert tuple(answer.shift_interval) == pytest.approx(tuple(welch.confidence_interval()))
    assert answer.relative_shift == pytest.approx(new.mean() / old.mean() - 1.0)
    assert answer.changed[0] == "mean"
    theirs = dkmd_2samp(new, old, estimand="mean")
    assert (answer.shift, answer.pvalue) == pytest.approx((theirs.shift, theirs.pvalue), rel=1e-9)


def test_an_answer_about_means_says_so() -> None:
    answer = compare(OLD, NEW, column="revenue", estimand="mean")
    assert answer.headline().startswith("the mean of revenue is HIGHER in current than in")
    assert "typically" not in answer.headline()
    rows = {row[0]: row[1:] for row in answer.rows()}
    assert "shift" not in rows
    assert rows["median"][:2] == rows["50%"][:2]
    assert answer.reference.median == pytest.approx(np.median(OLD.revenue))
    assert answer.mean is not None
    assert answer.mean[:2] == pytest.approx((OLD.revenue.mean(), NEW.revenue.mean()))
    assert answer.finding("mean") is None
    document = _valid(answer)
    assert (document["estimand"], document["per"], document["width"]) == ("mean", None, None)
    assert _valid(compare(OLD, NEW, column="revenue"))["width"] > 0.0


def test_a_ratio_of_sums_has_the_error_of_the_delta_method() -> None:
    answer = compare(OLD, NEW, column="revenue", per="sessions")
    welch = stats.ttest_ind(_linear(NEW), _linear(OLD), equal_var=False)
    assert answer.shift == pytest.approx(_ratio(NEW) - _ratio(OLD), rel=1e-12)
    assert answer.relative_shift == pytest.approx(_ratio(NEW) / _ratio(OLD) - 1.0)
    assert tuple(answer.shift_interval) == pytest.approx(tuple(welch.confidence_interval()))
    rng = np.random.default_rng(3)
    draws = [
        _ratio(NEW.sample(frac=1.0, replace=True, random_state=rng))
        - _ratio(OLD.sample(frac=1.0, replace=True, random_state=rng))
        for _ in range(1000)
    ]
    # 1,000 draws know a standard deviation to 2%
    assert answer.result.standard_error == pytest.approx(np.std(draws), rel=0.08)


def test_a_ratio_of_sums_reads_as_a_ratio() -> None:
    answer = compare(OLD, NEW, column="revenue", per="sessions", margin="5%")
    assert answer.headline().startswith(
        "revenue per sessions is HIGHER in current than in reference, by more than 5%: +"
    )
    assert [row[0] for row in answer.rows()] == ["values", "ratio"]
    assert answer.mean is not None
    assert answer.mean[:2] == pytest.approx((_ratio(OLD), _ratio(NEW)))
    assert _valid(answer)["per"] == "sessions"
    text = page_html(page_of(answer))
    assert "revenue per sessions is HIGHER" in text
    assert "a ratio of sums belongs to all rows together" in text
    assert "Share of values up to here" not in text
    assert "The amount is the ratio of sums of current minus that of the reference" in text
    arrays = compare(OLD.revenue, NEW.revenue, per=(OLD.sessions, NEW.sessions))
    assert arrays.headline().startswith("revenue per denominator is HIGHER")
    assert (arrays.shift, arrays.pvalue) == (answer.shift, answer.pvalue)


def test_groups_widen_the_interval_of_a_ratio() -> None:
    """The error comes from leaving out one store at a time."""
    answer = compare(OLD, NEW, column="revenue", per="sessions", groups="store")
    assert answer.shift == pytest.approx(_ratio(NEW) - _ratio(OLD), rel=1e-12)
    variance = 0.0
    for frame in (OLD, NEW):
        left = np.array([_ratio(frame[frame.store != store]) for store in range(40)])
        variance += 39.0 / 40.0 * float(((left - left.mean()) ** 2).sum())
    assert answer.result.standard_error == pytest.approx(math.sqrt(variance), rel=0.02)
    assert dict.fromkeys(row[0] for row in answer.rows()) == {"values": None, "ratio": None}


@pytest.mark.parametrize("per", [None, "sessions"])
def test_a_covariate_narrows_the_interval_of_a_mean_and_of_a_ratio(per: str | None) -> None:
    """As CUPED does: least squares on what was known before."""
    how: dict[str, Any] = {"column": "revenue", "per": per, "estimand": "mean"}
    plain = compare(OLD, NEW, **how)
    answer = compare(OLD, NEW, covariate="before", randomized=True, **how)
    old, new = (_linear(f) if per else f.revenue.to_numpy() for f in (OLD, NEW))
    both = np.concatenate([OLD.before, NEW.before])
    side = np.repeat([0.0, 1.0], [len(OLD), len(NEW)])
    columns = np.column_stack([np.ones(both.size), side, both])
    fit = np.linalg.lstsq(columns, np.concatenate([old, new]), rcond=None)[0]
    assert answer.shift == pytest.approx(fit[1], abs=0.1 * answer.result.standard_error)
    assert answer.adjustment is not None
    assert answer.adjustment.names == ("before",)
    assert (answer.adjustment.shift, answer.adjustment.pvalue) == pytest.approx(
        (plain.shift, plain.pvalue), rel=1e-9
    )
    name, numbers = ("ratio", "revenue per sessions") if per else ("mean", "the mean of revenue")
    assert answer.headline().startswith(numbers)
    rows = {row[0]: row[3] for row in answer.rows()}
    assert rows[name].endswith(", adjusted")
    assert rows["not adjusted"] == {row[0]: row[3] for row in plain.rows()}[name]
    if per is None:
        assert answer.result.standard_error < 0.8 * plain.result.standard_error


def test_a_row_without_a_denominator_is_missing() -> None:
    new = NEW.assign(sessions=NEW.sessions.astype(float))
    new.loc[:9, "sessions"] = math.nan
    answer = compare(OLD, new, column="revenue", per="sessions")
    assert (answer.current.size, answer.current.nan) == (490, 10)
    assert answer.shift == pytest.approx(_ratio(NEW[10:]) - _ratio(OLD), rel=1e-12)


def test_several_columns_and_levels_change_their_mean() -> None:
    found = compare(OLD, NEW, column=["revenue", "sessions"], estimand="mean")
    assert found.table()[0][1] == "mean"
    assert found.headline().startswith("1 of 2 columns changed their mean (false-discovery rate")
    assert "The mean changed" not in found.headline()
    frames = {"old": OLD, "new": NEW, "other": _visits(4, 5.0)}
    long = pd.concat([frame.assign(arm=name) for name, frame in frames.items()])
    levels = compare(long, column="revenue", by="arm", reference="old", per="sessions")
    assert isinstance(levels, Comparisons)
    assert levels.shifted == ["new"]
    assert levels["new"].shift == pytest.approx(_ratio(NEW) - _ratio(OLD), rel=1e-12)
    assert "1 of 2 changed their ratio" in levels.headline()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("means")
    OLD.to_csv(folder / "old.csv", index=False)
    NEW.to_csv(folder / "new.csv", index=False)
    with duckdb.connect(str(folder / "visits.db")) as connection:
        for name, frame in (("old", OLD), ("new", NEW)):
            connection.register("given", frame)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return folder


@pytest.mark.parametrize(
    "options",
    [
        {"estimand": "mean"},
        {"per": "sessions"},
        {"per": "sessions", "estimand": "mean", "margin": "5%"},
        {"per": "sessions", "groups": "store"},
        {"estimand": "mean", "groups": "store", "alpha": 0.2},
        {"per": "sessions", "covariate": "before", "randomized": True},
    ],
)
def test_the_command_compares_means_and_ratios(options: dict[str, Any], folder: Path) -> None:
    flags: list[str] = []
    for name, value in options.items():
        flags += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    words = ["compare", "old.csv", "new.csv", "-c", "revenue", *flags]
    found = json.loads(here(*words, "--json", cwd=folder).stdout)
    expected = compare(folder / "old.csv", folder / "new.csv", column="revenue", **options)
    assert found == json.loads(to_json(expected.to_dict()))
    subject = "revenue per sessions" if "per" in options else "the mean of revenue"
    assert answer_in(here(*words, cwd=folder).stdout).startswith(f"{subject} is HIGHER")


def test_means_of_an_engine_equal_those_of_its_rows(folder: Path) -> None:
    url = f"duckdb://{folder}/visits.db"
    words = ["compare", "--connect", url, "--table", "old", "--table", "new", "-c", "revenue"]
    found = json.loads(here(*words, "--estimand", "mean", "--json", cwd=folder).stdout)
    expected = compare(OLD, NEW, column="revenue", estimand="mean")
    assert found["shift"] == pytest.approx(expected.shift, rel=1e-9)
    assert found["shift_interval"] == pytest.approx(list(expected.shift_interval), rel=1e-6)
    told = here(*words, "--per", "sessions", cwd=folder, code=2).stderr
    assert "ratios of sums need the rows of old in memory" in told
    assert "sum up numerators and denominators by unit first, and compare these sums" in told


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"per": "sessions", "estimand": "shift"}, "so estimand is 'mean', not 'shift'"),
    ({"estimand": "median"}, "estimand must be one of shift, mean; got 'median'"),
    ({"estimand": "mean", "scale": 2.0}, "the estimand 'mean' has no witness, scale"),
    ({"per": "clicks"}, "reference has no column 'clicks'"),
    ({"per": "nothing"}, "reference, nothing: denominators must be finite and add up to more"),
    ({"per": (OLD.sessions, NEW.sessions[:9])}, "current, denominator: 500 values need as many"),
    ({"per": "sessions", "segments": "store"}, "not with covariates, strata, weights, counts or"),
    ({"estimand": "mean", "segments": "store"}, "compared by their shifts, not by their means"),
]


@pytest.mark.parametrize(("options", "reason"), REFUSED)
def test_what_cannot_be_a_mean_or_a_ratio_is_refused(options: dict[str, Any], reason: str) -> None:
    old = OLD.assign(nothing=0.0)
    with pytest.raises((TypeError, ValueError), match=reason):
        compare(old, NEW.assign(nothing=1.0), column="revenue", **options)


def test_infinite_values_have_no_mean(folder: Path) -> None:
    old = OLD.revenue.to_numpy().copy()
    old[3] = math.inf
    for options in ({"estimand": "mean"}, {"per": (OLD.sessions, NEW.sessions)}):
        with pytest.raises(ValueError, match="a mean needs finite values; the shift does not"):
            compare(old, NEW.revenue, **options)
    words = ("compare", "old.csv", "new.csv", "--together", "*", "--per", "sessions")
    assert "cannot use --per" in here(*words, cwd=folder, code=2).stderr
