"""Runs of benchmarks: their levels, a history of runs, changes of level."""
