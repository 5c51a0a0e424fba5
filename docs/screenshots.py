"""Take the pictures of docs/report.md: the pages of ``make demo`` in Chromium, as small PNG files.

Run ``make demo test-browser`` first, then ``.venv/bin/python docs/screenshots.py``. With ``--site``
the pages of ``make docs`` are taken instead, into build/shots, to look at: wide and narrow, in
light and dark.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "build" / "demo"
SITE = ROOT / "build" / "site"
OUT = ROOT / "docs" / "report"
SHOTS = ROOT / "build" / "shots"
COLOURS = 128
"""Enough for two accents, greys and smooth letters; a picture stays below 80 kB."""

PICTURES = (
    ("drift", "drift", 1280, 500, ()),
    ("detail", "compare", 1280, 840, ()),
    ("narrow", "gate", 360, 800, (0,)),
)
"""A picture's name, the page, its width and height, and the rows that are opened."""


def main() -> None:
    """Take every picture in light and in dark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", action="store_true", help="take the pages of the site instead")
    site = parser.parse_args().site
    with sync_playwright() as playwright:
        found = shutil.which(os.environ.get("DKMD_BROWSER", "chromium"))
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu"]
        )
        for scheme in ("light", "dark"):
            if site:
                _site(browser, scheme)
            else:
                _report(browser, scheme)
        browser.close()


def _report(browser: Browser, scheme: str) -> None:
    """The pictures of docs/report.md: drift.png and drift-dark.png, and so on."""
    OUT.mkdir(exist_ok=True)
    for name, file, width, height, rows in PICTURES:
        page = _page(browser, width, height, scheme)
        page.goto((PAGES / f"{file}.html").as_uri())
        _open(page, rows)
        _save(page, OUT / f"{name}{'' if scheme == 'light' else '-dark'}.png")
        page.close()


def _site(browser: Browser, scheme: str) -> None:
    """The top of every page of the site, at 1440 and 390 pixels."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    for width, height in ((1440, 900), (390, 844)):
        for source in sorted(SITE.glob("*.html")):
            page = _page(browser, width, height, scheme)
            page.goto(source.as_uri())
            page.wait_for_load_state("networkidle")
            page.screenshot(path=SHOTS / f"{source.stem}-{width}-{scheme}.png")
            page.close()
    print(f"{SHOTS.relative_to(ROOT)}: every page in {scheme}")


def _page(browser: Browser, width: int, height: int, scheme: str) -> Page:
    return browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        reduced_motion="reduce",
        device_scale_factor=1.0 if width > 400 else 2.0,
    )


def _open(page: Page, rows: tuple[int, ...]) -> None:
    for row in rows:
        page.locator(".row a").nth(row).click()
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)


def _save(page: Page, target: Path) -> None:
    """Save the visible part of the page with few colours."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    small = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(target, optimize=True)
    print(
        f"{target.relative_to(ROOT)}: {image.width} × {image.height}, {target.stat().st_size} bytes"
    )


if __name__ == "__main__":
    main()
