"""Units of measurement: SI prefixes for people, and conversion between units of one kind.

Only times and a few SI units have prefixes of their own (ms, MB). Any other unit keeps its name,
and large amounts of it get a prefix in front: 1.40 M ops/s.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

SMALL = {"n": 1e-9, "µ": 1e-6, "m": 1e-3}
LARGE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
WHOLE = {"": 1.0}

PREFIXES = {
    "s": SMALL | WHOLE,
    "B": WHOLE | LARGE,
    "bit": WHOLE | LARGE,
    "Hz": WHOLE | LARGE,
    "W": SMALL | WHOLE | LARGE,
    "J": SMALL | WHOLE | LARGE,
}
"""The prefixes of units that have them."""

BEFORE_ANY = {"": 1.0, "M": 1e6, "G": 1e9, "T": 1e12}
"""The prefixes of all other units; thousands have commas."""

SPELLED = {
    "us": "µs", "μs": "µs", "sec": "s", "second": "s", "seconds": "s", "byte": "B", "bytes": "B",
    "KB": "kB",
}  # fmt: skip
"""Other spellings of units. The second one has the Greek letter in place of the micro sign."""

LONG_TIMES = {"min": 60.0, "h": 3600.0}
"""Times that are read in seconds, but shown as they are."""


class Unit(NamedTuple):
    """A unit as a multiple of a base unit: "ms/op" is 0.001 of ("s", "/op")."""

    factor: float
    base: str
    per: str


def read_unit(text: str) -> Unit:
    """A unit in parts.

    Examples
    --------
    >>> [tuple(read_unit(unit)) for unit in ("us", "MB/s", "ops/s")]
    [(1e-06, 's', ''), (1000000.0, 'B', '/s'), (1.0, 'ops', '/s')]
    """
    head, slash, tail = text.strip().partition("/")
    head, per = SPELLED.get(head, head), slash + (SPELLED.get(tail, tail))
    if head in LONG_TIMES:
        return Unit(LONG_TIMES[head], "s", per)
    for base, prefixes in PREFIXES.items():
        prefix = head.removesuffix(base)
        if head.endswith(base) and prefix in prefixes:
            return Unit(prefixes[prefix], base, per)
    return Unit(1.0, head, per)


def shown_in(unit: str, largest: float) -> tuple[float, str]:
    """The unit in which to show numbers up to ``largest``, and the factor that converts to it.

    Examples
    --------
    >>> shown_in("s", 2.36e-5)[1], shown_in("ns", 2.5e6)[1], shown_in("B", 12e6)[1]
    ('µs', 'ms', 'MB')
    >>> shown_in("ops/s", 1.4e6)[1], shown_in("ops/s", 900.0)[1], shown_in("min", 90.0)[1]
    ('M ops/s', 'ops/s', 'min')
    """
    if unit.strip() in LONG_TIMES:
        return 1.0, unit
    read = read_unit(unit)
    size = abs(largest) * read.factor
    known = PREFIXES.get(read.base)
    prefixes = known or BEFORE_ANY
    if not 0.0 < size < math.inf:
        return 1.0, unit
    # 999.96 rounds to 1,000, which is 1 of the next prefix
    fitting = [prefix for prefix, scale in prefixes.items() if size >= 0.9995 * scale]
    prefix = fitting[-1] if fitting else next(iter(prefixes))
    factor = read.factor / prefixes[prefix]
    if known:
        return factor, f"{prefix}{read.base}{read.per}"
    return factor, f"{prefix} {unit}".strip() if prefix else unit


AMOUNT = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S.*?)?\s*\Z")


def read_amount(text: str) -> tuple[float, str] | None:
    """A number and its unit; None if the text does not start with a number.

    Examples
    --------
    >>> read_amount("3 ms"), read_amount("1e6ops/s"), read_amount("5"), read_amount("ms")
    ((3.0, 'ms'), (1000000.0, 'ops/s'), (5.0, ''), None)
    """
    found = AMOUNT.match(text)
    return (float(found[1]), found[2] or "") if found else None


def converted(amount: float, unit: str, to: str) -> float | None:
    """An amount in another unit; None if the units are not of one kind.

    A unit without "/op" also fits a unit with it: 3 ms is 0.003 s/op.

    Examples
    --------
    >>> converted(3, "ms", "s"), converted(100, "MB", "B/op"), converted(3, "ms", "B")
    (0.003, 100000000.0, None)
    """
    given, wanted = read_unit(unit), read_unit(to)
    if given.base != wanted.base or given.per not in (wanted.per, wanted.per.removesuffix("/op")):
        return None
    # in whole units where that is exact: 3 ms are 3/1000 s
    up, down = (1.0 / u.factor if u.factor < 1.0 else u.factor for u in (given, wanted))
    amount = amount / round(up) if given.factor < 1.0 else amount * up
    return amount * round(down) if wanted.factor < 1.0 else amount / down
