.DEFAULT_GOAL := help
PY := .venv/bin/python
.PHONY: help run test lint bench clean

help: ## Show these commands
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

lint: .venv/ready ## Style, types and import borders
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

.venv/ready: requirements.lock pyproject.toml
	python3 -m venv .venv
	.venv/bin/pip install --quiet --requirement requirements.lock
	.venv/bin/pip install --quiet --no-deps --editable .
	@touch $@
