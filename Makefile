PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
NATIVE := scripts/build_native.py $(wildcard native/*.c native/*.h)

.PHONY: setup demo test check native sanitize valgrind docs sweep bench mutants clean

setup: .venv/.core

# The core: enough for the `gridveil` command.
.venv/.core: pyproject.toml constraints.txt $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "GridVeil needs Python 3.11 or newer: make PYTHON=python3.12 setup")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) install -c constraints.txt -e .
	@touch $@

# Everything a developer and CI need.
.venv/.dev: pyproject.toml constraints.txt | .venv/.core
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@

# The main job on a shipped case: release it, verify the bundle as anyone can, look for leaks as the operator can.
# The case is public, so that its ledger may begin anew each time.
demo: setup
	@rm -f build/demo.ledger*
	$(BIN)/gridveil release case39_epri --epsilon 1 --alpha 0.1 --beta 0.01 --ledger build/demo.ledger --out build/demo --force
	$(BIN)/gridveil verify build/demo
	$(BIN)/gridveil leakcheck case39_epri build/demo || test $$? -eq 5 # a verdict other than clean is a finding, no fault

# The documentation site, readable without network: build/site/index.html
docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python scripts/website/check.py build/site
	@echo build/site/index.html

.venv/.docs: pyproject.toml constraints.txt | .venv/.core
	$(PIP) install -c constraints.txt -e '.[docs]'
	@touch $@

test check: setup .venv/.dev
	scripts/check

# The kernel alone, compiled in place, for whoever works on native/*.c; it needs a C compiler. See CONTRIBUTING.md.
native:
	@$(PYTHON) scripts/build_native.py

# The tests of the kernel on a library with the address and undefined-behaviour sanitizers, or under valgrind.
sanitize: setup .venv/.dev
	$(BIN)/python scripts/native_checks.py sanitize $(TESTS)

valgrind: setup .venv/.dev
	$(BIN)/python scripts/native_checks.py valgrind $(TESTS)

sweep: .venv/.dev
	$(BIN)/python -m pytest -m sweep -v
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile fresh

bench: .venv/.dev
	$(BIN)/python benchmarks/run.py

# Small random changes of the source that the tests should notice: make mutants N=30 SEED=7
N ?= 30
SEED ?= 0
mutants: .venv/.dev
	nice $(BIN)/python scripts/mutants.py --count $(N) --seed $(SEED)

clean:
	rm -rf build .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
