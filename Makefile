# Everything a newcomer needs: `make run` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements/dev.lock
TEST_PROCESSES ?= 3

.DEFAULT_GOAL := help
.PHONY: help setup jars run test kube browser postgres check fmt bench chaos fuzz load soak docs tour requirements lock sbom audit clean

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

kube: setup ## build the kube-apiserver that tests of the operator run on; does nothing the second time
	@PYTHONPATH=tests $(BIN)/python tests/fixtures/kube_binaries.py > /dev/null

browser: ## install the Chromium that tests of the web page use, if it is missing; Debian and Ubuntu, as root
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || test -n "$$SEAMARK_CHROMIUM" \
		|| if command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
			echo "==> installing Chromium"; \
			(apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium) \
				> /dev/null || echo "    that failed: tests of the web page are skipped"; \
		else echo "==> no Chromium, and it cannot be installed here: tests of the web page are skipped"; fi

postgres: ## install the PostgreSQL that tests of JDBC use, if it is missing; Debian and Ubuntu, as root
	@ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || command -v initdb > /dev/null || test -n "$$SEAMARK_POSTGRES" \
		|| if command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
			echo "==> installing PostgreSQL"; \
			(apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql) \
				> /dev/null || echo "    that failed: tests of JDBC are skipped"; \
		else echo "==> no PostgreSQL, and it cannot be installed here: tests of JDBC are skipped"; fi

test: setup kube browser postgres ## all tests, see scripts/test.sh
	@$(BIN)/seamark prepare --packages delta,iceberg,postgresql
	@TEST_PROCESSES=$(TEST_PROCESSES) scripts/test.sh

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

chaos: setup ## faults strike Seamark and the real Kafka Connect; CHAOS="--seconds 60 --seed 7" for more
	@PYTHONPATH=tests $(BIN)/python -m chaos $(CHAOS)

fuzz: setup ## many inputs for every parser; FUZZ="--seconds 600 --target position" for more
	@PYTHONPATH=tests $(BIN)/python -m fuzz $(FUZZ)

load: setup ## 300 connectors, hot partitions, large records, 100,000 topics
	@PYTHONPATH=tests $(BIN)/python -m load $(LOAD)

soak: setup ## two hours of steady load, with a report in build/soak
	@PYTHONPATH=tests $(BIN)/python -m load soak $(SOAK)

docs: setup ## generate the reference pages from the code
	@$(BIN)/python scripts/reference.py

tour: setup ## record the tour of the command line
	@$(BIN)/python scripts/record_tour.py

lock: ## renew the locks (needs uv)
	uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --extra dev pyproject.toml requirements/build.in -o requirements/dev.lock
	uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links pyproject.toml -o requirements/runtime.lock

sbom: setup ## what a worker is made of: build/sbom.json, CycloneDX
	@mkdir -p build
	@$(BIN)/python scripts/sbom.py > build/sbom.json
	@echo "==> build/sbom.json"

audit: ## known weaknesses of the locked packages (pip-audit) and of the code (bandit); needs a network
	@test -x .venv-audit/bin/pip-audit || ($(PYTHON) -m venv .venv-audit \
		&& .venv-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit bandit)
	@# Skipped are rules that `make check` applies as S104, S108 and S608, with a reason at each exception.
	@.venv-audit/bin/bandit --quiet --recursive src --severity-level medium --confidence-level medium --skip B104,B108,B608
	@.venv-audit/bin/pip-audit --strict --require-hashes --disable-pip --requirement requirements/runtime.lock

clean: ## remove what make made
	rm -rf $(VENV) .venv-audit build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
