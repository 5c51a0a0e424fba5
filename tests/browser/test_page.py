"""The page in a real browser: mouse, keyboard, printer, narrow screens, no scripts, no network."""

from __future__ import annotations

import functools
import http.server
import re
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browser.samples import ATTACKS, Open
from playwright.sync_api import Browser, expect

NAMES = ("compare", "drift", "gate")


def test_a_heading_sorts_by_its_column_and_back(opened: Open) -> None:
    watch = opened("drift")
    given = watch.rows()
    head = watch.page.locator("thead th", has_text="shift")
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    down = _values(watch.page, "shift")
    assert down == sorted(down, reverse=True)
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert _values(watch.page, "shift") == down[::-1]
    assert sorted(watch.rows()) == sorted(given)
    assert watch.page.locator("[aria-sort=ascending], [aria-sort=descending]").count() == 1


def test_a_third_click_brings_back_the_first_order(opened: Open) -> None:
    watch = opened("drift")
    given = watch.rows()
    for column in (0, 3):
        button = watch.page.locator("thead button").nth(column)
        button.click()
        assert watch.rows() != given
        button.click()
        button.click()
        assert watch.rows() == given
        assert watch.page.locator("thead [aria-sort=none]").count() == 5


def test_small_p_values_and_large_intervals_come_first(opened: Open) -> None:
    watch = opened("drift")
    given = watch.rows()
    watch.page.locator("#sort").select_option("p")
    up = _values(watch.page, "p")
    assert up == sorted(up)
    watch.page.locator("thead button", has_text="interval").click()
    sizes = _values(watch.page, "size")
    assert sizes == sorted(sizes, reverse=True)
    assert watch.rows()[:2] == ["up", "down"]
    expect(watch.page.locator("#sort")).to_have_value("size")
    watch.page.locator("#sort").select_option("")
    assert watch.rows() == given


def test_every_key_sorts_and_what_has_no_number_comes_last(opened: Open) -> None:
    watch = opened("drift")
    choice = watch.page.locator("#sort")
    keys = choice.locator("option").evaluate_all("all => all.map(option => option.value)")
    assert len(keys) == 9
    for key in keys[2:]:
        choice.select_option(key)
        values = _keys(watch.page, key)
        known = [value != "" for value in values]
        assert known == sorted(known, reverse=True)
    watch.page.locator("thead button").first.click()
    assert watch.rows()[0].startswith(("</script>", '"', "<", "a "))


def test_headings_are_buttons_over_their_whole_width(opened: Open) -> None:
    page = opened("drift").page
    shares = page.locator("thead th[data-key]").evaluate_all(
        """heads => heads.map(head => { const looks = getComputedStyle(head);
            const inner = head.clientWidth - parseFloat(looks.paddingLeft)
                - parseFloat(looks.paddingRight);
            return head.querySelector("button").getBoundingClientRect().width / inner; })"""
    )
    assert len(shares) == 5
    assert min(shares) > 0.98
    marks = page.locator("thead th[data-key] button").evaluate_all(
        "all => all.map(e => getComputedStyle(e, '::after').content)"
    )
    assert set(marks) == {'" ↕"'}


def test_the_head_says_the_answer_in_figures(opened: Open) -> None:
    page = opened("drift").page
    told = page.locator(".tally span").all_inner_texts()
    assert told[:2] == ["▲ 1 higher", "▼ 1 lower"]
    assert told[2].endswith(" inconclusive")  # all others have one verdict
    assert sum(int(each.split()[-2]) for each in told) == page.locator("tbody[data-w]").count()
    assert re.search(r"· \d+ \w+ 20\d\d$", page.locator(".brand").inner_text())


def test_a_detail_moves_with_its_row(opened: Open) -> None:
    watch = opened("drift")
    watch.page.locator(".row a", has_text="counts").click()
    watch.page.locator("thead button", has_text="column").click()
    body = watch.page.locator("tbody.open")
    expect(body).to_have_count(1)
    assert body.locator(".said").inner_text().startswith("counts")


def test_rows_are_filtered_by_text_and_by_verdict(opened: Open) -> None:
    watch = opened("drift")
    everything = len(watch.rows())
    watch.page.locator("#find").fill("CoUnT")
    assert watch.rows() == ["counts"]
    expect(watch.page.locator(".shown")).to_have_text(f"1 of {everything} shown")
    watch.page.locator("#find").press("Escape")
    assert len(watch.rows()) == everything
    watch.page.get_by_role("button", name=re.compile("^lower")).click()
    assert watch.rows() == ["down"]
    watch.page.get_by_role("button", name=re.compile("^all")).click()
    assert len(watch.rows()) == everything


def test_a_click_opens_and_closes_a_row(opened: Open) -> None:
    watch = opened("drift")
    row = watch.page.locator("tbody", has=watch.page.locator("bdi", has_text="up")).first
    detail = row.locator(".detail")
    expect(detail).to_be_hidden()
    row.locator(".row .verdict").click()
    expect(detail).to_be_visible()
    expect(row.locator("a")).to_have_attribute("aria-expanded", "true")
    assert row.locator("figure svg").count() == 4
    row.locator("a").click()
    expect(detail).to_be_hidden()


def test_everything_can_be_done_by_keyboard(opened: Open) -> None:
    watch = opened("drift")
    page = watch.page
    page.keyboard.press("/")
    assert _focused(page) == "INPUT"
    page.keyboard.type("o")
    chips = page.locator(".chips button").count()
    for _ in range(chips):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".chips [aria-pressed=true]").count() == 1
    page.keyboard.press("/")
    page.locator(".chips button").first.press("Space")
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.closest('thead') === null"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("thead th").first.get_attribute("aria-sort") == "ascending"
    while page.evaluate("document.activeElement.closest('tbody') === null"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("tbody.open").count() == 1
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_a_slash_goes_to_the_field_from_anywhere_but_a_field(opened: Open) -> None:
    page = opened("drift").page
    for place in (".chips button", "thead button", ".row a"):
        page.locator(place).first.focus()
        page.keyboard.press("/")
        assert _focused(page) == "INPUT"
    page.keyboard.type("http/")
    expect(page.locator("#find")).to_have_value("http/")
    page.locator("#find").press("Escape")
    page.locator(".row a").first.focus()
    page.keyboard.press("Control+/")
    assert _focused(page) == "A"


def test_enter_opens_a_row_while_text_is_selected(opened: Open) -> None:
    """A click opens the row, unless the mouse has just selected text in it."""
    page = opened("drift").page
    for selected in ("h1", ".row"):
        link = page.locator(".row a").first
        link.focus()
        page.locator(selected).first.evaluate("e => getSelection().selectAllChildren(e)")
        page.keyboard.press("Enter")
        expect(page.locator("tbody.open")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page.locator("tbody.open")).to_have_count(0)
    cell = page.locator(".row .verdict").first
    box = cell.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 30, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 80, box["y"] + box["height"] / 2)
    page.mouse.up()
    assert page.evaluate("String(getSelection())")
    expect(page.locator("tbody.open")).to_have_count(0)


def test_an_address_shows_a_row_that_is_filtered_out_and_counts_it(opened: Open) -> None:
    watch = opened("drift")
    everything = len(watch.rows())
    hidden = watch.rows()[4]
    watch.page.locator("#find").fill("counts")
    watch.page.evaluate("location.hash = 'd4'")
    expect(watch.page.locator("#d4")).to_be_visible()
    assert sorted(watch.rows()) == sorted(["counts", hidden])
    expect(watch.page.locator(".shown")).to_have_text(f"2 of {everything} shown")


def test_the_head_stays_in_sight_and_hides_no_row(opened: Open, pages: Path) -> None:
    page = opened("drift", width=1360, height=600).page
    page.goto((pages / "drift.html").as_uri() + "#d6")
    expect(page.locator("#d6")).to_be_visible()
    head = page.locator("thead th").first.bounding_box()
    row = page.locator("tbody.open .row").bounding_box()
    assert head is not None
    assert row is not None
    assert head["y"] == pytest.approx(0.0, abs=1.0)
    assert row["y"] >= head["height"] - 1.0
    page.mouse.wheel(0, 300)
    page.wait_for_function("scrollY > 0")
    assert page.evaluate("document.elementFromPoint(400, 20).closest('thead') !== null")


def test_an_answer_alone_is_open_straight_away(opened: Open) -> None:
    watch = opened("compare")
    expect(watch.page.locator(".detail")).to_be_visible()
    assert watch.page.locator(".tools").count() == 0
    assert watch.page.locator(".overview").count() == 0
    size = watch.page.locator(".big").evaluate("e => getComputedStyle(e).fontSize")
    assert size == "40px"
    figure, detail = (watch.page.locator(s).bounding_box() for s in (".hero figure", ".detail"))
    assert figure is not None
    assert detail is not None
    assert figure["y"] + figure["height"] <= detail["y"]


def test_an_address_with_a_row_opens_it(opened: Open, pages: Path) -> None:
    watch = opened("drift")
    watch.page.goto((pages / "drift.html").as_uri() + "#d2")
    expect(watch.page.locator("#d2")).to_be_visible()


def test_numbers_are_text_with_all_digits_on_hover(opened: Open) -> None:
    watch = opened("compare")
    cell = watch.page.locator(".big")
    shown = float(cell.inner_text().split()[0].replace("−", "-"))
    full = float(cell.get_attribute("title") or "nan")
    assert shown == pytest.approx(full, rel=5e-3)
    assert len(repr(full)) > 8
    cell.evaluate("c => getSelection().selectAllChildren(c)")
    assert watch.page.evaluate("String(getSelection())").startswith("+")


@pytest.mark.parametrize("name", NAMES)
def test_dark_pages_are_dark(opened: Open, name: str) -> None:
    light = _brightness(opened(name).page)
    dark = _brightness(opened(name, color_scheme="dark").page)
    assert light > 0.9
    assert dark < 0.15


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_serious(opened: Open, axe: str, name: str, scheme: str) -> None:
    watch = opened(name, color_scheme=scheme)
    if name != "compare":
        watch.page.locator(".row a").first.click()
        watch.page.locator("thead button").nth(2).click()
    for width in (1360, 360):
        watch.page.set_viewport_size({"width": width, "height": 800})
        watch.page.evaluate(axe)
        found = watch.page.evaluate("axe.run(document, {preload: false})")
        serious = [
            (v["id"], v["impact"], [n["target"] for n in v["nodes"]][:3])
            for v in found["violations"]
            if v["impact"] in ("serious", "critical")
        ]
        assert serious == []
        assert len(found["passes"]) > 10


@pytest.mark.parametrize("name", NAMES)
def test_headings_leave_out_no_level(opened: Open, axe: str, name: str) -> None:
    page = opened(name).page
    page.evaluate("document.querySelectorAll('tbody:not(.open) .row a').forEach(a => a.click())")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {preload: false, runOnly: ['heading-order']})")
    assert [v["nodes"][0]["target"] for v in found["violations"]] == []
    assert [rule["id"] for rule in found["passes"]] == ["heading-order"]


def test_forced_colours_keep_samples_and_the_pressed_button_apart(opened: Open) -> None:
    page = opened("compare", forced_colors="active").page
    looks = "(e, at) => (({backgroundColor: a, border: b}) => [a, b])(getComputedStyle(e, at))"
    keys = [page.locator(f".legend .{k}").evaluate(looks, "::before") for k in ("ref", "now")]
    assert keys[0] != keys[1]
    areas = [page.locator(f"figure .{k}").first for k in ("ra", "ca")]
    strokes = [area.evaluate("e => getComputedStyle(e).stroke") for area in areas]
    assert strokes[0] != strokes[1]
    chips = opened("drift", forced_colors="active").page.locator(".chips button")
    assert chips.nth(0).evaluate(looks, "") != chips.nth(1).evaluate(looks, "")


@pytest.mark.parametrize("width", [320, 390, 768, 1000, 1001, 1280, 1600])
@pytest.mark.parametrize("name", NAMES)
def test_no_page_is_wider_than_its_window(opened: Open, name: str, width: int) -> None:
    watch = opened(name, width=width)
    page = watch.page
    page.evaluate("document.querySelectorAll('tbody:not(.open) .row a').forEach(a => a.click())")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("tbody.open").count() == page.locator("tbody[data-w]").count()
    for selector in (".row > *, .hero > *", ".detail section", "figure"):
        ends = page.locator(selector).evaluate_all(
            "all => all.map(e => e.getBoundingClientRect().right)"
        )
        assert max(ends) <= width


@pytest.mark.parametrize("width", [1001, 1100, 1250, 1251])
def test_names_of_columns_have_room(opened: Open, width: int) -> None:
    """About 20 letters. Before, a window of 1,100 pixels left room for 4."""
    page = opened("drift", width=width).page
    widths = page.locator("tbody > .row > th").evaluate_all("all => all.map(e => e.clientWidth)")
    assert min(widths) >= 160


@pytest.mark.parametrize("name", NAMES)
def test_cells_of_a_row_do_not_overlap(opened: Open, name: str) -> None:
    page = opened(name, width=1280).page
    boxes: list[list[tuple[float, float]]] = page.locator("tbody > .row").evaluate_all(
        """rows => rows.map(row => [...row.cells].map(cell => {
            const range = document.createRange(); range.selectNodeContents(cell);
            const box = range.getBoundingClientRect(); return [box.left, box.right]; }))"""
    )
    for row in boxes:
        filled = [box for box in row if box[1] > box[0]]
        for left, right in pairwise(filled):
            assert left[1] <= right[0] + 0.5


@pytest.mark.parametrize("width", [320, 360, 800, 1001, 1100, 1250, 1280, 1600])
@pytest.mark.parametrize("name", NAMES)
def test_cells_hold_what_they_show(opened: Open, name: str, width: int) -> None:
    page = opened(name, width=width).page
    beyond: list[tuple[str, float]] = page.locator("tbody > .row > *").evaluate_all(
        """cells => cells.map(cell => {
            const range = document.createRange(); range.selectNodeContents(cell);
            const [inner, outer] = [range, cell].map(part => part.getBoundingClientRect());
            const looks = getComputedStyle(cell);
            const more = Math.max(inner.right - outer.right + parseFloat(looks.paddingRight),
                outer.left + parseFloat(looks.paddingLeft) - inner.left);
            return [cell.innerText, inner.width ? more : 0]; })"""
    )
    assert [cell for cell in beyond if cell[1] > 0.5] == []


def test_cards_say_their_interval_in_words_and_sort_by_one_select(opened: Open) -> None:
    page = opened("drift", width=390).page
    cell = page.locator("tbody > .row > .bar").first
    said = cell.evaluate("e => getComputedStyle(e, '::after').content")
    assert re.fullmatch(r'"\+[\d.]+ scales, \+[\d.]+ to \+[\d.]+"', said)
    expect(page.locator(".overview > thead")).to_be_hidden()
    page.locator("#sort").select_option("shift")
    down = _values(page, "shift")
    assert down == sorted(down, reverse=True)
    heights = page.locator("#sort, .chips button").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().height)"
    )
    assert min(heights) >= 32.0


def _sheets(page: Any) -> int:
    """How many sheets of A4 a page takes."""
    printed = page.pdf(prefer_css_page_size=True, print_background=True)
    assert printed.startswith(b"%PDF")
    a4 = re.findall(rb"/MediaBox \[0 0 (\d+)[.\d]* (\d+)", printed)
    assert {(int(w), int(h)) for w, h in a4} <= {(594, 841), (595, 842), (595, 841), (594, 842)}
    return len(re.findall(rb"/Type /Page\b", printed))


@pytest.mark.parametrize("javascript", [True, False])
def test_few_rows_are_printed_with_every_detail_in_light_colours(
    opened: Open, javascript: bool
) -> None:
    watch = opened("gate", color_scheme="dark", java_script_enabled=javascript)
    rows = watch.page.locator("tbody[data-w]").count()
    assert rows <= 5
    assert rows / 2 <= _sheets(watch.page) <= (rows + 2 if javascript else 3 * rows)
    watch.page.emulate_media(media="print")
    if not javascript:
        watch.errors.clear()
        return
    assert _brightness(watch.page) > 0.9
    expect(watch.page.locator(".tools")).to_be_hidden()


def test_40_rows_take_at_most_6_sheets(opened: Open) -> None:
    page = opened("forty").page
    assert page.locator("tbody[data-w]").count() == 40
    assert _sheets(page) <= 6


def test_a_printed_page_begins_with_the_overview_alone(opened: Open) -> None:
    """First the rows, then what is below them, then the details. Printing changes nothing."""
    page = opened("drift").page
    page.locator("thead button", has_text="shift").click()
    page.get_by_role("button", name=re.compile("^inconclusive")).click()
    parts = "[...document.querySelector('main').children].map(part => part.outerHTML)"
    before = page.evaluate(parts)
    shown = page.locator("tbody[data-w]:visible").count()
    page.evaluate(
        """() => addEventListener("beforeprint", () => {
            const tables = [...document.querySelectorAll(".overview")];
            const names = tables.map(t => [...t.querySelectorAll("tbody:not([hidden]) .row bdi")]
                .map(name => name.textContent));
            const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
            window.printed = {names, twice: ids.length - new Set(ids).size,
                panels: tables.map(t => t.querySelectorAll(".panel").length),
                last: document.querySelector("main").lastElementChild === tables[1]}; })"""
    )
    page.pdf(prefer_css_page_size=True)
    seen = page.evaluate("window.printed")
    assert seen["names"][0] == seen["names"][1]
    assert len(seen["names"][0]) == shown
    assert seen["panels"][0] == 0
    assert seen["panels"][1] > 0
    assert seen["twice"] == 0
    assert seen["last"]
    assert page.evaluate(parts) == before


def test_on_paper_details_are_not_larger_than_what_leads_to_them(opened: Open) -> None:
    page = opened("drift").page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    expect(page.locator(".brief")).to_be_visible()
    head = page.locator(".brief > thead")
    assert head.evaluate("e => getComputedStyle(e).display") == "table-header-group"

    def size(selector: str) -> float:
        found = page.locator(selector).first.evaluate("e => getComputedStyle(e).fontSize")
        return float(found.removesuffix("px"))

    assert size("h1") > size(".lead") >= size(".said") >= size(".brief .row td")
    assert size(".brief .row td") >= size(".detail section td")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator(".brief")).to_have_count(0)


def test_without_scripts_the_page_can_be_read(browser: Browser, pages: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((pages / "drift.html").as_uri())
    expect(page.locator(".tools")).to_be_hidden()
    assert page.locator("thead button, [aria-sort]").count() == 0  # nothing would happen
    expect(page.locator("tbody > .row").first).to_be_visible()
    body = page.locator("tbody[data-w]").nth(1)
    expect(body.locator(".detail")).to_be_hidden()
    body.locator("summary").click()
    expect(body.locator(".detail")).to_be_visible()
    third = page.locator("tbody[data-w]").nth(2)
    third.locator(".row a").click()  # the browser opens what the target is in
    expect(third.locator(".detail")).to_be_visible()
    context.close()


@pytest.mark.parametrize("name", ["drift", "gate"])
def test_names_that_attack_are_only_names(opened: Open, name: str) -> None:
    watch = opened(name)
    page = watch.page
    page.evaluate("document.querySelectorAll('.row a').forEach(a => a.click())")
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object, embed, link, base, form").count() == 0
    assert page.evaluate("[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
                         ".filter(a => a.startsWith('on') || a === 'style')") == []  # fmt: skip
    text = page.locator("main").inner_text()
    for attack in ATTACKS if name == "drift" else ATTACKS[:2]:
        assert attack.replace("\u202e", r"\u202e") in text
    page.wait_for_timeout(200)


def test_the_policy_stops_what_the_page_did_not_bring(opened: Open) -> None:
    """The counter-check: the policy blocks an element that was added by hand."""
    watch = opened("compare")
    watch.page.evaluate(
        """() => { const s = document.createElement('script'); s.textContent = 'window.hurt = 1';
        document.body.append(s); const i = document.createElement('img');
        i.src = 'https://example.invalid/x.png'; document.body.append(i); }"""
    )
    watch.page.wait_for_timeout(200)
    assert watch.page.evaluate("window.hurt") is None
    assert {v.split()[0] for v in watch.violations()} == {"script-src-elem", "img-src"}
    watch.errors.clear()
    watch.requests[1:] = []
    watch.page.evaluate("window.refused = []")


def test_a_served_page_asks_its_server_for_nothing_else(browser: Browser, pages: Path) -> None:
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(pages))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/drift.html")
        page.locator(".row a").first.click()
        page.wait_for_timeout(300)
        page.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert asked == ["/drift.html"]


def test_of_500_columns_the_overview_alone_is_drawn_at_first(opened: Open) -> None:
    """A large page opens quickly because of these counts, which do not depend on a clock."""
    watch = opened("wide")
    drawn = watch.page.evaluate(
        "[...document.querySelectorAll('main *')].filter(e => e.checkVisibility()).length"
    )
    assert 500 * 10 < drawn < 500 * 40
    assert watch.page.locator(".detail:visible").count() == 0


def test_500_columns_are_sorted_and_filtered_in_one_go(opened: Open) -> None:
    """A sort moves each row once. A filter hides each row at most once."""
    watch = opened("wide")
    watch.page.evaluate(
        """() => { window.changes = 0;
        window.watching = new MutationObserver(found => { window.changes += found.length; });
        window.watching.observe(document.querySelector('.overview'),
            {subtree: true, childList: true, attributes: true}); }"""
    )
    watch.page.locator("thead button").nth(2).click()
    watch.page.locator("#find").fill("column_49")
    assert len(watch.rows()) == 10
    changes = watch.page.evaluate("window.changes + window.watching.takeRecords().length")
    assert 500 < changes < 3 * 500 + 50


def _keys(page: Any, key: str) -> list[str]:
    """What the rows are sorted by, in the order of the page; empty where it is unknown."""
    found: list[str] = page.locator("tbody[data-w]").evaluate_all(
        "(bodies, key) => bodies.map(body => body.dataset[key])", key
    )
    return found


def _values(page: Any, key: str) -> list[float]:
    """The known sort keys of the rows, as numbers."""
    return [float(value) for value in _keys(page, key) if value != ""]


def _focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.tagName"))


def _brightness(page: Any) -> float:
    """The brightness of the background, from 0 to 1."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(float(part) for part in re.findall(r"\d+", colour)[:3]) / (3 * 255)
