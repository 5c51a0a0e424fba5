"""The built site: whole, without another host, searchable offline, readable for everyone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from docs_reference import public_names
from playwright.sync_api import Browser, Page, Request, expect

ROOT = Path(__file__).parents[2]
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "srcset", "link": "href"}
"""Elements whose address a browser loads with the page."""

PICTURED = ["index", "start", "compare", "choosing", "study", "command_line", "python_answers"]
"""Pages that are opened in the browser: one of every kind."""


class _Loads(HTMLParser):
    """The addresses that a page loads and the ones that it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.names.add(given["id"])
        if tag in LOADS and LOADS[tag] in given and given.get("rel") != "canonical":
            self.loaded.append(given[LOADS[tag]])
        if tag == "a" and "href" in given:
            self.linked.append(given["href"])


def _pages(site: Path) -> dict[Path, _Loads]:
    found = {}
    for page in sorted(site.rglob("*.html")):
        if "live" in page.parts:
            continue
        found[page] = _Loads()
        found[page].feed(page.read_text())
    return found


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    for page, found in _pages(site).items():
        outside = [a for a in found.loaded if urlsplit(a).scheme or a.startswith("//")]
        assert outside == [], page


def test_no_style_loads_anything_from_another_host(site: Path) -> None:
    for style in site.rglob("*.css"):
        addresses = re.findall(r"url\(\s*[\"']?([^\"')]+)", style.read_text())
        assert [a for a in addresses if re.match(r"https?:|//", a)] == [], style
        assert "@import" not in style.read_text()


def test_every_link_within_the_site_leads_somewhere(site: Path) -> None:
    """Also those that the builder does not check: in HTML, and to files."""
    pages = _pages(site)
    for page, found in pages.items():
        if page.name == "404.html":
            continue
        for link in found.linked + found.loaded:
            parts = urlsplit(link)
            if parts.scheme or link.startswith(("mailto:", "//")):
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if target.is_dir():
                target /= "index.html"
            assert target.exists(), f"{page.name}: {link}"
            if parts.fragment and target in pages and not parts.fragment.startswith("only-"):
                assert unquote(parts.fragment) in pages[target].names | {"__skip"}, (page, link)


def test_every_page_of_docs_is_reached_from_the_home_page(site: Path) -> None:
    pages = _pages(site)
    start = site / "index.html"
    seen, ahead = {start}, [start]
    while ahead:
        page = ahead.pop()
        for link in pages[page].linked:
            target = (page.parent / unquote(urlsplit(link).path)).resolve()
            if target in pages and target not in seen:
                seen.add(target)
                ahead.append(target)
    names = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"SUMMARY"}
    assert names <= {page.stem for page in seen}


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    shown = set().union(*(found.names for found in _pages(site).values()))
    missing = [name for _, name in public_names() if f"dkmd.{name}" not in shown]
    assert missing == []


def test_no_page_shows_markdown_that_was_not_understood(site: Path) -> None:
    for page in _pages(site):
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", page.read_text(), flags=re.S)
        assert "\n|---" not in text, page
        assert "\n::: " not in text, page


def test_mkdocs_material_builds_the_same_pages(site: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "m")]
    quiet = {"DISABLE_MKDOCS_2_WARNING": "true", "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | quiet
    )
    assert done.returncode == 0, done.stderr
    built = {page.relative_to(tmp_path / "m") for page in (tmp_path / "m").rglob("*.html")}
    assert {page.relative_to(site) for page in site.rglob("*.html")} <= built


def _open(browser: Browser, address: str, name: str, **options: Any) -> tuple[Page, list[str]]:
    """A page of the site, and the addresses that it asked for."""
    context = browser.new_context(**options)
    page = context.new_page()
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    page.goto(f"{address}/{name}.html")
    page.wait_for_load_state("networkidle")
    return page, asked


@pytest.mark.parametrize("name", PICTURED)
def test_no_request_leaves_this_machine(browser: Browser, address: str, name: str) -> None:
    page, asked = _open(browser, address, name)
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    assert any(url.endswith(".woff2") for url in asked)
    page.context.close()


@pytest.mark.parametrize("from_disk", [True, False])
def test_search_finds_a_page_without_a_network(
    browser: Browser, address: str, site: Path, from_disk: bool
) -> None:
    page, asked = _open(browser, site.as_uri() if from_disk else address, "index")
    page.locator("button.md-search__button").click()
    page.get_by_role("combobox").fill("Boschloo")
    results = page.get_by_role("option").filter(has_text="Boschloo")
    expect(results.first).to_be_visible(timeout=20_000)
    assert [url for url in asked if url.startswith("http") and not url.startswith(address)] == []
    page.context.close()


@pytest.mark.parametrize(
    ("width", "scheme", "names"),
    [
        (1440, "light", PICTURED),
        (390, "dark", PICTURED),
        (1440, "dark", ["index", "compare", "choosing"]),
        (390, "light", ["index", "compare", "choosing"]),
    ],
)
def test_axe_finds_nothing_serious(
    browser: Browser, address: str, axe: str, width: int, scheme: str, names: list[str]
) -> None:
    for name in names:
        page, _ = _open(
            browser, address, name, viewport={"width": width, "height": 900}, color_scheme=scheme,
            reduced_motion="reduce",
        )  # fmt: skip
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations'], iframes: false})")
        grave = [
            (rule["id"], [node["html"][:120] for node in rule["nodes"][:3]])
            for rule in found["violations"]
            if rule["impact"] in ("serious", "critical")
        ]
        assert grave == [], f"{name}: {json.dumps(grave, indent=1)}"
        page.context.close()


@pytest.mark.parametrize("width", [1440, 390])
def test_no_page_is_wider_than_its_window(browser: Browser, address: str, width: int) -> None:
    for name in PICTURED:
        page, _ = _open(browser, address, name, viewport={"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        page.context.close()


def test_live_pages_are_embedded(browser: Browser, address: str) -> None:
    page, _ = _open(browser, address, "drift")
    frame = page.frame_locator("iframe.dkmd-live").first
    expect(frame.locator("body")).to_contain_text("dep_delay")
    page.context.close()


def test_live_pages_follow_the_switch_of_the_site(browser: Browser, address: str) -> None:
    """The context must not force a scheme of its own on all frames, so it has none."""
    page, _ = _open(browser, address, "drift", color_scheme="null")
    body = page.frame_locator("iframe.dkmd-live").first.locator("body")
    light = body.evaluate("body => getComputedStyle(body).backgroundColor")
    switch = page.locator("[data-md-component=palette] label:visible")
    switch.click()
    expect(body).not_to_have_css("background-color", light)
    switch.click()
    expect(body).to_have_css("background-color", light)
    page.context.close()
