CARGO ?= cargo
comma := ,

# The features of a dependency depend on the selected packages. So all targets select the same packages: otherwise cargo
# compiles most of their dependencies again.
PACKAGES = --package rscaffold --package kube-manager --package cluster --package operators --all-features

# What needs neither a cluster nor a compiler for generated code.
CORE = $(PACKAGES) --lib --test tests

# The targets that compile generated projects, those that need Go, and those that need strace and curl.
WITH_PROJECTS = crds known-bugs soak test test-operators test-operators-long test-e2e test-long
WITH_GO = bench test-cluster $(WITH_PROJECTS)
WITH_STRACE = check random test test-contributing test-core test-long

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make <target>\n"} \
		/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: tools ## Scaffold an operator, and see it reconcile on a temporary API server, or on the cluster of DEMO_KUBECONFIG.
	@$(CARGO) run --locked --package operators --example demo

.PHONY: check
check: tools ## Check the format, run clippy, and run all tests that need neither a cluster nor a compiler.
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path tests/fuzz/Cargo.toml --check
	$(CARGO) clippy --locked $(CORE) --bins -- -D warnings
	$(CARGO) test --locked $(CORE) --config 'target."cfg(all())".runner = ["sh", "$(CURDIR)/tests/unchanged.sh"]'

# Tests write many small files, which takes half as long in memory. A container may have too little memory for that.
MEMORY = /dev/shm
ifneq ($(shell df -Pk $(MEMORY) 2>/dev/null | awk '$$4 > 2000000 && $$6 == "$(MEMORY)"'),)
check test test-core random: export TMPDIR ?= $(MEMORY)
endif

# Prints what a step does, and how long it takes on two cores when nothing is compiled yet.
step = @sh tests/minutes.sh step "$(1)" "$(2)"

.PHONY: test
test: minutes tools lint test-core test-cluster test-operators ## Run all tests. The first run builds a control plane.
	@sh tests/minutes.sh table

.PHONY: minutes
minutes:
	@sh tests/minutes.sh begin

.PHONY: test-core
test-core: tools ## Run the tests that need neither a cluster nor a compiler for generated code.
	$(call step,command line$(comma) golden texts$(comma) merges$(comma) a kill at each write$(comma) unit tests,5 minutes)
	THOROUGH=1 $(CARGO) test --locked $(CORE)
	$(CARGO) test --locked $(PACKAGES) --doc

.PHONY: test-cluster
test-cluster: tools ## Build the control plane of the tests with Go, unless it is built, and test it.
	$(call step,a Kubernetes control plane: built with Go$(comma) then tested,6 minutes)
	$(CARGO) test --locked $(PACKAGES) --test cluster -- --test-threads=8

# Most of these tests wait for a compiler or for the end of a lease. So more tests run at once than there are
# processors.
.PHONY: test-operators
test-operators: tools ## Compile and run generated projects: all such tests, or those that TESTS names.
	$(call step,generated projects: compiled$(comma) and run on that control plane,20 minutes)
	$(CARGO) test --locked $(PACKAGES) --test operators -- --test-threads=8 $(TESTS)

.PHONY: test-long
test-long: soak merges random fuzz crds known-bugs test-features test-operators-long bench test-release ## Run what takes longer than `make test` may, each night: takes three hours.

.PHONY: test-operators-long
test-operators-long: tools ## Run the tests of generated projects that `make test` leaves out: takes twenty minutes.
	$(CARGO) test --locked $(PACKAGES) --test operators -- --ignored --test-threads=8 \
		--skip release:: --skip node:: --skip certmanager::

.PHONY: known-bugs
known-bugs: tools ## Run a correct reconciler with a thousand faults, and look for each known bug: takes ten minutes.
	KNOWN_BUGS=all $(CARGO) test --locked $(PACKAGES) --test operators -- --nocapture known_bugs

CRD_KINDS ?= 2

.PHONY: crds
crds: tools ## Compile kinds of 13 projects, 100 random CRDs, and 2 ports; build 500 kustomizations: takes half an hour.
	CRD_KINDS=$(CRD_KINDS) CRDS=100 GO_OPERATORS=2 KUSTOMIZATIONS=500 $(CARGO) test --locked $(PACKAGES) --test operators -- --nocapture \
		crds externals an_operator_in_go kustomize

.PHONY: test-one
test-one: ## Run the tests whose names contain TEST, of all packages: make test-one TEST=NAME
	@TEST="$(TEST)" CARGO="$(CARGO)" PACKAGES="$(PACKAGES)" sh tests/one.sh

.PHONY: test-release
test-release: ## Build the program of a release twice, package it and install it: takes ten minutes.
	$(CARGO) test --locked $(PACKAGES) --test operators -- --ignored --nocapture release::

.PHONY: test-contributing
test-contributing: tools ## Make the two changes that CONTRIBUTING.md describes, in a copy of the repository.
	$(CARGO) test --locked $(PACKAGES) --test tests -- --ignored --nocapture the_worked_examples

.PHONY: test-e2e
test-e2e: tools ## Build the image of an operator, and test it in a Pod: needs root, on Linux.
	$(CARGO) test --locked $(PACKAGES) --test cluster --test operators -- --ignored --nocapture node certmanager

# Examples use the dependencies of tests. Without examples, cargo would compile most dependencies of rustdoc again.
.PHONY: lint
lint: ## Check the format, and run clippy and rustdoc.
	$(call step,format$(comma) clippy and rustdoc,3 minutes)
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path tests/fuzz/Cargo.toml --check
	$(CARGO) metadata --locked --format-version=1 --manifest-path tests/fuzz/Cargo.toml >/dev/null
	$(CARGO) clippy --locked $(PACKAGES) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked $(PACKAGES) --lib --examples --no-deps

.PHONY: bench
bench: tools ## Measure rscaffold, and compare its operator with one in Go: takes half an hour.
	@$(CARGO) run --locked --package operators --example bench

.PHONY: merges
merges: ## Merge ten thousand pairs of random branches, and look for lost edits: takes half an hour.
	MERGES=10000 CARGO_PROFILE_DEV_OPT_LEVEL=1 $(CARGO) test --locked --target-dir target/merges \
		$(PACKAGES) --test tests -- a_merge_that_apply_accepts --nocapture

.PHONY: random
random: tools ## Try hundreds of random cases in each property test of rscaffold: takes twenty minutes.
	THOROUGH=1 PROPTEST_CASES=1024 SEQUENCES=300 $(CARGO) test --locked $(CORE)

# The programs that build the website, compiled once for each version.
MDBOOK_VERSION = 0.5.4
MDBOOK_MERMAID_VERSION = 0.17.1
MDBOOK = $(CURDIR)/target/tools/mdbook-$(MDBOOK_VERSION)/bin
MDBOOK_MERMAID = $(CURDIR)/target/tools/mdbook-mermaid-$(MDBOOK_MERMAID_VERSION)/bin
INSTALL = $(CARGO) install --quiet --locked --target-dir target/tools/build --no-default-features

$(MDBOOK)/mdbook:
	@echo "compiling mdBook, once: a minute on two cores"
	@$(INSTALL) --root $(dir $(MDBOOK)) --version $(MDBOOK_VERSION) --features search mdbook

$(MDBOOK_MERMAID)/mdbook-mermaid:
	@echo "compiling mdbook-mermaid, once: a minute on two cores"
	@$(INSTALL) --root $(dir $(MDBOOK_MERMAID)) --version $(MDBOOK_MERMAID_VERSION) mdbook-mermaid

.PHONY: docs
docs: $(MDBOOK)/mdbook $(MDBOOK_MERMAID)/mdbook-mermaid ## Build the website, with search, into target/site.
	rm -rf target/doc target/site
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --package kube-manager --all-features --no-deps
	$(CARGO) run --quiet --locked --package site
	$(MDBOOK_MERMAID)/mdbook-mermaid install target/book
	PATH="$(MDBOOK_MERMAID):$$PATH" $(MDBOOK)/mdbook build target/book
	mv target/book/site target/site
	cp -R target/doc target/site/rustdoc

.PHONY: test-docs
test-docs: tools docs ## Build the website, follow its links, and open its pages in a browser.
	$(CARGO) clippy --locked --package site --all-targets -- -D warnings
	$(CARGO) test --locked --package site

# The fuzz targets, and the limits of a run.
FUZZED = arguments project record merge crd go values
SECONDS = 60
RUNS = -1
TARGET = $(FUZZED)
.PHONY: fuzz
fuzz: ## Run each fuzz target, or only TARGET, for SECONDS=60 or with RUNS inputs.
	@for target in $(TARGET); do \
		CARGO="$(CARGO)" tests/fuzz/run.sh "$$target" $(SECONDS) $(RUNS) || exit 1; \
	done

.PHONY: soak
soak: tools ## Run an operator during random faults, for MINUTES (60) and with OBJECTS (2000).
	MINUTES=$(or $(MINUTES),60) OBJECTS=$(or $(OBJECTS),2000) $(CARGO) test --locked $(PACKAGES) --test operators -- \
		after_random_faults --nocapture

.PHONY: golden
golden: ## Rewrite the golden projects and the transcripts.
	SNAPSHOTS=overwrite $(CARGO) test $(PACKAGES) --test tests -- projects_are_what transcripts recording
	cd target/golden && $(CARGO) update --quiet --workspace
	cp target/golden/Cargo.lock tests/golden

# A dependency of an operator can enable these features for the whole program.
.PHONY: test-features
test-features: ## Test the runtime with features of serde_json that change how values are kept.
	for feature in arbitrary_precision preserve_order; do \
		$(CARGO) test --locked --target-dir target/features --package kube-manager --all-features --lib \
			--features "serde_json/$$feature" || exit 1; \
	done

.PHONY: minimal-versions
minimal-versions: ## Compile rscaffold and the runtime with the oldest dependencies that Cargo.toml allows.
	CARGO="$(CARGO)" sh release/minimal-versions.sh

.PHONY: deny
deny: ## Check advisories, licenses and sources of all dependencies: needs cargo-deny.
	$(CARGO) deny --workspace --all-features --locked check

.PHONY: update-deps
update-deps: ## Update all dependencies, and requirements such as DEPS="kube=5.1", here and in generated projects.
	CARGO="$(CARGO)" MAKE="$(MAKE)" sh release/update-deps.sh $(DEPS)

.PHONY: release
release: ## Prepare the release VERSION: versions, changelog, golden projects, the record of the update test.
	CARGO="$(CARGO)" MAKE="$(MAKE)" sh release/prepare.sh "$(VERSION)"

.PHONY: dist
dist: ## Write the archive of a release for this machine to target/dist.
	CARGO="$(CARGO)" sh release/dist.sh

# The Debian packages with the programs that `make test-e2e` runs.
NODE_PACKAGES = binutils containerd containernetworking-plugins debootstrap iproute2 iptables podman \
	runc socat

# Checks that the programs for the tests and the demo exist, before anything is built. If the variable CI is set, the
# target installs missing packages.
.PHONY: tools
tools:
	@lacks() { for program; do command -v "$$program" >/dev/null || return 0; done; return 1; }; \
	node="$(if $(filter test-e2e,$(MAKECMDGOALS)),containerd debootstrap ip iptables podman readelf runc socat)"; \
	browser="$(filter test-docs,$(MAKECMDGOALS))"; \
	if [ -n "$(CI)" ] && [ "$$(id -u)" = 0 ] && lacks curl strace $$node $${browser:+chromium}; then \
		apt-get update -qq && apt-get install -qq --yes --no-install-recommends ca-certificates curl strace \
			$${node:+$(NODE_PACKAGES)} $${browser:+chromium}; \
	fi; \
	missing() { echo "error: $$1 is missing" >&2; echo "hint: $$2" >&2; exit 1; }; \
	need() { command -v "$$1" >/dev/null || missing "$$1" "$$2"; }; \
	need git "install git with the package manager of your system"; \
	need cc "install a C compiler, such as the package gcc"; \
	need $(firstword $(CARGO)) "install Rust from https://rustup.rs"; \
	$(CARGO) fmt --version >/dev/null 2>&1 || missing rustfmt "rustup component add rustfmt"; \
	$(CARGO) clippy --version >/dev/null 2>&1 || missing clippy "rustup component add clippy"; \
	if [ -n "$(filter $(WITH_GO),$(MAKECMDGOALS))" ]; then \
		need go "install Go from https://go.dev/dl; it builds programs that the tests run, such as Kubernetes"; \
	fi; \
	if [ -n "$(filter $(WITH_PROJECTS),$(MAKECMDGOALS))" ]; then \
		version=$$($(CARGO) --version | cut -d ' ' -f 2); \
		printf '%s\n' 1.91 "$$version" | sort -C -V || missing "cargo 1.91 or newer" \
			"this is cargo $$version, which cannot share a build folder: run \`rustup update\`"; \
	fi; \
	if [ -n "$(if $(TESTS),,$(filter test test-operators,$(MAKECMDGOALS)))" ]; then \
		[ -d target/projects ] || [ "$$(df -Pk . | awk 'NR == 2 {print $$4}')" -gt 18000000 ] || \
			missing "disk space of 18 GB" "free some; the tests compile some fifty projects in target"; \
	fi; \
	if [ -n "$(filter $(WITH_STRACE),$(MAKECMDGOALS))" ]; then \
		need strace "apt-get install strace, on Linux; the tests end rscaffold with it at each of its writes"; \
		need curl "apt-get install curl; the test of install.sh downloads an archive of the test with it"; \
	fi; \
	for program in $$node; do \
		need $$program "on Debian, apt-get install --no-install-recommends $(NODE_PACKAGES)"; \
	done
