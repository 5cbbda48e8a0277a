# Every target sets up what it needs, in a virtual environment of its own. Needed beforehand: make, Python 3.11+.

VENV ?= .venv
PROFILE ?= quick
BIN = $(VENV)/bin
READY = $(VENV)/.ready

# The first Python that is new enough. (A name may exist and yet run nothing, so each is asked.)
PYTHONS = python3 python3.13 python3.12 python3.11
PYTHON ?= $(shell for p in $(PYTHONS); do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

PIP = $(BIN)/python -m pip install --quiet -c constraints.txt
# Two workers, each with one thread: two that wait for each other's threads take many times as long.
PYTEST = OMP_NUM_THREADS=1 C4_PROGRESS=0 C4_FIGURES=$(CURDIR)/build/figures $(BIN)/pytest -n 2 --dist loadfile
NBVAL = --nbval-lax --nbval-current-env --nbval-sanitize-with tests/notebooks/sanitize.cfg --nbval-cell-timeout=600

.DEFAULT_GOAL := help
.PHONY: help setup setup-peers reproduce notebooks figures test test-slow lint format readme bench clean

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 14

setup: $(READY) ## the environment: everything that the targets below need

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or newer is needed; none of $(PYTHONS) is"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[notebooks,dev]' jsonschema requests
	$(PIP) --no-deps kaggle-environments # ConnectX needs none of its 120 other dependencies
	@touch $@

setup-peers: $(READY) ## other implementations, that the tests compare with where they are installed
	$(PIP) -e '.[peers]'

reproduce: $(READY) ## run every notebook, make every figure again; hours instead of minutes with PROFILE=full
	$(BIN)/c4 reproduce --profile $(PROFILE)

figures: $(READY) ## the same, only the notebooks that save figures
	$(BIN)/c4 reproduce --profile $(PROFILE) --figures

notebooks: $(READY) ## run every notebook in place, to renew the outputs that are committed; then README.md
	$(BIN)/c4 reproduce --in-place
	$(BIN)/c4 readme

test: $(READY) ## the tests, and every notebook run again, its deterministic outputs compared
	$(PYTEST) $(NBVAL) tests notebooks

test-slow: $(READY) ## the tests that take minutes
	$(PYTEST) --slow -m slow tests

lint: $(READY) ## style, format, and the floors of the house
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

format: $(READY) ## put style and format right
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

readme: $(READY) ## write the tables of README.md again
	$(BIN)/c4 readme

bench: $(READY) ## measure the search on this machine
	$(BIN)/c4 bench

clean: ## remove what can be made again, except the environment
	rm -rf build .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	find c4lib tests notebooks -name __pycache__ -prune -exec rm -rf {} +
