"""What a reader expects of a file, checked: finite numbers, one benchmark per name, short words."""

from __future__ import annotations

import math
import reprlib
from typing import Any

from dkmd.base.errors import BenchmarkFileError
from dkmd.sources.files.benchmarks.model import Benchmarks, Measurements

MOST_WORDS = 300
"""The longest message that is taken from a file, in characters."""


MOST_NAME = 2000
"""The longest name of a benchmark with by-products or parameters, in characters."""


def fresh(found: Benchmarks, name: str, unit: str, **known: Any) -> Measurements:
    """New measurements under a name that no other benchmark of the file has."""
    if name in found:
        raise BenchmarkFileError(f"two benchmarks are called {short(name)}")
    return found.setdefault(name, Measurements(unit, **known))


def named(name: Any) -> str:
    """A name that by-products and parameters can repeat without filling the memory."""
    text = str(name)
    if len(text) > MOST_NAME:
        raise BenchmarkFileError(f"a name has {len(text):,} characters: {short(text)}")
    return text


def numbers(values: Any, name: str) -> list[float]:
    """A list of finite numbers or NaN; anything else is an error."""
    if not isinstance(values, list):
        raise BenchmarkFileError(f"the measurements of {short(name)} are not a list")
    return [number(value, name) for value in values]


def number(value: Any, name: str) -> float:
    """A finite number or NaN; anything else is an error."""
    if is_number(value):
        try:
            if not math.isinf(value):
                return float(value)
        except OverflowError:  # a whole number of more than 308 digits
            pass
    raise BenchmarkFileError(f"{short(name)} has {short(value)} where a finite number belongs")


def per_iteration(total: Any, count: Any, name: str) -> float:
    """The share of one iteration in a total of many."""
    iterations = number(count, name)
    if not iterations > 0.0:
        raise BenchmarkFileError(f"{short(name)} has a measurement without iterations")
    return number(number(total, name) / iterations, name)


def is_number(value: Any) -> bool:
    """Whether a value of JSON is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def short(value: Any) -> str:
    """A value of a file in quotes, in a few words."""
    if isinstance(value, str):
        return repr(cut(value, 80))
    return reprlib.repr(value)


def cut(text: object, most: int = MOST_WORDS) -> str:
    """Text of a file in one line, cut where it is long."""
    words = " ".join(str(text).split())
    return words if len(words) <= most else words[: most - 1] + "…"
