# make run    compile and run the example model      make test   every check and every test
# make check  static checks only                     make bench  every benchmark
# make fuzz   2,000 random schedules, seeds from SEED
PYTHON ?= python3
SEED ?= 0
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
SOURCES := $(wildcard support runtime provenance dialects frontends passes te lowering planning explorer src tests benchmarks)

.PHONY: run test check bench fuzz clean

run: $(INSTALLED)
	$(BIN)/whence run light_resnet50

test: check
	$(BIN)/pytest -q

check: $(INSTALLED)
	$(BIN)/ruff check -q .
	$(BIN)/ruff format -q --check .
	$(BIN)/basedpyright

bench: $(INSTALLED)
	@set -e; for script in $(sort $(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python "$$script"; done

fuzz: $(INSTALLED)
	$(BIN)/python tests/support/random_schedules.py --cases 2000 --seed $(SEED)

clean:
	rm -rf build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is older than pyproject.toml when the dependencies may have changed.
$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	touch $@
