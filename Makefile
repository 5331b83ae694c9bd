# Everything runs in a virtual environment of its own, made on first use from pinned versions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV_READY := $(VENV)/.ready-dev
CLIENTS := tests/clients/node_modules/.package-lock.json
PAGE := tests/page/node_modules/.package-lock.json
# Tests wait too: three processes for two cores. A part of them is not worth as many: each process
# first imports everything.
WORKERS ?= $(if $(ARGS),2,3)
# Whole servers that are measured, killed, replaced or upgraded, each kind of model server, each
# version of MCP servers, each public graph stopped everywhere, what texts cost each pattern, and
# what an installation is made of: only in the full run.
WHOLE := tests/attacks/test_patterns.py tests/attacks/test_tools_schema_costs.py \
	tests/attacks/test_watchdog.py tests/browser/test_costly_text.py \
	tests/browser/test_words_and_crashes.py tests/clients/test_examples.py \
	tests/graphs/test_zoo_stopped.py tests/http/test_approvals_killed.py \
	tests/http/test_deploy_workers.py tests/http/test_endpoint_of_providers.py \
	tests/http/test_extensions_killed.py tests/http/test_feedback_forwarding.py \
	tests/http/test_traces.py tests/http/test_unread.py tests/http/test_upgrade.py \
	tests/http/test_workers.py tests/project/test_docs_site.py tests/project/test_imports.py \
	tests/runs/test_every_provider.py tests/tools/test_mcp_servers.py
# The full run is that of CI; tests that are named run too.
TESTS := $(if $(ARGS)$(CI),,-m "not full" $(addprefix --ignore ,$(WHOLE)))
# It measures: in a long run it has the machine to itself.
ALONE := tests/attacks/test_watchdog.py
# A thin slice of what `make quick` leaves to `make test`: HTTP, the page, a client.
SLICE := tests/http/test_chat.py tests/http/test_stop.py tests/browser/test_streaming.py \
	tests/clients/test_use_chat.py
# Texts that cost a page much cost their tests too; so do several workers.
COSTLY := tests/page/blocks.test.mjs tests/page/highlight.test.mjs tests/page/test_unseen.py \
	tests/runs/test_other_workers.py
NPM_BIN := tests/page/node_modules/.bin
PAGE_FILES := static/js static/components static/css static/index.html static/build.mjs tests/page/*.mjs \
	tests/page/*.json
PURE := $(filter-out $(COSTLY),$(wildcard tests/page/*.test.mjs))
# The folders under the names that they are imported by: with the package's own file for mypy, and
# without it for the import contracts, whose roots are the folders.
LINKS := build/links
PACKAGE := build/package
# Extras that an image has: what a setting may ask for.
IMAGE_EXTRAS := anthropic google-genai ollama mcp metrics traces workers jwt
SEEDS ?= 1 2 3 4 5
PYTEST := $(BIN)/python -m pytest
# Test processes that may keep no compiled files would each compile everything.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run page quick test test-long test-versions races check docs licences audit sbom requirements dist fuzz bench trace soak chaos fleet-check clean

run: $(READY)  ## serve the app on http://127.0.0.1:8000
	$(BIN)/python -P -m turnstream.server $(ARGS)

page: $(PAGE)  ## build the page: static/dist, which is committed and served
	node static/build.mjs

quick: $(DEV_READY) $(CLIENTS)  ## after each edit: rules, formats, runs, and a slice of the rest
	$(PYTEST) -n 3 -m "not full and not long" --ignore-glob "tests/runs/test_*postgres*" \
		$(addprefix --ignore ,$(COSTLY) $(WHOLE)) tests/unit tests/page tests/formats tests/runs $(SLICE)

test: $(DEV_READY) $(if $(ARGS),,$(CLIENTS))  ## every test; long ones try a sample
	$(PYTEST) -n $(WORKERS) $(TESTS) $(ARGS)

test-long: $(DEV_READY) $(if $(ARGS),,$(CLIENTS))  ## the long tests, with all that they can try
	LONG_TESTS=1 $(PYTEST) -n $(WORKERS) -m long --timeout 600 $(if $(ARGS),$(ARGS),--ignore $(ALONE))
	$(if $(ARGS),,LONG_TESTS=1 $(PYTEST) -m long --timeout 600 $(ALONE))

races: $(DEV_READY) $(CLIENTS)  ## the whole suite in random order on a busy machine, for SEEDS="1 2 3 4 5"
	for seed in $(SEEDS); do \
		$(BIN)/python -c "while True: pass" & load=$$!; \
		CI=true $(PYTEST) -n 4 -p randomly --randomly-seed $$seed $(ARGS); outcome=$$?; \
		kill $$load; [ $$outcome = 0 ] || exit $$outcome; \
	done

# Its tests are those that fail most often after an edit; the full run has them anyway.
check: $(DEV_READY) $(PAGE)  ## lint, types, import contracts; the page's too, and whether it is built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	mkdir -p $(LINKS)/turnstream $(PACKAGE)/turnstream
	ln -sfn $(addprefix $(CURDIR)/,server graphs tools) $(LINKS)/turnstream
	ln -sfn $(addprefix $(CURDIR)/,server graphs tools .package/__init__.py) $(PACKAGE)/turnstream
	$(BIN)/mypy
	PYTHONPATH=$(LINKS) $(BIN)/lint-imports --no-cache
	$(if $(CI),,$(PYTEST) -q tests/unit/test_house.py tests/unit/test_options.py)
	node static/build.mjs --check
	$(NPM_BIN)/prettier --config tests/page/.prettierrc.json --log-level warn --check $(PAGE_FILES)
	$(NPM_BIN)/eslint --config tests/page/eslint.config.mjs static/js static/components static/build.mjs tests/page
	node tests/page/types.mjs
	$(if $(CI),,node --import ./tests/page/modules.mjs --test-reporter dot --test $(PURE))

docs: $(DEV_READY)  ## the documentation as a site in build/site; a broken link fails
	$(BIN)/python -m tests.support.docs_site

test-versions: $(DEV_READY)  ## a slice on each Python that is installed, and the oldest and newest LangGraph
	$(BIN)/python -m tests.support.versions $(ARGS)

licences: $(DEV_READY)  ## the licence of each package; one that is not accepted fails
	$(BIN)/python -m tests.support.packages

audit: $(DEV_READY)  ## known vulnerabilities of the pinned packages of Python and npm
	[ -x build/audit/bin/pip-audit ] || { $(PYTHON) -m venv build/audit && \
		build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit; }
	$(BIN)/python -m tests.support.advisories build/audit/bin/pip-audit

sbom: $(DEV_READY)  ## build/turnstream.cdx.json: what the server is made of, as CycloneDX
	$(BIN)/python -m tests.support.packages sbom

requirements:  ## docs/deploy/requirements.txt: the packages of the image, with their hashes
	[ -x build/hashes/bin/uv ] || { $(PYTHON) -m venv build/hashes && \
		build/hashes/bin/python -m pip install --quiet --disable-pip-version-check uv; }
	echo 'setuptools>=77' | build/hashes/bin/uv pip compile --quiet --no-config --generate-hashes \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links --python-version 3.11 \
		--python-platform x86_64-manylinux_2_28 --constraints constraints.txt \
		$(addprefix --extra ,$(IMAGE_EXTRAS)) --output-file docs/deploy/requirements.txt pyproject.toml -

dist: $(DEV_READY)  ## wheel and source distribution in build/dist, the same bytes each time
	$(BIN)/python -m tests.support.distributions

fuzz: $(DEV_READY)  ## requests made of the OpenAPI document, without end; ARGS="--max-time 60" ends them
	$(BIN)/python -m tests.fuzz $(ARGS)

bench: $(DEV_READY)  ## cost against a bare loop over graph.astream, as ratios
	$(BIN)/python -m tests.benchmarks $(ARGS)

trace: $(DEV_READY)  ## the files of ours that a turn passes; ARGS=--files names them
	$(BIN)/python -m tests.benchmarks.trace $(ARGS)

soak: $(DEV_READY)  ## a server under a mix of use, for ARGS="--minutes 10" or a simulated ARGS=--week
	$(BIN)/python -m tests.benchmarks.soak $(ARGS)

chaos: $(DEV_READY)  ## servers under random use while they are killed and cut off, for ARGS="--minutes 10"
	$(BIN)/python -m tests.chaos $(ARGS)

fleet-check: $(DEV_READY)  ## build the solar data set anew and compare it with the one that is shipped
	$(PIP) --editable '.[dev,data]'
	$(BIN)/python -P -m turnstream.tools.solar.build --check

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "turnstream needs Python 3.11 or later: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	@touch $@

$(DEV_READY): $(READY)
	$(PIP) --editable '.[dev]'
	@touch $@

$(CLIENTS): tests/clients/package-lock.json | $(DEV_READY)
	@$(BIN)/python -m tests.support.npm tests/clients

$(PAGE): tests/page/package-lock.json | $(DEV_READY)
	@$(BIN)/python -m tests.support.npm tests/page

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
