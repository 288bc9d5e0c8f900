# Everything runs in .venv, which each target makes for itself: only Python 3.11+ and make are needed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# PyTorch is gigabytes with its GPU libraries; TORCH="torch==…+cpu" takes a wheel without them.
TORCH  ?= torch
LARGE  := .venv-frameworks

# Bytecode is kept, also of tests, whose rewriting takes half of the time to collect them.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-frameworks quick versions dist lint bench docs clean

help:   ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.with-view  ## a robot in motion: checks, a million states, a page to open
	@$(BIN)/dalembert demo

test: $(VENV)/.with-test  ## all tests and the doctests of src, warnings as errors
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal

test-frameworks: $(LARGE)/.made  ## JAX and PyTorch in an environment of their own, every quantity
	@DALEMBERT_FRAMEWORKS=all $(LARGE)/bin/python -m pytest -q -n 2 tests/frameworks \
	    tests/test_examples.py -k "frameworks or _with_"

quick: $(VENV)/.with-test  ## most tests in under a minute, kernels kept; left out: tests/markers.py
	@DALEMBERT_TEST_CACHE=.kernels DALEMBERT_HYPOTHESIS=quick $(BIN)/python -m pytest -q -n 2 \
	    --dist worksteal tests -m "not (slow or process or browser or gpu_text)"

versions: $(VENV)/.with-release  ## the matrix of noxfile.py, with the Pythons that are found
	@$(BIN)/nox

dist: $(VENV)/.with-release  ## source archive and wheel in dist/, the wheel tested outside the tree
	@$(BIN)/python tools/dist.py

lint: $(VENV)/.with-lint  ## style, types, the order of the layers, and words
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tools/vocabulary.py

bench: $(VENV)/.with-test  ## compare with Pinocchio, MuJoCo and CasADi's C on this machine
	@$(BIN)/python benchmarks/run.py

docs: $(VENV)/.with-docs  ## the documentation, warnings as errors
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Now open docs/_build/html/index.html"

clean:  ## remove .venv and every cache in this folder
	rm -rf $(VENV) $(LARGE) .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache .kernels build dist docs/_build

# One stamp per extra; a changed pyproject.toml or list of versions makes all of them old.
$(VENV)/.with-%: pyproject.toml constraints.txt tests/robots.txt | $(VENV)/.made
	@echo "installing dalembert[$*] into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]' \
	    $(if $(filter view,$*),,--constraint constraints.txt)
	$(if $(filter test,$*),@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r tests/robots.txt)
	@touch $@

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dalembert needs Python 3.11 or newer; set PYTHON=")'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(LARGE)/.made: pyproject.toml constraints.txt
	@echo "installing dalembert[jax] and $(TORCH) into $(LARGE) ..."
	@$(PYTHON) -m venv $(LARGE)
	@$(LARGE)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[jax]' \
	    '$(TORCH)' pytest pytest-xdist hypothesis --constraint constraints.txt
	@touch $@
