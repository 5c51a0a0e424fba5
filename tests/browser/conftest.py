"""A real browser and its pages. It records errors, requests and policy violations."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.samples import Open, Watched, write_pages
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium. If it is missing, the error names the package to install."""
    found = shutil.which(os.environ.get("DKMD_BROWSER", "chromium"))
    if found is None:
        pytest.fail("no Chromium: install the package 'chromium', or run make test-browser as root")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    source = ROOT / "build/browser/node_modules/axe-core/axe.min.js"
    if not source.exists():
        pytest.fail("no axe-core: run make test-browser, which installs it")
    return source.read_text()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page of every kind."""
    folder = tmp_path_factory.mktemp("pages")
    write_pages(folder)
    return folder


@pytest.fixture
def opened(browser: Browser, pages: Path) -> Iterator[Open]:
    """Open a page by name. The test fails if it logs, requests or violates anything."""
    watched: list[Watched] = []
    contexts = []

    def open_page(name: str, width: int = 1360, height: int = 900, **options: Any) -> Watched:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        watch = Watched(page)
        page.on("console", lambda message: watch.errors.append(message.text))
        page.on("pageerror", lambda error: watch.errors.append(str(error)))
        page.on("dialog", lambda dialog: watch.errors.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: watch.requests.append(request.url))
        page.add_init_script(
            "window.refused = []; document.addEventListener('securitypolicyviolation',"
            " (event) => window.refused.push(event.violatedDirective + ' ' + event.blockedURI))"
        )
        page.goto((pages / f"{name}.html").as_uri())
        watched.append(watch)
        return watch

    yield open_page
    for watch in watched:
        assert watch.errors == []
        assert len(watch.requests) == 1, watch.requests
        assert watch.violations() == []
    for context in contexts:
        context.close()
