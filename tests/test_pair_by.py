"""``pair_by``: units on both sides, from frames and files to words, JSON and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shell import run

from dkmd import Comparison, Summary, compare, dkmd_2samp, drift
from dkmd.binned.grid import Grid


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
    assert answer.pvalue == test.pvalue < 1e-5
    assert answer.shift == test.shift == pytest.approx(3.0, abs=1.0)
    assert answer.pairing == test.pairing
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
    assert answer.mean[3:] == pytest.approx((ends.low, ends.high), rel=1e-6)
    assert answer.percentiles == ()
    late = NEW.assign(latency=NEW.latency.where(NEW.index > 0, np.inf))
    assert compare(OLD, late, column="latency", pair_by="host").mean is None


def test_the_command_pairs(files: tuple[str, str]) -> None:
    done = run("compare", *files, "-c", "latency", "--pair-by", "host", "--json")
    found = json.loads(done.stdout)
    assert found["pairing"]["shared"] == 22
    expected = compare(*files, column="latency", pair_by="host")
    assert found["pvalue"] == pytest.approx(expected.pvalue)
    assert expected.call is not None
    assert "--pair-by host" in (expected.call.command() or "")
    both = run("compare", *files, "-c", "latency", "--pair-by", "host", "--groups", "host", code=2)
    assert "give groups or pair_by, not both" in both.stderr
    several = run("drift", *files, "--pair-by", "host", "--json")
    assert "it holds the units" in several.stdout


def test_what_cannot_be_paired_is_said() -> None:
    with pytest.raises(ValueError, match="groups or pair_by, not both"):
        drift(OLD, NEW, groups="host", pair_by="host")
    with pytest.raises(ValueError, match="no unit is in both samples"):
        compare(OLD, NEW.assign(host="other-" + NEW.host), column="latency", pair_by="host")
    with pytest.raises(ValueError, match="rack"):
        compare(OLD, NEW, column="latency", pair_by="rack")
    with duckdb.connect() as connection:
        connection.register("old", OLD)
        connection.register("new", NEW)
        tables = connection.table("old"), connection.table("new")
        with pytest.raises(ValueError, match="pairing needs all values in memory"):
            compare(*tables, column="latency", pair_by="host")
        with pytest.raises(ValueError, match="pairing needs all values in memory"):
            drift(*tables, pair_by="host")
    summary = Summary.of(OLD.latency, Grid.fit(OLD.latency))
    with pytest.raises(ValueError, match="which a summary does not hold"):
        compare(summary, NEW.latency, pair_by=(OLD.host, NEW.host))
