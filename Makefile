# The commands of this project, the same for people and CI. `make` lists them.
.DEFAULT_GOAL := help
# Waiting OpenMP threads that spin starve whoever shares their cores: the same scoring took four times as long.
export GOMP_SPINCOUNT := 0
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# These measure against a clock, or start all of the platform: one at a time. All others share the cores.
ALONE := tests/scoring tests/e2e tests/browser
TOGETHER := --numprocesses logical --maxprocesses 4 --dist worksteal
# Tests without a database or a broker are left out of the rounds on servers, and `make run`, which brings its own.
# Walking every address as everybody takes minutes, and asks nothing of a database that other tests do not ask.
WALKS := tests/leaderboard/standings/test_canary.py tests/leaderboard/web/test_kin.py
ALONE_ON_SERVERS := tests/e2e tests/browser --ignore tests/e2e/test_make_run.py
.PHONY: help run test lint format bench fuzz clean

help: ## show these commands
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

run: .venv/ready ## start everything at http://127.0.0.1:8000 (PORT=, ONCE=1, COMPETITION=file) and watch the baseline train
	@deploy/need bwrap bubblewrap
	@.venv/bin/python deploy/demo/run.py $(COMPETITION)

test: .venv/ready ## the whole suite; what has a database or a broker again on PostgreSQL and Redis
	@deploy/need bwrap bubblewrap
	@deploy/need chromium chromium
	@failed=0; \
	.venv/bin/python -m pytest $(TOGETHER) $(addprefix --ignore=,$(ALONE)) || failed=1; \
	.venv/bin/python -m pytest $(ALONE) || failed=1; \
	TEST_ON=servers .venv/bin/python -m pytest $(TOGETHER) tests/leaderboard $(addprefix --ignore=,$(WALKS)) || failed=1; \
	TEST_ON=servers .venv/bin/python -m pytest $(ALONE_ON_SERVERS) || failed=1; \
	exit $$failed

lint: .venv/ready ## style, types, import borders
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/djlint --profile django --lint --quiet templates

format: .venv/ready ## write the code the way lint wants it
	.venv/bin/ruff check --fix-only .
	.venv/bin/ruff format .
	.venv/bin/python deploy/readme.py

bench: .venv/ready ## speed, as ratios measured in one run
	@deploy/need bwrap bubblewrap
	@.venv/bin/python -m tests.bench

fuzz: .venv/ready ## audit a hundred thousand texts that nobody would write (N=, SEED=); what goes wrong is kept
	@.venv/bin/python -m tests.fuzz

clean: ## forget the environment and all state (database, shards, keys, runs)
	rm -rf .venv var

.venv/ready: requirements.lock pyproject.toml
	@echo "· Libraries (about 3 GB to download, 5 GB on disk; installing them is silent for a minute at the end)"
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info[:2] == (3, 11) else "Python 3.11 is needed; this is " + sys.version)'
	@$(PYTHON) -m venv .venv || { echo "Python cannot make environments. Type this once:  sudo apt-get install -y python3.11-venv" >&2; exit 1; }
	.venv/bin/pip install --disable-pip-version-check --requirement requirements.lock
	@echo "· This project"
	.venv/bin/pip install --disable-pip-version-check --quiet --no-deps --editable .
	@touch $@
