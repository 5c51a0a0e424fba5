"""The page works without network and scripts, is safe for any name, and shows the truth."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError
from shell import ROOT, here, run

import dkmd
from dkmd import Comparison, Comparisons, Drift, Grid, Summary, compare, drift
from dkmd.answers.gate import Gate, gate, load_benchmarks
from dkmd.answers.opinions import DOWN, NONE, UP, Opinion, Opinions
from dkmd.answers.page import page_of
from dkmd.answers.reasons import reasons
from dkmd.base.calls import Call
from dkmd.base.wording import short_p
from dkmd.render.report.html import environment, ours
from dkmd.render.report.model import PageRow, Shown
from dkmd.render.report.page import page_html
from dkmd.render.report.words import tally
from dkmd.sources.files.benchmarks import Measurements

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

DATA, BENCH = ROOT / "examples" / "data", ROOT / "examples" / "bench"

ATTACKS = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "</title></style><svg onload=alert(3)>",
    "\" onmouseover='alert(4)' style=\"x",
    "&lt;b&gt; &amp;",
    "--> <!-- ]]>",
    "\u202eright to left \u05e9\u05dc\u05d5\u05dd",
    "controls \x01\x1b\x85",
    "x" * 500,
)


class Parsed(HTMLParser):
    """What a browser would see: elements with attributes, and text by element."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._inside: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._inside[-1] if self._inside else "", []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self) -> str:
        shown = {tag: parts for tag, parts in self.texts.items() if tag not in ("style", "script")}
        return " ".join(part for parts in shown.values() for part in parts)


def _html(answer: Comparison | Comparisons | Gate, command: str | None = None) -> str:
    return page_html(page_of(answer, command))


def _frames(columns: int = 6, n: int = 200) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(21)
    before = {f"c{i}": rng.normal(i, 1, n) for i in range(columns)}
    after = {f"c{i}": rng.normal(i + 0.5 * (i % 2), 1, n) for i in range(columns)}
    return pd.DataFrame(before), pd.DataFrame(after)


def _answers() -> dict[str, Comparison | Comparisons | Gate]:
    before, after = _frames()
    long = pd.DataFrame({"v": np.r_[before.c0, after.c1, after.c2], "level": list("abc") * 200})
    builds = [load_benchmarks(str(BENCH / f"pyperf-{b}.json")) for b in ("main", "branch")]
    return {
        "comparison": compare(before.c1, after.c1, margin="0.2sd"),
        "levels": compare(long, column="v", by="level", reference="a"),
        "drift": drift(before, after),
        "gate": gate(*builds, margin="3%"),
    }


ANSWERS = ("comparison", "levels", "drift", "gate")


def _settings(row: PageRow) -> dict[str, Shown]:
    return dict(row.settings)


@pytest.fixture(scope="module")
def answers() -> dict[str, Comparison | Comparisons | Gate]:
    return _answers()


@pytest.mark.parametrize("kind", ANSWERS)
def test_the_policy_names_the_hashes_of_the_one_style_and_the_one_script(
    answers: dict[str, Any], kind: str
) -> None:
    text = _html(answers[kind])
    seen = Parsed(text)
    (policy,) = [m["content"] for m in seen.all("meta") if "http-equiv" in m]
    assert policy is not None
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert allowed[directive] == f"'sha256-{digest}'"
    for directive in ("default-src", "base-uri", "form-action"):
        assert allowed[directive] == "'none'"
    assert len(allowed) == 5
    assert text.index("http-equiv") < text.index("<style>") < text.index("<script>")


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_page_refers_to_nothing_outside_itself(answers: dict[str, Any], kind: str) -> None:
    text = _html(answers[kind])
    seen = Parsed(text)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|javascript:", text)
    for tag, attributes in seen.elements:
        assert tag not in ("img", "link", "iframe", "object", "embed", "base", "form", "use")
        assert not {"src", "style", "srcset", "action", "ping"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")


@pytest.mark.parametrize("kind", ANSWERS)
def test_ids_are_unique_and_every_reference_has_a_target(
    answers: dict[str, Any], kind: str
) -> None:
    seen = Parsed(_html(answers[kind]))
    ids = [a["id"] for _, a in seen.elements if "id" in a]
    assert len(ids) == len(set(ids))
    wanted = {(a.get("href") or "#")[1:] for a in seen.all("a")}
    wanted |= {
        a[name] or "" for _, a in seen.elements for name in ("for", "aria-controls") if name in a
    }
    assert wanted <= set(ids)


def test_names_from_data_stay_text_everywhere() -> None:
    rng = np.random.default_rng(5)
    before, after = (
        pd.DataFrame({name: rng.normal(size=40) for name in ATTACKS}).assign(**{"<i>skipped": "x"})
        for _ in range(2)
    )
    text = _html(drift(before, after), command=f"dkmd drift '{ATTACKS[1]}' $(reboot)")
    seen = Parsed(text)
    tags = {tag for tag, _ in seen.elements}
    plain = {tag for tag, _ in Parsed(_html(drift(*_frames(2)), "dkmd drift a b")).elements}
    assert tags <= plain | {"h2", "ul", "li", "rect", "wbr"}
    assert len(seen.all("script")) == len(seen.all("style")) == 1
    shown = seen.text()
    for name in (*ATTACKS, "<i>skipped"):
        seen_as = re.sub("[\x01\x1b\x85]", "\ufffd", name).replace("\u202e", r"\u202e")
        assert seen_as in shown


def test_levels_labels_and_benchmarks_stay_text_too() -> None:
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"v": rng.normal(size=90), ATTACKS[0]: ["r", ATTACKS[1], ATTACKS[3]] * 30})
    text = _html(compare(frame, column="v", by=ATTACKS[0], reference="r"))
    times = {ATTACKS[0]: Measurements("</b>", [1.0, 1.1, 1.2], [0, 1, 2])}
    text += _html(
        gate(
            {**times, ATTACKS[1]: times[ATTACKS[0]]},
            {**times, ATTACKS[2]: times[ATTACKS[0]]},
            better={"</b>": "lower"},
        )
    )
    assert "<img" not in text
    assert "<svg onload" not in text
    assert text.count("<script>") == 2


def test_names_stand_apart_from_the_words_around_them() -> None:
    """A right-to-left name must not reverse the sentence around it."""
    seen = Parsed(_html(drift(*_frames(2))))
    assert {"c0", "c1", "reference", "current"} <= set(seen.texts["bdi"])
    backwards = "\u05e9\u05dc\u05d5\u05dd"
    answer = compare(pd.Series([1.0, 2.0, 4.0, 3.0], name=backwards), [5.0, 6.0, 9.0, 8.0])
    text = _html(answer)
    isolated = f"<bdi>{backwards}</bdi>"
    assert f"<h1>{isolated}</h1>" in text
    assert f'<p class="lead">{isolated} is HIGHER' in text
    outside = text.replace(isolated, "").split("<body")[1]
    assert backwards not in re.sub(r"<code>.*?</code>", "", outside, flags=re.DOTALL)


TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""All characters that only change the direction of text."""


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "old.csv", "new.csv", "-c", f"num{TURNING}"),
        ("compare", "old.csv", "new.csv", "-c", f"level{TURNING}"),
        ("compare", "old.csv", "new.csv", "-c", f"num{TURNING}", "--segments", f"level{TURNING}"),
        ("drift", "old.csv", "new.csv"),
        ("gate", "old.json", "new.json", "--margin", "5%"),
    ],
)
def test_characters_that_turn_text_around_are_written_out(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """Else "\u202e1.0.1 si REHGIH" reads as another version that is HIGHER."""
    rng = np.random.default_rng(2)
    for name, middle in (("old", 0.0), ("new", 3.0)):
        levels = rng.choice([f"a{TURNING}", "b", "c"], 200, p=[0.7, 0.2, 0.1] if middle else None)
        columns = {f"num{TURNING}": rng.normal(middle, 1.0, 200), f"level{TURNING}": levels}
        pd.DataFrame(columns).to_csv(tmp_path / f"{name}.csv", index=False)
        times = (rng.normal(10.0 + middle, 0.1, 30)).tolist()
        runs = {"results": [{"command": f"sort{TURNING}", "times": times}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(runs))
    done = here(*words, "--report", "page.html", code=None, cwd=tmp_path)
    page = (tmp_path / "page.html").read_text()
    for text in (done.stdout, page):
        assert not set(TURNING) & set(text)
        assert r"\u061c" in text  # long names may be shortened in their middle


def test_a_page_keeps_to_its_size() -> None:
    rng = np.random.default_rng(9)
    for columns in (1, 30):
        tables = [
            pd.DataFrame(
                {f"a_rather_long_name_{i}": rng.standard_cauchy(400) for i in range(columns)}
            )
            for _ in range(2)
        ]
        size = len(_html(drift(*tables, margin="0.1sd")).encode())
        assert size <= 60_000 + 15_000 * columns
    one = compare(DATA / "latency_before.csv", DATA / "latency_after.csv")
    assert len(_html(one).encode()) <= 75_000


def test_a_billion_values_make_no_larger_page() -> None:
    rng = np.random.default_rng(10)
    y, x = rng.normal(size=1000), rng.normal(0.3, 1, 1000)
    grid = Grid.fit(y, x)
    few = [Summary.of(values, grid) for values in (y, x)]
    many = [Summary.of(values, grid) for values in (y, x)]
    for summary in many:
        summary.counts = summary.counts * 1_000_000
        summary.sums = summary.sums * 1e6
        summary.squares = summary.squares * 1e6
    small, large = (len(_html(compare(*pair))) for pair in (few, many))
    assert large < 1.1 * small


def test_the_pictures_of_the_documentation_are_small_and_there() -> None:
    shown = set()
    for file in (ROOT / "README.md", ROOT / "docs" / "report.md"):
        for name in re.findall(r'(?:\]\(|src="|srcset=")([^)"]*\.png)', file.read_text()):
            picture = file.parent / name
            assert picture.stat().st_size <= 80_000
            shown.add(picture.resolve())
    assert shown == set((ROOT / "docs" / "report").glob("*.png"))


def test_the_same_answer_makes_the_same_page(answers: dict[str, Any]) -> None:
    assert _html(answers["gate"]) == _html(answers["gate"])


@pytest.mark.parametrize("kind", ANSWERS)
def test_everything_can_be_read_without_scripts(answers: dict[str, Any], kind: str) -> None:
    """Details are HTML elements that open without scripts. No content is in the script."""
    answer = answers[kind]
    seen = Parsed(_html(answer))
    count = 0 if kind == "comparison" else len(answer.rows if kind == "gate" else answer)
    assert len(seen.all("details")) == count
    assert len(seen.all("summary")) == count
    assert len(seen.all("figure")) == 4 * max(count, 1)
    assert not [1 for each in seen.all("details") if "open" in each]
    script = "".join(seen.texts["script"])
    for name in ["latency", "c1", "count-words"]:
        assert name not in script


def test_an_overview_row_says_what_the_answer_says() -> None:
    before, after = _frames()
    before.loc[:19, "c1"] = math.nan
    answer = drift(before, after, margin="0.1sd")
    c = answer["c1"]
    text = _html(answer)
    (row,) = re.findall(
        r'<tr class="row">(?:(?!</tr>).)*<bdi>c1</bdi>.*?</tr>.*?class="facts">.*?</p>',
        text,
        flags=re.DOTALL,
    )
    shown = re.sub(r"<[^>]*>", " ", row)
    assert "▲" in shown
    assert "higher" in shown
    assert f'title="{c.shift!r}"' in row
    assert f'title="{answer.adjusted_pvalues["c1"]!r}"' in row
    assert "180 →" in shown
    assert "10.0%" in shown
    label = re.search(r'aria-label="([^"]*) scales, ([^"]*) to ([^"]*)"', row)
    assert label is not None
    assert float(label[1]) == pytest.approx(c.shift_in_scales, rel=5e-3)
    assert float(label[2].replace("−", "-")) == pytest.approx(
        c.shift_interval.low / c.scale, rel=5e-3
    )


def test_directions_are_never_said_by_colour_alone() -> None:
    seen = Parsed(_html(drift(*_frames(), margin="0.1sd")))
    for body in seen.all("tbody"):
        if body.get("class") in ("up", "down"):
            assert body["data-w"] == {"up": "higher", "down": "lower"}[str(body["class"])]


def test_columns_without_an_answer_and_without_a_row_are_named() -> None:
    before, after = _frames(2)
    for frame in (before, after):
        frame["constant"], frame["words"], frame["empty"] = 3.0, "x", math.nan
        frame.loc[0, "constant"] = math.nan  # missing values are compared, so it has a row
    text = Parsed(_html(drift(before, after))).text()
    for words in (
        "no answer",
        "all values are equal",
        "There is nothing to draw",
        "it is constant",
    ):
        assert words in text
    assert "all its values are missing" in text


def test_infinite_values_are_counted_in_words() -> None:
    rng = np.random.default_rng(1)
    before, after = rng.normal(size=100), rng.normal(size=120)
    before[:2], after[:5] = math.inf, -math.inf
    text = Parsed(_html(compare(before, after))).text()
    assert "At +inf: 2 and 0. At −inf: 0 and 5." in text
    assert "With infinite values there is no mean" in text


def test_most_values_at_infinity_leave_a_page_that_says_so() -> None:
    answer = compare([1.0, math.inf, math.inf, math.inf], [1.0, 2.0, math.inf, math.inf])
    told = Parsed(_html(answer)).text()
    assert "50% of the values are at +inf (never finished, for times), before 75%" in told


def test_summaries_alone_say_that_peers_need_values() -> None:
    rng = np.random.default_rng(2)
    y, x = rng.normal(size=300), rng.normal(size=300)
    grid = Grid.fit(y, x)
    text = Parsed(_html(compare(Summary.of(y, grid), Summary.of(x, grid)))).text()
    assert "only their summary is held here" in text
    assert "Mann-Whitney" not in text


def test_a_gate_lists_what_vanished_and_appeared() -> None:
    def times(*names: str) -> dict[str, Measurements]:
        rng = np.random.default_rng(3)
        return {
            n: Measurements("s", rng.gamma(99, 0.01, 20).tolist(), list(range(20))) for n in names
        }

    text = Parsed(_html(gate(times("both", "old"), times("both", "new")))).text()
    for words in ("Missing from current", "old", "New in current, not judged", "new"):
        assert words in text
    one = {"both": Measurements("s", [1.0], [0])}
    assert "measure two or more, give 3 runs per side" in Parsed(_html(gate(one, one))).text()


def test_a_gate_colours_what_is_bad_and_puts_it_first() -> None:
    """For throughputs a decrease is bad. It has the alarm colour and comes first."""
    rng = np.random.default_rng(5)

    def rates(*centers: float) -> dict[str, Measurements]:
        names = ("steady", "better", "worse")
        return {
            n: Measurements("", (c * rng.gamma(400, 1 / 400, 40)).tolist(), list(range(40)))
            for n, c in zip(names, centers, strict=True)
        }

    judged = gate(rates(100, 100, 100), rates(100, 130, 70), worse="lower")
    first, *others = page_of(judged).rows
    assert (first.name, first.mark, first.kind) == ("worse", "▼", "up")
    assert {row.name: row.kind for row in others}["better"] == "down"
    assert _settings(first)["p, uncorrected"].value == judged.evidence["worse"].pvalue
    assert judged.evidence["worse"].pvalue <= first.pvalue


def test_huge_whole_numbers_have_an_axis() -> None:
    """Nanoseconds since 1970 in steps of 256 ns, which doubles hold."""
    rng = np.random.default_rng(6)
    start = 1_760_000_000_000_000_000
    for width in (1_000, 1_000_000, 10**15):
        y, x = (start + rng.integers(0, width, 300) // 256 * 256 for _ in range(2))
        assert "1,7" in _html(compare(y, x))


def test_the_share_of_capped_values_is_told_as_it_is() -> None:
    """Even if other values lie in the same bin."""
    rng = np.random.default_rng(7)
    y, x = (np.minimum(rng.normal(center, 20, 1000), 100.0) for center in (90, 93))
    words = f"At 100.0: {np.mean(y == 100.0):.1%} and {np.mean(x == 100.0):.1%}."
    assert words in Parsed(_html(compare(y, x))).text()
    grid = Grid.fit(y, x)
    bins_only = compare(Summary.of(y, grid), Summary.of(x, grid))
    assert "At 100.0: 0.0%" not in Parsed(_html(bins_only)).text()


def test_the_interval_is_there_to_the_last_digit() -> None:
    before, after = _frames(2)
    answer = compare(before.c1, after.c1)
    text = _html(answer)
    for number in (answer.shift, *answer.shift_interval):
        assert f'title="{number!r}"' in text
    assert f"<title>{answer.shift!r}</title>" in text


def test_no_row_claims_what_the_headline_denies() -> None:
    rng = np.random.default_rng(1)
    old, new = (pd.DataFrame(rng.normal(size=(200, 40))).add_prefix("c") for _ in range(2))
    page = page_of(drift(old, new))
    assert page.headline.startswith("No clear change in 40 columns")
    assert {(row.word, row.mark) for row in page.rows} == {("inconclusive", "–")}


def test_a_margin_is_drawn_as_a_band_in_the_measure_of_the_bars() -> None:
    rng = np.random.default_rng(4)
    y, x = rng.gamma(9, 1, 300), rng.gamma(9, 1.1, 300)
    for margin, percent in ((None, False), ("0.3sd", False), (0.5, False), ("3%", True)):
        answer = compare(y, x, margin=margin)
        page = page_of(answer)
        (row,) = page.rows
        expected = {"0.3sd": 0.3, 0.5: 0.5 / answer.scale, "3%": 3.0}.get(margin, 0.0)
        assert row.band == pytest.approx((-expected, expected))
        assert page.in_percent is percent
        mini = page_html(page).split('class="mini"')[1].split("</div>")[0]
        assert ("<rect" in mini) == (margin is not None)


def test_a_page_replaces_its_file_in_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = compare([1.0, 2.0, 3.0], [2.0, 3.0, 4.5])
    target = tmp_path / "page.html"
    target.write_text("old")

    def broken(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", broken)
        with pytest.raises(OSError, match="disk is full"):
            answer.report(target)
    assert target.read_text() == "old"
    answer.report(str(target))
    assert target.read_text().startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(ValueError, match="there is no folder"):
        answer.report(tmp_path / "nowhere" / "page.html")


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_kind_of_answer_reports(answers: dict[str, Any], kind: str, tmp_path: Path) -> None:
    answers[kind].report(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


def _asked_again(call: Call, **names: Any) -> Any:
    """Run the Python call shown on a page."""
    *lines, last = call.python().splitlines()
    space: dict[str, Any] = {"dkmd": dkmd, **names}
    exec("\n".join(lines), space)
    return eval(last, space)


def test_the_python_call_of_a_row_gives_its_numbers_again() -> None:
    before, after = DATA / "flights_january.parquet", DATA / "flights_july.parquet"
    found = drift(before, after, groups="date", margin="0.1sd", alpha=0.1)
    assert found.call is not None
    assert _asked_again(found.call).changed == found.changed
    row = found["air_time"]
    assert row.call is not None
    again = _asked_again(row.call)
    assert isinstance(again, Comparison)
    assert (again.shift, again.pvalue, again.shift_interval) == (
        row.shift, row.pvalue, row.shift_interval
    )  # fmt: skip
    levels = compare(DATA / "flights.parquet", column="dep_delay", by="origin", reference="JFK")
    assert isinstance(levels, Comparisons)
    call = levels["LGA"].call
    assert call is not None
    assert _asked_again(call).shift == levels["LGA"].shift


def test_the_command_of_a_row_gives_its_numbers_again() -> None:
    levels = compare(DATA / "flights.parquet", column="dep_delay", by="origin", reference="JFK")
    assert isinstance(levels, Comparisons)
    call = levels["LGA"].call
    assert call is not None
    command = call.command()
    assert command is not None
    done = run(*shlex.split(command)[1:], "--json")
    assert json.loads(done.stdout)["shift"] == levels["LGA"].shift


def test_data_in_memory_is_named_and_nothing_is_invented() -> None:
    before, after = _frames(2)
    found = drift(before, after, columns=["c0"], margin=0.5, scale=0.25)
    call = found["c0"].call
    assert call is not None
    assert call.python() == "dkmd.compare(reference, current, column='c0', margin=0.5, scale=0.25)"
    assert call.command() is None
    assert call.in_memory() == ["reference", "current"]
    assert _asked_again(call, reference=before, current=after).shift == found["c0"].shift
    labels = np.repeat(range(20), 10)
    grouped = compare(before.c0, after.c0, groups=(labels, labels))
    assert grouped.call is not None
    assert grouped.call.python() == "dkmd.compare(reference, current, groups=groups)"
    text = Parsed(_html(grouped)).text()
    assert "what was given from memory" in text
    assert "At a shell" not in text


def test_options_without_a_flag_leave_no_command() -> None:
    assert Call("compare", ("a", "b"), {"margin": "2%"}).command() == "dkmd compare a b --margin 2%"
    assert Call("compare", ("a", "b"), {"scale": 2.0}).command() is None
    odd = Call("drift", ("it's", "b c"), {"columns": ["x y", "z"]})
    assert shlex.split(odd.command() or "")[2:] == [
        "it's",
        "b c",
        "--column",
        "x y",
        "--column",
        "z",
    ]
    assert odd.of_row("z").python() == "dkmd.compare(\"it's\", 'b c', column='z')"
    judged = Call("gate", ("a.csv", "b.csv"), {"by": "name", "margin": "3%"})
    assert judged.python().splitlines()[1] == (
        "gate(load_benchmarks('a.csv', by='name'), load_benchmarks('b.csv', by='name'), "
        "margin='3%')"
    )


def test_compare_writes_a_page_and_says_where(tmp_path: Path) -> None:
    name = "it's <b>before.csv"
    (tmp_path / name).write_bytes((DATA / "latency_before.csv").read_bytes())
    words = ["compare", name, str(DATA / "latency_after.csv"), "--margin", "2%"]
    done = here(*words, "--report", "out.html", cwd=tmp_path)
    assert done.stderr == "dkmd: the report is in out.html\n"
    assert done.stdout == here(*words, cwd=tmp_path).stdout
    code = "".join(Parsed((tmp_path / "out.html").read_text()).texts["code"])
    assert code.startswith(shlex.join(["dkmd", *words]))
    assert f"dkmd.compare({name!r}, " in code


def test_drift_writes_a_page_beside_its_json(tmp_path: Path) -> None:
    files = [str(DATA / f"flights_{month}.parquet") for month in ("january", "july")]
    done = here("drift", *files, "--json", f"--report={tmp_path / 'd.html'}", cwd=tmp_path)
    assert json.loads(done.stdout)["format"] == "dkmd-drift"
    codes = Parsed((tmp_path / "d.html").read_text()).texts["code"]
    assert shlex.join(["dkmd", "drift", *files, "--json"]) in codes
    assert shlex.join(["dkmd", "compare", *files, "--column", "air_time"]) in codes


def test_a_gate_keeps_its_exit_code_beside_a_page(tmp_path: Path) -> None:
    files = [str(BENCH / f"pyperf-{build}.json") for build in ("main", "branch")]
    here("gate", *files, "--margin", "3%", "-q", "--report", "g.html", cwd=tmp_path, code=1)
    seen = Parsed((tmp_path / "g.html").read_text())
    assert "Gate failed: pyperf-main.json → pyperf-branch.json" in seen.text()
    assert any("load_benchmarks(" in code and "margin='3%'" in code for code in seen.texts["code"])


def test_a_page_that_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    done = here("compare", "a", "b", "--report", "no/where.html", cwd=tmp_path, code=2)
    assert done.stderr == "dkmd: there is no folder no\n"
    done = here("drift", "a", "b", "--report", ".", cwd=tmp_path, code=2)
    assert "is a folder" in done.stderr


def _said(own: tuple[float, str], **others: tuple[float, str]) -> Opinions:
    names = ("mean", "welch", "ranks", "shape", "mmd")
    rows = [Opinion("dkmd", 1.0, *own)]
    rows += [Opinion(name, 1.0, *others.get(name, (math.nan, UP))) for name in names]
    return Opinions(tuple(rows))


SURE, UNSURE = 1e-5, 0.4


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            _said((SURE, UP), mean=(math.nan, DOWN), welch=(UNSURE, DOWN)),
            "mean points the other way",
        ),
        (_said((SURE, UP), welch=(UNSURE, UP)), "Welch’s test is less sure"),
        (_said((UNSURE, UP), welch=(SURE, UP)), "in the tails"),
        (_said((UNSURE, UP), ranks=(SURE, UP)), "change of spread alone"),
        (_said((SURE, UP), welch=(SURE, UP), ranks=(SURE, DOWN)), "lean the other way"),
        (_said((UNSURE, UP), shape=(SURE, NONE)), "any change of shape"),
        (_said((SURE, UP), welch=(SURE, UP), ranks=(SURE, UP), shape=(SURE, UP)), "clear to all"),
        (_said((UNSURE, UP), welch=(UNSURE, UP)), "none of them sees"),
        (_said((SURE, UP), welch=(SURE, UP), ranks=(0.06, UP)), "a little surer"),
    ],
)
def test_a_plain_sentence_says_why_peers_differ(said: Opinions, words: str) -> None:
    assert any(words in sentence for sentence in reasons(said, 0.05, False, False))


def test_groups_and_infinities_are_part_of_the_reason() -> None:
    told = " ".join(reasons(_said((SURE, UP)), 0.05, grouped=True, infinite=True))
    assert "dkmd counted groups" in told
    assert "With infinite values there is no mean" in told


def test_a_name_with_half_a_character_is_written(tmp_path: Path) -> None:
    """Bytes of a file name that are not UTF-8 arrive as lone surrogates."""
    times = {"half \ud83d": Measurements("s", [1.0, 1.1, 1.3], [0, 1, 2])}
    gate(times, times).report(tmp_path / "page.html", command="dkmd gate \udcff a")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "half \ufffd" in text
    assert "dkmd gate \ufffd a" in text


def test_answers_keep_their_type_and_their_order() -> None:
    found = drift(*_frames())
    assert isinstance(found, Drift)
    shifts = [abs(c.shift_in_scales) for c in found.values()]
    assert shifts == sorted(shifts, reverse=True)
    assert found["c1"].call is not None


VALUES = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, width=64),
    st.integers(-3, 3).map(float),
    st.floats(-1e3, 1e3),
    st.sampled_from([math.inf, -math.inf, 0.0]),
)
SAMPLES = st.lists(VALUES, min_size=2, max_size=25)


@settings(max_examples=40)
@given(SAMPLES, SAMPLES)
def test_any_two_samples_make_a_page_without_holes(
    reference: list[float], current: list[float]
) -> None:
    try:
        answer = compare(reference, current, margin="0.1sd")
    except ValueError:  # a scale whose square no double can hold: an error, no page
        return
    text = _html(answer)
    for drawn in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        assert not re.search(r'(?:d|x|y|cx|cy|width|height)="[^"]*(nan|inf)', drawn)
    answer._repr_html_()


@pytest.mark.parametrize(
    "other", [[1e-308, 1e307, 1.0, 2.0, 3e-320], [-1e308, 1e308, 0.0, 1.0, 2.0]]
)
def test_values_at_the_ends_of_doubles_have_a_picture(other: list[float]) -> None:
    """Differences and means overflow there; the picture shows the middle of the values."""
    ends = [1e-300, 5e-324, 0.5, 1.0, 2.0, 2.5, 3.0, 1e300, 1e308]
    for reference, current in (
        (ends * 4, other * 5),
        (other * 5, ends * 4),
        (other * 5, other * 4),
    ):
        text = _html(compare(reference, current))
        for drawn in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
            assert not re.search(r'(?:d|x|y|cx|cy|width|height)="[^"]*(nan|inf|-9223)', drawn)
    most = [1e-300, 1e300, 1e308, 5e-324, 1.0]  # whose interquartile range is beyond any scale
    with pytest.raises(ValueError, match=r"the scale of the values, .*, is out of range"):
        compare(most, other)


def test_a_row_costs_a_bounded_number_of_elements() -> None:
    """Most of them are in the detail, which a browser does not draw until it is opened."""
    shown, hidden = [], []
    for columns in (10, 60):
        text = _html(drift(*_frames(columns)))
        outside = re.sub(r"<details.*?</details>", "", text, flags=re.DOTALL)
        shown.append(len(Parsed(outside).elements))
        hidden.append(len(Parsed(text).elements) - shown[-1])
    assert (shown[1] - shown[0]) / 50 < 40
    assert (hidden[1] - hidden[0]) / 50 < 300


@pytest.mark.parametrize(
    ("said", "sentences"),
    [
        # a small difference between two p-values needs no explanation
        (_said((0.02, UP), welch=(0.1, UP)), ["They agree on the direction"]),
        (_said((0.02, UP), welch=(0.101, UP)), ["Welch’s test is less sure"]),
        # a p-value of alpha is not below it
        (_said((0.05, UP), welch=(0.05, UP)), ["They agree: none of them sees"]),
        (_said((0.04, UP), welch=(0.05, UP)), ["They agree on the direction"]),
        (_said((0.049, UP), welch=(0.049, UP)), ["They agree: the change is clear to all"]),
        (_said((0.05, UP), ranks=(0.001, UP)), ["Mann–Whitney is significant where dkmd is not"]),
        # the mean points the other way, but nothing is significant
        (_said((UNSURE, UP), mean=(math.nan, DOWN), welch=(UNSURE, DOWN)), ["They agree: none"]),
        (_said((0.04, UP), welch=(0.06, DOWN)), ["They point different ways"]),
        # the first sentence is about the mean or Welch's test; ranks and shape follow
        (
            _said((SURE, UP), mean=(math.nan, DOWN), welch=(SURE, DOWN), ranks=(SURE, DOWN)),
            ["The mean points the other way", "Mann–Whitney counts pairs"],
        ),
        (
            _said((UNSURE, UP), welch=(SURE, UP), ranks=(SURE, UP), shape=(SURE, NONE)),
            [
                "Welch’s test sees a change",
                "Mann–Whitney is significant",
                "Kolmogorov–Smirnov responds",
            ],
        ),
        # no direction contradicts "no direction"
        (_said((SURE, NONE), mean=(math.nan, DOWN), welch=(SURE, DOWN)), ["They agree: the cha"]),
        (_said((UNSURE, UP), ranks=(UNSURE, DOWN)), ["They agree: none of them sees"]),
    ],
)
def test_the_reasons_are_these_and_no_others(said: Opinions, sentences: list[str]) -> None:
    told = reasons(said, 0.05, grouped=False, infinite=False)
    assert len(told) == len(sentences), told
    for sentence, start in zip(told, sentences, strict=True):
        assert sentence.startswith(start)


def test_reasons_go_by_the_alpha_of_the_answer() -> None:
    said = _said((0.01, UP), welch=(0.08, UP))
    assert reasons(said, 0.05, False, False)[0].startswith("Welch’s test is less sure")
    assert reasons(said, 0.1, False, False)[0].startswith("They agree: the change is clear")
    assert reasons(said, 0.005, False, False)[0].startswith("They agree: none of them")


def test_the_reason_of_a_skipped_column_stays_text() -> None:
    frame = pd.DataFrame({"v": [1.0, 2.0, 4.0], "t": ['<img src=x onerror="alert(1)">', "1", "2"]})
    found = drift(frame, frame, ["v", "t"])
    assert "<img" in found.skipped["t"]
    seen = Parsed(_html(found))
    assert not seen.all("img")
    assert found.skipped["t"] in seen.text()


def test_the_numbers_of_groups_are_those_of_reference_and_current() -> None:
    rng = np.random.default_rng(17)
    reference, current = rng.normal(size=60), rng.normal(size=80)
    groups = np.arange(60) // 5, np.arange(80) // 16
    (row,) = page_of(compare(reference, current, groups=groups)).rows
    assert _settings(row)["groups"].text == "12 and 5"
    (without,) = page_of(compare(reference, current)).rows
    assert "groups" not in _settings(without)


def test_other_statistics_are_set_beside_the_p_value_of_any_change() -> None:
    """A gate tests "worse than the margin". The others test whether anything moved."""
    builds = [
        load_benchmarks(str(BENCH / f"hyperfine-{build}.json")) for build in ("main", "branch")
    ]
    found = gate(*builds, margin="3%")
    for row in page_of(found).rows:
        evidence = found.evidence[row.name]
        assert evidence.result is not None
        assert row.peers[0].pvalue.value == evidence.result.outcome().pvalue != row.pvalue
        assert _settings(row)["p, uncorrected"].value == evidence.pvalue


def test_a_margin_in_scales_is_told_in_data_units_too() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"lag_ms": rng.normal(500.0, 40.0, 900)})
    answer = drift(frame, frame + 8.0, margin="0.2sd")
    words = _settings(page_of(answer).rows[0])["margin"].text
    scale = answer["lag_ms"].scale
    told = re.fullmatch(r"0\.2sd = ([\d.]+) ms", words)
    assert told is not None, words
    assert float(told[1]) == pytest.approx(0.2 * scale, rel=1e-3)
    assert 30.0 < scale < 50.0


def test_what_lies_outside_the_window_is_counted_on_both_ends() -> None:
    rng = np.random.default_rng(3)
    reference, current = rng.normal(size=1000), rng.normal(size=800)
    reference[:2], current[:3], current[3:4] = 1e6, 1e6, -1e6
    answer = compare(reference, current)
    curves = page_of(answer).rows[0].curves
    assert curves is not None
    low, high = curves.origin + curves.low, curves.origin + curves.high
    outside = [np.count_nonzero((v < low) | (v > high)) for v in (reference, current)]
    assert min(np.count_nonzero(current < low), np.count_nonzero(reference > high)) > 0
    told = f"Outside the window: {outside[0]} and {outside[1]} values."
    assert told in Parsed(_html(answer)).text()


def test_the_reasons_of_a_page_go_by_its_alpha() -> None:
    rng = np.random.default_rng(8)
    reference, current = rng.normal(0.0, 1.0, 60), rng.normal(0.3, 1.0, 90)
    shown = set()
    for alpha in (0.001, 0.5):
        answer = compare(reference, current, alpha=alpha)
        expected = reasons(answer.peers(), alpha, grouped=False, infinite=False)
        assert all(sentence in Parsed(_html(answer)).text() for sentence in expected)
        shown.add(tuple(expected))
    assert len(shown) == 2


def test_columns_sort_by_the_larger_share_of_missing_values() -> None:
    rng = np.random.default_rng(9)
    before = pd.DataFrame({"v": rng.normal(size=100), "w": rng.normal(size=100)})
    after = before.copy()
    after.loc[:39, "v"] = math.nan
    before.loc[:9, "w"] = math.nan
    cells = re.findall(r'data-missing="([^"]*)"', _html(drift(before, after)))
    assert sorted(map(float, cells)) == [0.1, 0.4]


@pytest.mark.parametrize(("rows", "opened"), [(5, True), (6, False)])
def test_up_to_5_rows_are_printed_with_all_their_details(rows: int, opened: bool) -> None:
    text = _html(drift(*_frames(rows, 20)))
    assert ('<body class="all">' in text) == opened
    assert ("only the rows you have opened" in text) == (not opened)


def test_columns_sort_by_the_values_of_both_sides() -> None:
    rng = np.random.default_rng(10)
    before = pd.DataFrame({"v": rng.normal(size=30), "w": rng.normal(size=30)})
    after = pd.DataFrame({"v": rng.normal(size=70), "w": rng.normal(size=70)})
    assert _html(drift(before, after)).count('data-values="100"') == 2


def test_hollow_marks_are_explained_by_what_the_answer_asked() -> None:
    """In a drift the size is unclear; in a gate a clear change may well be one that passes."""
    rng = np.random.default_rng(12)
    old, new = rng.normal(100.0, 1.0, 400), rng.normal(101.0, 1.0, 400)
    moved = page_of(compare(old, new, margin=1.0))
    assert [row.mark for row in moved.rows] == ["△"]
    assert moved.legend[0].endswith("the size relative to the margin is not.")
    builds = ({"b": Measurements("s", v.tolist(), list(range(400)))} for v in (old, new))
    (old_times, new_times) = builds
    same = page_of(gate(old_times, new_times, margin="5%"))
    assert [(row.mark, row.word) for row in same.rows] == [("≈", "same")]
    passed = page_of(gate(new_times, old_times, margin="1%"))
    assert [(row.mark, row.word) for row in passed.rows] == [("▽", "not worse")]
    assert passed.legend[0].endswith("the change is not shown to exceed the margin.")
    legend = page_of(compare(old, old[::-1].copy())).legend
    assert [line.split()[0] for line in legend] == ["p:", "What"]  # p, and what else is corrected


def test_a_carriage_return_in_a_command_stays_one() -> None:
    """A browser reads a bare one as a line feed; a reference to it is kept."""
    text = _html(compare([1.0, 2.0, 4.0], [5.0, 6.0, 9.0]), "dkmd compare 'a\rb' c")
    assert "\r" not in text
    assert "dkmd compare 'a\rb' c" in Parsed(text).texts["code"]


def test_templates_escape_every_text_and_know_every_name() -> None:
    templates = environment()
    shown = templates.from_string("<b title='{{ text }}'>{{ text }}</b>").render(text="<'\x01\">&")
    assert shown == "<b title='&lt;&#39;\ufffd&#34;&gt;&amp;'>&lt;&#39;\ufffd&#34;&gt;&amp;</b>"
    assert templates.from_string("{{ ours }}").render(ours=ours("<svg>")) == "<svg>"
    with pytest.raises(UndefinedError):
        templates.from_string("{{ nobody }}").render()


def test_markup_that_is_not_escaped_is_made_in_one_place() -> None:
    package = ROOT / "src" / "dkmd"
    code = {file: file.read_text() for file in package.rglob("*.py")}
    assert [file.name for file, text in code.items() if "Markup(" in text] == ["html.py"]
    assert code[package / "render" / "report" / "html.py"].count("Markup(") == 1
    templates = [file.read_text() for file in package.rglob("templates/*.html")]
    assert len(templates) > 4
    assert not [text for text in templates if re.search(r"\bsafe\b|autoescape|forceescape", text)]


def test_a_sort_by_verdict_puts_first_what_needs_a_look() -> None:
    """Clear changes, then a clear direction, then what cannot be told, then what is equivalent."""
    rng = np.random.default_rng(31)
    spreads = {"up": 1.0, "down": 1.0, "direction": 1.0, "wide": 20.0, "same": 1.0}
    moves = {"up": 3.0, "down": -3.0, "direction": 1.0, "wide": 0.0, "same": 0.0}
    before = {name: rng.normal(0.0, spread, 200) for name, spread in spreads.items()}
    after = {name: rng.permutation(values) + moves[name] for name, values in before.items()}
    contents = page_of(drift(pd.DataFrame(before), pd.DataFrame(after), margin=1.0))
    rows = {row.name: row for row in contents.rows}
    assert [rows[name].mark for name in spreads] == ["▲", "▼", "△", "–", "≈"]
    ranks = [rows[name].rank for name in spreads]
    assert ranks == sorted(set(ranks), reverse=True)


def test_the_tally_counts_clear_verdicts_and_adds_up_the_others() -> None:
    rng = np.random.default_rng(31)
    moves = {"up": 3.0, "down": -3.0, "down_too": -4.0, "wide": 0.0, "same": 0.0}
    spreads = {name: 20.0 if name == "wide" else 1.0 for name in moves}
    before = {name: rng.normal(0.0, spreads[name], 200) for name in moves}
    after = {name: rng.permutation(values) + moves[name] for name, values in before.items()}
    page = page_of(drift(pd.DataFrame(before), pd.DataFrame(after), margin=1.0))
    told = [(chip.mark, chip.number, chip.word) for chip in tally(page)]
    assert told == [("▲", 1, "higher"), ("▼", 2, "lower"), ("", 2, "other")]


def test_bars_sort_by_how_far_a_shift_is_from_0() -> None:
    values = np.random.default_rng(8).normal(size=300)
    before = pd.DataFrame({"down": values, "up": values})
    after = pd.DataFrame({"down": values - 2.0, "up": values + 1.0})
    text = _html(drift(before, after))
    sizes = [float(size) for size in re.findall(r'<tbody[^>]*data-size="([^"]*)"', text)]
    assert len(sizes) == 2
    assert max(sizes) == pytest.approx(2.0 * min(sizes), rel=1e-6)
    assert min(sizes) > 0.0


def test_a_benchmark_says_its_p_value_whatever_it_is() -> None:
    rng = np.random.default_rng(9)
    values = (10.0 + rng.normal(0.0, 0.2, 40)).tolist()
    groups = list(range(40))
    before = {"same": Measurements("s", values, groups)}
    after = {"same": Measurements("s", values[::-1], groups)}
    (row,) = page_of(gate(before, after, margin="5%")).rows
    assert row.pvalue > 0.9
    assert f"p (worse) = {short_p(row.pvalue)}" in row.headline
    assert row.shift.interval[0] < 0.0 < row.shift.interval[1]
    assert (row.mark, row.kind) == ("≈", "flat")


def test_the_command_of_a_page_is_the_one_that_was_typed() -> None:
    answer = compare(DATA / "latency_before.csv", DATA / "latency_after.csv")
    text = _html(answer, "dkmd compare as it was typed")
    assert "dkmd compare as it was typed" in text
    assert text.count("dkmd compare ") == 1
