# Two commands for a new user: `make scenarios` and `make test`. Both make .venv first.
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.lasttick-installed

# Some machines switch compiled Python files off, which triples the start of every command.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: venv scenarios test process mutants soak tools conformance lint types lock clean

venv: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "lasttick needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) -V 2>&1). Next: make venv PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

scenarios: $(STAMP)
	$(VENV)/bin/pytest scenarios -n 2

process: $(STAMP) # mostly waiting: more workers than processors, and who is done takes over from who is not
	$(VENV)/bin/pytest scenarios --lasttick-mode process -n 6 --dist worksteal

# Every mutant with the scenario that it names and a sample of the rest; `lasttick mutants run` plays the whole.
mutants: $(STAMP)
	$(VENV)/bin/lasttick mutants run --own 2 --others 3

soak: $(STAMP) # played only when it is named: a month of the host agent, and a day of it over HTTP
	$(VENV)/bin/pytest scenarios/soak -rP

tools: $(STAMP) # Node, the official MCP suite and the Inspector, in a folder of the user's cache
	$(VENV)/bin/lasttick conformance install

conformance: tools
	$(VENV)/bin/lasttick conformance mcp
	$(VENV)/bin/lasttick conformance mcp --system vaultclaw

test: $(STAMP)
	$(VENV)/bin/pytest tests -n 2

lint: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(STAMP)
	$(VENV)/bin/mypy

lock: # needs uv on the PATH; writes no address of a package index
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
	  pyproject.toml --all-extras --group dev -o requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis reports/runs reports/latest
