# One command each: make setup | check | test | test-slow | demo | clean. `make -s` leaves only the steps and their times.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup toolchain toolchain-cuda check style types tests test test-slow demo clean

# The first Python that is new enough; name another with `make PYTHON=/path/to/python3`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.10; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && { command -v $$p; break; }; done)
BIN := .venv/bin
STAMPS := .venv/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# Byte code is written when a module is first imported; doing it for all of torch at once costs a minute. Many container
# images forbid it, and then each start of a program compiles what it imports: torch alone 4 s. Empty means allowed.
export PYTHONDONTWRITEBYTECODE :=
PIP_INSTALL := $(PIP) install --quiet --no-compile
# What the toolchain installer needs, so that it can work while the large packages arrive.
EARLY := typer rich pydantic filelock platformdirs packaging tomli

# $(call step,name,commands): run the commands, print the time they took and the name.
define step
began=$$SECONDS; { $(2); } && printf '%5d s  %s\n' $$((SECONDS - began)) '$(1)' >&2
endef

help:
	@sed -n 's/^# One command each: //p' Makefile

# --- setting up ---------------------------------------------------------------------------------------------------
setup: $(STAMPS)/venv
	@$(MAKE) --no-print-directory -j4 $(STAMPS)/packages toolchain toolchain-cuda $(STAMPS)/system

# Debian splits venv from Python; without rights to add it, the error of venv itself says what to type.
$(STAMPS)/venv:
	@test -n '$(PYTHON)' || { echo 'no Python 3.10 or newer on PATH; install one, or run: make PYTHON=/path/to/python3 $(MAKECMDGOALS)' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || $(call apt,python3-venv) || true
	@echo 'setting up with $(PYTHON); the first time takes some minutes' >&2
	@$(call step,virtual environment,$(PYTHON) -m venv .venv && $(PIP_INSTALL) $$($(BIN)/python -c "$$EARLY_PINS" $(EARLY)))
	@mkdir -p $(STAMPS) && touch $@

# Prints the requirements of pyproject.toml for the names given, with their markers, each as one word.
define EARLY_PINS
import re, sys
text = open("pyproject.toml").read()
pins = re.findall(r'^    "([^"]+==[^"]+)"', text, re.M)
print(*(pin.replace(" ", "") for pin in pins if pin.split("==")[0] in sys.argv[1:]))
endef
export EARLY_PINS

# Imported once here, so that the tests' processes do not all compile the same packages at the same time.
FIRST_IMPORTS := import chromadb, hypothesis, libcst, mcp.server, onnxruntime, openai, pytest, sentence_transformers, wordllama

$(STAMPS)/packages: pyproject.toml | $(STAMPS)/venv
	@$(call step,packages,from=$$($(BIN)/python -m agent.toolchain.torch_index) && $(PIP_INSTALL) $$from --editable '.[dev]' && \
	  $(BIN)/python -m compileall -q agent indexer retriever && $(BIN)/python -c '$(FIRST_IMPORTS)')
	@touch $@

# No stamp: the compilers live outside this folder, and finding them there takes half a second.
toolchain: | $(STAMPS)/venv
ifdef TRITONKB_TOOLCHAIN_PYTHON
	@echo 'using the toolchain of $(TRITONKB_TOOLCHAIN_PYTHON)' >&2
else
	@$(call step,Ascend toolchain,$(BIN)/python -c 'from agent.cli.main import main; main()' toolchain install ascend >/dev/null)
endif

toolchain-cuda: | $(STAMPS)/venv
ifdef TRITONKB_CUDA_PYTHON
	@echo 'using the CUDA toolchain of $(TRITONKB_CUDA_PYTHON)' >&2
else
	@$(call step,CUDA toolchain,$(BIN)/python -c 'from agent.cli.main import main; main()' toolchain install cuda >/dev/null)
endif

# The sandbox, and the LLVM tools that run a candidate on the CPU. All are optional: what their lack means is printed.
$(STAMPS)/system: | $(STAMPS)/venv
	@command -v bwrap >/dev/null || $(call apt,bubblewrap) || \
	  echo 'no bubblewrap: strangers'\'' host code will be refused (exit 6) unless --unsafe-no-sandbox is given' >&2
	@{ command -v mlir-opt-19 && command -v clang-19; } >/dev/null || $(call apt,mlir-19-tools libmlir-19 clang-19) || \
	  echo 'no LLVM 19 tools: candidates are checked in the Triton interpreter instead of compiled CPU code' >&2
	@touch $@

# $(call apt,packages): install Debian packages, or say why not and fail.
define apt
{ if ! command -v apt-get >/dev/null; then echo 'not installed: $(1) (no apt-get here)' >&2; false; \
  elif [ "$$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then \
    echo 'not installed: $(1) (no rights; run: sudo apt-get install $(1))' >&2; false; \
  else became=$$([ "$$(id -u)" = 0 ] || echo 'sudo -n'); \
    $$became apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive $$became apt-get install -y -qq \
    -o DPkg::Lock::Timeout=300 --no-install-recommends $(1) >/dev/null || { echo 'not installed: $(1) (apt-get failed)' >&2; false; }; fi; }
endef

# --- checking -----------------------------------------------------------------------------------------------------
check: style
	@$(MAKE) --no-print-directory -j2 types tests

style:
	@$(call step,format,$(BIN)/ruff format --check --quiet .)
	@$(call step,rules,$(BIN)/ruff check --quiet .)
	@$(call step,layers,$(BIN)/lint-imports --no-cache >/dev/null || $(BIN)/lint-imports --no-cache)

types:
	@$(call step,types,$(BIN)/mypy --no-error-summary)

# Two processes more than cores: the tests wait for other programs a quarter of the time.
tests:
	@$(call step,tests,$(BIN)/pytest -q -n $$(($$(nproc) + 2)) --dist worksteal -m 'not slow and not network and not device' --cov --cov-report=term:skip-covered)

test: setup
	@$(MAKE) --no-print-directory check

test-slow: setup
	@$(BIN)/pytest -m 'slow or network'

# --- showing ------------------------------------------------------------------------------------------------------
# Fails without an index that can be read. `tritonkb index status` would also ask the compilers, for a second more.
define OPEN_INDEX
from indexer.home import data_home
from indexer.store import open_generation
open_generation(data_home() / "index")
endef
export OPEN_INDEX

demo: setup
	@$(BIN)/python -c "$$OPEN_INDEX" 2>/dev/null || $(BIN)/tritonkb index build
	@$(BIN)/tritonkb optimize examples/*.py --target ascend910b3

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage htmlcov dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
