"""How the pages of the site are staged, and the numbers of docs/choosing.md."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import choosing
import docs_site
import pytest
import typer.main
from docs_reference import SCHEMA, command_line, json_documents, public_names, python_pages
from scipy.stats import binom
from shell import ROOT

import dkmd
from dkmd.cli.app import app


def test_links_between_the_repository_and_its_docs_become_links_of_the_site() -> None:
    text = "[a](docs/compare.md#drift) [b](CHANGELOG.md) [c](https://x.y/z) [d](#here)"
    fitted = docs_site.fitted(text, Path())
    assert fitted == "[a](compare.md#drift) [b](changelog.md) [c](https://x.y/z) [d](#here)"
    text = "[a](../README.md) [b](../CONTRIBUTING.md#habits) [c](gate.md) [d](sub/x.md)"
    expected = "[a](index.md) [b](contributing.md#habits) [c](gate.md) [d](sub/x.md)"
    assert docs_site.fitted(text, Path("docs")) == expected


def test_a_link_to_what_is_not_on_the_site_is_an_error() -> None:
    with pytest.raises(SystemExit, match=r"examples/demo\.py"):
        docs_site.fitted("[demo](../examples/demo.py)", Path("docs"))


def test_a_picture_becomes_an_image_for_each_mode() -> None:
    picture = (
        '<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="a/dark.svg">\n'
        '  <img src="a/light.svg" width="7" alt="Two dots.">\n</picture>'
    )
    images = "![Two dots.](a/dark.svg#only-dark)\n![Two dots.](a/light.svg#only-light)"
    assert docs_site.fitted(picture, Path("docs")) == images


def _table(rows: int, cell: str) -> str:
    return "| data | size |\n|---|---|\n" + f"| {cell} | 4.2% |\n" * rows


def test_long_tables_of_numbers_are_folded_and_others_are_not() -> None:
    def folded(text: str) -> bool:
        return "Table of 13 rows: data, size" in docs_site.fitted(text, Path("docs"))

    assert folded(_table(13, "5 and 5"))
    assert not folded(_table(12, "5 and 5"))
    assert not folded(_table(13, "words").replace("4.2%", "more words"))
    held = f"<details><summary>All</summary>\n\n{_table(13, '5 and 5')}\n</details>"
    assert docs_site.fitted(held, Path("docs")).count("<details") == 1


def test_the_navigation_has_only_pages_that_are_there_and_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs_site, "STAGED", tmp_path)
    for name, title in (("a.md", "First"), ("b.md", "Second"), ("new.md", "A new page")):
        (tmp_path / name).write_text(f"# {title}\n")
    summary = (
        "- [A](a.md)\n- Guides\n    - Later\n        - [Later](later.md)\n- Data\n    - [B](b.md)\n"
    )
    assert docs_site.navigation(summary) == (
        "- [A](a.md)\n- Data\n    - [B](b.md)\n- More\n    - [A new page](new.md)\n"
    )


def test_every_page_of_the_navigation_is_named_once() -> None:
    named = re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "SUMMARY.md").read_text())
    assert len(named) == len(set(named))


def test_the_reference_has_every_command_with_its_options() -> None:
    (page,) = command_line().values()
    top: Any = typer.main.get_command(app)
    for name in top.commands:
        assert f"## `dkmd {name}`\n" in page
    gate = page.split("## `dkmd gate`")[1].split("\n## ")[0]
    assert "| `--margin AMOUNT` |" in gate
    assert "$ dkmd gate examples/bench/hyperfine-main.json" in gate


def test_the_reference_has_every_public_name_once() -> None:
    shown = re.findall(r"^::: dkmd\.(\w+)$", "\n".join(python_pages().values()), re.M)
    assert sorted(shown) == sorted(dkmd.__all__)
    assert sorted(shown) == sorted(name for _, name in public_names())


def test_the_reference_has_every_json_document_with_all_fields() -> None:
    (page,) = json_documents().values()
    for part in json.loads(SCHEMA.read_text())["$defs"].values():
        fields = part.get("properties", {})
        rows = {f"| `{field}`" for field in fields}
        assert all(row in page for row in rows)
    assert "### `dkmd-comparison`" in page
    assert "### `dkmd-drift`" in page


def _shown() -> dict[str, dict[str, float]]:
    """The shares of the page, by scene and test."""
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in choosing.PAGE.read_text().splitlines()
        if line.endswith("% |")
    ]
    return {
        row[0]: dict(zip(choosing.TESTS, [float(c[:-1]) / 100 for c in row[2:]], strict=True))
        for row in rows
    }


@pytest.mark.slow
@pytest.mark.parametrize("scene", choosing.SCENES, ids=lambda scene: scene.name)
def test_choosing_shows_shares_that_another_seed_confirms(scene: choosing.Scene) -> None:
    """40 trials with another seed; the bounds allow for the rounding of the page."""
    found, trials = choosing.shares(scene, trials=40, seed=7), 40
    for name, share in _shown()[scene.name].items():
        low = binom.ppf(1e-4, trials, max(share - 0.02, 0.0))
        high = binom.ppf(1.0 - 1e-4, trials, min(share + 0.02, 1.0))
        assert low <= round(found[name] * trials) <= high, name
