# `make demo` runs the main job from nothing, `make test` runs every check. Both set up what they need in .venv.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint types unit setup clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt scripts/setup.sh
	sh scripts/setup.sh "$(PYTHON)" "$(VENV)"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/looptop demo

test: lint types unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy
	$(BIN)/mypy tests

unit: $(STAMP)
	$(BIN)/python -P -m pytest -q -n 2

clean:
	rm -rf $(VENV) build dist
