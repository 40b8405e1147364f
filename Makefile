# pinstudy's targets. Every one works from a clean clone: it sets up what it needs first.

STUDY ?= quick
ARGS ?=
APP ?=

# What is developed is tested with an environment and a build of the checkout.
DEVELOPMENT = test test-flaky test-properties test-programs test-setup test-slurm test-faults test-advise test-simulations vnode vnode-study test-vnode test-vnode-small test-prove vm test-vm test-vm-small schema cards docs lint test-spack sanitize bench fidelity noise fuzz
$(DEVELOPMENT): export PINSTUDY_NO_SPACK = 1

# Workers of pytest side by side, each with a node of its own (tests/support/isolation.py).
workers = --numprocesses $(1) --dist $(2)

.DEFAULT_GOAL := help
.PHONY: help setup study originals install $(DEVELOPMENT) lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "PINSTUDY_NO_SYSTEM_PACKAGES=1 in the environment: set-up installs no system packages."
	@echo "PINSTUDY_NO_SPACK=1: no active Spack environment is used."

setup: ## Set up: system packages where it may, Python environment, programs
	@tools/setup.sh setup

study: setup ## Run a study: STUDY=quick (default), paper-serial, …; options in ARGS=
	@tools/setup.sh originals-for $(STUDY)
	@bin/pinstudy run $(STUDY) $(ARGS)

originals: setup ## Obtain and build LULESH and OmpSCR's programs, or from LULESH_SOURCE=DIR, OMPSCR_SOURCE=DIR; into PREFIX=
	@tools/setup.sh originals

install: ## Install for others: PREFIX=/opt/pinstudy; MARCH=x86-64-v3 for nodes of several kinds
	@tools/setup.sh install

test: ## Run all tests; options of pytest in ARGS=
	@tools/setup.sh test
	@tools/test.sh $(ARGS)

test-flaky: ## Run tests TIMES=20 times beside busy loops, to find those that depend on time; tests in ARGS=
	@tools/setup.sh test
	@trap 'kill $$loops 2>/dev/null' EXIT; trap 'exit 130' INT TERM; times=$(or $(TIMES),20) failed=0 loops=; \
	for loop in $$(seq $(or $(LOOPS),$$(nproc))); do yes >/dev/null & loops="$$loops $$!"; done; \
	for time in $$(seq $$times); do \
	    echo "$$time of $$times, $$failed failed so far"; tools/test.sh $(ARGS) || failed=$$((failed + 1)); \
	done; \
	echo "$$failed of $$times failed beside $$(echo $$loops | wc -w) loops"; [ $$failed = 0 ]

test-properties: ## Draw other examples for the tests of properties, TIMES=5 times: 5 min; options of pytest in ARGS=
	@tools/setup.sh test
	@for seed in $$(shuf -i 1-1000000000 -n $(or $(TIMES),5)); do \
	    .venv/bin/python -m pytest -m hypothesis --hypothesis-seed=$$seed $(or $(ARGS),tests) || exit 1; \
	done

test-programs: ## Run the programs' slow tests: minutes
	@tools/setup.sh test
	@for preset in gcc clang; do \
	    cmake --build build/$$preset --parallel "$$(nproc)" --target slow-tests && ctest --preset $$preset --label-regex slow || exit 1; \
	done

test-setup: ## Set up on a root that lacks packages, as root, on Debian, by the network
	@tools/setup.sh lint
	@.venv/bin/python -m pytest -m clean_root tests/tools_setup

test-slurm: ## Run the tests on a Slurm of their own, as root; options of pytest in ARGS=
	@tools/setup.sh slurm
	@.venv/bin/python -m pytest -m slurm $(or $(ARGS),$(call workers,4,loadfile) tests/slurm)

test-faults: ## Disturb studies at hundreds of moments, as root: 11 min; options of pytest in ARGS=
	@tools/setup.sh test
	@.venv/bin/python -m pytest -m faults $(or $(ARGS),$(call workers,4,worksteal) tests)

test-advise: ## Search simulated nodes hundreds of times: 5 min; options of pytest in ARGS=
	@tools/setup.sh test
	@.venv/bin/python -m pytest -m searches $(or $(ARGS),tests/runners/records/test_race_rates.py)

test-simulations: ## Draw simulations as often as their claims need: 7 min; options of pytest in ARGS=
	@tools/setup.sh test
	@.venv/bin/python -m pytest -m simulations $(or $(ARGS),tests/analysis tests/runners/prove)

vnode: ## Open a shell in the virtual hybrid node
	@tools/setup.sh vnode
	@.venv/bin/python -m vnode.shell $(ARGS)

vnode-study: ## Run the ten cases in the virtual node; results/vnode-… has the tables
	@tools/setup.sh vnode
	@.venv/bin/python -m vnode.shell --study $(ARGS)

# Continuous integration runs the ten cases once, `make test-vnode` twice.
ONCE = test_study.py::test_the_ten_cases_fill_every_column_and_leave_the_node_as_it_was[once]

test-vnode: ## Run the tests inside the virtual node; options of pytest in ARGS=
	@tools/setup.sh vnode
	@tools/setup.sh vnode-arm
	@.venv/bin/python -m pytest -m vnode $(or $(ARGS),$(call workers,2,loadfile) --no-loadscope-reorder tests/vnode --deselect "tests/vnode/$(ONCE)")

test-prove: ## Test the instruments of virtual nodes that are honest, and of liars: 8 min; options of pytest in ARGS=
	@tools/setup.sh vnode
	@tools/setup.sh vnode-arm
	@.venv/bin/python -m pytest -m prove $(or $(ARGS),$(call workers,2,load) tests/vnode)

VNODE_SMALL = test_discovery.py::test_p_and_e_cores_are_found_by_the_kernels_own_lists \
	$(ONCE) \
	test_prove.py::test_each_lie_of_the_node_is_found[lost_after_migration]

test-vnode-small: ## Run three of both, as continuous integration does
	@tools/setup.sh vnode-small
	@.venv/bin/python -m pytest -m "vnode or prove" $(addprefix tests/vnode/,$(VNODE_SMALL))

vm: ## Set up what guests of the engine vm need
	@tools/setup.sh vm

test-vm: ## Run the tests of the engine vm, in real guests; options of pytest in ARGS=
	@tools/setup.sh test
	@tools/setup.sh vm-small
	@.venv/bin/python -m pytest -m vm $(or $(ARGS),$(call workers,2,worksteal) tests/runners/vm tests/cli)

VM_SMALL = test_each_mapping_of_the_guests_cpus_is_proved_and_timed[both] \
	test_stopped_by_a_signal_it_ends_its_guest_first[boot] \
	test_emulation_is_refused_unless_it_is_allowed

# A worker of its own: its studies meet no others that are tested at the time.
test-vm-small: ## Run three of them, as continuous integration does
	@tools/setup.sh test
	@tools/setup.sh vm-small
	@.venv/bin/python -m pytest $(call workers,1,load) -m vm $(addprefix tests/cli/study/test_vm.py::,$(VM_SMALL))

schema: ## Write pinstudy/configs/schema.json, pinstudy/configs/record.schema.json, the tables of keys in docs and docs/command-line.md from what the code declares
	@tools/setup.sh lint
	@.venv/bin/python -m share.schemas all
	@.venv/bin/python -m website.reference

CARDS = $(basename $(notdir $(wildcard cards/*.json)))

cards: ## Write the cards of the publications that come with pinstudy: cards/*.json
	@tools/setup.sh lint
	@for card in $(CARDS); do bin/pinstudy card "published:$$card" --output "cards/$$card.json" || exit 1; done

docs: ## Build the documentation as a site: build/site/index.html
	@tools/setup.sh docs
	@.venv/bin/python -m website.gallery
	@.venv/bin/python -m website.notebook
	@NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build --quiet --strict
	@.venv/bin/python -m website.site_check

lint: ## Check style and types of Python, C++ and shell
	@tools/setup.sh lint
	@tools/lint.sh

test-spack: ## Try the Spack environments with a real Spack: SPACK_ROOT=DIR
	@tests/test_spack.sh

sanitize: ## Run the programs' tests with each sanitizer; of one app with APP=
	@tools/setup.sh sanitize
	@tools/sanitize.sh $(APP)

bench: ## Measure the cost of measuring, speed and load; benchmarks/RESULTS.md keeps it; parts in ARGS=
	@tools/setup.sh bench
	@.venv/bin/python -m benchmarks $(ARGS)

fidelity: ## Compare our own programs with the originals; benchmarks/RESULTS.md keeps it; options in ARGS=
	@tools/setup.sh fidelity
	@.venv/bin/python -m benchmarks fidelity $(if $(ARGS),--options "$(ARGS)")

noise: ## Simulate verdicts and races under like and unlike noise: 45 min; options in ARGS=
	@tools/setup.sh test
	@.venv/bin/python -m benchmarks noise $(if $(ARGS),--options "$(ARGS)")

fuzz: ## Fuzz parsers and commands; --seconds N for each and targets in ARGS=
	@tools/setup.sh fuzz
	@.venv/bin/python -m tests.fuzz $(ARGS)

lock: ## Renew the lock files from pyproject.toml (needs uv)
	@tools/lock.sh

clean: ## Remove what set-up made; results/ stays
	rm -rf build .venv pinstudy/configs/schema.json pinstudy/configs/record.schema.json
