"""The segments of a page in a real browser: beneath the comparison, within the window, escaped."""

from __future__ import annotations

import pytest
from browser.samples import ATTACKS, Open


def test_each_column_of_segments_is_a_forest_plot_beneath_the_comparison(opened: Open) -> None:
    page = opened("segments").page
    sections = page.locator(".segments")
    assert sections.count() == 2
    places = sections.nth(0).locator("tbody tr")
    assert places.count() == 7
    assert "higher" in places.nth(0).inner_text()
    assert "too small to judge" in places.last.inner_text()
    assert places.nth(0).locator("svg").count() == 1
    hero = page.locator(".hero").bounding_box()
    first = sections.nth(0).bounding_box()
    assert hero is not None
    assert first is not None
    assert first["y"] >= hero["y"] + hero["height"]


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_the_page_is_not_wider_than_its_window(opened: Open, width: int) -> None:
    page = opened("segments", width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_levels_that_attack_are_only_levels(opened: Open) -> None:
    page = opened("segments").page
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object, embed, link, base, form").count() == 0
    text = page.locator(".segments").nth(0).inner_text()
    for attack in ATTACKS[:4]:
        assert attack in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened: Open, axe: str, scheme: str) -> None:
    page = opened("segments", color_scheme=scheme).page
    for width in (1360, 360):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {preload: false})")
        serious = [
            (v["id"], [n["target"] for n in v["nodes"]][:3])
            for v in found["violations"]
            if v["impact"] in ("serious", "critical")
        ]
        assert serious == []
