"""Draw the figure of docs/watch_command.md: ``.venv/bin/python docs/watch_figure.py``.

A simulated stream of latencies: 12 ms slower for 600 values, and 9 ms faster at the end.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np

from dkmd.answers.watch import Input, Question, watch_stream
from dkmd.answers.watch.page import stretches_shown
from dkmd.answers.watch.stream import StreamWatch
from dkmd.render.figures.colours import on_page, palette_css, roles_css
from dkmd.render.figures.sequence import sequence

OUT = Path(__file__).parent / "report" / "watch.svg"
FONT = "text{font-family:system-ui,sans-serif}"


def main() -> None:
    """Watch the stream, and write the figure of its page with a style of its own."""
    rng = np.random.default_rng(2)
    stream = rng.normal(100, 10, 6_000)
    stream[2_000:2_600] += 12
    stream[5_000:] -= 9
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, name)) for name in ("reference.txt", "stream.txt")]
        np.savetxt(paths[0], rng.normal(100, 10, 3_000))
        np.savetxt(paths[1], stream)
        watching = watch_stream(paths[0], paths[1], False, Question(), Input(traced=True))
        watching.run(lambda event: None, lambda bad: None, lambda: False)
    assert isinstance(watching.machine, StreamWatch)
    shown = stretches_shown(watching.machine)
    assert shown is not None
    drawing = sequence(shown, on_page, "The shift of a stream over time")
    style = f"<style>{palette_css()}{roles_css()}{FONT}</style>"
    head = '<svg xmlns="http://www.w3.org/2000/svg" class="up" '
    OUT.write_text(re.sub(r"^<svg ([^>]*)>", rf"{head}\1>{style}", drawing) + "\n")


if __name__ == "__main__":
    main()
