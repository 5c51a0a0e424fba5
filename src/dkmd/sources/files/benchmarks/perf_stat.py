"""``perf stat -x,``: one line per event. An event with several lines was measured several times.

The fields are the value, its unit, the event, with ``-r`` the spread of the mean, then the run time
and the share of the time in which the event was counted. ``-I`` puts a time in front, and
``--per-core`` and the like put the core and the number of CPUs. With ``-r N`` perf writes only the
mean of N runs. Single runs are appended with ``perf stat -x, --append -o FILE``.
"""

from __future__ import annotations

import re

from dkmd.base.errors import UnknownFormatError
from dkmd.sources.files.benchmarks.checks import number
from dkmd.sources.files.benchmarks.model import LOWER, UNKNOWN, BenchmarkFile, Measurements

ONLY_MEANS = (
    "perf stat -r writes only the mean of its runs: leave -r out, and repeat perf stat -x, "
    "--append -o FILE"
)
ONE_RUN = "repeat perf stat -x, --append -o FILE to have several values"

UNITS = {"msec": "ms", "Bytes": "B"}

_GOOD = re.compile(r"hit|idle", re.IGNORECASE)
"""Events that may be good; all others are costs of the command."""

_LINE = re.compile(
    r"^[ \t]*(?:\d+\.\d+(?P<sep0>[,;|\t]))?"  # the time of -I
    r"(?:(?P<place>[A-Z]+\d+(?:-[A-Z]+\d+)*)(?P<sep1>[,;|\t])(?:\d+(?P=sep1))?)?"  # the core
    r"(?P<value>\d+(?:\.\d+)?|<not counted>|<not supported>)(?P<sep>[,;|\t])"
    r"(?P<unit>[^,;|\t\d\n]*)(?P=sep)"
    r"(?P<event>[A-Za-z][^\n;|\t]*?)(?P=sep)"
    r"(?:(?P<spread>\d+\.\d+%)(?P=sep))?"
    r"\d+(?P=sep)\d+\.\d\d(?:(?P=sep).*)?$"
)


def belongs(text: str) -> bool:
    """Whether the first line that is no comment is one of perf stat."""
    first = next((line for line in _lines(text[:65_536])), "")
    return _LINE.match(first) is not None


def read(text: str) -> BenchmarkFile:
    """Every event; each line is a unit of its own."""
    found = BenchmarkFile()
    for line in _lines(text):
        told = _LINE.match(line)
        if told is None:
            if _is_metric_only(line):
                continue
            raise UnknownFormatError("a line is not of perf stat -x: " + repr(line[:80]))
        name = " ".join(filter(None, (told["place"], told["event"])))
        if told["value"].startswith("<"):
            found.left_out[name] = "was " + told["value"].strip("<>")
            continue
        unit = UNITS.get(told["unit"], told["unit"])
        better = UNKNOWN if _GOOD.search(told["event"]) else LOWER  # a command costs its events
        measured = found.setdefault(name, Measurements(unit, better=better))
        measured.add_alone([number(float(told["value"]), name)])
        measured.advice = ONLY_MEANS if told["spread"] else ONE_RUN
    found.left_out = {name: why for name, why in found.left_out.items() if name not in found}
    return found


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip() and not line.startswith("#")]


def _is_metric_only(line: str) -> bool:
    """Whether a line has only a further metric of the event before: its first fields are empty."""
    return (
        re.match(r"^[ \t]*(?:\d+\.\d+)?(?:[A-Z]+\d+(?:-[A-Z]+\d+)*[,;|\t]\d+)?[,;|\t]{3}", line)
        is not None
    )
