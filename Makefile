# Every target creates .venv if it is missing. `make` alone lists the targets.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
BROWSER_READY := .venv/browser-ready
DOCS_READY := .venv/docs-ready

# tests start hundreds of processes, which start twice as fast with bytecode on disk
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo paper docs docs-serve test test-engines test-adapters test-browser test-docs check lint types imports test-nojit fuzz mutants bench bench-scale study designs gate-runs races looks matrices segments-study clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dkmd needs Python 3.11 or newer; set PYTHON=")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing dkmd and its tools into .venv ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(READY)  ## run compare, drift and gate on the shipped data; pages go to build/demo
	@$(BIN)/python examples/demo.py

paper: $(READY)  ## make every table and figure of the paper in build/paper (under 3 minutes)
	$(BIN)/dkmd reproduce --out build/paper

$(DOCS_READY): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

docs: $(DOCS_READY)  ## build the documentation site in build/site; it opens from disk
	$(BIN)/python scripts/docs_site.py

docs-serve: $(DOCS_READY)  ## show the documentation site on localhost
	$(BIN)/python scripts/docs_site.py --serve

test: $(READY)  ## run the tests and doctests
	$(BIN)/python -m pytest -q -n auto --dist loadfile

test-engines: $(READY)  ## run the engine tests on PostgreSQL, Spark and a dask cluster (installs them: scripts/install-engines)
	scripts/install-engines
	@$(BIN)/python -c 'import pyspark' 2> /dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[postgres,spark]'
	DKMD_ENGINES=postgres,spark,dask $(BIN)/python -m pytest -q tests/engines

ADAPTERS := build/adapters

$(ADAPTERS)/ready: pyproject.toml
	@test -x $(ADAPTERS)/bin/python || $(PYTHON) -m venv $(ADAPTERS)
	@echo "installing the tools of dkmd[adapters] into $(ADAPTERS) ..."
	@$(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[adapters]' hypothesis pytest
	@touch $@

test-adapters: $(ADAPTERS)/ready  ## run the adapters inside evidently, river, pandera, Dagster and scikit-learn (an environment of their own)
	$(ADAPTERS)/bin/python -m pytest -q tests/other_tools

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

check: lint types imports test  ## run lint, types, import rules, tests and doctests

$(BROWSER_READY): $(READY) tests/browser/install.sh tests/browser/package.json
	@tests/browser/install.sh
	@touch $@

test-browser: $(BROWSER_READY)  ## test the report in a real browser (installs Chromium, Playwright, axe-core)
	$(BIN)/python -m pytest -q tests/browser

test-docs: $(BROWSER_READY) docs  ## build the site and test it in a real browser: links, requests, search, accessibility
	$(BIN)/python -m pytest -q tests/docs_site

# the tests of compiled loops: everything else calls these loops
COMPILED := tests/inference/test_scan.py tests/inference/test_sides.py tests/inference/test_width.py \
	tests/inference/test_tails.py tests/inference/test_pair.py tests/inference/test_rows.py tests/bins \
	tests/design/test_held.py tests/kinds/test_proportions.py tests/matrices \
	tests/sequential/test_mixture.py tests/sequential/test_scores.py tests/test_table.py tests/test_witness.py \
	tests/test_exact.py tests/test_riemann.py tests/test_summary.py tests/test_logarithms.py

test-nojit: $(READY)  ## run the tests of compiled loops as plain Python, without the slow ones
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m "not slow" -n auto --dist loadfile $(COMPILED)

fuzz: $(READY)  ## feed the command 3,000 odd and damaged files of data, and as many of benchmarks (minutes)
	$(BIN)/python scripts/fuzz.py

FAULTS ?= 15
mutants: $(READY)  ## put small faults into the core (FAULTS=15 per module) and see which ones the tests notice
	@$(BIN)/python -c 'import cosmic_ray' 2> /dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[mutants]'
	$(BIN)/python scripts/mutants.py --count $(FAULTS) --jobs $$(nproc)

bench: $(READY)  ## measure speed and memory as ratios to named peers
	$(BIN)/python benchmarks/bench.py

bench-scale: $(READY)  ## measure the largest sizes and the engines (half an hour, 10 GB of disk)
	$(BIN)/python benchmarks/scale.py

study: $(READY)  ## run the calibration study: size, power and coverage against peers (about 10 minutes)
	$(BIN)/python benchmarks/study.py

segments-study: $(READY)  ## simulate the test whether segments differ; prints the tables of docs/segments.md (10 minutes)
	$(BIN)/python benchmarks/segments.py

designs: $(READY)  ## simulate covariates, strata and weights: the tables of docs/designs.md (minutes)
	$(BIN)/python -W ignore benchmarks/designs.py

gate-runs: $(READY)  ## simulate gates of several runs and histories; writes the tables of docs/gate_runs.md (4 minutes)
	$(BIN)/python benchmarks/gate_runs.py --times 200 --write docs/gate_runs.md

races: $(READY)  ## race equal and unequal commands beside hyperfine; prints the tables of docs/race.md (an hour)
	$(BIN)/python benchmarks/races.py

looks: $(READY)  ## simulate monitors and detectors; writes the tables of docs/watch.md (25 minutes)
	$(BIN)/python benchmarks/looks.py --write docs/watch.md

matrices: $(READY)  ## simulate tests of several columns at once; writes the tables of docs/matrices.md (three hours on two cores)
	@$(BIN)/python -c 'import sklearn, hyppo' 2> /dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check scikit-learn hyppo
	$(BIN)/python benchmarks/matrices.py
	$(BIN)/python benchmarks/matrices.py --speed
	$(BIN)/python benchmarks/matrices.py --write docs/matrices.md

clean:  ## remove .venv and every cache
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
