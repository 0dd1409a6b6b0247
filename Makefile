CARGO ?= cargo
comma := ,

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make <target>\n"} \
		/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: tools ## Scaffold an operator, and see it reconcile: on a throwaway API server, or where DEMO_KUBECONFIG says.
	@$(CARGO) run --locked --package operators --example demo

.PHONY: check
check: tools ## Check the format, run clippy, and run all tests that need no cluster and no compiler.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --package rscaffold --package kube-manager --all-features --all-targets -- -D warnings
	$(CARGO) test --locked
	$(CARGO) test --locked --package kube-manager --all-features

# Tests write many small files: in memory, they take half as long. A container may have little of it.
MEMORY = /dev/shm
ifneq ($(shell df -Pk $(MEMORY) 2>/dev/null | awk '$$4 > 2000000 && $$6 == "$(MEMORY)"'),)
check test test-core: export TMPDIR ?= $(MEMORY)
endif

# Says what a step does, and how long it takes on two cores when nothing is compiled yet.
step = @echo "== $(1) (cold: $(2))" >&2

.PHONY: test
test: tools lint test-core test-cluster test-operators ## Run all tests. The first run builds a Kubernetes control plane.

.PHONY: test-core
test-core: tools ## Run the tests that need no cluster and no compiler for generated code.
	$(call step,rscaffold: command line$(comma) golden texts$(comma) merges$(comma) a kill at each write,4 minutes)
	EVERY_WRITE=1 $(CARGO) test --locked
	$(call step,kube-manager: unit tests,3 minutes)
	$(CARGO) test --locked --package kube-manager --all-features

.PHONY: test-cluster
test-cluster: tools ## Build the control plane that other tests use, unless it is built, and test it.
	$(call step,a Kubernetes control plane: built with Go$(comma) then tested,6 minutes)
	$(CARGO) test --locked --package cluster -- --test-threads=8

# Most of these tests wait: for the one that compiles, for a lease to end. So more of them run at once
# than there are processors.
.PHONY: test-operators
test-operators: tools ## Compile and run generated projects: all such tests, or those that TESTS names.
	$(call step,generated projects: compiled$(comma) and run on that control plane,25 minutes)
	$(CARGO) test --locked --package operators --tests -- --test-threads=8 $(TESTS)

.PHONY: test-one
test-one: ## Run the tests that TEST names, whatever package they are in: make test-one TEST=a_name
	@TEST="$(TEST)" CARGO="$(CARGO)" sh tests/one.sh

.PHONY: test-release
test-release: ## Build the program of a release twice, package and install it: takes ten minutes.
	$(CARGO) test --locked --package operators --tests -- --ignored --nocapture release::

.PHONY: test-e2e
test-e2e: tools ## Build the image of an operator, and see it work in a Pod: takes root, on Linux.
	$(CARGO) test --locked --package cluster --package operators --tests -- --ignored --nocapture --skip release::

.PHONY: lint
lint: ## Check the format, and run clippy and rustdoc.
	$(call step,format$(comma) clippy and rustdoc,2 minutes)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

.PHONY: bench
bench: tools ## Time rscaffold, and its operator beside one in Go: takes half an hour.
	@$(CARGO) run --locked --package operators --example bench

.PHONY: merges
merges: ## Merge ten thousand pairs of random branches, and look for lost edits: takes half an hour.
	MERGES=10000 CARGO_PROFILE_DEV_OPT_LEVEL=1 $(CARGO) test --locked --target-dir target/merges \
		--test tests -- whatever_apply_accepts --nocapture

.PHONY: golden
golden: ## Write the golden projects and the transcripts anew.
	SNAPSHOTS=overwrite $(CARGO) test --test tests -- projects_are_what transcripts
	cd tests/golden && $(CARGO) update --quiet --workspace

.PHONY: minimal-versions
minimal-versions: ## Compile rscaffold and the runtime with the oldest dependencies that Cargo.toml allows.
	CARGO="$(CARGO)" sh release/minimal-versions.sh

.PHONY: deny
deny: ## Check advisories, licenses and sources of all dependencies: takes cargo-deny.
	$(CARGO) deny --workspace --all-features --locked check

.PHONY: update-deps
update-deps: ## Update all dependencies, and requirements such as DEPS="kube=5.1", here and in generated projects.
	CARGO="$(CARGO)" MAKE="$(MAKE)" sh release/update-deps.sh $(DEPS)

.PHONY: release
release: ## Prepare the release VERSION: versions, changelog, golden projects, the record of the update test.
	CARGO="$(CARGO)" MAKE="$(MAKE)" sh release/prepare.sh "$(VERSION)"

.PHONY: dist
dist: ## Make the archive of a release for this machine, in target/dist.
	CARGO="$(CARGO)" sh release/dist.sh

# The packages of Debian that have what `make test-e2e` runs.
NODE_PACKAGES = binutils containerd containernetworking-plugins debootstrap iproute2 iptables podman \
	runc socat

# What the tests and the demo need, named before anything is built. A machine of CI, which sets CI, may
# get what its image lacks.
.PHONY: tools
tools:
	@lacks() { for program; do command -v "$$program" >/dev/null || return 0; done; return 1; }; \
	node="$(if $(filter test-e2e,$(MAKECMDGOALS)),containerd debootstrap ip iptables podman readelf runc socat)"; \
	if [ -n "$(CI)" ] && [ "$$(id -u)" = 0 ] && lacks strace $$node; then \
		apt-get update -qq && apt-get install -qq --yes --no-install-recommends strace \
			$${node:+$(NODE_PACKAGES)}; \
	fi; \
	missing() { echo "error: $$1 is missing" >&2; echo "hint: $$2" >&2; exit 1; }; \
	need() { command -v "$$1" >/dev/null || missing "$$1" "$$2"; }; \
	need git "install git with the package manager of your system"; \
	need cc "install a C compiler, such as the package gcc"; \
	need $(firstword $(CARGO)) "install Rust from https://rustup.rs"; \
	$(CARGO) fmt --version >/dev/null 2>&1 || missing rustfmt "rustup component add rustfmt"; \
	$(CARGO) clippy --version >/dev/null 2>&1 || missing clippy "rustup component add clippy"; \
	if [ -n "$(filter bench,$(MAKECMDGOALS))" ]; then \
		need go "install Go from https://go.dev/dl; it builds the operator to compare with"; \
	fi; \
	if [ -n "$(filter test test-cluster test-operators test-e2e,$(MAKECMDGOALS))" ]; then \
		need go "install Go from https://go.dev/dl; it builds programs that the tests run"; \
	fi; \
	if [ -n "$(filter check test test-core,$(MAKECMDGOALS))" ]; then \
		need strace "apt-get install strace, on Linux; the tests end rscaffold with it at each of its writes"; \
	fi; \
	for program in $$node; do \
		need $$program "on Debian, apt-get install --no-install-recommends $(NODE_PACKAGES)"; \
	done; \
	if [ -n "$(filter-out check demo test-core,$(MAKECMDGOALS))" ] && [ ! -x "$(KUBEBUILDER_ASSETS)/kube-controller-manager" ]; then \
		need go "install Go from https://go.dev/dl; it builds etcd and Kubernetes for the tests"; \
	fi
