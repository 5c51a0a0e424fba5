"""The page of a watch in a real browser: it opens offline, fits narrow screens, and can be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browser.samples import ATTACKS, Open
from shell import here

NAMES = ("watch", "watch-arms")


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stream with two incidents, and two arms with a hostile name."""
    folder = tmp_path_factory.mktemp("watch")
    rng = np.random.default_rng(2)
    values = rng.normal(100, 10, 6_000)
    values[2_000:2_600] += 12
    values[5_000:] -= 9
    np.savetxt(folder / "reference.txt", rng.normal(100, 10, 3_000))
    np.savetxt(folder / "latency_ms.txt", values)
    streams = [str(folder / name) for name in ("reference.txt", "latency_ms.txt")]
    here("watch", *streams, "--report", str(folder / "watch.html"), "-q")
    hostile = ATTACKS[0]
    rows = [f"A,{v:.3f}" for v in rng.normal(100, 10, 2_000)]
    rows += [f"{hostile},{v:.3f}" for v in rng.normal(103, 10, 2_000)]
    rng.shuffle(rows)
    (folder / "arms.csv").write_text("arm,ms\n" + "\n".join(rows))
    here(
        "watch", str(folder / "arms.csv"), "--by", "arm", "--reference", "A", "--current", hostile,
        "--margin", "1", "--report", str(folder / "watch-arms.html"), "-q",
    )  # fmt: skip
    return folder


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [320, 1360])
def test_the_figure_fits_the_screen(opened: Open, name: str, width: int) -> None:
    page = opened(name, width=width).page
    box = page.locator("figure.sequence svg").bounding_box()
    assert box is not None
    assert 0.8 * min(width, 900) - 40 < box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_incidents_are_marked_in_the_figure_and_listed_below(opened: Open) -> None:
    page = opened("watch").page
    rows = page.locator("section.alarms tbody tr")
    assert rows.count() >= 2
    directions = rows.locator("td:nth-child(2)").all_inner_texts()
    assert set(directions) == {"higher", "lower"}
    marks = page.locator("figure.sequence path.cc")
    assert marks.count() == rows.count()
    places = marks.evaluate_all("all => all.map(mark => mark.getBoundingClientRect().left)")
    assert places == sorted(places)
    assert page.locator("figure.sequence path.rs").count() > 20


def test_the_sequence_of_two_arms_has_a_band_a_line_and_a_decision(opened: Open) -> None:
    watch = opened("watch-arms")
    page = watch.page
    for role in ("ci", "cl", "cc", "bd"):
        assert page.locator(f"figure.sequence path.{role}").count() == 1, role
    assert page.locator("figure.sequence text", has_text="decided").count() == 1
    assert ATTACKS[0] in page.locator("h1").inner_text()
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened: Open, axe: str, name: str, scheme: str) -> None:
    page = opened(name, color_scheme=scheme).page
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {preload: false})")
    serious = [v["id"] for v in found["violations"] if v["impact"] in ("serious", "critical")]
    assert serious == []
    assert len(found["passes"]) > 10
