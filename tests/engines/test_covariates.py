"""Covariates and strata on every engine: the numbers of arrays to 1e-9 of the scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dkmd import compare, drift

SCALE = 1.0
COUNTRIES = np.array(["DE", "it's", "US", None], dtype=object)


def experiment(size: int = 4_000) -> pd.DataFrame:
    """An experiment in which nothing differs, with missing and infinite covariates."""
    rng = np.random.default_rng(5)
    before = rng.lognormal(size=size)
    spent = before**0.8 * rng.lognormal(0.5, 0.5, size)
    before[:3] = [math.inf, math.nan, 1e300]
    spent[10:13] = [math.nan, math.inf, 1e12]
    arm = rng.permutation(np.repeat(["a", "b"], size // 2))
    return pd.DataFrame(
        {
            "arm": arm,
            "spent": spent,
            "visits": rng.normal(size=size) - 3.0,
            "before": np.where(rng.random(size) < 0.1, math.nan, before),
            "country": pd.Series(rng.choice(COUNTRIES, size, p=[0.4, 0.3, 0.2, 0.1]), dtype=object),
            "host": np.arange(size) * 7 % 61 - (arm == "a") * (np.arange(size) % 50 == 0) * 100,
            "person": [f"{a}{i}" for a, i in zip(arm, rng.integers(0, 200, size), strict=True)],
        }
    )


TABLE = experiment()
HOW: dict[str, dict[str, Any]] = {
    "covariate": {"covariate": "before"},
    "strata": {"covariate": "before", "strata": "country"},
    "groups": {"covariate": "before", "strata": "country", "groups": "person"},
    "units": {"covariate": "before", "strata": "country", "pair_by": "host"},
    "values": {"covariate": "before", "pair_by": "host", "weigh": "values"},
}


@pytest.fixture(scope="module")
def table(engine: Any) -> Any:
    """The experiment in the engine."""
    return engine.load(TABLE, "experiment")


@pytest.mark.parametrize("design", HOW)
@pytest.mark.parametrize("rows", [4_000, 300])
def test_adjusted_numbers_are_those_of_arrays(
    engine: Any, table: Any, design: str, rows: int
) -> None:
    known = TABLE[:rows]
    source = table if rows == TABLE.shape[0] else engine.load(known, f"few_{design}")
    how: dict[str, Any] = {"column": "spent", "by": "arm", "reference": "a", "current": "b"}
    how |= {"scale": SCALE, "randomized": True, **HOW[design]}
    found, expected = compare(source, **how), compare(known, **how)
    assert found.shift == pytest.approx(expected.shift, abs=1e-9 * SCALE)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9 * SCALE)
    # ends are searched on merged bins, which depend on the grid
    assert found.shift_interval == pytest.approx(expected.shift_interval, abs=1e-6)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-4)
    assert found.warnings == expected.warnings
    assert found.adjustment is not None
    assert expected.adjustment is not None
    assert found.adjustment.worth == pytest.approx(expected.adjustment.worth, rel=1e-5)


def test_a_drift_is_adjusted(engine: Any) -> None:
    sides = [TABLE[TABLE.arm == arm][["spent", "visits", "before", "country"]] for arm in "ab"]
    tables = [engine.load(side, f"drift_{arm}") for side, arm in zip(sides, "ab", strict=True)]
    how: dict[str, Any] = {"covariate": "before", "strata": "country", "randomized": True}
    how["scale"] = SCALE
    found, expected = drift(*tables, **how), drift(*sides, **how)
    for name in ("spent", "visits"):
        assert found[name].shift == pytest.approx(expected[name].shift, abs=1e-6)
        assert found[name].pvalue == pytest.approx(expected[name].pvalue, rel=1e-3)
