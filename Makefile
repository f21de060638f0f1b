# `make demo` runs the main job from nothing, `make test` runs every check. Both set up what they need in .venv.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint types unit train-tests setup clean

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

# The adapter's trainer, in an environment of its own with PyTorch, which is several hundred megabytes. Any CPU build will do.
TORCH ?= torch==2.13.0
train-tests:
	$(PYTHON) -m venv build/train
	build/train/bin/python -m pip install --quiet "$(TORCH)"
	build/train/bin/python -m pip install --quiet -c constraints.txt -e '.[dev,train]'
	build/train/bin/python -P -m pytest -q tests/runtime/stoploss/test_training_lora.py

clean:
	rm -rf $(VENV) build dist
