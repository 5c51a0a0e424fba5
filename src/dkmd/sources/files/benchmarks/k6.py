"""k6: the points of ``--out json=FILE``, or the summary of ``--summary-export`` and handleSummary.

Points of one second share the state of the server, so they are a group. A summary has no single
points: every median and percentile is one value, which can be judged only over several runs.
Requests with a name that is not an address (the tag ``name``) are benchmarks of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from dkmd.base.errors import BenchmarkFileError
from dkmd.sources.files.benchmarks.checks import is_number, number, short
from dkmd.sources.files.benchmarks.model import HIGHER, LOWER, BenchmarkFile, Measurements

TREND, RATE = "trend", "rate"

NOT_SPEED = "counts the load or describes the test, not the speed"

NO_POINTS = "a k6 summary has one value per metric and run: run k6 with --out json=FILE"

UNITS = {"time": "ms", "data": "B"}
"""Units by what k6 says a metric contains."""


def belongs(line: dict[str, Any]) -> bool:
    """Whether a first line of JSON is one of k6."""
    return line.get("type") in ("Metric", "Point") and "metric" in line


def read(lines: Iterable[dict[str, Any]]) -> BenchmarkFile:
    """Every trend and every rate."""
    found = BenchmarkFile()
    kinds: dict[str, dict[str, Any]] = {}
    seconds: dict[str, int] = {}
    for line in lines:
        metric, data = str(line["metric"]), line["data"]
        if line["type"] == "Metric":
            kinds[metric] = data
            if data.get("type") not in (TREND, RATE):
                found.left_out[metric] = NOT_SPEED
        elif line["type"] == "Point" and metric not in found.left_out:
            if metric not in kinds:
                raise BenchmarkFileError(f"metric {short(metric)} has points before its type")
            name = f"{metric} {_request(data)}".rstrip()
            measured = found.get(name)
            if measured is None:
                measured = found[name] = _fresh(metric, kinds[metric])
            second = seconds.setdefault(str(data["time"])[:19], len(seconds))
            measured.add([number(data["value"], name)], second)
    return found


def _request(data: dict[str, Any]) -> str:
    """The name that the test gave to a request; empty if it is only its address."""
    name = str((data.get("tags") or {}).get("name", ""))
    return "" if "://" in name else name


def _fresh(metric: str, kind: dict[str, Any]) -> Measurements:
    checks = re.match(r"checks\b", metric) is not None
    unit = "" if kind.get("type") == RATE else UNITS.get(str(kind.get("contains")), "")
    return Measurements(unit, better=HIGHER if checks else LOWER)


def is_summary(document: dict[str, Any]) -> bool:
    """Whether a JSON document is a summary of k6."""
    metrics = document.get("metrics")
    return isinstance(metrics, dict) and any(
        isinstance(metric, dict) and (_is_trend(metric) or "contains" in metric)
        for metric in metrics.values()
    )


def read_summary(document: dict[str, Any]) -> BenchmarkFile:
    """The median and the percentiles of every trend, and every rate: one value each."""
    found = BenchmarkFile()
    for metric, summary in document["metrics"].items():
        known = list(_judged(metric, summary))
        if not known:
            found.left_out[metric] = NOT_SPEED
        for name, kind, value in known:
            measured = found[name] = _fresh(metric, kind)
            measured.add_alone([number(value, name)])
            measured.advice = NO_POINTS
    return found


def _judged(metric: str, summary: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """The name, the kind and the value of each number of a metric that can be judged."""
    values = summary.get("values", summary)
    if _is_trend(values):
        # --summary-export does not say what a trend contains; k6's own trends are times
        contains = summary.get("contains", "time" if _is_known(metric) else "")
        for statistic, value in values.items():
            if statistic == "med" or statistic.startswith("p("):
                yield f"{metric} {statistic}", {"type": TREND, "contains": contains}, value
    elif summary.get("type") == RATE or {"passes", "fails"} <= set(values):
        share = values.get("rate", values.get("value"))
        if is_number(share):
            yield metric, {"type": RATE}, share


def _is_trend(values: dict[str, Any]) -> bool:
    return "med" in values or any(str(key).startswith("p(") for key in values)


def _is_known(metric: str) -> bool:
    return re.match(r"(http_req|grpc_req|ws|iteration|group|browser)_", metric) is not None
