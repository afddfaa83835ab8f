# Two commands: `make demo` and `make test`. Both create .venv and need only git, make and python3 with venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is imported is compiled by Python as it goes; all of numba and scipy at once takes longer than the rest.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE  # else each start would compile all that it imports: seconds

.PHONY: demo test quick slow fuzz first-use faults pythons lowest smoke lint style types examples doctests docs screenshots clean

demo: $(VENV)/.installed
	@mkdir -p demo
	$(BIN)/perf fit examples/cholesky/cholesky_trace.csv.gz --fitter worley --phases auto --degree 2 --refine \
		-o demo/model.json --plot demo/phases.png

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist worksteal

# Without the tests that take longest, in a third of the time
quick: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow and not thorough"

slow: $(VENV)/.installed-test
	$(BIN)/python -m pytest -m slow

# Some seconds over all that a user gives; at length: $(BIN)/python benchmarks/fuzz.py --seconds 3600 --guided
fuzz: $(VENV)/.installed-test
	$(BIN)/python benchmarks/fuzz.py --seconds 10

# CPU time of first answers, with nothing compiled, and of the start against its budget; reported, whatever they are
first-use: $(VENV)/.installed-test
	-$(BIN)/python benchmarks/first_use.py
	-$(BIN)/python benchmarks/start_up.py

# Disks that fill up or fail, and kill -9, at three calls of each command; at length: without --most. Needs cc.
faults: $(VENV)/.installed-test
	$(BIN)/python benchmarks/faults.py --most 3

# The core suites on other Pythons, where they are, and with the lowest declared versions of every dependency
pythons: $(VENV)/.installed-lint
	$(BIN)/python benchmarks/pythons.py 3.11 3.12 3.13

lowest: $(VENV)/.installed-lint
	$(BIN)/python benchmarks/pythons.py lowest

smoke: $(VENV)/.installed-lint
	$(BIN)/python benchmarks/pythons.py --smoke 3.13 lowest

# What lint does, in parts that may run side by side: make -j lint docs
lint: style types examples doctests

style: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/codespell README.md CHANGELOG.md recipes docs perfcore plugins examples benchmarks
	$(BIN)/rumdl check --quiet README.md recipes docs examples

types: $(VENV)/.installed-lint
	$(BIN)/mypy

examples: $(VENV)/.installed-lint
	$(BIN)/python -m pytest docs README.md -n auto --dist loadfile

doctests: $(VENV)/.installed-lint
	$(BIN)/python -m pytest --doctest-modules perfcore plugins

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -q -W -b html docs docs/_build

# The pictures of the page in docs/images/explore; needs Chromium
screenshots: $(VENV)/.installed-test
	$(BIN)/python benchmarks/screenshots.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(INSTALL) -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed pyproject.toml
	$(INSTALL) -e ".[test]"
	@touch $@

$(VENV)/.installed-lint: $(VENV)/.installed-test pyproject.toml
	$(INSTALL) -e ".[test,lint]"
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed-lint pyproject.toml
	$(INSTALL) -e ".[docs]"
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-* demo
