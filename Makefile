# Every target prepares its own .venv on a fresh machine: Python 3.11 or newer and make are all it needs.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# Tests start hundreds of processes; without bytecode, each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check e2e bench bench-cluster bench-languages bench-report counts bars fuzz soak paper recording screenshots conformance lint format docs lock clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/.runtime ## a cluster in memory without and with a wasm policy; no Kubernetes needed
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: .venv/.dev ## all tests (builds the Go and C test guests)
	@$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

# The half of the tests that needs no compiler and no child process.
QUICK := $(addprefix tests/,k8s state framework plugins scheduler explain simulation live apiserver server extender deploy \
	test_pages.py test_public_api.py test_shape.py)

check: lint ## lint and the fast half of the tests: below 90 seconds
	@$(BIN)/python -m pytest -q -n auto $(QUICK) $(ARGS)

# Compilers and no servers: test by test on all cores. The others run in two processes with servers of their own.
TOOLCHAINS := tests/e2e/projects tests/e2e/sdk

e2e: .venv/.dev ## the tests against a real API server and registries (builds them once: about 6 minutes)
	@$(BIN)/python -m tools.testbed.build
	@$(BIN)/python -m tools.testbed.registries
	@$(BIN)/python -m tools.testbed.debian_programs
	@$(BIN)/python -m tools.testbed.browser
ifeq ($(ARGS),)
	@$(BIN)/python -m pytest -n auto --dist worksteal $(TOOLCHAINS)
	@$(BIN)/python -m pytest -n 2 --dist loadfile tests/e2e $(addprefix --ignore=,$(TOOLCHAINS))
else
	@$(BIN)/python -m pytest -n0 $(if $(findstring tests/,$(ARGS)),,tests/e2e) $(ARGS)
endif

bench: .venv/.dev ## plugins in every form, beside their peers (about 18 minutes; ARGS=--quick: one)
	@$(BIN)/python -m tools.bench plugin --out .build/bench/latest.json $(ARGS)

bench-cluster: .venv/.dev ## whole scheduling, beside kube-scheduler (about 35 minutes; ARGS=--quick: two)
	@$(BIN)/python -m tools.bench scheduler --out .build/bench/latest.json $(ARGS)

bench-languages: .venv/.dev ## one policy in every language, and collectors, as tables (about 4 minutes)
	@$(BIN)/python -m tools.bench languages $(ARGS)

bench-report: .venv/.dev ## docs/benchmarks.md and its charts, from docs/benchmarks.json
	@$(BIN)/python -m tools.bench report docs/benchmarks.json --docs docs

counts: .venv/.dev ## machine-independent counts of every hot path, checked against the baseline
	@$(BIN)/python -m tools.bench counts --check tools/bench/counts.json $(ARGS)

bars: .venv/.dev ## speed and memory bars of single parts, as ratios measured side by side
	@$(BIN)/python -m tools.bench bars $(ARGS)

SECONDS ?= 60
fuzz: .venv/.dev ## generated input for every reader of untrusted bytes (SECONDS=60 in total)
	@$(BIN)/python -m tools.fuzz --seconds $(SECONDS) $(ARGS)

MINUTES ?= 30
soak: .venv/.dev ## load and attacks on a real API server: memory, threads, files and pods/s stay flat (MINUTES=30)
	@$(BIN)/python -m tools.testbed.build
	@$(BIN)/python -m tools.soak --minutes $(MINUTES) $(ARGS)

paper: .venv/.dev ## the published GPU-sharing experiment; TRACE is the folder of the trace, ARGS=--docs=docs writes the page
	@$(BIN)/python -m tools.paper $(TRACE) $(ARGS)

recording: .venv/.runtime ## the recording of the demo in docs/images: demo.cast and demo.svg
	@$(BIN)/python -m tools.recording

screenshots: .venv/.dev ## screenshots of the console in docs/images
	@$(BIN)/python -m tests.e2e.console.screenshots $(ARGS)

conformance: .venv/.dev ## guests of kube-scheduler-wasm-extension; GUESTS is a checkout of it, ARGS=--markdown a table
	@$(BIN)/python -m tools.conformance $(GUESTS) $(ARGS)

lint: .venv/.dev ## ruff, mypy --strict, import-linter, licences and use of dependencies
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports --no-logo
	@$(BIN)/mypy && cd sdk/python && ../../$(BIN)/mypy --strict -p kubewasp_sdk
	@$(BIN)/python -m tools.dependencies

format: .venv/.dev ## rewrite the sources in the project's format
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

docs: .venv/.docs ## the documentation site in .build/site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --clean $(ARGS)
	@echo "built .build/site/index.html"

lock: .venv/.dev ## pin the newest allowed dependencies
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate pyproject.toml --group build -o requirements.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate pyproject.toml --group dev -o requirements-dev.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --group docs -c requirements-dev.lock -o requirements-docs.lock

clean: ## remove everything the other targets made
	rm -rf .venv .build .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

.venv/.runtime: requirements.lock pyproject.toml
	@echo "preparing .venv (once)"
	@$(PYTHON) -c 'import sys; sys.exit("kubewasp needs Python 3.11 or newer; set PYTHON=python3.x" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

.venv/.dev: .venv/.runtime requirements-dev.lock
	@echo "installing what the tests need (once)"
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

.venv/.docs: .venv/.runtime requirements-docs.lock
	@echo "installing what the documentation needs (once)"
	@$(PIP) --require-hashes -r requirements-docs.lock
	@touch $@
