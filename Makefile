# Gameway on a fresh Debian or Ubuntu with Python >= 3.11 and Rust. `make help` lists what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
# Hundreds of processes of tests would compile all modules, each anew.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .make
RUST := $(shell find crates -type f) Cargo.toml Cargo.lock
PYTHON_CODE := python experiments $(wildcard tools)
# What `make reproduce` runs: the suites that are there.
SUITES := $(foreach suite,pudica rmcat scoreboard feedback pudica-readings classifier ecgp ecgp-cellular voap gateway xu-claypool-dash,$(notdir $(wildcard experiments/$(suite))))
NAME ?= $(SUITES)
RESULT := results/demo
# What the live demo streams: the built-in scene, or a game.
SOURCE := scene
LIVE_RESULT = $(RESULT)-live$(if $(filter game,$(SOURCE)),-game)

# What the build takes in beside the simulator: the encoders x264 and x265 and FFmpeg's decoder where their headers are
# (all are under the GPL as distributions build them, so a module built with one may be given to others under the GPL only),
# capture of X11 screens, the sound's codec Opus where CMake is, which builds it, and capture of Wayland screens where the headers of
# PipeWire and libdbus are.
FEATURES = x11$(shell command -v cmake > /dev/null && echo ,opus)$(shell pkg-config --exists x264 2> /dev/null && command -v clang > /dev/null && echo ,x264)$(shell pkg-config --exists libavcodec libavutil 2> /dev/null && command -v clang > /dev/null && echo ,libav)$(shell pkg-config --exists "x265 < 4" 2> /dev/null && command -v clang > /dev/null && echo ,x265)$(shell pkg-config --exists libpipewire-0.3 dbus-1 2> /dev/null && command -v clang > /dev/null && echo ,wayland)
COMMA := ,
CARGO_FEATURES = $(foreach feature,$(subst $(COMMA), ,$(FEATURES)),gameway-python/$(feature))
RUST_TEST = cargo test --release --workspace --quiet --features "$(CARGO_FEATURES)"
MATURIN = VIRTUAL_ENV=$(CURDIR)/$(VENV) PIP_QUIET=1 $(BIN)/maturin develop --release --quiet
# What simulates: the whole build where there is one, else one without live streams, of less than half the work.
SIMULATOR := $(if $(wildcard $(STAMPS)/compiled),$(STAMPS)/develop,$(STAMPS)/simulator)
# What a live run needs: PROGRAM=PACKAGE for tools/need.
LIVE_TOOLS := ip=iproute2 ethtool=ethtool iperf3=iperf3 ping=iputils-ping nft=nftables nsenter=util-linux \
  sysctl=procps cmake=cmake nasm=nasm clang=clang "ls /usr/lib/llvm-*/lib/libclang*.so*"=libclang-dev \
  pkg-config=pkg-config "pkg-config --exists x264"=libx264-dev \
  "pkg-config --exists x265"=libx265-dev \
  "pkg-config --exists libavcodec"=libavcodec-dev "pkg-config --exists libavutil"=libavutil-dev \
  "pkg-config --exists libpipewire-0.3"=libpipewire-0.3-dev "pkg-config --exists dbus-1"=libdbus-1-dev
# The game of the live demo, and a screen for it.
GAME_TOOLS := Xvfb=xvfb "test -x /usr/games/crispy-doom"=crispy-doom \
  "test -f /usr/share/games/doom/freedoom2.wad"=freedoom
# What tests look through or compare with. Ubuntu has no firefox-esr, and its firefox is a snap: there such tests are skipped.
FIREFOX = $(shell apt-cache show firefox-esr > /dev/null 2>&1 && echo firefox-esr=firefox-esr)
TEST_TOOLS := ffmpeg=ffmpeg tshark=tshark tcpdump=tcpdump chromium=chromium xvfb-run=xvfb \
  "test -x /usr/sbin/nginx"=nginx-light "ls /usr/lib/*/faketime/libfaketimeMT.so.1"=libfaketime \
  pulseaudio=pulseaudio pactl=pulseaudio-utils setxkbmap=x11-xkb-utils xterm=xterm xclip=xclip mke2fs=e2fsprogs turnserver=coturn "test -x /usr/sbin/miniupnpd"=miniupnpd-nftables ss=iproute2 \
  sway=sway swaybg=swaybg wl-copy=wl-clipboard pipewire=pipewire wireplumber=wireplumber dbus-run-session=dbus-daemon \
  "test -x /lib/systemd/systemd-udevd"=udev "ls /usr/lib/*/libinput.so.10"=libinput10 \
  "test -x /usr/libexec/xdg-desktop-portal-wlr"=xdg-desktop-portal-wlr "test -x /usr/libexec/xdg-desktop-portal"=xdg-desktop-portal \
  "ls /usr/lib/*/libSDL2-2.0.so.0"=libsdl2-2.0-0 $(GAME_TOOLS)
# Crates that could be published: who uses one needs none of the others' parts of this program.
CORE := $(addprefix --package=gameway-,units control media session tcp quic dash path gateway input events experiment sim)
# From where on `make mutants` looks at what changed.
SINCE ?= HEAD~1
# How often `make properties` draws new cases.
ROUNDS ?= 10
# The player of live videos, as the package has it.
DASH_JS := python/gameway/live/video/dash.js
# The pages that a host and a gateway serve, as the crates have them.
PAGE := crates/product/webrtc/src/page.html
GATEWAY_PAGE := crates/product/router/src/page.html

.PHONY: help setup demo demo-live conformance play figures nat page machine-tools packages mutants properties test ready lint quick-lint slow-lint rust-lint python-lint page-lint rust-build fuzz-smoke light-stage beside-light light-test core-test untimed-stage product-test python-test timed-stage beside-timed timed-test suite-test alone-test long bench soak soak-live gateway reproduce clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

setup: $(STAMPS)/develop $(STAMPS)/test-packages $(DASH_JS) ## build everything into .venv and target

demo: ## run the demo experiment and write its report
	@$(MAKE) --no-print-directory --jobs=2 $(SIMULATOR)
	@# Results of an older build or of an older demo are not resumed but made anew.
	@if [[ ! $(RESULT)/manifest.json -nt $(SIMULATOR) || \
	       ! $(RESULT)/manifest.json -nt experiments/demo/experiment.toml ]]; then rm -rf $(RESULT); fi
	$(BIN)/gameway run experiments/demo/experiment.toml --out $(RESULT)

# SOURCE=game streams a real game instead of the built-in scene.
demo-live: ## the same on real packets, with a real encoder and the kernel's TCP; needs root
	@$(MAKE) --no-print-directory $(STAMPS)/live-tools $(if $(filter game,$(SOURCE)),$(STAMPS)/game)
	@$(MAKE) --no-print-directory --jobs=2 $(STAMPS)/live
	@# Of an older build or demo: made anew, as above.
	@if [[ ! $(LIVE_RESULT)/manifest.json -nt $(STAMPS)/develop || \
	       ! $(LIVE_RESULT)/manifest.json -nt experiments/demo-live/experiment.toml ]]; then rm -rf $(LIVE_RESULT); fi
	$(BIN)/gameway run experiments/demo-live/experiment.toml --on live --out $(LIVE_RESULT) \
	  $(if $(filter game,$(SOURCE)),--source x11:experiments/demo-live/game)

conformance: $(STAMPS)/live ## the same scenarios on both drivers, side by side; 100 minutes, needs root
	$(BIN)/gameway run tests/conformance --on live
	$(BIN)/gameway report results/conformance-live --check

play: $(STAMPS)/live $(STAMPS)/test-tools $(STAMPS)/test-packages ## Chromium plays each controller for a minute at two rates, and through losses, on a quiet machine; 50 minutes
	GAMEWAY_PLAY_SECONDS=60 $(BIN)/pytest -q python/tests/test_live_play.py python/tests/test_live_ladder.py python/tests/test_live_adaptive.py

# Each test prints what its page of docs has.
figures: $(STAMPS)/live $(STAMPS)/test-tools $(STAMPS)/machine-tools $(STAMPS)/test-packages ## what docs/play.md measured, anew, on a quiet machine; 15 minutes
	GAMEWAY_PHOTON_PRESSES=60 GAMEWAY_INPUT_PRESSES=100 GAMEWAY_FIRST_PICTURES=7 GAMEWAY_DRAWING_SECONDS=20 GAMEWAY_GAMEPAD_ROUNDS=40 \
	GAMEWAY_FIGURES_SECONDS=30 GAMEWAY_LAB_SECONDS=32 GAMEWAY_LAB_CONTROLLERS="pudica gcc scream nada copa sqp salsify" \
	  $(BIN)/pytest -q -s $(patsubst %,python/tests/test_live_%.py,photon input first_picture drawing gamepad page lab) \
	  -k "photon or a_key_is_seen or first_picture or drawing or gamepad or figures_take or agrees"

nat: $(STAMPS)/live $(STAMPS)/test-tools $(STAMPS)/test-packages ## Chromium and a host behind routers of every kind, each with each; 6 minutes, needs root
	GAMEWAY_NAT=1 $(BIN)/pytest -q -s python/tests/test_nat.py

page: $(STAMPS)/page-packages ## build the pages that a host and a gateway serve from web/page; the built files are committed
	npm run --prefix web/page --silent build -- --logLevel warn
	npm run --prefix web/page --silent build-gateway -- --logLevel warn

machine-tools: $(STAMPS)/machine-tools ## a virtual machine for tests that need another kernel: QEMU, and Debian's kernel in .make

packages: $(STAMPS)/develop $(STAMPS)/test-packages $(DASH_JS) ## the packages that users install, as they get them: from nothing; needs a package index
	$(BIN)/pytest -q python/tests/packages_by_pip.py
	cargo package --no-metadata --allow-dirty --quiet --target-dir target/packages $(CORE)

# Statically linked with musl, so that it runs on any Linux of its processor: x86-64, or another with TARGET=aarch64-unknown-linux-musl or
# TARGET=armv7-unknown-linux-musleabihf.
TARGET ?= x86_64-unknown-linux-musl
gateway: | $(STAMPS)/tools ## the home gateway as one static program, for TARGET; needs that target of rustup, and clang
	@rustup target list --installed | grep -qx "$(TARGET)" || \
	  { echo "Rust's library for $(TARGET) is needed: rustup target add $(TARGET)" >&2; exit 1; }
	tools/need clang=clang
	RUSTFLAGS="-C strip=symbols$(if $(filter-out $(shell uname -m)-%,$(TARGET)), -C linker=rust-lld)" \
	  cargo build --release --quiet --package gameway-router --target $(TARGET)
	@ls -l target/$(TARGET)/release/gameway-gateway

reproduce: $(SIMULATOR) ## run the suites, published beside ours; one experiment: make reproduce NAME=...
	@for name in $(NAME); do echo "== $$name"; $(BIN)/gameway reproduce $$name; done

# What fails soonest comes first; pytest comes last, its summary line ends the output.
test: quick-lint ready light-stage untimed-stage timed-stage alone-test ## everything that must hold

# From nothing, all packages come while the module is compiled. Tests of times take the gateway's program.
ready: $(STAMPS)/live-tools
	@$(MAKE) --no-print-directory --jobs=3 $(STAMPS)/compiled $(STAMPS)/test-packages $(STAMPS)/test-tools $(STAMPS)/machine-tools $(DASH_JS) \
	  $(STAMPS)/page-packages
	@$(MAKE) --no-print-directory $(STAMPS)/live
	cargo build --release --workspace --quiet --features "$(CARGO_FEATURES)" --bin gameway-gateway

quick-lint: $(STAMPS)/venv
	cargo fmt --all --check
	$(BIN)/ruff check $(PYTHON_CODE)
	$(BIN)/ruff format --check $(PYTHON_CODE)

# All with --release: libraries in C, build scripts and macros are then those of the module, and are not built a second time.
lint: quick-lint slow-lint ## formatting, lints, types, stubs

slow-lint: $(STAMPS)/live $(STAMPS)/test-packages
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target page-lint rust-lint python-lint

rust-lint:
	cargo clippy --release --workspace --all-targets --quiet --features "$(CARGO_FEATURES)" -- -D warnings
	cargo clippy --release --quiet --package gameway-python --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --release --no-deps --quiet $(CORE)
	cargo package --no-verify --no-metadata --allow-dirty --quiet $(CORE)

python-lint:
	$(BIN)/mypy python/gameway $(wildcard tools)
	@rm -rf $(STAMPS)/typed; mkdir -p $(STAMPS)/typed/experiments
	@# The code of experiments, under names that mypy takes: a module's has no hyphen.
	@for page in experiments/*/page.py; do folder=$${page%/page.py}; name=$${folder##*/}; \
	  ln -s $(CURDIR)/$$folder $(STAMPS)/typed/experiments/$${name//-/_}; done
	MYPYPATH=$(STAMPS)/typed $(BIN)/mypy --explicit-package-bases $(STAMPS)/typed/experiments
	@# Tests may count with what a table gives, and take a module's own imports from it. Other settings need a cache of their own.
	MYPYPATH=$(STAMPS)/typed:python/tests $(BIN)/mypy --cache-dir=$(STAMPS)/mypy-tests --explicit-package-bases --implicit-reexport \
	  --allow-untyped-calls --no-warn-return-any --no-warn-unused-ignores \
	  --disable-error-code operator --disable-error-code union-attr \
	  python/tests/*.py $(STAMPS)/typed/experiments/*/tests/*.py
	@# The stub alone: beside its package all that imports it would be analysed, too, in 12 processor seconds in place of 1.
	@rm -rf $(STAMPS)/stubs; mkdir -p $(STAMPS)/stubs/gameway; touch $(STAMPS)/stubs/gameway/__init__.pyi
	@ln -s $(CURDIR)/python/gameway/_core.pyi $(STAMPS)/stubs/gameway
	MYPYPATH=$(STAMPS)/stubs $(BIN)/python -m mypy.stubtest gameway._core --concise

# Formatting, lints, types, unit tests; and what is committed is what the sources make.
page-lint: $(STAMPS)/page-packages
	npm run --prefix web/page --silent check
	npm run --prefix web/page --silent build -- --logLevel warn --outDir dist
	npm run --prefix web/page --silent build-gateway -- --logLevel warn --outDir dist/gateway
	@cmp web/page/dist/page.html $(PAGE) || { echo "$(PAGE) is not what web/page makes: run make page" >&2; exit 1; }
	@cmp web/page/dist/gateway/page.html $(GATEWAY_PAGE) || \
	  { echo "$(GATEWAY_PAGE) is not what web/page makes: run make page" >&2; exit 1; }

rust-build: slow-lint
	$(RUST_TEST) --no-run

# Of the crates as the module has them; `make long` compiles them with counters, by which inputs are guided.
fuzz-smoke: $(STAMPS)/live
	SMALL=1 SECONDS_EACH=1 fuzz/smoke

# Tests of times mostly wait. What they leave of the cores goes to what computes. Who is idle and holds a lock of the kernel could hold up
# others, so tests that make network namespaces have a stage of their own.
IDLE = @tools/idle $(MAKE) --no-print-directory --jobs=1

light-stage: ready
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target light-test beside-light

beside-light:
	$(IDLE) slow-lint rust-build core-test

untimed-stage: light-stage
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target product-test python-test

timed-stage: untimed-stage
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target timed-test beside-timed

beside-timed:
	@# Fuzzing is bounded by time, so it lasts no longer while tests of times run. What computes comes after it.
	$(IDLE) fuzz-smoke suite-test

# The same cases each time, so that a failure comes from a change; `make properties` looks for new ones. What tests start is told
# nothing of this make.
CASES = MAKEFLAGS= PROPTEST_RNG_SEED=20261126 GAMEWAY_PYTHON=$(CURDIR)/$(BIN)/python
# The documentation's examples are no programs of tests; nor are fuzz targets, which `--bins` would run.
RUN_TESTS = --tests --config 'target."cfg(all())".runner = ["$(CURDIR)/tools/of-crates", "$(1)"]'
COMPUTING := crates/core crates/lab/sim

core-test: $(STAMPS)/live ## the tests in Rust of what only computes: of the core and of the simulator
	$(CASES) $(RUST_TEST) $(call RUN_TESTS,$(COMPUTING))

product-test: $(STAMPS)/live $(STAMPS)/test-tools ## the other tests in Rust, and the examples in the documentation of all crates
	$(CASES) $(RUST_TEST) $(call RUN_TESTS,not $(COMPUTING))
	$(CASES) $(RUST_TEST) --doc

# Many tests wait for other processes or for the clock, so there are three times as many at once as cores, and those that wait come
# first (python/tests/conftest.py); a file's are in one process. Where they and those of Rust want a core, those of Rust have it: their
# programs run one after the other.
UNTIMED = MAKEFLAGS= nice -n 5 $(BIN)/pytest -m "not timed and not long" --hypothesis-profile=ci --dist=loadfile --no-loadscope-reorder
# Their tests only simulate, and make reports.
COMPUTING_TESTS := experiments $(patsubst %,python/tests/test_%.py,compare every_axis report)

python-test: ready ## the tests in Python that are not of times, but for those that only compute
	$(UNTIMED) python/tests $(addprefix --ignore=,$(COMPUTING_TESTS)) --numprocesses=$$((3 * $$(nproc)))

suite-test: ready ## those that only compute: of the experiments that come with Gameway, and of reports
	$(UNTIMED) $(COMPUTING_TESTS) --numprocesses=$$(nproc)

# Each test of times has half a core, a core, or the machine for itself, by what it uses. Browsers take a core: one test of them at a
# time (python/tests/conftest.py).
light-test: ready ## the tests of times that use half a core each
	MAKEFLAGS= $(BIN)/pytest -m "timed and not long and light" --numprocesses=$$((2 * $$(nproc))) --dist=loadscope --no-loadscope-reorder

timed-test: ready ## the other tests of times that share the machine: of frames and browsers
	MAKEFLAGS= $(BIN)/pytest -m "timed and not long and not light and not alone" --numprocesses=$$(nproc) --dist=loadscope --no-loadscope-reorder

# The tests of times that need the machine for themselves.
alone-test: timed-stage
	$(BIN)/pytest -m "timed and not long and alone"

long: ready ## tests of which `make test` runs a shorter form: of Python, of encoders, and fuzzing
	$(BIN)/pytest -m long
	$(RUST_TEST) --test all --test browser -- --ignored every_ chromium_plays a_day_
	fuzz/smoke

# A mutant that survives is a line that no test of its crate holds. Each takes a build and the tests of a crate: seconds in
# `units`, minutes in `sim`.
mutants: $(STAMPS)/mutants ## mutation tests of what changed in the core crates since SINCE, the commit before by default
	@mkdir -p target
	git diff --relative $(SINCE) -- crates/core > target/mutants.diff
	PATH="$(CURDIR)/$(STAMPS)/mutants-bin/bin:$$PATH" cargo mutants --in-diff target/mutants.diff --no-shuffle --output target

# A case that fails is kept in proptest-regressions and tried first from then on: it belongs into the commit that mends it.
properties: $(STAMPS)/test-packages ## property tests on ROUNDS times as many new cases (10)
	for round in $$(seq $(ROUNDS)); do \
	  echo "round $$round of $(ROUNDS)"; \
	  PROPTEST_CASES=4096 GAMEWAY_PYTHON=$(CURDIR)/$(BIN)/python cargo test --release --quiet --no-fail-fast $(CORE) \
	    --package=gameway-codec --package=gameway-webrtc --package=gameway-stream; \
	done

bench: ## speed and memory of the simulator, then the parts of the packet path
	cargo run --release --quiet -p gameway-sim --example speed
	cargo bench --workspace

soak: ## eight simulated hours with each controller: memory, delay and bitrate stay; a quarter of an hour
	cargo run --release --quiet -p gameway-sim --example soak

soak-live: $(STAMPS)/live $(STAMPS)/test-tools $(STAMPS)/test-packages ## the same live: Chromium and our client play for an hour; nothing leaks, nothing creeps
	GAMEWAY_SOAK_SECONDS=3600 $(BIN)/pytest -q -s python/tests/test_live_soak.py

clean: ## remove what was built; results stay
	rm -rf $(VENV) $(STAMPS) target python/gameway/_core*.so python/gameway/experiments \
	  web/page/node_modules web/page/dist web/player/node_modules $(DASH_JS) $(DASH_JS).LICENSE.md

$(STAMPS):
	@mkdir -p $@

$(STAMPS)/tools: | $(STAMPS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@command -v cargo > /dev/null || \
	  { echo "Rust is needed: https://rustup.rs, then open a new shell" >&2; exit 1; }
	tools/need "$(PYTHON) -c 'import ensurepip, venv'=python3-venv" cc=build-essential c++=build-essential
	@touch $@

$(STAMPS)/mutants: | $(STAMPS)/tools
	cargo install --quiet --locked --root $(STAMPS)/mutants-bin cargo-mutants --version 27.1.0
	@touch $@

# The reader of users' videos is checked against FFmpeg's own.
$(STAMPS)/test-tools: | $(STAMPS)
	tools/need $(TEST_TOOLS) $(FIREFOX)
	@touch $@

# A machine whose kernel has what this one's may lack, such as uinput: python/tests/machine.py.
$(STAMPS)/machine-tools: tools/machine | $(STAMPS)/test-tools
	tools/machine
	@touch $@

# What builds comes first, so that packages can be fetched while it does (make --jobs=2), and what tells of a slip within a second.
$(STAMPS)/venv: requirements.lock requirements-test.lock | $(STAMPS)/tools
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $$(grep --no-filename --regexp='^maturin==' --regexp='^ruff==' $^)
	@touch $@

$(STAMPS)/packages: requirements.lock $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	@touch $@

$(STAMPS)/test-packages: requirements-test.lock $(STAMPS)/packages
	$(BIN)/python -m pip install --quiet --requirement requirements-test.lock
	@touch $@

$(STAMPS)/simulator-compiled: $(STAMPS)/venv pyproject.toml $(RUST)
	$(MATURIN) --no-default-features --skip-install
	@touch $@

$(STAMPS)/simulator: $(STAMPS)/simulator-compiled $(STAMPS)/packages
	$(MATURIN) --no-default-features
	@touch $@

$(STAMPS)/compiled: $(STAMPS)/venv pyproject.toml $(RUST)
	$(MATURIN) --features $(FEATURES) --skip-install
	@echo $(FEATURES) > $@

$(STAMPS)/develop: $(STAMPS)/compiled $(STAMPS)/packages
	$(MATURIN) --features $(FEATURES)
	@echo $(FEATURES) > $@

# A build made before CMake, x264, FFmpeg's libraries and PipeWire were there is made again with what they bring. So is a decoder that was
# built before nasm was there: without its assembly it takes twice as long, and cargo does not see that nasm has come.
$(STAMPS)/live: $(STAMPS)/live-tools $(STAMPS)/develop
	@if grep -qs 'not using any assembly' target/release/build/openh264-sys2-*/output; then \
	  cargo clean --quiet --release --package openh264-sys2; rm $(STAMPS)/develop; fi
	@if [[ ! -f $(STAMPS)/develop || $$(< $(STAMPS)/develop) != *opus*x264*libav*x265*wayland* ]]; then \
	  rm -f $(STAMPS)/compiled $(STAMPS)/develop; $(MAKE) $(STAMPS)/develop; fi
	@touch $@

# dash.js, whose licence (BSD) wants to be beside it.
$(DASH_JS): web/player/package-lock.json
	@command -v npm > /dev/null || { echo "Node is needed for live videos: https://nodejs.org" >&2; exit 1; }
	npm ci --prefix web/player --silent --ignore-scripts --no-audit --no-fund
	cp web/player/node_modules/dashjs/LICENSE.md $@.LICENSE.md
	cp web/player/node_modules/dashjs/dist/modern/umd/dash.all.min.js $@

$(STAMPS)/page-packages: web/page/package-lock.json | $(STAMPS)
	@command -v npm > /dev/null || { echo "Node is needed to build the page: https://nodejs.org" >&2; exit 1; }
	npm ci --prefix web/page --silent --ignore-scripts --no-audit --no-fund
	@touch $@

$(STAMPS)/game: | $(STAMPS)/live-tools
	tools/need $(GAME_TOOLS)
	@touch $@

$(STAMPS)/live-tools: | $(STAMPS)
	tools/need $(LIVE_TOOLS)
	@touch $@
