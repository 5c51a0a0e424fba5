"""Take the pictures of docs/report.md: the pages of ``make demo`` in Chromium, as small PNG files.

Run ``make demo test-browser`` first, then ``.venv/bin/python docs/screenshots.py``.
"""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "build" / "demo"
OUT = ROOT / "docs" / "report"
COLOURS = 128
"""Enough for two accents, greys and smooth letters; a picture stays below 80 kB."""


def main() -> None:
    """Take four pictures: overview, detail, dark, narrow."""
    OUT.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        found = shutil.which(os.environ.get("DKMD_BROWSER", "chromium"))
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu"]
        )
        for name, file, width, height, scheme, rows in (
            ("drift", "drift", 1280, 500, "light", ()),
            ("detail", "compare", 1280, 840, "light", ()),
            ("dark", "drift", 1280, 1000, "dark", (1,)),
            ("narrow", "gate", 360, 800, "light", (0,)),
        ):
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme=scheme,
                reduced_motion="reduce",
                device_scale_factor=1.0 if width > 400 else 2.0,
            )
            page.goto((PAGES / f"{file}.html").as_uri())
            _open(page, rows)
            _save(page, name)
        browser.close()


def _open(page: Page, rows: tuple[int, ...]) -> None:
    for row in rows:
        page.locator(".row a").nth(row).click()
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)


def _save(page: Page, name: str) -> None:
    """Save the visible part of the page with few colours."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    small = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    target = OUT / f"{name}.png"
    small.save(target, optimize=True)
    print(
        f"{target.relative_to(ROOT)}: {image.width} × {image.height}, {target.stat().st_size} bytes"
    )


if __name__ == "__main__":
    main()
