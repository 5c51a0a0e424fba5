"""Benchmark files of any known tool, as named measurements.

``model`` has what every file becomes: named measurements, with the benchmarks that were left out
and why. ``reading`` recognises a file. ``checks`` has what all readers need. Every other module
reads one format.
"""

from dkmd.sources.files.benchmarks.go_test import go_processors
from dkmd.sources.files.benchmarks.model import (
    NANOSECONDS,
    UNKNOWN,
    BenchmarkFile,
    Benchmarks,
    Measurements,
    better_in_table,
    better_of,
)
from dkmd.sources.files.benchmarks.reading import (
    LARGEST_FILE,
    NOT_KNOWN,
    WHAT,
    looks_like_benchmarks,
    looks_like_text_of_benchmarks,
    parse_benchmarks,
    read_benchmarks,
    text_of,
)

__all__ = [
    "LARGEST_FILE",
    "NANOSECONDS",
    "NOT_KNOWN",
    "UNKNOWN",
    "WHAT",
    "BenchmarkFile",
    "Benchmarks",
    "Measurements",
    "better_in_table",
    "better_of",
    "go_processors",
    "looks_like_benchmarks",
    "looks_like_text_of_benchmarks",
    "parse_benchmarks",
    "read_benchmarks",
    "text_of",
]
