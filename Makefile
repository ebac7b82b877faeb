# The two commands of the README are `make demo` and `make test`. Each makes the environment it needs.
# Options: PYTHON=python3.12 chooses the interpreter, WORKERS=4 the test processes, ARGS="-k name" goes to pytest.

VENV := .venv
BIN := $(VENV)/bin
CANDIDATES := $(or $(PYTHON),python3 python3.11 python3.12 python3.13 python3.14 python)
WORKERS ?= auto
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
MAKEFLAGS += --no-print-directory

# an environment that was copied from elsewhere still points there: make it anew
ifneq ($(shell cat $(VENV)/where 2>/dev/null),$(CURDIR))
$(shell rm -f $(VENV)/base $(VENV)/dev $(VENV)/slow)
endif

.DEFAULT_GOAL := help
.PHONY: help env demo test test-slow mutants fuzz lint bench docs dist clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

env: $(VENV)/dev ## make .venv with everything that tests and benchmarks need

demo: $(VENV)/base ## a robot: loaded, certified, counted, compiled, moved, reported
	@$(BIN)/python examples/demo.py

test: $(VENV)/dev ## run the tests, except the slow ones
	@$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-slow: $(VENV)/slow ## run the slow tests
	@$(BIN)/python -m pytest -n $(WORKERS) -m slow $(ARGS)

mutants: $(VENV)/dev ## change the sources at random and count what sb.verify refuses; ARGS=--help says more
	@PYTHONPATH=tests $(BIN)/python -m mutants $(ARGS)

fuzz: $(VENV)/dev ## damaged input for everything that reads; ARGS=--help says more
	@PYTHONPATH=tests $(BIN)/python -m fuzz $(ARGS)

lint: $(VENV)/dev ## check style, format and types
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy

bench: $(VENV)/dev ## run the benchmarks, with the peers they compare with
	@$(BIN)/python benchmarks/run.py $(ARGS)

docs: $(VENV)/docs ## build the documentation as a site in site/, without a network
	@$(BIN)/python docs/make_api.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "wrote site/index.html"

dist: $(VENV)/docs ## build sdist and wheel, and try each in bare environments of every Python here
	@$(BIN)/python packaging/try_dist.py

clean: ## remove the environment, the caches and everything written by demo and benchmarks
	rm -rf $(VENV) demo_out benchmarks/out build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Two layers, each made again when pyproject.toml changes: what a user has, then what a developer adds.

$(VENV)/base: pyproject.toml
	@[ -x $(BIN)/python ] && [ "$$(cat $(VENV)/where 2>/dev/null)" = "$(CURDIR)" ] || { \
	  for p in $(CANDIDATES); do \
	    if $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then found=$$p; break; fi; \
	    version=$$($$p --version 2>/dev/null | head -n 1); \
	    tried="$$tried\n  $$p: $${version:-not there}"; \
	  done; \
	  if [ -z "$$found" ]; then \
	    printf "symbody needs Python 3.11 or newer, with its venv module. Tried:$$tried\n" >&2; \
	    printf "Install one (where venv is a package apart, also python3-venv), or name yours: make PYTHON=python3.12 ...\n" >&2; \
	    exit 1; \
	  fi; \
	  echo "making $(VENV) with $$($$found --version)"; \
	  $$found -m venv --clear $(VENV) && echo "$(CURDIR)" > $(VENV)/where; }
	@echo "installing symbody and what it needs"
	@$(PIP) -e '.[report]'
	@touch $@

$(VENV)/dev: $(VENV)/base
	@echo "installing what the tests, the linters and the benchmarks need"
	@$(PIP) -e '.[all,dev,peers,robots]'
	@touch $@

$(VENV)/slow: $(VENV)/dev
	@echo "installing robot files, languages and importers that the slow tests need"
	@$(PIP) -e '.[collections]' || echo "not installed: tests that need them are skipped"
	@$(PIP) -e '.[languages,importers]' || echo "not installed: tests that need them are skipped"
	@touch $@

$(VENV)/docs: $(VENV)/base
	@echo "installing what the site and the packages need"
	@$(PIP) -e '.[docs]'
	@touch $@
