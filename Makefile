# The few commands of this project. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash

# What the tests take as given; each is built once and cached under target/.
PROGRAMS := tests/programs/build.sh
FOREIGN_CRDS := tests/harness/foreign-crds/fetch.sh
SUSHY := tests/peers/install-sushy.sh
IRONIC := tests/peers/install-ironic.sh
UPSTREAM := tests/upstream/build.sh
IPMI_PEERS := tests/peers/install-ipmi.sh
HADOLINT := tests/peers/install-hadolint.sh
SIMULATOR_TOOLS := bmc-simulator/conformance/install.sh

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the daemon and the simulator for release
	cargo build --release --bins

# Before anything is built: who mistypes a scenario should not wait minutes to be told.
.PHONY: known-scenario
known-scenario:
	@case "$${SCENARIO-}" in ''|lying-bmc|wrong-host|wrong-password|recovers|metal3) ;; \
	*) echo "demo: SCENARIO=$$SCENARIO is unknown; choose one of lying-bmc, wrong-host, wrong-password, recovers, metal3," \
	"or leave it out for the power cycle" >&2; exit 2 ;; esac

.PHONY: demo
demo: known-scenario prerequisites ## Power-cycle a host before your eyes (KEEP=1 to look around, SCENARIO=lying-bmc|wrong-host|wrong-password|recovers|metal3)
	@if [ "$${SCENARIO-}" = metal3 ]; then $(IRONIC) >/dev/null; fi
	@cargo build --bin baremetal-remediator --example demo
	@cargo run --quiet --example demo

.PHONY: test
test: ## Run every check and every test, side by side where they wait
	@tests/run.py

# Not part of `test`: the builds take minutes, and where a proxy lacks a module, a clone of it.
.PHONY: upstream
upstream: prerequisites ## Build the health checkers of others and baremetal-operator, and run their scenarios with them
	@variables=$$($(UPSTREAM)) && eval "$$variables" && cargo test --no-fail-fast --test stories upstream_

# Too long for `test`, which runs a share of it.
.PHONY: fault-matrix
fault-matrix: prerequisites ## Every fault at every call of the daemon, hours (PART=2/5, SCENARIO=taint, PLAN="taint kill-before:PoweringOff/bmc-ForceOff#1")
	@FAULT_PART='$(or $(PART),1/1)' FAULT_SCENARIO='$(SCENARIO)' FAULT_PLAN='$(PLAN)' \
	cargo test --no-fail-fast --test stories fault_matrix::$(if $(PLAN)$(SCENARIO),whatever) -- --nocapture --test-threads=100

.PHONY: check
check: deploy-tools ## Formatting, lints, generated files, licences
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --quiet --test static
	tests/licences.sh

.PHONY: explore
explore: ## Explore the core with every three faults at once (minutes)
	cargo test --release -p remediator-core --features deep-exploration exploration

# Half an hour; `test` runs a share of it.
.PHONY: mutants
mutants: ## Drop a check or swap an order of the protocol, one at a time, and demand that its tests notice (SHARE=1/9, ONLY=text)
	@tests/mutants.py --share '$(or $(SHARE),1/1)' --only '$(ONLY)'

.PHONY: manifests
manifests: ## Write the CustomResourceDefinitions into deploy/crds, deploy/install.yaml, deploy/olm/manifests and docs/api.md
	cargo run --quiet --bin baremetal-remediator -- manifests --out deploy/crds
	tests/deploy/render.sh
	WRITE_REFERENCE=1 cargo test --quiet --test static the_reference_is_what_the_definitions_say

.PHONY: prerequisites
prerequisites: control-plane foreign-crds

.PHONY: control-plane
control-plane: ## Build etcd, kube-apiserver and kube-controller-manager (minutes the first time)
	@$(PROGRAMS) control-plane >/dev/null

.PHONY: foreign-crds
foreign-crds: ## Fetch the CustomResourceDefinitions of metal3 and Cluster API
	@$(FOREIGN_CRDS) >/dev/null

.PHONY: deploy-tools
deploy-tools: ## Build kustomize, Helm, promtool, linters and validators, which judge deploy/ (minutes the first time)
	@$(PROGRAMS) deploy >/dev/null
	@$(HADOLINT) >/dev/null

# Not part of `test`, which runs the same story without a browser.
.PHONY: status-page-pictures
status-page-pictures: prerequisites ## Take pictures of the status page in a headless Chromium, into target/status-page
	@tests/status_page/pictures.py

.PHONY: simulator-conformance
simulator-conformance: ## Let tools of others judge bmc-simulator, and print a table
	@$(SIMULATOR_TOOLS)
	@cargo run --quiet --bin simulator-conformance -- $(TOOL)

.PHONY: simulator-bench
simulator-bench: ## Measure how long fleets of BMCs take to start, and how much memory each takes (HOSTS="1000 5000")
	@cargo build --release --bin bmc-simulator
	@bmc-simulator/bench.sh $(HOSTS)

.PHONY: bench
bench: prerequisites ## Measure everything and print it beside the goals, and into target/bench.json (minutes)
	@cargo build --release --bin baremetal-remediator --bin bmc-simulator
	@benches/run.py

.PHONY: report-bench
report-bench: ## Count the instructions that a report of a healthy Node takes (valgrind)
	@benches/run.py report

.PHONY: scale-bench
scale-bench: prerequisites ## Memory and processor time of the daemon among many hosts (HOSTS="100 1000 10000")
	@cargo build --release --bin baremetal-remediator
	@benches/run.py scale -- $(HOSTS)

.PHONY: ipmi-bench
ipmi-bench: ## Read the power of many simulated BMCs over IPMI, by the driver and by ipmipower (BMCS=256 HUNG=16)
	@benches/run.py ipmi-status -- $(BMCS) $(HUNG)

.PHONY: fencing-bench
fencing-bench: ## Power a simulated host by fence_redfish, fence_ipmilan, ipmipower and the daemon's code, side by side
	@cargo build --release --bin baremetal-remediator
	@benches/run.py fencing

.PHONY: hostile-bench
hostile-bench: ## Read 100 good BMCs alone and beside 100 hostile ones: latency and memory
	@cargo build --release --bin bmc-simulator
	@benches/run.py hostile

.PHONY: peers
peers: ## Install the BMC emulators, fence agents and Ironic of others that tests run against
	@$(SUSHY)
	@$(IRONIC)
	@$(SIMULATOR_TOOLS)
	@$(IPMI_PEERS)
	@tests/peers/install-faketime.sh
