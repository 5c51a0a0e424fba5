"""Segments: every level of a column compared, whether they differ, and what the mix did."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from keepers import CSV, KEEPERS, Keep
from scipy import stats
from shell import here

import dkmd
from dkmd import Segmented, compare

SCHEMA = json.loads(
    (Path(dkmd.__file__).parent / "answers" / "schema" / "answers.json").read_text()
)

LEVELS = {"DE": 10.0, "FR": 20.0, "US": 40.0, "tiny": 5.0}


SEVERAL: Any = {"column": ["value", "device"]}  # no overload has several columns with segments=


def visits(
    seed: int, size: int, shares: list[float], effects: dict[str, float], spread: float = 3.0
) -> pd.DataFrame:
    """Visits of some countries, each at its own level."""
    rng = np.random.default_rng(seed)
    country = rng.choice(list(LEVELS), size, p=shares)
    device = rng.choice(["phone", "desk"], size, p=[0.3, 0.7])
    value = [LEVELS[c] + effects.get(c, 0.0) for c in country] + rng.normal(0.0, spread, size)
    return pd.DataFrame({"value": value, "country": country, "device": device})


BEFORE = visits(1, 1500, [0.3, 0.4, 0.297, 0.003], {})
AFTER = visits(2, 1900, [0.5, 0.3, 0.197, 0.003], {"DE": 0.5, "FR": 0.8, "US": 2.5})
"""Every country went up, and many visits moved to a country with low values."""

SAME_MIX = visits(3, 1700, [0.3, 0.4, 0.297, 0.003], {"FR": 1.5})


@pytest.fixture(scope="module")
def reversed_() -> Segmented:
    return compare(BEFORE, AFTER, column="value", segments=["country", "device"], cross=True)


@pytest.mark.slow
def test_each_segment_is_the_comparison_of_its_rows(reversed_: Segmented) -> None:
    where: Callable[[pd.DataFrame], pd.Series]
    for name, where in (
        ("country=FR", lambda f: f.country == "FR"),
        ("device=phone", lambda f: f.device == "phone"),
        ("country=US, device=desk", lambda f: (f.country == "US") & (f.device == "desk")),
    ):
        alone = compare(BEFORE[where(BEFORE)].value, AFTER[where(AFTER)].value)
        found = reversed_[name].comparison
        assert found is not None
        assert found.shift == alone.shift
        assert found.shift_interval == alone.shift_interval
        assert found.pvalue == alone.pvalue
    total = compare(BEFORE, AFTER, column="value")
    assert reversed_.total.pvalue == total.pvalue
    assert reversed_.total.warnings == total.warnings  # neighbours stay neighbours


@pytest.mark.slow
def test_simpsons_reversal_is_said_first(reversed_: Segmented) -> None:
    assert reversed_.split("country").reversed
    assert not reversed_.split("device").reversed
    assert reversed_.headline().startswith(
        "Simpson's reversal: value is HIGHER in every segment of country, but LOWER in total, "
        "because the mix of country changed. value is LOWER in current than in reference"
    )
    fixed = reversed_.split("country").constant_mix
    assert fixed.low > 0.0
    other = compare(AFTER, BEFORE, column="value", segments="country")
    assert other.headline().startswith("Simpson's reversal: value is LOWER in every segment")


@pytest.mark.slow
def test_noise_is_no_reversal() -> None:
    """Two segments up and the total down by chance is nothing to tell."""
    told = 0
    for seed in range(20):
        old = visits(100 + seed, 200, [0.5, 0.5, 0.0, 0.0], {})
        new = visits(300 + seed, 200, [0.5, 0.5, 0.0, 0.0], {})
        found = compare(old, new, column="value", segments="country")
        told += "reversal" in found.headline()
    assert told == 0


@pytest.mark.slow
def test_the_parts_add_up_to_the_total(reversed_: Segmented) -> None:
    for split in reversed_.splits:
        rows = [s for s in reversed_.segments if s.columns == split.columns]
        parts = math.fsum(s.carried + s.by_mix for s in rows)
        assert parts == pytest.approx(reversed_.total.shift, rel=1e-9)
        assert split.by_mix == pytest.approx(math.fsum(s.by_mix for s in rows))
    # devices do not say anything about the level, so all of the change is within them
    assert reversed_.split("device").by_mix == pytest.approx(0.0, abs=0.2)
    assert reversed_.split("country").by_mix < reversed_.total.shift


@pytest.mark.slow
def test_a_segment_without_change_carries_nothing() -> None:
    found = compare(BEFORE, SAME_MIX, column="value", segments="country")
    fr, de = found["country=FR"], found["country=DE"]
    # the total also has what the mix did by chance
    assert fr.carried == pytest.approx(sum(s.carried for s in found.segments), rel=0.1)
    assert abs(de.carried) < 0.2 * fr.carried
    assert found.changed == ["country=FR"]
    assert found.segments[0].name == "country=FR"


@pytest.mark.slow
def test_rows_too_small_are_named_and_not_judged(reversed_: Segmented) -> None:
    tiny = reversed_["country=tiny"]
    assert tiny.comparison is None
    assert min(tiny.sizes) < 10
    assert tiny.why_not == "too small to judge: it has fewer than 10 values on a side"
    assert any("country=tiny" in note and "too small" in note for note in reversed_.notes())
    assert reversed_.segments[-1].comparison is None
    gone = compare(BEFORE, AFTER[AFTER.country != "US"], column="value", segments="country")
    assert gone["country=US"].why_not == "not judged: it has no values in current"


@pytest.mark.slow
def test_ten_values_are_judged_and_nine_are_not() -> None:
    def frame(n: int) -> pd.DataFrame:
        rng = np.random.default_rng(n)
        levels = ["big"] * 40 + ["edge"] * n
        return pd.DataFrame({"value": rng.normal(size=40 + n), "plan": levels})

    assert compare(frame(10), frame(11), column="value", segments="plan")["plan=edge"].comparison
    nine = compare(frame(9), frame(11), column="value", segments="plan")
    assert nine["plan=edge"].comparison is None


@pytest.mark.slow
def test_pvalues_are_adjusted_over_all_rows(reversed_: Segmented) -> None:
    rows = [s.comparison for s in reversed_.judged if s.comparison is not None]
    raw = [p for c in rows for p in c.tests.values() if not math.isnan(p)]
    adjusted = dict(zip(raw, stats.false_discovery_control(raw), strict=True))
    for c in rows:
        assert c.adjusted_pvalue == pytest.approx(adjusted[c.pvalue])


@pytest.mark.slow
def test_levels_are_capped_and_the_rest_is_one_segment() -> None:
    rng = np.random.default_rng(9)
    codes = rng.integers(0, 30, 3000)
    codes[:1500] = 1
    old = pd.DataFrame({"value": rng.normal(size=3000), "shop": codes})
    found = compare(old, old.assign(value=old.value + 0.1), column="value", segments="shop",
                    most_levels=4)  # fmt: skip
    names = {s.name for s in found.segments}
    assert len(names) == 5
    assert {"shop=1", "shop=other levels"} <= names
    assert sum(s.sizes[0] for s in found.segments) == 3000
    assert "26 rarer levels of shop are one segment" in " ".join(found.notes())
    every = compare(old, old, column="value", segments="shop", most_levels=None)
    assert len(every.segments) == 30
    assert every.left_out == ()


@pytest.mark.slow
def test_missing_levels_are_a_segment_of_their_own() -> None:
    some = BEFORE.assign(country=BEFORE.country.where(BEFORE.index % 5 > 0))
    found = compare(some, AFTER, column="value", segments="country")
    assert found["country=missing"].sizes[0] == 300
    assert found["country=missing"].comparison is None


@pytest.mark.slow
@pytest.mark.parametrize("where", [*KEEPERS, *CSV])
def test_segments_are_the_same_wherever_data_are_kept(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep: Keep = {**KEEPERS, **CSV}[where]
    sides = []
    for i, frame in enumerate((BEFORE, AFTER)):
        (tmp_path / str(i)).mkdir()
        sides.append(keep(pa.Table.from_pandas(frame), tmp_path / str(i), monkeypatch))
    how: Any = {"column": "value", "segments": ["country", "device"], "scale": 5.0}
    found, expected = compare(*sides, **how), compare(BEFORE, AFTER, **how)
    assert found.total.shift == pytest.approx(expected.total.shift, abs=1e-8)
    for theirs in expected.segments:
        ours = found[theirs.name]
        assert ours.sizes == theirs.sizes
        assert ours.carried == pytest.approx(theirs.carried, abs=1e-6)
        assert ours.by_mix == pytest.approx(theirs.by_mix, abs=1e-6)
        if theirs.comparison is not None:
            assert ours.comparison is not None
            assert ours.comparison.shift == pytest.approx(theirs.comparison.shift, abs=1e-7)
            assert ours.comparison.pvalue == pytest.approx(theirs.comparison.pvalue, rel=1e-3)
    for ours, theirs in zip(found.splits, expected.splits, strict=True):
        assert ours.differing.pvalue == pytest.approx(theirs.differing.pvalue, rel=1e-3)
        assert ours.mix == theirs.mix
        assert ours.reversed == theirs.reversed


@pytest.mark.slow
@pytest.mark.parametrize("where", ["pandas", "dask", "large parquet", "engine"])
def test_levels_of_a_long_table_have_segments_too(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = pd.concat([BEFORE.assign(arm=1), AFTER.assign(arm=2)], ignore_index=True)
    kept = KEEPERS[where](pa.Table.from_pandas(long), tmp_path, monkeypatch)
    how: Any = {"column": "value", "segments": "country", "scale": 5.0}
    found = compare(kept, by="arm", reference=1, current=2, **how)
    expected = compare(BEFORE, AFTER, **how)
    assert found["country=DE"].comparison.shift == pytest.approx(
        expected["country=DE"].comparison.shift, abs=1e-7
    )
    assert found.total.reference.label == "1"
    assert found.split("country").reversed


@pytest.mark.slow
def test_an_engine_reads_each_table_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One aggregate per table serves the total and all segments."""
    import ibis

    from dkmd.sources.engines.backends import IbisEngine

    asked: list[str] = []
    plain = IbisEngine.run

    def listening(self: IbisEngine, expression: Any) -> Any:
        asked.append(str(ibis.to_sql(expression)))
        return plain(self, expression)

    monkeypatch.setattr(IbisEngine, "run", listening)
    home = ibis.duckdb.connect()
    frames = ("old", BEFORE), ("new", AFTER)
    tables = [home.create_table(name, pa.Table.from_pandas(frame)) for name, frame in frames]
    compare(*tables, column="value", segments=["country", "device"], cross=True)
    assert sum("squares" in sql for sql in asked) == 2


@pytest.mark.slow
@pytest.mark.parametrize("where", ["pandas", "engine", "large parquet"])
def test_groups_count_within_segments(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    sides, frames = [], []
    for i, frame in enumerate((BEFORE, AFTER)):
        host = rng.integers(0, 30, len(frame))
        frames.append(frame.assign(host=host, value=frame.value + rng.normal(0, 2, 30)[host]))
        (tmp_path / str(i)).mkdir()
        kept = KEEPERS[where](pa.Table.from_pandas(frames[-1]), tmp_path / str(i), monkeypatch)
        sides.append(kept)
    how: Any = {"column": "value", "scale": 5.0, "groups": "host"}
    found = compare(*sides, segments=["country", "device"], **how)
    at = [f[f.country == "FR"] for f in frames]
    alone = compare(*at, **how)
    fr = found["country=FR"].comparison
    assert fr is not None
    assert fr.df == pytest.approx(alone.df, rel=1e-3)
    assert fr.shift_interval == pytest.approx(alone.shift_interval, abs=1e-5)
    assert math.isnan(found.split("country").mix.pvalue)  # rows of one host are not independent


@pytest.mark.slow
def test_units_are_paired_within_segments() -> None:
    rng = np.random.default_rng(5)
    hosts = rng.normal(0, 5, 40)
    old, new = (f.assign(host=rng.integers(0, 40, len(f))) for f in (BEFORE, AFTER))
    old, new = (f.assign(value=f.value + hosts[f.host]) for f in (old, new))
    found = compare(old, new, column="value", segments="device", pair_by="host")
    desk = found["device=desk"].comparison
    assert desk is not None
    assert desk.pairing is not None
    assert desk.pairing.gain > 1.05


@pytest.mark.slow
def test_segments_of_one_level_change_nothing() -> None:
    one = compare(BEFORE.assign(all="x"), AFTER.assign(all="x"), column="value", segments="all")
    total = compare(BEFORE, AFTER, column="value")
    row = one["all=x"]
    assert row.comparison is not None
    assert row.comparison.shift == one.total.shift == total.shift
    assert row.carried == pytest.approx(total.shift)
    assert row.by_mix == pytest.approx(0.0)
    split = one.split("all")
    assert math.isnan(split.differing.pvalue)
    assert not split.reversed


@pytest.mark.slow
def test_yes_no_columns_compare_their_shares() -> None:
    rng = np.random.default_rng(6)
    old = BEFORE.assign(paid=(rng.random(len(BEFORE)) < 0.2).astype(int))
    new = AFTER.assign(paid=(rng.random(len(AFTER)) < 0.2 + 0.2 * (AFTER.country == "DE")))
    new = new.assign(paid=new.paid.astype(int))
    found = compare(old, new, column="paid", segments="country")
    de = found["country=DE"].comparison
    assert de is not None
    assert de.kind == "yes/no"
    assert found.changed == ["country=DE"]
    assert found.split("country").differing.pvalue < 0.001
    shares = [f[f.country == "DE"].paid.mean() for f in (old, new)]
    assert de.shift == pytest.approx(shares[1] - shares[0], abs=0.05)


@pytest.mark.slow
def test_the_answer_has_words_json_and_a_page(reversed_: Segmented, tmp_path: Path) -> None:
    jsonschema.validate(json.loads(reversed_.to_json()), SCHEMA)
    table = reversed_.table()
    assert table[0] == (
        "segment", "n", "shift", "interval", "p", "adjusted p", "verdict", "carries",
    )  # fmt: skip
    assert table[1][0] == "all"
    assert "they differ (p = " in reversed_.headline()
    assert "the mix of country changed" in " ".join(reversed_.notes())
    assert "country=FR" in str(reversed_)
    assert "<table" in reversed_._repr_html_()
    reversed_.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count('<section class="segments">') == 3
    assert page.index('<section class="hero') < page.index('<section class="segments')
    assert page.rindex('<section class="segments">') < page.index('<div class="detail')
    assert "country × device</" in page
    assert reversed_.call is not None
    assert "segments=['country', 'device'], cross=True" in reversed_.call.python()


@pytest.mark.slow
def test_levels_are_escaped_on_the_page(tmp_path: Path) -> None:
    odd = {"FR": "<script>alert(1)</script>"}
    frames = [f.assign(country=f.country.replace(odd)) for f in (BEFORE, AFTER)]
    compare(*frames, column="value", segments="country").report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.slow
def test_the_command_takes_several_columns(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("old.csv", "new.csv")]
    for frame, path in zip((BEFORE, AFTER), paths, strict=True):
        frame.to_csv(path, index=False)
    words = ("compare", *paths, "-c", "value", "--segments", "country,device")
    done = here(*words, "--cross", "--json", "--report", str(tmp_path / "page.html"))
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert {tuple(s["columns"]) for s in found["splits"]} == {
        ("country",), ("device",), ("country", "device"),
    }  # fmt: skip
    assert '<section class="segments">' in (tmp_path / "page.html").read_text()
    shown = here(*words, "--most-levels", "2")
    assert "country=other levels" in shown.stdout
    shown = here(*words)
    assert shown.stdout.index("country=US") < shown.stdout.index("Simpson's reversal")
    assert "--cross combines" in here("compare", *paths, "--cross", code=2).stderr
    assert "no --peers" in here(*words, "--peers", code=2).stderr
    assert "'town'" in here("compare", *paths, "-c", "value", "--segments", "town", code=2).stderr


@pytest.mark.slow
def test_what_cannot_have_segments_is_said() -> None:
    how: Any = {"column": "value"}
    for wrong, why in (
        ({"segments": []}, "at least one column"),
        ({"segments": ["country", "country"]}, "named twice"),
        ({"segments": "country", "cross": True}, "two or more columns"),
        ({"segments": "value"}, "another role"),
        ({"segments": "town"}, "town"),
    ):
        with pytest.raises(ValueError, match=why):
            compare(BEFORE, AFTER, **how, **wrong)
    with pytest.raises(ValueError, match="one column"):
        compare(BEFORE, AFTER, **SEVERAL, segments="country")
    with pytest.raises(ValueError, match="not with covariates"):
        compare(BEFORE, AFTER, **how, segments="country", weights="value")
    with pytest.raises(TypeError, match="data frame"):
        compare([1.0, 2.0], [2.0, 3.0], segments="country")
    with pytest.raises(ValueError, match="holds text"):
        compare(BEFORE, AFTER, column="device", segments="country")
    long = pd.concat([BEFORE.assign(arm=a) for a in "abc"])
    with pytest.raises(ValueError, match="say which one is current"):
        compare(long, by="arm", reference="a", **how, segments="country")


@pytest.mark.slow
def test_swapping_the_sides_flips_every_sign() -> None:
    one = compare(BEFORE, SAME_MIX, column="value", segments="country", scale=3.0)
    other = compare(SAME_MIX, BEFORE, column="value", segments="country", scale=3.0)
    for segment in one.segments:
        turned = other[segment.name]
        assert turned.sizes == segment.sizes[::-1]
        assert turned.carried == pytest.approx(-segment.carried, rel=1e-6)
        if segment.comparison is not None:
            assert turned.comparison is not None
            assert turned.comparison.shift == pytest.approx(-segment.comparison.shift, rel=1e-9)
    ours, theirs = one.split("country"), other.split("country")
    assert ours.differing.pvalue == pytest.approx(theirs.differing.pvalue)
    assert ours.constant_mix.shift == pytest.approx(-theirs.constant_mix.shift)


def test_segments_of_which_none_can_be_judged_are_not_counted() -> None:
    table = pd.DataFrame({"ms": np.arange(24.0), "site": [f"s{i % 8}" for i in range(24)]})
    answer = compare(table, table, column="ms", segments=["site"])
    assert "No segment of site is large enough to judge." in answer.headline()
    assert "0 of 0" not in answer.headline()
