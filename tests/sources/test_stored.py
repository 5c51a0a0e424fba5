"""Every place where rows live answers what a design asks as rows in memory do."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from keepers import CSV, KEEPERS

from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.columns import Covariate, Factor, Frame
from dkmd.inference.design.held import HeldRows
from dkmd.inference.design.labels import coded
from dkmd.inference.design.means import linear_scores
from dkmd.inference.design.stored import RowSums, ScoreTable, Stored, UnitTable
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.sides import Side
from dkmd.sources.blocks import Block, BlockRows, HeldBlocks
from dkmd.sources.engines.score_queries import with_scores
from dkmd.sources.loading import open_table
from dkmd.sources.memory.columns import as_marks
from dkmd.sources.table import DesignColumns, Storing

FRAME = Frame(
    (Covariate("before", 0.2, 0.4, missing=True), Covariate("age", 30.0, 0.05)),
    (Factor("country", ("DE", "it's", None), others=2), Factor("week", ("1", "2"))),
)


def visits(seed: int, size: int, hosts: int) -> pd.DataFrame:
    """Positive values, some missing, infinite or far away, with all that may stand beside them."""
    rng = np.random.default_rng(seed)
    values = rng.lognormal(1.0, 0.7, size)
    values[:6] = [math.nan, math.inf, math.inf, 1e12, 1e-9, math.nan]
    weight = rng.lognormal(size=size)
    weight[[4, 9]] = 0.0
    countries = np.array(["DE", "it's", "US", "FR", None], dtype=object)
    return pd.DataFrame(
        {
            "ms": values,
            "before": np.where(rng.random(size) < 0.1, math.nan, rng.normal(size=size)),
            "age": rng.integers(18, 80, size).astype(float),
            "country": rng.choice(countries, size, p=[0.4, 0.3, 0.1, 0.1, 0.1]),
            "week": rng.choice(["1", "2"], size),
            "host": [f"h{h}" for h in rng.integers(0, hosts, size) + 3 * seed],
            "weight": weight,
            "copies": rng.integers(0, 4, size).astype(float),
        }
    )


TABLES = visits(1, 1_500, 40), visits(2, 1_300, 45)
NAMES = {
    "plain": DesignColumns(),
    "groups": DesignColumns(groups="host"),
    "covariates": DesignColumns(("before", "age"), ("country", "week")),
    "weights": DesignColumns(weights="weight"),
    "counts": DesignColumns(groups="host", counts="copies"),
    "all": DesignColumns(("before", "age"), ("country", "week"), "host", "weight", "copies"),
    "all but groups": DesignColumns(
        ("before", "age"), ("country", "week"), None, "weight", "copies"
    ),
}


def in_memory(table: pd.DataFrame, names: DesignColumns) -> HeldRows:
    """The rows of a table that weigh and count something, as the design holds them."""
    rows = np.ones(len(table), dtype=bool)
    for name in (names.weights, names.counts):
        rows &= True if name is None else (table[name] > 0.0).to_numpy()
    table = table[rows]
    if names.counts is not None:
        table = table.loc[table.index.repeat(table[names.counts].astype(int))]
    return HeldRows(
        table.ms.to_numpy(),
        None if names.weights is None else table[names.weights].to_numpy(),
        None,
        None if names.groups is None else coded(table[names.groups].to_numpy(dtype=object)),
        {name: table[name].to_numpy() for name in names.covariates},
        {name: table[name].to_numpy(dtype=object) for name in names.strata},
    )


def in_blocks(table: pd.DataFrame, names: DesignColumns, *_: object) -> Stored:
    """The rows of a table in blocks, of which one is empty."""

    def block(rows: pd.DataFrame) -> Block:
        found = Block(
            rows.ms.to_numpy(),
            None if names.weights is None else rows[names.weights].to_numpy(),
            None if names.counts is None else rows[names.counts].to_numpy(),
            None if names.groups is None else rows[names.groups].to_numpy(dtype=object),
            {name: rows[name].to_numpy() for name in names.covariates},
            {name: as_marks(rows[name]) for name in names.strata},
        )
        return found.used()

    ends = 0, 400, 400, 1_100, len(table)
    return BlockRows(HeldBlocks([block(table[a:b]) for a, b in pairwise(ends)]), names)


Keep = Callable[[pd.DataFrame, DesignColumns, Path, pytest.MonkeyPatch], Stored]


def in_table(place: str) -> Keep:
    """The rows of a table as they are opened in some place."""

    def kept(
        table: pd.DataFrame, names: DesignColumns, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Stored:
        folder.mkdir()
        source = {**KEEPERS, **CSV}[place](pa.Table.from_pandas(table), folder, monkeypatch)
        opened = open_table(source, place)
        assert isinstance(opened, Storing)
        return opened.stored("ms", names, None)

    return kept


KEPT = ("engine", "relation", "dask", "large parquet", "large csv", "large arrow file")
PLACES: dict[str, Keep] = {"blocks": in_blocks}
PLACES |= {place: in_table(place) for place in KEPT}


@cache
def grid_of(logs: bool) -> Grid:
    """A grid for both tables."""
    values = [np.log(table.ms) if logs else table.ms for table in TABLES]
    return Grid.fit(*(v.to_numpy() for v in values)).rounded()


def scores_of(x: Stored, y: Stored, logs: bool) -> tuple[ScoreTable, ScoreTable]:
    """The scores of both sides, from bins in memory."""
    one, two = (side.bins(grid_of(logs), logs) for side in (x, y))
    pair = Pair(Side.of(one), Side.of(two), 8.0 * one.grid.unit, one.grid.center)
    return ScoreTable.of_pair(pair, one, two)


def assert_same_bins(found: Summary, expected: Summary) -> None:
    """Equal to the last digits but those of a value on an edge."""
    assert found.total == pytest.approx(expected.total, rel=1e-12)
    ends = [(s.minus_inf, s.plus_inf) for s in (found, expected)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)
    assert found.bins.tolist() == expected.bins.tolist()
    for name in ("counts", "sums", "squares"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-9)
    assert found.minimum == pytest.approx(expected.minimum, rel=1e-12)
    assert found.maximum == pytest.approx(expected.maximum, rel=1e-12)


def assert_same_units(found: UnitTable, expected: UnitTable) -> None:
    """Equal to 1e-9, in any order of the units."""
    assert found.labels is not None
    assert expected.labels is not None
    order, places = np.argsort(found.labels), np.argsort(expected.labels)
    assert found.labels[order].tolist() == expected.labels[places].tolist()
    for name in ("weight", "sums", "rows"):
        ours, theirs = getattr(found, name)[order], getattr(expected, name)[places]
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9), name
    assert found.powers == pytest.approx(expected.powers, rel=1e-9)


def assert_same_sums(found: RowSums, expected: RowSums) -> None:
    """Equal to 1e-9 of the largest number."""
    for ours, theirs in zip(found, expected, strict=True):
        scale = max(1.0, float(np.abs(theirs).max()))
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9 * scale)


@pytest.mark.parametrize("place", PLACES)
def test_values_are_scores_that_a_single_bin_has(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As means ask for them. All values are finite."""
    names = DesignColumns(groups="host", weights="weight")
    table = TABLES[0][np.isfinite(TABLES[0].ms)]
    scores = linear_scores(Grid(3.0, 0.5))
    found = PLACES[place](table, names, tmp_path / "t", monkeypatch).units(scores, Frame(), False)
    used = table[table.weight > 0.0]
    u, w = (used.ms - 3.0) / 0.5, used.weight / used.weight.mean()
    expected = (u * w).groupby(used.host).sum()
    assert found.labels is not None
    order = np.argsort(found.labels)
    assert found.sums[order, 0] == pytest.approx(expected.sort_index().to_numpy(), rel=1e-9)
    assert found.powers == pytest.approx([len(u), u.sum(), (u**2).sum(), (u**3).sum()], rel=1e-9)


def test_a_value_in_a_bin_that_is_not_listed_has_the_score_of_the_nearest_one() -> None:
    """Engines compute logarithms of their own, so a value may lie one bin off."""
    grid, bins = Grid(0.0, 1.0), np.array([5, 6, 40])
    coefficients = np.arange(9.0).reshape(3, 1, 3)
    scores = ScoreTable(grid, bins, np.array([0.04, 0.05, 0.37]), coefficients, np.zeros((2, 1)))
    x = np.expm1((np.array([4, 5, 6, 7, 22, 24, 39, 41]) + 0.5) / 128.0)
    table = ibis.duckdb.connect().create_table("t", pa.table({"x": x}))
    found = with_scores(table, scores, "duckdb").order_by("x").to_pyarrow()["s0"].to_numpy()
    places = np.array([0, 0, 1, 1, 1, 2, 2, 2])
    away, c = x - scores.mean[places], coefficients[places, 0].T
    assert found == pytest.approx(c[0] + away * (c[1] + away * c[2]), rel=1e-12)


SUMMED = ("plain", "groups", "weights")
"""Designs that partitions of dask are summed up for."""


@pytest.mark.parametrize("logs", [False, True])
@pytest.mark.parametrize(
    ("place", "design"),
    [(place, name) for place in PLACES for name in NAMES if place != "dask" or name in SUMMED],
)
def test_answers_are_those_of_rows_in_memory(
    place: str, design: str, logs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = NAMES[design]
    frame = FRAME if names.covariates else Frame()
    expected = [in_memory(table, names) for table in TABLES]
    found = [
        PLACES[place](table, names, tmp_path / str(i), monkeypatch)
        for i, table in enumerate(TABLES)
    ]
    tables = scores_of(expected[0], expected[1], logs)
    for ours, theirs, beside, scores in zip(found, expected, found[::-1], tables, strict=True):
        assert (tuple(ours.covariates), tuple(ours.strata)) == (names.covariates, names.strata)
        assert ours.has_units is theirs.has_units
        assert_same_bins(ours.bins(grid_of(logs), logs), theirs.bins(grid_of(logs), logs))
        assert ours.levels() == theirs.levels()
        some, all_ = ours.sample(), theirs.sample()
        assert some.whole
        for mine, other in zip(
            (some.values, *some.covariates), (all_.values, *all_.covariates), strict=True
        ):
            assert np.array_equal(np.sort(mine), np.sort(other), equal_nan=True)
        weighing = ours.weighing()
        assert (weighing is None) == (names.weights is None)
        if weighing is not None:
            assert weighing == pytest.approx(theirs.weighing(), rel=1e-12)
        if theirs.has_units:
            assert sorted(ours.labels()) == sorted(theirs.labels())
            assert_same_units(ours.units(scores, frame, logs), theirs.units(scores, frame, logs))
        for theta in () if theirs.has_units else (None, np.linspace(-0.3, 0.4, frame.width)):
            assert_same_sums(
                ours.rows(scores, frame, logs, theta), theirs.rows(scores, frame, logs, theta)
            )
        if theirs.has_units and weighing is None:
            assert_same_bins(
                ours.shared_bins(grid_of(logs), beside, logs),
                theirs.shared_bins(grid_of(logs), expected[int(theirs is expected[0])], logs),
            )
