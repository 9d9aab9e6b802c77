# `make chat` and `make test` do all of their own set-up: Python 3.11 or newer and make are enough.
#
#   make chat             talk to it (ARGS='-q "hello"' for options of `hermes chat`)
#   make test             all tests but the slow ones (ARGS='tests/gate -x' for options of pytest)
#   make test-slow        the slow ones
#   make check            format, lint, types, structure, generated docs
#   make dist             every wheel into dist/, what they need into wheelhouse/
#   make bench            the figures (PEERS=1: beside other agents)
#   make docs             docs/ as a site in build/site, to open in a browser
#   make docs-generate    write the generated docs again
#   make constraints      take the newest versions that fit, and pin them
#   make clean            remove everything that was made here, the environment too

PYTHON ?= python3
WORKERS ?= 2
ARGS ?=

ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

STAMP := .venv/.installed
SITE := .venv/.site
PROJECTS := pyproject.toml $(sort $(wildcard plugins-builtin/*/pyproject.toml))
PLUGINS := $(sort $(patsubst %/pyproject.toml,%,$(wildcard plugins-builtin/*/pyproject.toml)))
TYPED := hermes_core hermes_plugins scripts $(sort $(wildcard plugins-builtin/*/hermes_plugin_*))
EDITABLE := -e '.[all]' $(addprefix -e ,$(PLUGINS))
UV := $(shell uv --version >/dev/null 2>&1 && echo uv)

.PHONY: chat test test-slow check dist bench docs docs-generate constraints clean

chat: $(STAMP)
	@$(BIN)/hermes chat $(ARGS)

test: $(STAMP) $(SITE)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

test-slow: $(STAMP) $(SITE)
	$(BIN)/python -m pytest -m slow $(ARGS)

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(TYPED)
	$(BIN)/python -m pytest tests/structure $(ARGS)
	@set -e; for script in scripts/generate_*.py; do \
		echo "$(BIN)/python $$script --check"; $(BIN)/python $$script --check; done

dist: $(STAMP)
	$(BIN)/python scripts/build_wheels.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks $(if $(PEERS),--peers) $(ARGS)

docs: $(STAMP) $(SITE)
	$(BIN)/python scripts/build_site.py

docs-generate: $(STAMP)
	@set -e; for script in scripts/generate_*.py; do \
		echo "$(BIN)/python $$script"; $(BIN)/python $$script; done

constraints: $(STAMP)
	$(BIN)/python scripts/pin_versions.py

clean:
	rm -rf .venv .venvs dist wheelhouse build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find hermes_core hermes_plugins plugins-builtin tests benchmarks scripts -name __pycache__ \
		-type d -prune -exec rm -rf {} +

# Second runs cost nothing: the stamp is as new as what it was made from.
$(STAMP): constraints.txt $(PROJECTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; \
		exit 1; }
ifeq ($(UV),uv)
	@test -x $(BIN)/python || uv venv --quiet --python "$(PYTHON)" .venv
	@uv pip install --quiet --python $(BIN)/python -c constraints.txt --group pyproject.toml:dev
	@uv pip install --quiet --python $(BIN)/python -c constraints.txt --no-build-isolation $(EDITABLE)
else
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt pip
	@$(BIN)/python -m pip install --quiet -c constraints.txt --group pyproject.toml:dev
	@$(BIN)/python -m pip install --quiet -c constraints.txt --no-build-isolation $(EDITABLE)
endif
	@touch $@

# What builds the site is large, and nothing else needs it.
$(SITE): $(STAMP) constraints.txt
ifeq ($(UV),uv)
	@uv pip install --quiet --python $(BIN)/python -c constraints.txt --group pyproject.toml:site
else
	@$(BIN)/python -m pip install --quiet -c constraints.txt --group pyproject.toml:site
endif
	@touch $@
