"""``make docs``: stage the pages in build/docs, then build the site in build/site.

Staging copies docs/, adds CONTRIBUTING.md and CHANGELOG.md, writes the reference pages from the
code and the live pages from the example data, and fits links and navigation to what is there.
``--serve`` shows the site on localhost, ``--mkdocs`` builds it with mkdocs-material in its place.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from docs_reference import command_line, json_documents, python_pages

from dkmd.base.whole_files import write_whole

ROOT = Path(__file__).parent.parent.resolve()
DOCS = ROOT / "docs"
STAGED = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
BESIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages that live in the root of the repository, and their names on the site."""

LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?(?=\))")
PICTURE = re.compile(
    r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img src="([^"]+)"([^>]*)>\s*</picture>'
)


TABLE = re.compile(r"(<details>.*\n\n)?((?:^\|.*\n){3,})", re.M)
MOST_ROWS = 12
"""A table of numbers with more rows than this is folded on the site."""


def stage() -> None:
    """Write every page and asset into build/docs, which is emptied first."""
    shutil.rmtree(STAGED, ignore_errors=True)
    stage_pages()
    live_pages(STAGED / "live")


def stage_pages() -> None:
    """Write every page and asset into build/docs, except live pages."""
    ignored = shutil.ignore_patterns("*.py", "__pycache__")
    shutil.copytree(DOCS, STAGED, ignore=ignored, dirs_exist_ok=True)
    generated = command_line() | json_documents() | python_pages()
    for name, text in generated.items():
        (STAGED / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(STAGED / name, text)
    for page in sorted(STAGED.rglob("*.md")):
        place = page.relative_to(STAGED).parent
        write_whole(page, fitted(page.read_text(), Path("docs") / place))
    for source, name in BESIDE.items():
        write_whole(STAGED / name, fitted((ROOT / source).read_text(), Path()))
    summary = DOCS / "SUMMARY.md"
    write_whole(STAGED / "SUMMARY.md", navigation(summary.read_text()))


def fitted(text: str, place: Path) -> str:
    """A page for the site: its links lead to staged pages, its tables fold, its pictures switch.

    ``place`` is the folder of the page in the repository.
    """
    text = TABLE.sub(_folded, text)
    text = text.replace("<details>", '<details markdown="1">')
    text = PICTURE.sub(_two_images, text)
    return LINK.sub(lambda link: _target(link[1], place) + (link[2] or ""), text)


def _folded(table: re.Match[str]) -> str:
    """A long table of numbers below a line that opens it; tables of words stay open."""
    head, rows = table[2].splitlines()[0], table[2].splitlines()[2:]
    cells = [cell.strip() for row in rows for cell in row.strip("|").split("|")]
    numbers = sum(bool(re.match(r"[−+×\d–]", cell)) for cell in cells)
    if table[1] or len(rows) <= MOST_ROWS or numbers < len(cells) / 2:
        return table[0]
    names = ", ".join(name.strip() for name in head.strip("| ").split("|")[:3])
    summary = f"<summary>Table of {len(rows)} rows: {names}, …</summary>"
    return f'<details markdown="1">{summary}\n\n{table[2]}\n</details>\n'


def _two_images(picture: re.Match[str]) -> str:
    """A picture as an image for dark mode and one for light mode, both with its words."""
    dark, light, more = picture.groups()
    (words,) = re.findall(r'alt="([^"]*)"', more)
    return f"![{words}]({dark}#only-dark)\n![{words}]({light}#only-light)"


def _target(link: str, place: Path) -> str:
    """Where a link of the repository leads on the site, seen from the same folder."""
    target = Path(os.path.normpath(place / link))
    if target.parts[:1] == ("docs",):
        within = Path(*target.parts[1:])
    elif str(target) == "README.md":
        within = Path("index.md")
    elif str(target) in BESIDE:
        within = Path(BESIDE[str(target)])
    else:
        raise SystemExit(f"a page in {place} links to {link}, which is not part of the site")
    start = Path(*place.parts[1:])
    return Path(os.path.relpath(within, start)).as_posix()


ENTRY = re.compile(r"^( *)- \[([^]]+)\]\(([^)]+)\)$")


def navigation(summary: str) -> str:
    """docs/SUMMARY.md without pages that are not there, and with those that it does not name.

    A new page of docs/ gets a place under *More* until SUMMARY.md names it.
    """
    lines, known = [], set()
    for line in summary.splitlines():
        entry = ENTRY.match(line)
        if entry:
            known.add(entry[3])
        if not line.strip() or (entry and not (STAGED / entry[3]).exists()):
            continue
        lines.append(line)
    pages = {page.relative_to(STAGED).as_posix() for page in STAGED.rglob("*.md")}
    rest = sorted(pages - known - {"SUMMARY.md"})
    if rest:
        lines.append("- More")
        lines += [f"    - [{_title(STAGED / name)}]({name})" for name in rest]
    return "\n".join(_without_empty_sections(lines)) + "\n"


def _without_empty_sections(lines: list[str]) -> list[str]:
    """Headings of which some page is left."""

    def depth(line: str) -> int:
        return len(line) - len(line.lstrip())

    following = [*lines[1:], "-"]
    kept = [
        line
        for line, after in zip(lines, following, strict=True)
        if ENTRY.match(line) or depth(after) > depth(line)
    ]
    return kept if kept == lines else _without_empty_sections(kept)


def _title(page: Path) -> str:
    found = re.search(r"^# (.+)$", page.read_text(), re.M)
    return found[1] if found else page.stem


LIVE = {
    "compare": "compare examples/data/latency_before.csv examples/data/latency_after.csv "
    "--margin 2%",
    "drift": "drift examples/data/flights_january.parquet examples/data/flights_july.parquet "
    "--groups date --margin 0.05sd",
    "gate": "gate 'examples/bench/suite/main-*.json' 'examples/bench/suite/branch-*.json' "
    "--history examples/bench/suite/history.json --margin 4%",
}
"""The pages that guides embed, and the commands that write them."""


def live_pages(folder: Path) -> None:
    """Real answers about the example data, each in its own page."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, command in LIVE.items():
        words = [*shlex.split(command), "--quiet", "--report", str(folder / f"{name}.html")]
        done = subprocess.run(
            [sys.executable, "-m", "dkmd", *words], cwd=ROOT, check=False, stdout=subprocess.DEVNULL
        )
        if done.returncode not in (0, 1):  # the gate finds something worse
            raise SystemExit(f"dkmd {command} ended with {done.returncode}")


def serve(tool: Path) -> int:
    """Show the site on localhost. Pages that change are staged again, once a second."""
    with subprocess.Popen([str(tool), "serve"], cwd=ROOT) as server:
        seen = _latest_change()
        try:
            while server.poll() is None:
                time.sleep(1.0)
                if _latest_change() != seen:
                    seen = _latest_change()
                    stage_pages()
        except KeyboardInterrupt:
            server.terminate()
        return server.wait()


def _latest_change() -> float:
    sources = [*DOCS.rglob("*"), *(ROOT / name for name in BESIDE)]
    return max(source.stat().st_mtime for source in sources)


def main() -> None:
    """Stage and build; the exit code is that of the builder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help="show the site on localhost")
    parser.add_argument("--mkdocs", action="store_true", help="build with mkdocs-material")
    asked = parser.parse_args()
    stage()
    tool = Path(sys.executable).parent / ("mkdocs" if asked.mkdocs else "zensical")
    if asked.serve:
        sys.exit(serve(tool))
    shutil.rmtree(SITE, ignore_errors=True)
    words = [str(tool), "build", "--strict", "--clean"]
    sys.exit(subprocess.run(words, cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
