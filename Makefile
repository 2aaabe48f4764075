# Everything a newcomer needs: `make run` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements/dev.lock
TEST_PROCESSES ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup jars run test check fmt bench docs requirements lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(VENV)/.ready ## create .venv and install what is locked; does nothing the second time

$(VENV)/.ready: $(LOCK) pyproject.toml scripts/check_machine.sh
	@PYTHON="$(PYTHON)" scripts/check_machine.sh
	@echo "==> creating $(VENV) and installing locked packages (a few minutes the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

run: setup ## embedded Kafka, Spark, a worker and the example pipeline
	@$(BIN)/seamark up

test: setup ## all tests, in several processes: much of their time they wait
	@SEAMARK_WAIT_FACTOR=3 $(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadscope --no-loadscope-reorder --max-worker-restart=0 \
		-o timeout=900

check: setup ## ruff, mypy --strict, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

fmt: setup ## format the code
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

requirements: setup ## requirement ID -> tests; fails on an uncovered one of the parts built so far
	@$(BIN)/python scripts/requirements.py

bench: setup ## compare with the real Java worker in one run
	@$(BIN)/python -m bench

docs: setup ## generate the reference pages from the code
	@$(BIN)/python scripts/reference.py

lock: ## renew the locks (needs uv)
	uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --extra dev pyproject.toml requirements/build.in -o requirements/dev.lock
	uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links pyproject.toml -o requirements/runtime.lock

clean: ## remove what make made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
