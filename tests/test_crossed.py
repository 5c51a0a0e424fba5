"""Covariates and strata in long files and engines: the answers of arrays."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from keepers import CSV, KEEPERS

from dkmd import compare, drift
from dkmd.base.errors import ColumnError, ColumnTypeError
from dkmd.inference.design.columns import fit_factor
from dkmd.sources.engines.backends import IbisEngine

pytestmark = pytest.mark.slow  # plain Python would need minutes


def test_a_block_without_a_row_of_the_level_adds_nothing() -> None:
    """A partition that holds one arm only, as tables sorted by arm have."""
    sorted_by_arm = EXPERIMENT.sort_values("arm", kind="stable")
    asked: dict[str, Any] = {"column": "revenue", "scale": 1.0, **ARMS}
    blocks = dd.from_pandas(sorted_by_arm.reset_index(drop=True), npartitions=4)
    designs: list[dict[str, Any]] = [{}, {"groups": "user"}]
    for design in designs:
        found, expected = (compare(each, **asked, **design) for each in (blocks, EXPERIMENT))
        assert found.shift == pytest.approx(expected.shift, abs=1e-9)


def test_the_most_frequent_levels_have_columns() -> None:
    counts: dict[object, int] = {f"l{i:03}": 1_000 - i for i in range(200)}
    factor = fit_factor("s", {**counts, None: 5_000, "rare": 4})
    assert factor.levels[:3] == (None, "l000", "l001")
    assert len(factor.levels) == 101
    assert (factor.columns, factor.others) == (101, 101)
    assert factor.codes(["l000", "rare", None, "unseen"]).tolist() == [1, 101, 0, 101]


def experiment(size: int = 3_000) -> pd.DataFrame:
    """An experiment in which nothing differs."""
    rng = np.random.default_rng(4)
    before = rng.lognormal(size=size)
    revenue = before**0.8 * rng.lognormal(0.5, 0.5, size)
    return pd.DataFrame(
        {
            "arm": rng.permutation(np.repeat(["A", "B"], size // 2)),
            "revenue": revenue,
            "clicks": rng.poisson(3.0 + before),
            "before": np.where(rng.random(size) < 0.1, math.nan, before),
            "age": rng.integers(18, 80, size),
            "country": rng.choice(
                np.array(["DE", "FR", "US", None], dtype=object), size, p=[0.4, 0.3, 0.2, 0.1]
            ),
            "week": rng.choice(["1", "2"], size),
            "user": rng.integers(0, 300, size),
        }
    )


EXPERIMENT = experiment()
EXPERIMENT["user"] = [
    f"{arm}{user}" for arm, user in zip(EXPERIMENT.arm, EXPERIMENT.user, strict=True)
]
EXPERIMENT["host"] = np.random.default_rng(5).integers(0, 90, len(EXPERIMENT))
EXPERIMENT.loc[(EXPERIMENT.arm == "A") & (EXPERIMENT.host < 3), "host"] += 1_000  # on one side only
EXPERIMENT["host"] = "h" + EXPERIMENT.host.astype(str)
ARMS: dict[str, Any] = {"by": "arm", "reference": "A", "current": "B"}
HOW: dict[str, dict[str, Any]] = {
    "covariate": {"covariate": "before"},
    "strata": {"strata": "country"},
    "both": {"covariate": ["before", "age"], "strata": ["country", "week"]},
    "groups": {"covariate": "before", "strata": "country", "groups": "user"},
    "units": {"covariate": ["before", "age"], "strata": "country", "pair_by": "host"},
    "values": {"covariate": "before", "pair_by": "host", "weigh": "values"},
}
ELSEWHERE = ("large parquet", "large csv", "large arrow file", "engine", "relation")


@pytest.mark.parametrize("design", HOW)
@pytest.mark.parametrize("place", ELSEWHERE)
def test_everywhere_the_numbers_are_those_of_arrays(
    place: str, design: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = "covariate", "strata", "values"
    if place in ("relation", "large csv", "large arrow file") and design in few:
        return  # the other designs cover them there
    asked: dict[str, Any] = {"column": "revenue", "scale": 1.0, "randomized": True, **ARMS}
    expected = compare(EXPERIMENT, **asked, **HOW[design])
    source = {**KEEPERS, **CSV}[place](pa.Table.from_pandas(EXPERIMENT), tmp_path, monkeypatch)
    found = compare(source, **asked, **HOW[design])
    assert found.shift == pytest.approx(expected.shift, abs=1e-9)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    # ends are searched on merged bins, which depend on the grid
    assert found.shift_interval == pytest.approx(expected.shift_interval, abs=1e-6)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-4)
    assert found.relative_shift == pytest.approx(expected.relative_shift, abs=1e-5)
    assert found.warnings == expected.warnings
    assert found.adjustment is not None
    assert expected.adjustment is not None
    assert found.adjustment.names == expected.adjustment.names
    assert found.adjustment.worth == pytest.approx(expected.adjustment.worth, rel=1e-5)
    assert found.mean is not None or design == "groups"
    assert found.df == pytest.approx(expected.df, rel=1e-6)
    if expected.pairing is not None:
        assert found.pairing is not None
        assert found.pairing[:4] == expected.pairing[:4]


def test_a_property_of_units_adjusts_nothing_in_an_engine() -> None:
    number = EXPERIMENT.host.str[1:].astype(float)
    rows = EXPERIMENT.assign(cores=number % 7, zone=(number % 3).astype(str))
    asked: dict[str, Any] = {"column": "revenue", "scale": 1.0, "pair_by": "host", **ARMS}
    table = duckdb.connect().from_df(rows)
    raw = compare(table, **asked)
    found = compare(table, **asked, covariate="cores", strata="zone", randomized=True)
    assert found.shift == pytest.approx(raw.shift, abs=1e-9)
    assert found.pvalue == pytest.approx(raw.pvalue, rel=1e-6)
    assert any("pairing has already removed" in note for note in found.warnings)


def test_few_rows_of_an_engine_have_the_skewness_of_what_is_left() -> None:
    few = EXPERIMENT[:80]
    asked: dict[str, Any] = {"column": "revenue", "scale": 1.0, "randomized": True, **ARMS}
    for design in (HOW["covariate"], HOW["both"]):
        expected = compare(few, **asked, **design)
        rows = duckdb.connect().from_df(few)
        assert compare(rows, **asked, **design).pvalue == pytest.approx(expected.pvalue, rel=1e-6)


def test_a_side_in_memory_goes_with_a_side_that_is_not() -> None:
    old, new = (EXPERIMENT[EXPERIMENT.arm == arm] for arm in "AB")
    asked: dict[str, Any] = {"column": "revenue", "scale": 1.0, "randomized": True}
    rows = duckdb.connect().from_df(new)
    for design in (HOW["both"], HOW["groups"], HOW["units"]):
        expected = compare(old, new, **asked, **design)
        found = compare(old, rows, **asked, **design)
        assert found.shift == pytest.approx(expected.shift, abs=1e-9)
        assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-4)


def test_shares_in_an_engine_are_adjusted() -> None:
    yes = EXPERIMENT.assign(bought=(EXPERIMENT.revenue > 3.0).astype(int))
    asked: dict[str, Any] = {"column": "bought", "randomized": True, "covariate": "before", **ARMS}
    found, expected = compare(duckdb.connect().from_df(yes), **asked), compare(yes, **asked)
    assert found.kind == expected.kind
    assert found.headline() == expected.headline()


def test_columns_of_a_drift_in_an_engine_share_their_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = (EXPERIMENT[EXPERIMENT.arm == arm].drop(columns="arm") for arm in "AB")
    more = {f"c{i}": EXPERIMENT.revenue * (1.0 + i) - 5.0 for i in range(12)}  # no logarithms
    old, new = (side.assign(**{n: c[side.index] for n, c in more.items()}) for side in (old, new))
    import ibis

    engine = ibis.duckdb.connect()
    tables = tuple(
        engine.create_table(name, pa.Table.from_pandas(side, preserve_index=False))
        for name, side in (("old", old), ("new", new))
    )
    asked: list[Any] = []
    run = IbisEngine.run

    def counted(engine: IbisEngine, query: Any) -> Any:
        asked.append(query)
        return run(engine, query)

    monkeypatch.setattr(IbisEngine, "run", counted)
    design: dict[str, Any] = {"covariate": "before", "strata": "country", "randomized": True}
    found = drift(tables[0], tables[1], columns=list(more), **design)
    expected = drift(old, new, columns=list(more), **design)
    # bins and minima of all columns together; of each column its levels, scores and means
    assert len(asked) <= 2 * 2 + 2 * 3 * len(more)
    for name in more:
        assert found[name].pvalue == pytest.approx(expected[name].pvalue, rel=1e-3)
    asked.clear()
    few = [*more][:3]
    found = drift(tables[0], tables[1], columns=few, pair_by="host", scale=1.0, **design)
    expected = drift(old, new, columns=few, pair_by="host", scale=1.0, **design)
    for name in few:
        assert found[name].shift == pytest.approx(
            expected[name].shift, abs=2e-9
        )  # each is right to 1e-9
        assert found[name].pvalue == pytest.approx(expected[name].pvalue, rel=1e-6)


def test_covariates_that_do_not_fit_are_told_in_engines_and_long_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = duckdb.connect().from_df(EXPERIMENT.assign(one=1.0, copy=EXPERIMENT.revenue))
    asked: dict[str, Any] = {"column": "revenue", "randomized": True, **ARMS}
    with pytest.raises(ColumnError, match="is the outcome itself"):
        compare(rows, **asked, covariate="copy")
    with pytest.raises(ColumnError, match="is the outcome itself"):
        compare(rows, **asked, covariate="revenue")
    assert any(
        "has one value only" in note for note in compare(rows, **asked, covariate="one").warnings
    )
    with pytest.raises(ColumnTypeError, match="'country' holds text"):
        compare(rows, **asked, covariate="country")
    with pytest.raises(ValueError, match="no column 'nothing'"):
        compare(rows, **asked, strata="nothing")
    with pytest.raises(ColumnError, match="no unit is in both samples"):
        compare(rows, **asked, covariate="before", pair_by="user")
    tilted = EXPERIMENT.assign(before=EXPERIMENT.before + (EXPERIMENT.arm == "B"))
    for table in (tilted, duckdb.connect().from_df(tilted)):
        for groups in (None, "user"):
            notes = compare(table, **asked, covariate="before", groups=groups).warnings
            assert any("before differs between the sides" in note for note in notes)
    path = CSV["large csv"](pa.Table.from_pandas(EXPERIMENT), tmp_path, monkeypatch)
    words = path.read_text().splitlines()
    cells = words[400].split(",")
    cells[words[0].split(",").index("before")] = "much"
    words[400] = ",".join(cells)
    path.write_text("\n".join(words))
    with pytest.raises(ValueError, match=r"column 'before', row 400.*much"):
        compare(path, **asked, covariate="before")
