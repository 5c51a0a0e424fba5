"""The paper's tables reproduce, the exact estimator agrees with theory, and the command is safe.

These are seeded, smaller runs of what ``dkmd reproduce`` checks in full.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from dkmd.paper import consistency, figure4, printed, scaling, table1, table2, table3, theorems
from dkmd.paper.checks import Check, agrees_with_paper
from dkmd.paper.folder import MARKER, OutputFolder, write_below
from dkmd.paper.markdown import markdown
from dkmd.paper.page import inlined, page
from dkmd.paper.report import Heading, PaperTable, Report, Section
from dkmd.paper.style import INK
from dkmd.paper.trials import MeanSd, serial, simulate
from dkmd.paper.workers import silent, workers


def _broken(checks: list[Check]) -> list[Check]:
    return [check for check in checks if not check.holds]


@pytest.mark.slow
def test_every_cell_of_table_1_agrees_with_the_paper_and_exact_with_the_population() -> None:
    checks = table1.checks(table1.table1(trials=200))
    assert len(checks) == 3 * len(printed.TABLE_1)
    assert _broken(checks) == []


@pytest.mark.slow
def test_table_2_agrees_without_outliers_and_exact_keeps_its_spread_with_them() -> None:
    rows = table2.table2(trials=400)
    checks = table2.checks(rows)
    assert sum("sd of exact" in check.what for check in checks) == 12
    assert _broken(checks) == []
    assert all(row.exact.wrong_sign == 0.0 for row in rows)
    for table in table2.tables(rows):
        heading = table.records()[0]
        assert len(set(heading)) == len(heading)  # a reader of the CSV may use the names
    assert any(row.riemann.wrong_sign > 0.02 for row in rows)


@pytest.mark.slow
def test_every_cell_of_table_3_agrees_with_the_paper_and_exact_with_the_population() -> None:
    checks = table3.checks(table3.table3(trials=100))
    assert len(checks) == 2 * len(printed.TABLE_3)
    assert _broken(checks) == []


@pytest.mark.slow
def test_figure_4_follows_the_population_through_the_origin() -> None:
    rows = figure4.figure4(trials=40)
    assert _broken(figure4.checks(rows)) == []
    middle = rows[len(rows) // 2]
    assert (middle.shift, middle.population) == (0.0, 0.0)


@pytest.mark.slow
def test_exact_is_unbiased_at_every_size_and_riemann_is_not() -> None:
    rows = consistency.consistency({100: 200, 1000: 100, 10_000: 40})
    assert _broken(consistency.checks(rows)) == []
    wide = [row for row in rows if row.sigma == 4.0]
    assert all(row.riemann_bias > 0.4 * abs(row.population) for row in wide)


@pytest.mark.slow
def test_the_theorems_hold_for_exact_and_not_all_for_riemann() -> None:
    result = theorems.theorems(trials=60)
    assert _broken(theorems.checks(result)) == []
    departing = {p.theorem for p in theorems.departing(result)}
    assert departing == {"3.2 symmetric immunity", "3.2 mirrored data", "3.3 monotonicity"}


@pytest.mark.slow
def test_scaling_measures_every_method_and_says_where_it_stops() -> None:
    rows = scaling.scaling(sizes=(1000, 3000, 10_000), limit=1e-4)
    assert [row.method for row in rows] == list(scaling.METHODS)
    assert all(row.measured[0].seconds > 0.0 for row in rows)
    stopped = next(row for row in rows if row.method == "quadratic formula")
    assert [m.size for m in stopped.measured] == [1000, 3000]
    assert re.fullmatch(r"1e\+04 would take \d+ s", stopped.stopped)


def test_all_ways_to_the_riemann_sum_agree() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=300), rng.normal(0.4, 1.0, size=200)
    ways = [scaling.METHODS[name](x, y) for name in scaling.METHODS if "SciPy" not in name]
    exact, riemann, *others = (float(value) for value in ways)  # type: ignore[arg-type]
    assert others == pytest.approx([riemann, riemann], rel=1e-12)
    assert exact != pytest.approx(riemann, rel=1e-3)


def _normal_means(size: int, rng: np.random.Generator) -> list[float]:
    return [float(rng.normal(size=size).mean())]


@pytest.mark.slow
def test_a_result_does_not_depend_on_how_many_processes_draw_it() -> None:
    cells = [10, 20, 30]
    alone = simulate("any", _normal_means, cells, 70, 5, serial)
    for count in (1, 2):
        with workers(count) as processes:
            spread = simulate("any", _normal_means, cells, 70, 5, processes(silent))
        assert all(np.array_equal(a, b) for a, b in zip(alone, spread, strict=True))


def test_seeds_experiments_and_cells_draw_their_own_samples() -> None:
    runs = [
        simulate(name, _normal_means, [10, 10], 60, seed, serial)
        for name, seed in (("one", 1), ("one", 2), ("two", 1))
    ]
    values = np.concatenate([cell for run in runs for cell in run]).ravel()
    assert np.unique(values).size == values.size


def test_a_check_uses_the_error_of_both_simulations() -> None:
    paper, ours = MeanSd(0.0, 1.0, 400), MeanSd(0.3, 1.0, 100)
    check = agrees_with_paper("x", paper, ours)
    assert check.limit == pytest.approx(4.0 * np.sqrt(1 / 400 + 1 / 100))
    assert check.holds
    assert not agrees_with_paper("x", paper, MeanSd(0.5, 1.0, 100)).holds
    assert not Check("x", float("nan"), 1.0).holds


_NASTY = "<script>alert('&')</script> | \"quoted\""


def _nasty_report() -> Report:
    columns = [Heading(_NASTY), Heading("number")]
    table = PaperTable("nasty", _NASTY, columns, [(_NASTY, MeanSd(-1.0, 2.0, 3))], _NASTY)
    checks = [Check(_NASTY, 1.0, 0.0)]
    section = Section(_NASTY, [_NASTY, "in `code`"], [table], checks=checks)
    return Report(_NASTY, [_NASTY], [section], {_NASTY: _NASTY})


class _Collector(HTMLParser):
    """Collects the unclosed tags, the scripts and the addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "link", "img", "br", "path", "use", "rect"):
            self.open.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()


def _collect(document: str) -> _Collector:
    collector = _Collector()
    collector.feed(document)
    return collector


def test_a_page_escapes_whatever_it_is_given() -> None:
    collected = _collect(page(_nasty_report(), {}))
    assert "script" not in collected.seen
    assert collected.open == []


def test_markdown_keeps_a_bar_inside_its_cell() -> None:
    lines = markdown(_nasty_report(), "figures").splitlines()
    row = next(line for line in lines if "−1.0000 ± 2.0000" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == 3


def test_a_csv_has_all_digits_and_two_columns_for_a_mean_and_its_sd() -> None:
    table = PaperTable("t", "t", [Heading("a"), Heading("b")], [(MeanSd(1 / 3, 2 / 3, 9), None)])
    assert table.records() == [["a, mean", "a, sd", "b"], [1 / 3, 2 / 3, None]]


def test_an_inlined_figure_has_its_own_ids_and_follows_the_page() -> None:
    svg = f'<?xml?><svg><g id="a" style="fill: {INK}"/><use xlink:href="#a"/></svg>'
    element = inlined(svg, "one", 'says "so"')
    assert element.startswith('<svg role="img" aria-label="says &quot;so&quot;"')
    assert 'id="one-a"' in element
    assert 'href="#one-a"' in element
    assert "var(--ink)" in element


def test_a_folder_of_somebody_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="choose another --out"):
        OutputFolder(tmp_path).open()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_second_run_replaces_the_files_of_the_first_and_no_others(tmp_path: Path) -> None:
    for names in (["index.html", "tables/a.csv"], ["index.html", "tables/b.csv"]):
        folder = OutputFolder(tmp_path / "out")
        folder.open()
        for name in names:
            folder.write(name, name)
        (tmp_path / "out" / "note.txt").write_text("mine")
        folder.close()
    left = {str(p.relative_to(tmp_path / "out")) for p in tmp_path.glob("out/**/*") if p.is_file()}
    assert left == {MARKER, "index.html", "tables/b.csv", "note.txt"}


def test_a_marker_cannot_make_us_delete_files_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("keep")
    out = tmp_path / "out"
    write_below(out / MARKER, json.dumps({"files": ["../precious.txt"]}))
    folder = OutputFolder(out)
    folder.open()
    folder.close()
    assert (tmp_path / "precious.txt").exists()


def _dkmd(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a separate process."""
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "dkmd", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        check=False,
    )


@pytest.mark.slow
def test_the_command_writes_what_was_asked_for_and_nothing_else(tmp_path: Path) -> None:
    words = ("reproduce", "--quick", "--only", "table1,figure3", "--out", "out")
    first = _dkmd(*words, "--markdown", "doc.md", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "checks hold" in first.stdout
    assert "table1" in first.stderr  # the progress bar
    out = tmp_path / "out"
    names = {str(path.relative_to(out)) for path in out.glob("**/*") if path.is_file()}
    assert names == {
        MARKER,
        "index.html",
        "figures/figure3.svg",
        "figures/figure3.png",
        "tables/table1.csv",
        "tables/claims.csv",
        "tables/checks.csv",
    }
    document = (out / "index.html").read_text()
    collected = _collect(document)
    assert collected.addresses
    assert all(address.startswith("#") for address in collected.addresses)  # opens offline
    assert not {"script", "link", "img"} & collected.seen
    assert "<text" not in (out / "figures/figure3.svg").read_text()  # fonts are paths
    rows = list(csv.DictReader((out / "tables/table1.csv").read_text().splitlines()))
    assert [float(row["DKMD, paper, mean"]) for row in rows] == [
        row.dkmd.mean for row in printed.TABLE_1
    ]
    assert "(doc/figure3.svg)" in (tmp_path / "doc.md").read_text()
    assert (tmp_path / "doc/figure3.svg").read_text() == (out / "figures/figure3.svg").read_text()
    again = _dkmd(*words, cwd=tmp_path)  # the same seed gives the same files
    assert again.returncode == 0, again.stderr
    assert (out / "index.html").read_text() == document


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reproduce", "--only", "table9"), "--only: unknown name 'table9'; choose from table1"),
        (("reproduce", "--out", "full"), "full has files that `dkmd reproduce` did not write"),
        (("reproduce", "--out", "full/a.txt"), "is a file: --out needs a folder"),
        (("reproduce", "--markdown", "full/a.txt"), "was not written by `dkmd reproduce`"),
        (("reproduce", "--seed", "many"), "--seed"),
        (("reproduce", "--fast"), "No such option: --fast"),
        (("retry",), "No such command 'retry'"),
    ],
)
def test_bad_input_is_told_in_one_line(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a.txt").write_text("not yours")
    run = _dkmd(*words, cwd=tmp_path)
    assert run.returncode == 2
    assert message in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert run.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    run = _dkmd("--debug", "reproduce", "--only", "table9", cwd=tmp_path)
    assert "Traceback" in run.stderr
    assert run.returncode == 2


def test_help_and_version_answer_without_loading_anything_heavy(tmp_path: Path) -> None:
    for words in ((), ("--help",)):
        shown = _dkmd(*words, cwd=tmp_path)
        assert shown.returncode == 0
        assert "reproduce" in shown.stdout
    assert "--only" in _dkmd("reproduce", "--help", cwd=tmp_path).stdout
    assert re.fullmatch(r"dkmd \d+\.\d+\.\d+\n", _dkmd("--version", cwd=tmp_path).stdout)
    code = "import sys, dkmd.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"matplotlib", "scipy.stats", "jinja2", "dkmd.paper"} & set(loaded)


def test_without_matplotlib_figures_are_refused_and_tables_are_not(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from dkmd.paper.reproduce import Selection, open_output\n"
        "from pathlib import Path\n"
        "open_output(Selection(('table1',)), Path('tables'), None)\n"
        "open_output(Selection(('figure1',)), Path('figures'), None)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert "pip install 'dkmd[plot]'" in run.stderr.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]
