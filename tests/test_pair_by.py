"""``pair_by``: units on both sides, from frames and files to words, JSON and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from keepers import CSV, KEEPERS
from scipy import stats
from shell import here

from dkmd import Comparison, Summary, compare, dkmd_2samp, drift
from dkmd.answers.gate import gate, load_runs
from dkmd.bins.grid import Grid
from dkmd.sources.engines import backends
from dkmd.sources.files import table as files_module


def hosts(seed: int, names: range, slower: float = 0.0) -> pd.DataFrame:
    """Requests of hosts that differ a lot."""
    rng = np.random.default_rng(seed)
    level = np.random.default_rng(0).lognormal(4.0, 1.0, 50)
    host = np.repeat(list(names), rng.integers(3, 12, len(names)))
    latency = level[host] + slower + 2.0 * rng.standard_t(3, host.size)
    return pd.DataFrame(
        {"host": [f"web-{h}" for h in host], "latency": latency + 20.0,
         "failed": (rng.random(host.size) < (0.1 + 0.015 * host)).astype(int)}
    )  # fmt: skip


OLD, NEW = hosts(1, range(24)), hosts(2, range(2, 27), slower=3.0)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    paths = str(tmp_path / "old.csv"), str(tmp_path / "new.csv")
    for frame, path in zip((OLD, NEW), paths, strict=True):
        frame.to_csv(path, index=False)
    return paths


def test_an_answer_is_that_of_the_test() -> None:
    answer = compare(OLD, NEW, column="latency", pair_by="host")
    with pytest.warns(RuntimeWarning, match="5 units"):
        test = dkmd_2samp(
            NEW.latency, OLD.latency, groups=(NEW.host, OLD.host), paired=True, nan_policy="omit"
        )
    assert isinstance(answer, Comparison)
    assert answer.pvalue == pytest.approx(test.pvalue, rel=1e-12)  # answers order their rows
    assert test.pvalue < 0.02
    assert answer.shift == test.shift == pytest.approx(3.0, abs=1.0)
    assert answer.pairing is not None
    assert test.pairing is not None
    assert answer.pairing.shared == test.pairing.shared
    assert answer.pairing.gain == pytest.approx(test.pairing.gain, rel=1e-12)
    plain = compare(OLD, NEW, column="latency", groups="host")
    assert plain.pvalue > 0.3
    assert plain.pairing is None


def test_words_and_json_say_what_was_shared_and_gained() -> None:
    answer = compare(OLD, NEW, column="latency", pair_by="host")
    assert answer.pairing is not None
    assert f"n = {len(OLD)} and {len(NEW)} in 22 shared units; pairing narrowed the interval" in (
        answer.headline()
    )
    assert ("units", "24", "25", "22 shared") in answer.rows()
    assert "5 units have values on one side only and are left out" in answer.warnings
    told = answer.to_dict()["pairing"]
    assert told == {
        "shared": 22, "only_reference": 2, "only_current": 3, "gain": answer.pairing.gain,
    }  # fmt: skip
    assert compare(OLD, NEW, column="latency").to_dict()["pairing"] is None
    assert answer.call is not None
    assert answer.call.python().endswith("column='latency', pair_by='host')")


def test_labels_and_levels_can_be_paired() -> None:
    by_name = compare(OLD, NEW, column="latency", pair_by="host")
    arrays = compare(OLD.latency, NEW.latency, pair_by=(OLD.host, NEW.host))
    long = pd.concat([OLD.assign(build="1"), NEW.assign(build="2")])
    levels = compare(long, column="latency", by="build", reference="1", current="2", pair_by="host")
    assert by_name.pvalue == arrays.pvalue == levels.pvalue


@pytest.mark.slow
def test_drift_pairs_every_column() -> None:
    found = drift(OLD, NEW, pair_by="host")
    assert found["latency"].pvalue == compare(OLD, NEW, column="latency", pair_by="host").pvalue
    assert found["failed"].pairing is not None
    assert found.skipped["host"] == "it holds the units"


def test_shares_of_yes_are_means_over_units() -> None:
    """Each host counts the same, as it does in the interval."""
    answer = compare(OLD, NEW, column="failed", pair_by="host")
    share = answer.finding("share")
    assert share is not None
    old, new = (frame.groupby("host").failed.mean() for frame in (OLD, NEW))
    both = sorted(set(old.index) & set(new.index))
    assert share.reference == pytest.approx(old[both].mean())
    assert share.current == pytest.approx(new[both].mean())
    assert share.interval.low < share.estimate < share.interval.high


def test_the_mean_is_that_of_the_paired_t_test_of_unit_means() -> None:
    """Of all units, those on both sides, and no interval of a percentile that ignores pairs."""
    answer = compare(OLD, NEW, column="latency", pair_by="host")
    old, new = (frame.groupby("host").latency.mean() for frame in (OLD, NEW))
    both = sorted(set(old.index) & set(new.index))
    theirs = stats.ttest_rel(new[both], old[both])
    ends = theirs.confidence_interval(0.95)
    assert answer.mean is not None
    means = old[both].mean(), new[both].mean()
    assert answer.mean[:3] == pytest.approx((*means, means[1] - means[0]))
    assert answer.mean[3:5] == pytest.approx((ends.low, ends.high), rel=1e-6)
    assert answer.mean.pvalue >= theirs.pvalue * (1.0 - 1e-6)  # sign flips may be less clear
    assert answer.percentiles == ()
    late = NEW.assign(latency=NEW.latency.where(NEW.index > 0, np.inf))
    assert compare(OLD, late, column="latency", pair_by="host").mean is None


@pytest.mark.slow
def test_the_command_pairs(files: tuple[str, str]) -> None:
    done = here("compare", *files, "-c", "latency", "--pair-by", "host", "--json")
    found = json.loads(done.stdout)
    assert found["pairing"]["shared"] == 22
    expected = compare(*files, column="latency", pair_by="host")
    assert found["pvalue"] == pytest.approx(expected.pvalue)
    assert expected.call is not None
    assert "--pair-by host" in (expected.call.command() or "")
    both = here("compare", *files, "-c", "latency", "--pair-by", "host", "--groups", "host", code=2)
    assert "give groups or pair_by, not both" in both.stderr
    several = here("drift", *files, "--pair-by", "host", "--json")
    assert "it holds the units" in several.stdout


def test_what_cannot_be_paired_is_said() -> None:
    with pytest.raises(ValueError, match="groups or pair_by, not both"):
        drift(OLD, NEW, groups="host", pair_by="host")
    with pytest.raises(ValueError, match="no unit is in both samples"):
        compare(OLD, NEW.assign(host="other-" + NEW.host), column="latency", pair_by="host")
    with pytest.raises(ValueError, match="rack"):
        compare(OLD, NEW, column="latency", pair_by="rack")
    summary = Summary.of(OLD.latency, Grid.fit(OLD.latency))
    with pytest.raises(ValueError, match="which a summary does not hold"):
        compare(summary, NEW.latency, pair_by=(OLD.host, NEW.host))


HOW: Any = {"column": "latency", "pair_by": "host", "scale": 20.0}


@pytest.mark.parametrize("where", ["large parquet", "large csv", "engine", "relation"])
@pytest.mark.parametrize("weigh", ["units", "values"])
def test_pairs_are_the_same_wherever_data_are_kept(
    where: str, weigh: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To 1e-9 of the scale, 20. A relation has its own connection, so units are told by name."""
    sides = []
    for i, frame in enumerate((OLD, NEW)):
        (tmp_path / str(i)).mkdir()
        kept = {**KEEPERS, **CSV}[where](
            pa.Table.from_pandas(frame), tmp_path / str(i), monkeypatch
        )
        sides.append(kept)
    found, expected = (compare(*s, **HOW, weigh=weigh) for s in (sides, (OLD, NEW)))
    assert found.statistic == pytest.approx(expected.statistic, abs=2e-8)
    assert found.shift == pytest.approx(expected.shift, abs=2e-8)
    # ends are searched on merged bins, which depend on the grid
    assert found.shift_interval == pytest.approx(expected.shift_interval, abs=2e-5)
    assert found.df == pytest.approx(expected.df, rel=1e-6)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-3)
    assert found.warnings == expected.warnings
    assert found.pairing is not None
    assert expected.pairing is not None
    assert found.pairing[:4] == expected.pairing[:4]
    assert found.pairing.gain == pytest.approx(expected.pairing.gain, rel=1e-3)
    assert found.mean == pytest.approx(expected.mean, rel=1e-6)
    assert found.relative_shift == pytest.approx(expected.relative_shift, rel=1e-3)


def test_a_held_side_pairs_with_a_streamed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "LARGE", len(OLD))  # the other side has more
    paths = [str(tmp_path / "old.parquet"), str(tmp_path / "new.parquet")]
    twice = pd.concat([NEW, NEW], ignore_index=True)
    OLD.to_parquet(paths[0])
    twice.to_parquet(paths[1])
    found, expected = compare(*paths, **HOW), compare(OLD, twice, **HOW)
    assert found.shift == pytest.approx(expected.shift, abs=2e-8)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-3)


@pytest.mark.parametrize("together", [True, False])
def test_columns_of_a_paired_drift_share_bins(
    together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each column and side five more: shared bins and units, also of logarithms, and means."""
    columns = ["latency", "half", "tenth", "rare"]
    frames = [
        f.assign(
            half=f.latency / 2,
            tenth=f.latency / 10 + f.index % 3,
            rare=f.latency.where(f.index % 9 > 0),
        )
        for f in (OLD, NEW)
    ]
    homes = [ibis.duckdb.connect()] * 2 if together else [ibis.duckdb.connect() for _ in range(2)]
    tables = [
        home.create_table(name, pa.Table.from_pandas(frame))
        for home, name, frame in zip(homes, ("old", "new"), frames, strict=True)
    ]
    queries: list[Any] = []
    run = backends.IbisEngine.run

    def counted(engine: Any, expression: Any) -> Any:
        queries.append(expression)
        return run(engine, expression)

    monkeypatch.setattr(backends.IbisEngine, "run", counted)
    found = drift(tables[0], tables[1], columns=columns, pair_by="host")
    # two of each table for rows without a label and bins; apart, each side needs all labels, too
    assert len(queries) <= 4 + 2 * len(columns) * (5 if together else 6)
    assert found["rare"].reference.nan > 0
    for name in ("half", "rare"):
        alone = compare(*tables, column=name, pair_by="host")
        assert found[name].shift == pytest.approx(alone.shift, rel=1e-9)
        assert found[name].pvalue == pytest.approx(alone.pvalue, rel=1e-6)
        assert found[name].pairing is not None


def test_whole_numbers_label_units_in_memory_and_in_an_engine() -> None:
    """A frame spells labels as text, and an engine has numbers."""
    old, new = (f.assign(host=f.host.astype("category").cat.codes.astype(int)) for f in (OLD, NEW))
    table = ibis.duckdb.connect().create_table("t", pa.Table.from_pandas(new[new.host != 3]))
    found, expected = compare(old, table, **HOW), compare(old, new[new.host != 3], **HOW)
    assert found.pairing is not None
    assert expected.pairing is not None
    assert found.pairing[:4] == expected.pairing[:4]
    assert found.shift == pytest.approx(expected.shift, abs=2e-8)
    turned = compare(table, old, **HOW)
    assert turned.shift == pytest.approx(-expected.shift, abs=2e-8)


def test_a_column_that_cannot_be_paired_does_not_stop_the_others() -> None:
    home = ibis.duckdb.connect()
    other = NEW.assign(gone=np.where(NEW.host == NEW.host[0], 1.5, np.nan), half=NEW.latency / 2)
    sides = OLD.assign(gone=OLD.latency, half=OLD.latency / 2), other
    tables = [
        home.create_table(name, pa.Table.from_pandas(frame))
        for name, frame in zip(("old", "new"), sides, strict=True)
    ]
    found = drift(tables[0], tables[1], columns=["latency", "gone", "half"], pair_by="host")
    assert set(found) == {"latency", "half"}
    assert "only one unit is in both samples" in found.skipped["gone"]


def test_an_engine_without_shared_units_says_so() -> None:
    home = ibis.duckdb.connect()
    other = NEW.assign(host="other-" + NEW.host)
    tables = [
        home.create_table(name, pa.Table.from_pandas(frame))
        for name, frame in (("old", OLD), ("new", NEW), ("other", other))
    ]
    with pytest.raises(ValueError, match="no unit is in both samples"):
        compare(tables[0], tables[2], **HOW)
    with pytest.raises(ValueError, match="no unit is in both samples"):
        compare(tables[0], tables[2], **HOW, weigh="values")
    gone = home.create_table(
        "gone", pa.Table.from_pandas(NEW.assign(host=NEW.host.where(NEW.index > 3)))
    )
    rows = int((NEW.index <= 3).sum())
    told = compare(tables[0], gone, **HOW).warnings[0]
    assert f"{rows} rows have no label in column 'host' and were left out" in told
    found = drift(tables[0], tables[1], pair_by="host")
    assert found["latency"].pairing is not None


def test_weigh_needs_units(files: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="give pair_by too"):
        compare(OLD, NEW, column="latency", weigh="values")
    with pytest.raises(ValueError, match="weigh must be one of"):
        compare(OLD, NEW, column="latency", pair_by="host", weigh="hosts")
    done = here("compare", *files, "-c", "latency", "--pair-by", "host", "--weigh", "values")
    assert "units have values on one side only" not in done.stdout
    call = compare(*files, **HOW, weigh="values").call
    assert call is not None
    assert "weigh='values'" in call.python()


def test_a_unit_with_thousands_of_values_is_named() -> None:
    rng = np.random.default_rng(2)
    host = np.r_[np.arange(12).astype(str), np.repeat("crowd", 2_000)]
    frames = [pd.DataFrame({"latency": rng.normal(size=host.size), "host": host}) for _ in "ab"]
    told = compare(*frames, column="latency", pair_by="host").warnings
    assert any("unit 'crowd' has 2,000 of 2,012 values" in note for note in told)
    told = compare(*frames, column="latency", pair_by="host", weigh="values").warnings
    assert any("outweighs the others" in note for note in told)


def hosts_of_benchmarks(folder: Path, marks: str = "hostname") -> list[str]:
    """Pyperf files of two builds on five machines of very different speed; the second is slower."""
    rng = np.random.default_rng(1)
    patterns = []
    for build, factor in (("main", 1.0), ("branch", 1.03)):
        for i, host in enumerate("abcde"):
            speed = 0.01 * (1.0 + 0.3 * i) * factor
            runs = [{"values": list(speed * np.exp(0.01 * rng.normal(size=3)))} for _ in range(4)]
            document = {
                "version": "1.0",
                "metadata": {marks: host, "unit": "second"},
                "benchmarks": [{"metadata": {"name": "sort"}, "runs": runs}],
            }
            (folder / f"{build}-{host}.json").write_text(json.dumps(document))
        patterns.append(str(folder / f"{build}-*.json"))
    return patterns


def test_the_gate_pairs_benchmarks_by_machine(tmp_path: Path) -> None:
    patterns = hosts_of_benchmarks(tmp_path)
    apart = gate(*map(load_runs, patterns), margin="1%")
    assert apart.outcome == "inconclusive"
    paired = gate(*map(load_runs, patterns), margin="1%", pair_by="machine")
    assert paired.outcome == "failed"
    assert paired.rows[0].shift == pytest.approx(0.03, abs=0.005)
    done = here("gate", *patterns, "--margin", "1%", "--pair-by", "machine", code=1)
    assert "benchmarks are paired by machine: 5 on both sides" in done.stdout
    refused = here("gate", *patterns, "--margin", "1%", "--pair-by", "round", code=2)
    assert "do not say their round" in refused.stderr


def test_the_gate_pairs_by_round_and_by_a_column(tmp_path: Path) -> None:
    patterns = hosts_of_benchmarks(tmp_path, "round")
    assert gate(*map(load_runs, patterns), margin="1%", pair_by="round").outcome == "failed"
    rng = np.random.default_rng(3)
    rounds = np.repeat(np.arange(12), 3)
    paths = [str(tmp_path / name) for name in ("old.csv", "new.csv")]
    for path, factor in zip(paths, (1.0, 1.05), strict=True):
        weather = np.exp(0.3 * np.sin(rounds))
        sort_ms = 10.0 * factor * weather * np.exp(0.01 * rng.normal(size=36))
        pd.DataFrame({"round": rounds, "sort_ms": sort_ms}).to_csv(path, index=False)
    words = ("gate", *paths, "-c", "sort_ms", "--margin", "1%")
    here(*words, code=3)
    here(*words, "--pair-by", "round", code=1)
    both = here(*words, "--pair-by", "round", "--groups", "round", code=2)
    assert "give groups or pair_by, not both" in both.stderr


def test_machines_that_are_not_shared_are_named(tmp_path: Path) -> None:
    patterns = hosts_of_benchmarks(tmp_path)
    before, after = (load_runs(pattern) for pattern in patterns)
    with pytest.raises(ValueError, match="1 is shared: reference has a, b; current has b, c"):
        gate(before[:2], after[1:3], pair_by="machine")
