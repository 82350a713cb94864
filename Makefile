# make demo   sets up and shows zerokin at work on its embedded data set
# make test   sets up and runs every check: style, types, tests, documentation

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types unit clean
.DELETE_ON_ERROR:

demo: $(VENV)/.ready
	$(BIN)/zerokin demo --out zerokin-demo

test: lint types unit

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready-dev
	$(BIN)/mypy

unit: $(VENV)/.ready-dev
	$(BIN)/pytest

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "zerokin needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.ready: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.ready-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev,text,report]'
	@touch $@ $(VENV)/.ready

clean:
	rm -rf $(VENV) build dist zerokin-demo
