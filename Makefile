# make demo: a tour, from a clone.  make test: the whole test suite.  make lint: style, types, imports.
# make fuzz: the property tests, with other examples each time.
# PYTHON=python3.12 chooses the interpreter of a new .venv.

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.installed-dev

.PHONY: demo test fuzz lint install clean

install: $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/sqlrag demo

test: $(TESTABLE)
	$(BIN)/python -m pytest

fuzz: $(TESTABLE)
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile=fuzz

lint: $(TESTABLE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) .sqlrag-demo

$(BIN)/python:
	@python=$$(bash scripts/find_python.sh "$(PYTHON)") && echo "making $(VENV) with $$python" \
		&& "$$python" -m venv $(VENV)

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

$(TESTABLE): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@ $(INSTALLED)
