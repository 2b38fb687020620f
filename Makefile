# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?= $(or $(TRELLISWORK_DATA),../shared/data)

.PHONY: fuzz boundscheck demo test test-long test-web lint types tests nojit docs bench clean

demo: $(VENV)/.package
	$(BIN)/trelliswork demo --output demo-output

# Types are checked beside the tests: they keep one core busy for half a minute.
test: lint
	@$(MAKE) --no-print-directory --jobs=2 types tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/numpydoc lint $$(find src -name '*.py')

types: $(VENV)/.dev
	$(BIN)/mypy

tests: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not long"

# Clusters, processes that are killed, whole commands: the list LONG of tests/conftest.py.
test-long: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist loadfile -m long

# The page in a real browser, and a real server: needs Debian's chromium, which is installed where that is allowed.
test-web: $(VENV)/.dev
	@if .ci/chromium && $(BIN)/python -m pip install --quiet --group browser; \
	then TRELLISWORK_BROWSER=1 $(BIN)/python -m pytest tests/web_browser; \
	else echo "test-web: SKIPPED, chromium or playwright is missing and could not be installed"; fi

# The recursions as plain Python: slow, but every index is checked.
nojit: $(VENV)/.dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto tests/dp tests/structures

# Damaged model and input files, calls of any kind, extreme weights: make fuzz MINUTES=30 tries each kind for so long.
MINUTES ?= 5
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

# Compiled code that stops at a read or write outside of an array; a cache of its own.
boundscheck: $(VENV)/.dev
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/boundscheck $(BIN)/python -m pytest -n auto tests/dp tests/structures tests/learners

# The site in docs/_build/html. The examples of its pages run as tests; the gallery runs here.
docs: $(VENV)/.docs
	rm -rf docs/_build/html docs/api/generated
	$(BIN)/python -m sphinx -W --keep-going -q -b html -c docs -d docs/_build/doctrees . docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks ner --data $(DATA)

$(VENV)/.pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.package: $(VENV)/.pip pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --editable ".[bio,text,plot,web]" --group dev
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --group bench
	touch $@

clean:
	rm -rf $(VENV) demo-output dist build docs/_build docs/gallery docs/api/generated docs/api/backreferences
