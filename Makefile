# make demo   trains on the embedded corpus, translates, writes a report
# make test   lint, types, tests
# make test-parts   the tests of pages in a browser, of the documents' programs, of several processes, of the papers' experiments
# make test-all   both
# make docs   the site of the documentation, in docs/_build/html: notebooks run, warnings are errors, the result is tested
# make dist   wheel and source archive of a release, in dist
# make web-runtime   fetches the runtime that dragoman export --web puts into its sites
# Each creates .venv and installs into it first, if that has not been done.
PYTHON ?= python3
PROCESSES ?= $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
BIN := .venv/bin
PARTS := browser or docs or processes or reproduction
# The files that have such tests, so that no others are loaded.
FILES_OF_PARTS = $(shell grep -rlE --include='test_*.py' "mark\.($$(echo '$(PARTS)' | sed 's/ or /|/g'))" tests)

# uv installs in a fraction of the time, where it is present. pip leaves compiling to the first import of a module; tests
# start many processes, so that for them everything is compiled at once.
ifneq ($(shell command -v uv),)
VENV := uv venv -q --allow-existing --python $(PYTHON) .venv
INSTALL := uv pip install -q --python $(BIN)/python
else
VENV := $(PYTHON) -m venv .venv
INSTALL := $(BIN)/python -m pip install -q --no-compile --prefer-binary
endif

# The runtime of exported web sites, fetched by npm; a package built afterwards has it.
web-runtime: .venv/train
	$(BIN)/python -m dragoman.website.runtime

.PHONY: demo dist docs web-runtime test test-all lint types tests tests-all test-parts format clean

demo: .venv/train
	$(BIN)/dragoman demo --out demo-run --overwrite
	@echo "The report: demo-run/report.html"

# Side by side: mypy has one process, and at the end of the tests one core would wait for the other.
test: lint
	$(MAKE) -j2 types tests

# test and test-parts in one go: modules are loaded once, and no core waits between them.
test-all: lint
	$(MAKE) -j2 types tests-all

lint: .venv/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: .venv/installed
	$(BIN)/mypy

tests: .venv/installed
	$(BIN)/pytest -n $(PROCESSES) --dist worksteal -m "not ($(PARTS) or site)"

tests-all: .venv/installed
	$(BIN)/pytest -n $(PROCESSES) --dist worksteal -m "not site"

test-parts: .venv/installed
	$(BIN)/pytest -n $(PROCESSES) --dist worksteal -m "$(PARTS)" $(FILES_OF_PARTS)

# Notebooks are run side by side, which their cache does not allow.
docs: .venv/docs
	rm -rf docs/_build/html
	NOTEBOOKS=force OMP_NUM_THREADS=1 $(BIN)/sphinx-build -q -W --keep-going -j $(PROCESSES) -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/pytest -n $(PROCESSES) --dist worksteal -m site tests/site
	@echo "The site: docs/_build/html/index.html"

dist: web-runtime
	$(INSTALL) -c constraints.txt -e ".[release]"
	rm -rf dist
	$(BIN)/python -m build -o dist
	$(BIN)/twine check --strict dist/*

format: .venv/installed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.venv/train: pyproject.toml constraints.txt
	$(VENV)
	$(INSTALL) -c constraints.txt -e ".[train]"
	@touch $@

.venv/installed: .venv/train
	$(INSTALL) -c constraints.txt -e ".[train,align,maps,smt,files,cluster,completion,dev]"
	$(BIN)/python -m compileall -q -j 0 .venv/lib || true
	@touch $@

.venv/docs: .venv/installed
	$(INSTALL) -c constraints.txt -e ".[serve,docs]"
	@touch $@

clean:
	rm -rf .venv demo-run dist docs/_build docs/reference/printed .mypy_cache .pytest_cache .ruff_cache .hypothesis
