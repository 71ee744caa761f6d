# Gameway on a fresh Debian or Ubuntu with Python >= 3.11 and Rust. `make help` lists what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .make
RUST := $(shell find crates -type f) Cargo.toml Cargo.lock
PYTHON_CODE := python $(wildcard tools)
# What `make reproduce` runs: the suites that are there.
SUITES := $(foreach suite,pudica rmcat scoreboard feedback pudica-readings classifier ecgp ecgp-cellular voap,$(notdir $(wildcard experiments/$(suite))))
NAME ?= $(SUITES)
RESULT := results/demo

.PHONY: help setup demo test lint quick-lint rust-test fuzz-smoke python-test bench reproduce clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

setup: $(STAMPS)/develop ## build everything into .venv and target

demo: $(STAMPS)/develop ## run the demo experiment and write its report
	@# Results of an older build or of an older demo are not resumed but made anew.
	@if [[ ! $(RESULT)/manifest.json -nt $(STAMPS)/develop || \
	       ! $(RESULT)/manifest.json -nt experiments/demo/experiment.toml ]]; then rm -rf $(RESULT); fi
	$(BIN)/gameway run experiments/demo/experiment.toml --out $(RESULT)

reproduce: $(STAMPS)/develop ## run the suites, published beside ours; one experiment: make reproduce NAME=...
	@for name in $(NAME); do echo "== $$name"; $(BIN)/gameway reproduce $$name; done

# What fails soonest comes first; pytest comes last, its summary line ends the output.
test: quick-lint lint rust-test fuzz-smoke python-test ## everything that must hold

quick-lint: $(STAMPS)/venv
	cargo fmt --all --check
	$(BIN)/ruff check $(PYTHON_CODE)
	$(BIN)/ruff format --check $(PYTHON_CODE)

lint: quick-lint $(STAMPS)/develop ## formatting, lints, types, stubs
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/mypy python/gameway $(wildcard tools)
	$(BIN)/python -m mypy.stubtest gameway._core --concise

rust-test: lint
	cargo test --workspace --quiet

fuzz-smoke: rust-test
	fuzz/smoke

python-test: fuzz-smoke $(STAMPS)/test-tools
	$(BIN)/pytest

bench: ## speed and memory of the simulator, then the parts of the packet path
	cargo run --release --quiet -p gameway-sim --example speed
	cargo bench --workspace

clean: ## remove what was built; results stay
	rm -rf $(VENV) $(STAMPS) target python/gameway/_core*.so python/gameway/experiments

$(STAMPS):
	@mkdir -p $@

$(STAMPS)/tools: | $(STAMPS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@command -v cargo > /dev/null || \
	  { echo "Rust is needed: https://rustup.rs, then open a new shell" >&2; exit 1; }
	tools/need "$(PYTHON) -c 'import ensurepip, venv'=python3-venv" cc=build-essential c++=build-essential
	@touch $@

# The reader of users' videos is checked against FFmpeg's own.
$(STAMPS)/test-tools: | $(STAMPS)
	tools/need ffmpeg=ffmpeg
	@touch $@

$(STAMPS)/venv: requirements.lock | $(STAMPS)/tools
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	@touch $@

$(STAMPS)/develop: $(STAMPS)/venv pyproject.toml $(RUST)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) PIP_QUIET=1 $(BIN)/maturin develop --release --quiet
	@touch $@
