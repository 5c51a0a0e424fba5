"""Units on both sides and segments on every engine: the numbers of arrays to 1e-9 of the scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dkmd import compare, drift
from dkmd.answers.comparison import Comparison

SCALE = 5.0


def requests(seed: int, size: int, hosts: range, slower: float) -> pd.DataFrame:
    """Requests of hosts of very different speed; some hosts have far more than others."""
    rng = np.random.default_rng(seed)
    weight = np.linspace(1.0, 4.0, len(hosts))
    host = rng.choice(list(hosts), size, p=weight / weight.sum())
    ms = 80.0 + 6.0 * np.sin(host) + rng.gamma(4.0, 5.0, size) + slower
    ms[:2] = [np.inf, np.nan]
    zone = np.where(host % 3 == 0, "a'b", "c")
    frame = pd.DataFrame({"ms": ms, "queue": rng.normal(size=size), "host": host, "zone": zone})
    # drawn last, so that the columns above stay as they were
    return frame.assign(weight=rng.lognormal(size=size), copies=rng.integers(0, 4, size))


BEFORE, AFTER = requests(1, 4_000, range(30), 0.0), requests(2, 5_000, range(2, 33), 0.5)


@pytest.fixture(scope="module")
def tables(engine: Any) -> tuple[Any, Any]:
    """Both sides in the engine."""
    return engine.load(BEFORE, "units_before"), engine.load(AFTER, "units_after")


def assert_same(found: Comparison, expected: Comparison) -> None:
    """Equal to 1e-9 of the scale."""
    near = 1e-9 * expected.scale
    assert found.statistic == pytest.approx(expected.statistic, abs=near)
    assert found.shift == pytest.approx(expected.shift, abs=near)
    assert found.shift_interval == pytest.approx(expected.shift_interval, abs=1e5 * near)
    # the distance of medians is known to within a bin
    assert found.pvalue == pytest.approx(expected.pvalue, rel=3e-3)


@pytest.mark.parametrize("weigh", ["units", "values"])
def test_units_pair_as_in_memory(tables: tuple[Any, Any], weigh: str) -> None:
    how: Any = {"column": "ms", "pair_by": "host", "scale": SCALE, "weigh": weigh}
    found, expected = compare(*tables, **how), compare(BEFORE, AFTER, **how)
    assert_same(found, expected)
    assert found.warnings == expected.warnings
    assert found.pairing is not None
    assert expected.pairing is not None
    assert found.pairing[:4] == expected.pairing[:4]
    assert found.pairing.gain == pytest.approx(expected.pairing.gain, rel=1e-3)


def test_levels_of_one_table_are_paired(engine: Any) -> None:
    long = pd.concat([BEFORE.assign(build=1), AFTER.assign(build=2)], ignore_index=True)
    table = engine.load(long, "units_long")
    how: Any = {"column": "ms", "pair_by": "host", "scale": SCALE}
    found = compare(table, by="build", reference=1, current=2, **how)
    assert_same(found, compare(BEFORE, AFTER, **how))


def test_drift_pairs_every_column(tables: tuple[Any, Any]) -> None:
    found = drift(*tables, columns=["ms", "queue"], pair_by="host")
    expected = drift(BEFORE, AFTER, columns=["ms", "queue"], pair_by="host")
    for name in ("ms", "queue"):
        assert found[name].shift == pytest.approx(expected[name].shift, rel=1e-3, abs=1e-4)
        assert found[name].pairing is not None


def test_segments_are_those_in_memory(tables: tuple[Any, Any]) -> None:
    how: Any = {"column": "ms", "segments": "zone", "scale": SCALE}
    found, expected = compare(*tables, **how), compare(BEFORE, AFTER, **how)
    assert_same(found.total, expected.total)
    for theirs in expected.segments:
        ours = found[theirs.name]
        assert ours.sizes == theirs.sizes
        assert ours.carried == pytest.approx(theirs.carried, abs=1e-6)
        assert ours.comparison is not None
        assert theirs.comparison is not None
        assert ours.comparison.shift == pytest.approx(theirs.comparison.shift, abs=1e-6)
    assert found.splits[0].differing.pvalue == pytest.approx(
        expected.splits[0].differing.pvalue, rel=1e-3
    )


@pytest.mark.parametrize(
    "beside",
    [{"weights": "weight"}, {"counts": "copies"}, {"weights": "weight", "counts": "copies"}],
)
def test_weights_and_counts_are_those_in_memory(
    engine: Any, tables: tuple[Any, Any], beside: dict[str, str]
) -> None:
    how: Any = {"column": "ms", "scale": SCALE, **beside}
    found, expected = compare(*tables, **how), compare(BEFORE, AFTER, **how)
    assert_same(found, expected)
    assert found.df == pytest.approx(expected.df, rel=1e-6)
    if expected.effective_sizes is not None:
        assert found.effective_sizes == pytest.approx(expected.effective_sizes, rel=1e-10)
    assert (found.reference.size, found.reference.nan) == (
        expected.reference.size,
        expected.reference.nan,
    )


TOGETHER: dict[str, Any] = {
    "weights, groups": {"weights": "weight", "groups": "host"},
    "counts, units": {"counts": "copies", "pair_by": "host"},
    "weights, covariate": {"weights": "weight", "covariate": "queue", "randomized": True},
    "all": {
        "weights": "weight",
        "counts": "copies",
        "groups": "host",
        "covariate": "queue",
        "strata": "zone",
        "randomized": True,
    },
}


@pytest.mark.parametrize("design", TOGETHER)
def test_weights_and_counts_go_with_groups_units_and_covariates(
    tables: tuple[Any, Any], design: str
) -> None:
    how: Any = {"column": "ms", "scale": SCALE, **TOGETHER[design]}
    found, expected = compare(*tables, **how), compare(BEFORE, AFTER, **how)
    assert_same(found, expected)
    assert found.df == pytest.approx(expected.df, rel=1e-6)
    assert found.warnings == expected.warnings


@pytest.mark.parametrize(("column", "bad"), [("weight", -1.0), ("weight", np.nan), ("copies", 0.5)])
def test_weights_and_counts_that_cannot_be_used_are_errors(
    engine: Any, column: str, bad: float
) -> None:
    few = BEFORE[:40].astype({column: float})
    few.loc[7, column] = bad
    table = engine.load(few, "broken_weights")
    how: Any = {"weights" if column == "weight" else "counts": column}
    with pytest.raises(
        ValueError, match=r"1 row has a (negative weight|missing weight|count that)"
    ):
        compare(table, table, column="ms", **how)
