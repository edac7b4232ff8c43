# Leitstand's commands. `make help` lists them.

VENV := .venv
PYTHON_DIRS := src tests scripts $(wildcard bench)
DURATION ?= 600
WORKERS ?= 2
MIGRATIONS := src/leitstand/store/migrations/versions

# Stamps of an environment that was made elsewhere (a copied or moved directory) do not count.
ifneq ($(file <$(VENV)/place),$(CURDIR))
$(shell rm -f $(VENV)/run.stamp $(VENV)/dev.stamp)
endif

.DEFAULT_GOAL := help
.PHONY: help run test lint lint-style lint-types lint-imports lint-sql pytest bench chaos schema clean
.PHONY: packages-run packages-test

help: ## list the commands
	@sed -n 's/^\([a-z]*\): .*## \(.*\)/make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

run: $(VENV)/run.stamp packages-run ## set everything up and start Leitstand (options: make run ARGS="--config FILE")
	@exec $(VENV)/bin/leitstand serve $(ARGS)

test: lint pytest ## all checks and all tests (some: make test TESTS=tests/jobs)

lint: lint-style lint-types lint-imports lint-sql ## the checks alone: style, types, imports, SQL

bench: $(VENV)/dev.stamp packages-test ## measure against other programs on this machine
	@$(VENV)/bin/python -m bench $(ARGS)

chaos: $(VENV)/dev.stamp ## the long campaign of faults (DURATION=600 SEED=1 PEER=procrastinate)
	@DURATION=$(DURATION) SEED=$(SEED) PEER=$(PEER) $(VENV)/bin/python -m tests.chaos

schema: $(VENV)/dev.stamp ## write store/schema.sql anew from the migrations
	@$(VENV)/bin/python -m scripts.write_schema

clean: ## remove the environment and all caches; data (var) stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find $(PYTHON_DIRS) -name __pycache__ -prune -exec rm -rf {} +

lint-style: $(VENV)/dev.stamp
	@$(VENV)/bin/ruff check --quiet $(PYTHON_DIRS)
	@$(VENV)/bin/ruff format --quiet --check $(PYTHON_DIRS)

lint-types: $(VENV)/dev.stamp
	@$(VENV)/bin/mypy --no-error-summary $(PYTHON_DIRS)

lint-imports: $(VENV)/dev.stamp
	@scripts/quietly $(VENV)/bin/lint-imports

lint-sql: $(VENV)/dev.stamp
	@scripts/quietly $(VENV)/bin/sqlfluff lint --disable-progress-bar src
	@scripts/quietly $(VENV)/bin/squawk $(MIGRATIONS)/*.sql

# The tests' directories go below one of their own, which vanishes with them. Its path is short:
# a PostgreSQL socket's may have 107 bytes. The workers are for two cores; with more, try WORKERS=8.
pytest: $(VENV)/dev.stamp packages-test
	@place=$$(mktemp -d /tmp/ls-XXXXXX) && trap 'rm -rf "$$place"' EXIT && \
	$(VENV)/bin/pytest -q --no-header -n $(WORKERS) --dist worksteal -p no:cacheprovider --basetemp "$$place/t" $(TESTS)

packages-run packages-test: packages-%:
	@scripts/system-packages $*

$(VENV)/run.stamp: requirements.lock pyproject.toml scripts/environment
	@scripts/environment requirements.lock
	@touch $@

# What the tests need is a superset, so that `make run` after `make test` has nothing to do.
$(VENV)/dev.stamp: requirements-dev.lock pyproject.toml scripts/environment
	@scripts/environment requirements-dev.lock
	@touch $@ $(VENV)/run.stamp
