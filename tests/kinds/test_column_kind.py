"""Kinds of columns: yes/no data, mostly one value, counts, ratings, identifiers, constants."""

from __future__ import annotations

import json
import math
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shell import here

from dkmd import Grid, Summary, compare, drift
from dkmd.answers.many_columns import UNTESTED
from dkmd.base.arrays import Array
from dkmd.base.documents import _checksum
from dkmd.inference.kinds.column_kind import TwoSamples, kind_of_pair, parse_kind

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower


RNG = np.random.default_rng(20)


def _yes(size: int, yes: int, no: float = 0.0, value: float = 1.0) -> Array:
    """So many values, of which so many are yes, in random order."""
    values = np.full(size, no)
    values[:yes] = value
    return RNG.permutation(values)


def _zeros(size: int, others: Array) -> Array:
    return RNG.permutation(np.concatenate([np.zeros(size - others.size), others]))


def _with_zeros(zeros: int, amounts: Array) -> Array:
    return np.concatenate([np.zeros(zeros), amounts[zeros:]])


AMOUNTS = np.random.default_rng(1).lognormal(3.0, 0.8, 400)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (AMOUNTS, "amount"),
        (np.round(AMOUNTS), "amount"),
        (-np.round(AMOUNTS / 10.0), "amount"),
        (_yes(50, 10), "yes/no"),
        (_yes(50, 10, 1.0, 2.0), "yes/no"),
        (_zeros(300, AMOUNTS[:150]), "mostly one value"),
        (100.0 - _zeros(300, AMOUNTS[:100]), "mostly one value"),
        (_zeros(310, AMOUNTS[:160]), "amount"),
        (np.random.default_rng(2).poisson(3.0, 200), "count"),
        (np.random.default_rng(2).poisson(30.0, 400), "amount"),  # as minutes would be
        (np.random.default_rng(2).geometric(0.02, 4000) - 1, "count"),
        (np.random.default_rng(3).integers(1, 6, 100), "rating"),
        (np.random.default_rng(3).integers(0, 11, 200), "count"),
        (np.arange(1000, 1400), "identifier"),
        (np.sort(AMOUNTS), "amount"),
        (np.full(30, 7.0), "constant"),
        (np.array([1.0, 2.0, 2.0, 2.0]), "amount"),
    ],
)
def test_the_values_tell_the_kind(values: Array, kind: str) -> None:
    numbers = np.asarray(values, dtype=np.float64)
    assert kind_of_pair(TwoSamples(numbers, numbers)) == kind
    grid = Grid.fit(numbers)
    binned = Summary.of(numbers, grid)
    # bins do not know which values are distinct
    expected = "amount" if kind == "identifier" else kind
    if not (kind == "count" and numbers.max() > 15.0):  # nor large counts one by one
        assert kind_of_pair(TwoSamples(binned, binned)) == expected


def test_the_name_of_a_column_does_not_tell_its_kind() -> None:
    shuffled, few = RNG.permutation(np.arange(3000.0))[:500], RNG.integers(0, 11, 500)
    for values, names, kind in (
        (shuffled, ("latency", "user_id", "orderId", "key"), "amount"),
        (few, ("visits", "rating", "score", "stars", "nps"), "count"),
        (np.arange(1000, 1500), ("latency", "user_id"), "identifier"),
    ):
        frame = pd.DataFrame(dict.fromkeys(names, values))
        assert {compare(frame, frame, column=name).kind for name in names} == {kind}
    frame = pd.DataFrame({"user_id": shuffled, "nps": few})
    asked = drift(frame, frame, kind={"user_id": "id", "nps": "rating"})
    assert asked.skipped == {"user_id": UNTESTED["identifier"]}
    assert asked["nps"].kind == "rating"


def test_a_third_value_on_the_current_side_is_no_yes_no() -> None:
    old, new = _yes(100, 30), np.append(_yes(99, 40), 2.0)
    assert kind_of_pair(TwoSamples(new, old)) == "mostly one value"
    assert kind_of_pair(TwoSamples(np.zeros(20), old)) == "yes/no"
    assert kind_of_pair(TwoSamples(old, np.zeros(20))) == "yes/no"
    both_constant = TwoSamples(np.full(20, 7.0), np.full(20, 5.0))
    assert kind_of_pair(both_constant) == "amount"  # a shift says more than shares


def test_engines_give_the_kinds_of_memory() -> None:
    rng = np.random.default_rng(15)
    frames = [
        pd.DataFrame({
            "yes": rng.random(3000) < share,
            "spend": _zeros(3000, f * rng.lognormal(3.0, 0.8, 300)),
            "stars": rng.integers(1, 6, 3000), "latency": rng.lognormal(size=3000),
            "user_id": rng.permutation(np.arange(7000, 10_000)),
        })
        for share, f in ((0.2, 1.0), (0.25, 1.5))
    ]  # fmt: skip
    exact = drift(frames[0], frames[1])
    relations = [duckdb.connect().from_df(frame) for frame in frames]
    found = drift(relations[0], relations[1])
    assert list(found) == list(exact)
    assert found.skipped == exact.skipped == {"user_id": UNTESTED["identifier"]}
    for name in exact:
        one, other = exact[name], found[name]
        assert (other.kind, other.verdict, other.changed) == (one.kind, one.verdict, one.changed)
        assert other.tests == pytest.approx(one.tests, rel=0.01, abs=1e-9)


@pytest.mark.parametrize(("zeros", "parts"), [(119, False), (120, True), (199, True), (200, True)])
def test_a_value_is_common_from_30_percent_on(zeros: int, parts: bool) -> None:
    """Below, a column is an ordinary amount. The kind only decides what is said first."""
    rng = np.random.default_rng(12)
    amounts, other = rng.lognormal(3.0, 0.6, 400), 1.5 * rng.lognormal(3.0, 0.6, 400)
    answer = compare(_with_zeros(zeros, amounts), _with_zeros(zeros, other))
    assert answer.kind == ("mostly one value" if zeros >= 200 else "amount")
    assert ({"share", "rest"} <= answer.tests.keys()) == parts
    assert (answer.parts is not None) == parts
    assert "shift" in answer.tests
    assert answer.verdict == "higher"


def test_a_kind_can_be_chosen() -> None:
    old = _zeros(400, np.random.default_rng(1).lognormal(3.0, 0.5, 160))
    new = _zeros(400, np.random.default_rng(2).lognormal(3.5, 0.5, 160))
    assert compare(old, new).kind == "mostly one value"
    chosen = compare(old, new, kind="amount")
    assert chosen.kind == "amount"
    assert chosen.deciding == ("shift",)
    assert "rest" in chosen.changed  # still looked for
    assert "The values other than 0 are higher" in chosen.headline()
    some = compare(_zeros(400, AMOUNTS[:260]), _zeros(400, 2 * AMOUNTS[:260]), kind="zeros")
    assert some.deciding == ("share", "rest")
    with pytest.raises(ValueError, match="cannot be of kind 'yes/no': there are not exactly two"):
        compare(old, new, kind="yes/no")
    with pytest.raises(ValueError, match="kind must be one of amount, yes/no"):
        compare(old, new, kind="colour")
    assert parse_kind(" ZEROS ") == "mostly one value"


def test_drift_shows_kinds_and_skips_identifiers_and_constants(tmp_path: Path) -> None:
    rng = np.random.default_rng(14)

    def table(share: int, factor: float, start: int) -> pd.DataFrame:
        return pd.DataFrame({
            "order_id": np.arange(start, start + 500), "version": 3, "converted": _yes(500, share),
            "revenue": _zeros(500, factor * rng.lognormal(3.0, 0.5, 120)),
            "items": rng.poisson(3.0, 500), "latency": rng.normal(size=500),
        })  # fmt: skip

    old, new = table(60, 1.0, 0), table(120, 1.6, 500)
    found = drift(old, new)
    assert {name: found[name].kind for name in sorted(found)} == {
        "converted": "yes/no", "items": "count", "latency": "amount", "revenue": "mostly one value",
    }  # fmt: skip
    assert found.skipped == {
        "order_id": "it holds identifiers, which are not tested",
        "version": "all its values are equal",
    }
    assert set(found.shifted) == {"converted", "revenue"}
    assert found["converted"].tests.keys() == {"share"}
    assert found["revenue"].tests.keys() >= {"share", "rest", "shift"}
    family = [p for name in found for p in found[name].tests.values()]
    adjusted = stats.false_discovery_control(family)
    told = [f.adjusted_pvalue for name in found for f in found[name].findings]
    assert set(np.round([p for p in told if p is not None], 12)) <= set(np.round(adjusted, 12))
    assert "yes/no" in str(found)
    assert "share 12.0% → 24.0%" in str(found)
    asked = drift(old, new, ["order_id", "latency"])
    assert any("look like identifiers" in note for note in asked.notes())
    chosen = drift(old, new, kind={"latency": "id"})
    assert "latency" in chosen.skipped
    missing = new.assign(order_id=new.order_id.where(new.order_id % 2 == 0))
    answer = drift(old, missing)["order_id"]
    assert answer.changed == ["missing"]
    assert math.isnan(answer.pvalue)
    assert answer.headline().startswith("order_id holds identifiers, which are not tested.")
    for frame, name in ((old, "a.csv"), (new, "b.csv")):
        frame.to_csv(tmp_path / name, index=False)
    shown = here(
        "drift", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--kind", "revenue=amount",
        "--json", "--fail-on", "share", code=1,
    )  # fmt: skip
    kinds = {each["name"]: each["kind"] for each in json.loads(shown.stdout)["comparisons"]}
    assert kinds["revenue"] == "amount"
    refused = here(
        "drift", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--kind", "zeros", code=2
    )
    assert "--kind of a drift needs a column" in refused.stderr


def test_the_command_accepts_a_kind_and_the_page_shows_it(tmp_path: Path) -> None:
    old, new = tmp_path / "a.csv", tmp_path / "b.csv"
    pd.DataFrame({"v": _zeros(300, AMOUNTS[:100]), "w": _yes(300, 30)}).to_csv(old, index=False)
    pd.DataFrame({"v": _zeros(300, 3 * AMOUNTS[:90]), "w": _yes(300, 60)}).to_csv(new, index=False)
    page = tmp_path / "page.html"
    here("drift", str(old), str(new), "--report", str(page))
    text = page.read_text()
    assert "share 10.0% → 20.0%" in text
    assert "mostly one value" in text
    answer = here("compare", str(old), str(new), "-c", "v", "--kind", "amount", "--json").stdout
    assert json.loads(answer)["kind"] == "amount"
    here("compare", str(old), str(new), "-c", "w", "--margin", "1pp", "--report", str(page))
    assert "percentage points" in page.read_text()
    assert "share of 1" in page.read_text()


def test_a_summary_keeps_the_kind_and_older_files_are_read(tmp_path: Path) -> None:
    data, saved = tmp_path / "a.csv", tmp_path / "a.dkmd"
    pd.DataFrame({"v": _zeros(300, AMOUNTS[:180])}).to_csv(data, index=False)
    here("summarize", str(data), "-o", str(saved))
    assert Summary.load(saved).kind == "amount"
    here("summarize", str(data), "-o", str(saved), "--kind", "zeros")
    assert Summary.load(saved).kind == "mostly one value"
    assert compare(saved, data).kind == "mostly one value"
    import gzip

    document = json.loads(gzip.decompress(saved.read_bytes()))
    del document["kind"]
    document["checksum"] = _checksum(document)
    saved.write_bytes(gzip.compress(json.dumps(document).encode()))
    assert Summary.load(saved).kind == ""
    assert compare(saved, data).kind == "amount"
