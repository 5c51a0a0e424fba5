"""k6: the points of ``--out json=FILE``, or the summary of ``--summary-export`` and handleSummary.

Points of one second share the state of the server, so they are a group. Rates become one share per
second. A summary has no single points: every median and percentile is one value, which can be
judged only over several runs. Requests with a name that is not an address (the tag ``name``) are
benchmarks of their own.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from dkmd.base.errors import BenchmarkFileError
from dkmd.sources.files.benchmarks.checks import is_number, number, short
from dkmd.sources.files.benchmarks.model import HIGHER, BenchmarkFile, Measurements, better_of

TREND, RATE = "trend", "rate"

NOT_SPEED = "counts the load or describes the test, not the speed"

PHASES = {
    f"http_req_{phase}"
    for phase in ("blocked", "connecting", "tls_handshaking", "sending", "waiting", "receiving")
}
"""Phases of a request. Most are 0 where connections are reused."""

ONE_PHASE = "is one phase of a request: http_req_duration and iteration_duration are judged"

NO_POINTS = "a k6 summary has one value per metric and run: run k6 with --out json=FILE"

UNITS = {"time": "ms", "data": "B"}
"""Units by what k6 says a metric contains."""

FAILED, SUCCEEDED = "http_req_failed", "http_req_succeeded"


def belongs(line: dict[str, Any]) -> bool:
    """Whether a first line of JSON is one of k6."""
    return line.get("type") in ("Metric", "Point") and "metric" in line


def read(lines: Iterable[dict[str, Any]]) -> BenchmarkFile:
    """Every trend and every rate."""
    found = BenchmarkFile()
    kinds: dict[str, dict[str, Any]] = {}
    seconds: dict[str, int] = {}
    for line in lines:
        if line.get("type") not in ("Metric", "Point"):
            continue
        metric, data = str(line["metric"]), line["data"]
        if line["type"] == "Metric":
            kinds[metric] = data
            if why := _not_judged(metric, data):
                found.left_out[metric] = why
        elif metric not in found.left_out:
            if metric not in kinds:
                raise BenchmarkFileError(f"metric {short(metric)} has points before its type")
            name = f"{_judged_name(metric)} {_request(data)}".rstrip()
            if name not in found:
                found[name] = _fresh(metric, kinds[metric])
            second = seconds.setdefault(str(data["time"])[:19], len(seconds))
            found[name].add([_good(metric, number(data["value"], name))], second)
    for name, measured in found.items():
        if measured.unit == SHARE:
            found[name] = _by_second(measured)
    return found


SHARE = "share"
"""The unit of rates: 1 is all."""


def _not_judged(metric: str, kind: dict[str, Any]) -> str:
    """Why a metric is not judged; empty if it is."""
    if metric in PHASES:
        return ONE_PHASE
    return "" if kind.get("type") in (TREND, RATE) else NOT_SPEED


def _judged_name(metric: str) -> str:
    """Failures are judged as successes: a percentage needs values above 0."""
    return SUCCEEDED + metric.removeprefix(FAILED) if _is_failed(metric) else metric


def _good(metric: str, value: float) -> float:
    return 1.0 - value if _is_failed(metric) else value


def _is_failed(metric: str) -> bool:
    return metric.partition("{")[0] == FAILED


def _request(data: dict[str, Any]) -> str:
    """The name that the test gave to a request; empty if it is only its address."""
    name = str((data.get("tags") or {}).get("name", ""))
    return "" if "://" in name else name


def _fresh(metric: str, kind: dict[str, Any]) -> Measurements:
    good = _is_failed(metric) or metric.partition("{")[0] == "checks"
    unit = SHARE if kind.get("type") == RATE else UNITS.get(str(kind.get("contains")), "")
    return Measurements(unit, better=HIGHER if good else better_of(unit, metric))


def _by_second(measured: Measurements) -> Measurements:
    """The share of each second, each a unit of its own."""
    seconds: defaultdict[int, list[float]] = defaultdict(list)
    for value, second in zip(measured.values, measured.groups, strict=True):
        seconds[second].append(value)
    shares = replace(measured, values=[], groups=[])
    shares.add_alone(math.fsum(values) / len(values) for values in seconds.values())
    return shares


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
        known = [] if metric in PHASES else list(_judged(metric, summary))
        if not known:
            found.left_out[metric] = ONE_PHASE if metric in PHASES else NOT_SPEED
        for name, kind, value in known:
            measured = found[name] = _fresh(metric, kind)
            measured.add_alone([_good(metric, number(value, name))])
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
            yield _judged_name(metric), {"type": RATE}, share


def _is_trend(values: dict[str, Any]) -> bool:
    return "med" in values or any(str(key).startswith("p(") for key in values)


def _is_known(metric: str) -> bool:
    return re.match(r"(http_req|grpc_req|ws|iteration|group|browser)_", metric) is not None
