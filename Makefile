CARGO ?= cargo

# Which features a dependency has depends on the packages that cargo is asked for. So cargo is always asked for the
# same ones: otherwise it compiles rscaffold, and most of its dependencies, once more.
PACKAGES = --package rscaffold --package cluster --package operators
RUNTIME = --package kube-manager --all-features

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make <target>\n"} \
		/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: tools ## Scaffold an operator, and see it reconcile on a temporary cluster.
	@$(CARGO) run --locked --package operators --example demo

.PHONY: check
check: tools ## Check the format, run clippy, and run all tests that need neither a cluster nor a compiler.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked $(PACKAGES) --lib --bins --test tests -- -D warnings
	$(CARGO) clippy --locked $(RUNTIME) --all-targets -- -D warnings
	$(CARGO) test --locked $(PACKAGES) --lib --bins --test tests
	$(CARGO) test --locked $(RUNTIME)

# Tests write many small files, which takes half as long in memory. A container may have little memory for files.
MEMORY = /dev/shm
ifneq ($(shell df -Pk $(MEMORY) 2>/dev/null | awk '$$4 > 2000000 && $$6 == "$(MEMORY)"'),)
check test: export TMPDIR ?= $(MEMORY)
endif

# Most of these tests wait, for a compiler or for the end of a lease. So more tests run at once than there are
# processors.
.PHONY: test
test: tools lint ## Run all tests. The first run builds a Kubernetes control plane.
	EVERY_WRITE=1 $(CARGO) test --locked $(PACKAGES) --lib --bins --test tests
	$(CARGO) test --locked $(RUNTIME)
	RSCAFFOLD=target/debug/rscaffold $(CARGO) test --locked $(PACKAGES) --test cluster --test operators -- --test-threads=8

.PHONY: test-e2e
test-e2e: tools ## Build the image of an operator, and test it in a Pod: needs root, on Linux.
	$(CARGO) test --locked $(PACKAGES) --lib --bins --test cluster --test operators -- --ignored --nocapture

.PHONY: lint
lint: ## Check the format, and run clippy and rustdoc.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked $(PACKAGES) --all-targets -- -D warnings
	$(CARGO) clippy --locked $(RUNTIME) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

.PHONY: bench
bench: tools ## Measure rscaffold, and compare its operator with one in Go: takes half an hour.
	@$(CARGO) run --locked --package operators --example bench

.PHONY: merges
merges: ## Merge ten thousand pairs of random branches, and look for lost edits: takes half an hour.
	MERGES=10000 CARGO_PROFILE_DEV_OPT_LEVEL=1 $(CARGO) test --locked --target-dir target/merges \
		$(PACKAGES) --test tests -- whatever_apply_accepts --nocapture

# What builds the website, compiled once for each version.
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

# The ways in for bytes of others, and how long each gets random ones.
FUZZED = arguments project record merge crd go values
SECONDS = 60
RUNS = -1
TARGET = $(FUZZED)
.PHONY: fuzz
fuzz: ## Give each way in random inputs, for SECONDS=60 each or RUNS= inputs; or TARGET= alone.
	@for target in $(TARGET); do \
		CARGO="$(CARGO)" tests/fuzz/run.sh "$$target" $(SECONDS) $(RUNS) || exit 1; \
	done

.PHONY: golden
golden: ## Rewrite the golden projects and the transcripts.
	SNAPSHOTS=overwrite $(CARGO) test $(PACKAGES) --test tests -- projects_are_what transcripts recording
	cd tests/golden && $(CARGO) update --quiet --workspace

# The Debian packages with the programs that `make test-e2e` runs.
NODE_PACKAGES = binutils containerd containernetworking-plugins debootstrap iproute2 iptables podman \
	runc socat

# Checks the programs that the tests and the demo need, before anything is built. In CI, where CI is set, it installs
# missing packages.
.PHONY: tools
tools:
	@lacks() { for program; do command -v "$$program" >/dev/null || return 0; done; return 1; }; \
	node="$(if $(filter test-e2e,$(MAKECMDGOALS)),containerd debootstrap ip iptables podman readelf runc socat)"; \
	browser="$(filter test-docs,$(MAKECMDGOALS))"; \
	if [ -n "$(CI)" ] && [ "$$(id -u)" = 0 ] && lacks strace $$node $${browser:+chromium}; then \
		apt-get update -qq && apt-get install -qq --yes --no-install-recommends strace \
			$${node:+$(NODE_PACKAGES)} $${browser:+chromium}; \
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
	if [ -n "$(filter test test-e2e,$(MAKECMDGOALS))" ]; then \
		need go "install Go from https://go.dev/dl; it builds programs that the tests run"; \
	fi; \
	if [ -n "$(filter check test,$(MAKECMDGOALS))" ]; then \
		need strace "apt-get install strace, on Linux; the tests end rscaffold with it at each of its writes"; \
	fi; \
	for program in $$node; do \
		need $$program "on Debian, apt-get install --no-install-recommends $(NODE_PACKAGES)"; \
	done; \
	if [ -n "$(filter-out check test-docs,$(MAKECMDGOALS))" ] && [ ! -x "$(KUBEBUILDER_ASSETS)/kube-controller-manager" ]; then \
		need go "install Go from https://go.dev/dl; it builds etcd and Kubernetes for the tests"; \
	fi
