"""Several columns compared as one: sources, words, JSON, pages, the command and drift's line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import jsonschema
import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from scipy import stats
from shell import ROOT, here

import dkmd
from dkmd.answers.page import page_of
from dkmd.base.errors import ColumnError, ColumnTypeError, DkmdError, TooLittleError

matplotlib.use("Agg")

NAMES = [f"f_{j}" for j in range(6)]
SCHEMA = json.loads((ROOT / "src/dkmd/answers/schema/answers.json").read_text())


def _frames(seed: int = 0, moved: float = 0.8) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    old = pd.DataFrame(rng.normal(size=(120, 6)), columns=NAMES).assign(host=range(120), note="a")
    new = pd.DataFrame(rng.normal(size=(90, 6)), columns=NAMES).assign(host=range(90), note="b")
    new["f_4"] += moved
    return old, new


OLD, NEW = _frames()
ANSWER = dkmd.compare(OLD, NEW, together="f_*")


def _vectors(frame: pd.DataFrame) -> pa.Table:
    return pa.table({"e": list(frame[NAMES].to_numpy()), "host": frame["host"]})


@pytest.mark.slow
def test_the_answer_names_the_column_that_moved_and_its_direction() -> None:
    assert ANSWER.names == tuple(NAMES)
    assert ANSWER.verdict == "moved"
    assert ANSWER.columns[4].shift > 0.4  # current is larger
    assert ANSWER.columns[4].verdict(0.05) == "higher"
    assert (ANSWER.reference.size, ANSWER.current.size) == (120, 90)
    pattern = (
        r"The 6 columns together MOVED from reference to current by 0\.\d+ scales \(95% interval "
        r"0\.\d+ to 1?\.?\d+\)\. 1 of 6 columns moved clearly: f_4 \(\+0\.\d+\)\. "
        r"p = 0\.001, n = 120 and 90 rows\."
    )
    assert re.fullmatch(pattern, ANSWER.headline()), ANSWER.headline()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["polars", "lazy", "pyarrow", "dask", "arrays", "dask arrays"])
def test_every_source_in_memory_gives_the_same_answer(kind: str) -> None:
    def source(frame: pd.DataFrame) -> Any:
        made = {
            "polars": lambda: pl.from_pandas(frame),
            "lazy": lambda: pl.from_pandas(frame).lazy(),
            "pyarrow": lambda: pa.Table.from_pandas(frame),
            "dask": lambda: dd.from_pandas(frame, npartitions=3),
            "arrays": frame[NAMES].to_numpy,
            "dask arrays": lambda: da.from_array(frame[NAMES].to_numpy(), chunks=(50, 6)),
        }
        return made[kind]()

    together = "*" if "arrays" in kind else "f_*"
    found = dkmd.compare(source(OLD), source(NEW), together=together)
    assert found.pvalue == ANSWER.pvalue
    np.testing.assert_allclose(found.result.shift, ANSWER.result.shift, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "npy"])
def test_files_give_the_same_answer(tmp_path: Path, ending: str) -> None:
    paths = [tmp_path / f"{side}.{ending}" for side in ("old", "new")]
    for frame, path in zip((OLD, NEW), paths, strict=True):
        if ending == "parquet":
            pq.write_table(pa.Table.from_pandas(frame), path)
        elif ending == "arrow":
            feather.write_feather(pa.Table.from_pandas(frame), path)
        elif ending == "csv":
            frame.to_csv(path, index=False)
        else:
            np.save(path, frame[NAMES].to_numpy())
    found = dkmd.compare(*paths, together="*" if ending == "npy" else "f_*")
    np.testing.assert_allclose(found.result.shift, ANSWER.result.shift, rtol=1e-9)
    assert "from old." in found.headline()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream", "pandas", "polars", "fixed"])
def test_a_column_of_vectors_is_a_matrix(tmp_path: Path, kind: str) -> None:
    sources: list[Any] = []
    for side, frame in zip(("old", "new"), (OLD, NEW), strict=True):
        table, path = (
            _vectors(frame),
            tmp_path / f"{side}.{'parquet' if kind == 'parquet' else 'arrow'}",
        )
        if kind == "fixed":
            fixed = pa.FixedSizeListArray.from_arrays(pa.array(frame[NAMES].to_numpy().ravel()), 6)
            table = pa.table({"e": fixed})
        if kind == "parquet":
            pq.write_table(table, path)
        elif kind == "arrow":
            feather.write_feather(table, path)
        elif kind == "stream":
            with pa.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table)
        in_memory = {"pandas": table.to_pandas, "polars": lambda t=table: pl.from_arrow(t)}
        sources.append(
            in_memory[kind]() if kind in in_memory else table if kind == "fixed" else path
        )
    found = dkmd.compare(*sources, together="e")
    assert found.names[4] == "e[4]"
    np.testing.assert_allclose(found.result.shift, ANSWER.result.shift, rtol=1e-12)


@pytest.mark.slow
def test_vectors_that_are_missing_are_rows_that_are_left_out() -> None:
    rows: list[Any] = [*OLD[NAMES].to_numpy().tolist(), None]
    found = dkmd.compare(pa.table({"e": rows}), _vectors(NEW), together="e")
    assert found.reference.size == 120
    assert "1 row of reference" in found.warnings[0]


@pytest.mark.slow
def test_columns_that_cannot_be_compared_are_named() -> None:
    ragged = pa.table({"e": [[1.0, 2.0], [1.0]]})
    wrong: list[tuple[type[Exception], Callable[[], Any]]] = [
        (ColumnError, lambda: dkmd.compare(OLD, NEW, together="g_*")),
        (ColumnError, lambda: dkmd.compare(OLD, NEW, together="nothing")),
        (ColumnError, lambda: dkmd.compare(ragged, ragged, together="e")),
        (ColumnError, lambda: dkmd.compare(OLD, NEW.drop(columns="f_1"), together="f_*")),
        (ColumnError, lambda: dkmd.compare(_vectors(OLD), _vectors(NEW), together=["e", "host"])),
        (ColumnTypeError, lambda: dkmd.compare(
            pa.table({"e": [["a"]]}), pa.table({"e": [["b"]]}), together="e")),
        (ValueError, lambda: dkmd.compare(OLD, NEW, together="f_*", margin="3%")),
        (ValueError, lambda: dkmd.compare(OLD, NEW, together="f_*", percentiles=[50])),
        (ValueError, lambda: dkmd.compare(OLD, NEW, together=[])),
    ]  # fmt: skip
    for error, call in wrong:
        with pytest.raises(error):
            call()


@pytest.mark.slow
def test_notes_and_errors_name_the_sides(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    whole = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    gap = whole.copy()
    gap.loc[3, "a"] = np.nan
    whole.to_csv(tmp_path / "whole.csv", index=False)
    gap.to_csv(tmp_path / "gap.csv", index=False)
    whole[:1].to_csv(tmp_path / "one.csv", index=False)
    found = dkmd.compare(tmp_path / "whole.csv", tmp_path / "gap.csv", together="*")
    assert found.warnings == ("1 row of gap.csv has missing values and was left out",)
    with pytest.raises(TooLittleError, match=r"^one.csv has 1 rows: each side needs at least 2"):
        dkmd.compare(tmp_path / "whole.csv", tmp_path / "one.csv", together="*")
    (tmp_path / "head.csv").write_text("a,b,name\n")
    with pytest.raises(TooLittleError, match=r"^head.csv has no rows"):
        dkmd.compare(tmp_path / "whole.csv", tmp_path / "head.csv", together="*")
    with pytest.raises(DkmdError, match=r"^gap.csv has missing values in 1 rows"):
        dkmd.compare(tmp_path / "gap.csv", tmp_path / "whole.csv", together="*", nan_policy="raise")


@pytest.mark.slow
def test_groups_and_pairs_by_the_name_of_a_column() -> None:
    grouped = dkmd.compare(OLD, NEW, together="f_*", groups="host")
    np.testing.assert_allclose(grouped.result.shift, ANSWER.result.shift, rtol=1e-9)
    paired = dkmd.compare(OLD, NEW, together=NAMES, pair_by="host")
    assert paired.paired
    assert paired.current.size == 90
    assert "n = 90 pairs." in paired.headline()
    assert any("30 units are on one side only" in note for note in paired.warnings)


@pytest.mark.slow
def test_a_margin_is_in_scales() -> None:
    assert dkmd.compare(OLD, NEW, together="f_*", margin="0.1sd").verdict == "moved"
    assert (
        "by more than 0.100 scales" in dkmd.compare(OLD, NEW, together="f_*", margin=0.1).headline()
    )
    still = dkmd.compare(OLD, OLD.sample(frac=1.0, random_state=1), together="f_*", margin="1sd")
    assert still.verdict == "equivalent"
    assert "are EQUIVALENT" in still.headline()
    assert still.length == 0.0
    assert "less than 1.00 scales, at most " in still.headline()
    unclear = dkmd.compare(*_frames(3, moved=0.0), together="f_*")
    assert "no clear move" in unclear.headline()
    assert "moved clearly" not in unclear.headline()


@pytest.mark.slow
@pytest.mark.parametrize("margin", [None, "0.1sd"])
def test_the_json_follows_its_schema(margin: str | None) -> None:
    document = json.loads(dkmd.compare(OLD, NEW, together="f_*", margin=margin).to_json())
    jsonschema.validate(document, SCHEMA)
    assert document["columns"][4]["name"] == "f_4"
    assert not {"carriers", "whitened"} & document.keys()


@pytest.mark.slow
def test_the_page_and_the_plot_show_the_columns(tmp_path: Path) -> None:
    old, new = _frames(5)
    odd = {"f_4": "<i>odd</i>"}
    answer = dkmd.compare(
        old.rename(columns=odd), new.rename(columns=odd), together=[*NAMES[:4], "<i>odd</i>"]
    )
    assert answer.warnings == ()
    answer.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert 'class="watch"' not in page.partition("<table")[0]
    assert "<i>odd</i>" not in page
    assert "&lt;i&gt;odd&lt;/i&gt;" in page
    tally = page.partition('<p class="tally">')[2].partition("</p>")[0]
    assert sum(map(int, re.findall(r"<b>(\d+)</b>", tally))) == 5
    chips = page.partition('aria-label="Verdict">')[2].partition("</div>")[0]
    assert "</i>higher 1</button>" in chips
    assert len(answer.plot().get_yticklabels()) == 5
    assert "together" in answer._repr_html_()


@pytest.mark.slow
def test_the_page_says_which_rows_were_left_out(tmp_path: Path) -> None:
    old, new = _frames(5)
    old.iloc[:7, 2] = np.nan
    answer = dkmd.compare(old, new, together="f_*")
    answer.report(tmp_path / "page.html")
    above = (tmp_path / "page.html").read_text().partition("<table")[0]
    assert f'<ul class="watch"><li>{answer.warnings[0]}.</li></ul>' in above
    assert "7 rows" in answer.warnings[0]
    steps: list[tuple[int, int]] = []
    rows = page_of(answer, advance=lambda *step: steps.append(step)).rows
    assert steps == [(done, len(rows)) for done in range(1, len(rows) + 1)]


@pytest.mark.slow
def test_the_command_says_the_same(tmp_path: Path) -> None:
    paths = [tmp_path / "old.parquet", tmp_path / "new.parquet"]
    for frame, path in zip((OLD, NEW), paths, strict=True):
        pq.write_table(pa.Table.from_pandas(frame), path)
    files = [str(path) for path in paths]
    report = tmp_path / "page.html"
    printed = here("compare", *files, "--together", "f_*", "--report", str(report)).stdout
    assert "1 of 6 columns moved clearly" in " ".join(printed.split())
    assert "--together" in report.read_text()
    document = json.loads(here("compare", *files, "--together", "f_*", "--json").stdout)
    jsonschema.validate(document, SCHEMA)
    assert document["pvalue"] == ANSWER.pvalue
    quiet = here("compare", *files, "--together", "f_*", "-q").stdout
    assert quiet.startswith("The 6 columns together")
    for words, message in (
        (["--together", "g*"], "no column of numbers that fits"),
        (["--together", "f_*", "--by", "host"], "cannot use --by"),
        (["--together", "f_*", "--whiten"], "No such option"),
    ):
        done = here("compare", *files, *words, code=None)
        assert done.code not in (0, 1)
        assert message in done.stderr


@pytest.mark.slow
def test_drift_says_whether_all_columns_moved_together() -> None:
    """Each of 40 columns moves too little to be seen alone."""
    rng = np.random.default_rng(7)
    names = [f"c{j}" for j in range(40)]
    old = pd.DataFrame(rng.normal(size=(150, 40)), columns=names).assign(label="a")
    new = pd.DataFrame(rng.normal(0.12, 1.0, size=(150, 40)), columns=names).assign(label="a")
    found = dkmd.drift(old, new)
    assert found.together is not None
    assert found.together.is_clear
    assert "All 40 columns of numbers together moved by" in found.headline()
    jsonschema.validate(json.loads(found.to_json()), SCHEMA)
    still = dkmd.drift(old[names], old[names].sample(frac=1.0, random_state=3))
    assert "All 40 columns of numbers together: no clear move" in still.headline()
    assert dkmd.drift(old[["c0"]], new[["c0"]]).together is None
    grouped = dkmd.drift(old.assign(g=range(150)), new.assign(g=range(150)), groups="g")
    assert grouped.together is not None


@pytest.mark.slow
def test_float32_vectors_stay_float32() -> None:
    from dkmd.sources.matrices import matrix_pair

    array = np.ones((4, 3), dtype=np.float32)
    table = pa.table({"e": pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), 3)})
    before, _ = matrix_pair(table, table, ["e"], None)
    assert before.values.dtype == np.float32


@pytest.mark.slow
def test_an_alpha_that_no_count_of_resamples_reaches_is_named() -> None:
    found = dkmd.compare(OLD, NEW, together="f_*", alpha=0.001)
    assert found.verdict == "inconclusive"
    assert found.warnings == (
        "with 999 resamples no p-value is below 0.001, so nothing can be clear at alpha = 0.001: "
        "use more resamples (method=scipy.stats.PermutationMethod(n_resamples=…))",
    )
    more = stats.PermutationMethod(n_resamples=9999, rng=np.random.default_rng(0))
    assert dkmd.compare(OLD, NEW, together="f_*", alpha=0.001, method=more).verdict == "moved"
