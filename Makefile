# `make demo` shows kubesim at work, `make test` checks all of it. Both make their own virtual environment.

# The system's own Python first: its build is profile-guided, a fifth faster than a self-built one, and every user of
# the machine can execute it.
PYTHON ?= $(shell for python in /usr/bin/python3 python3; do \
    "$$python" -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null && echo "$$python" && break; \
    done)
VENV ?= .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
# Everything from an index has a pinned version and a hash; kubesim itself is built with what was installed so.
PINNED := $(PIP) --require-hashes --requirement
ITSELF := $(PIP) --no-index --no-deps --no-build-isolation --editable .
# What only tests use: Mermaid's parser, and the rules of accessibility.
NODE_PACKAGES := tests/browser/node_modules/.installed
JOBS ?= 2

.PHONY: demo test soak matrix lint bench coverage docs proto pins audit clean system-packages system-python

demo: $(VENV)/.installed
	$(VENV)/bin/kubesim run scenarios/hello-pod.yaml

test: $(VENV)/.installed-for-tests system-packages $(NODE_PACKAGES) lint
	$(PY) -m pytest -n $(JOBS)

# The long random tests at full length; `make test` runs a tenth of them.
soak: $(VENV)/.installed-for-tests system-packages $(NODE_PACKAGES)
	KUBESIM_SOAK=1 $(PY) -m pytest -n $(JOBS)

# The tests that depend on the version of Python, on each that kubesim supports. Needs root and some minutes, the first
# time several more: Debian's Pythons are installed into the cache directory.
matrix: SYSTEM_PACKAGES += debootstrap
matrix: system-packages
	@PATH=$$PATH:/usr/sbin $(PYTHON) -m tools.matrix $(JOBS) $(filter-out debootstrap chromium containerd runc,$(SYSTEM_PACKAGES))

lint: $(VENV)/.installed-for-tests
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy

bench: $(VENV)/.installed-for-tests system-packages $(NODE_PACKAGES)
	$(PY) -m tools.bench

# What of the pure core the measurements of the real thing reach by themselves, and what the hand-written tests reach.
coverage: $(VENV)/.installed-for-tests
	$(PY) -m tools.core_coverage

# The pages of docs/ that are made from the code. Needs no network.
docs: $(VENV)/.installed-for-tests
	$(PY) -m tools.docs_pages
	$(PY) -m tools.report_screens

# The messages of CRI, from kubesim/runtime/cri/wire/cri.proto. Needs no network.
proto: $(VENV)/.installed-for-tests
	$(PY) -m tools.proto

# The hashes of the pinned versions, from the index that pip is configured with.
pins: $(VENV)/.installed-for-tests
	$(PY) -m tools.pins

# Known vulnerabilities of the pinned versions. 1: there are some; 3: the index has no advisories.
audit: $(VENV)/.installed-for-tests
	@$(PY) -m tools.audit

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find kubesim tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

# Debian packages that the tests use. Installed only if one is missing and we are root; without them the tests that
# need them fail and say so: CNI plugins, what looks at their work, what makes certificates, shells to complete in,
# what reads the pictures and the report, and a container runtime with a program for its images.
SYSTEM_PACKAGES := containernetworking-plugins iproute2 iptables openssl procps util-linux zsh fish chromium \
    containerd runc busybox-static

system-packages:
	@missing=""; \
	for package in $(SYSTEM_PACKAGES); do dpkg -s $$package >/dev/null 2>&1 || missing="$$missing $$package"; done; \
	command -v npm >/dev/null || missing="$$missing nodejs npm"; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing; \
	fi

# Without npm or its index the tests that need the packages say so.
$(NODE_PACKAGES): tests/browser/package.json tests/browser/package-lock.json | system-packages
	@cd tests/browser && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && touch node_modules/.installed \
	    || echo "kubesim: npm cannot install tests/browser/package-lock.json: some tests will say so" >&2

# A fresh Debian has a Python without venv; root gets the package, everyone else reads its name in the error.
system-python:
	@if [ -z "$(PYTHON)" ] && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv; \
	fi

$(PY): | system-python
	@test -n "$(PYTHON)" || { echo "kubesim needs Python 3.11 to 3.14 with venv: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The second file adds what talks to clusters. Its packages are large: they are compiled when they are first imported.
$(VENV)/.installed: pyproject.toml requirements/run.txt requirements/cluster.txt | $(PY)
	$(PINNED) requirements/run.txt
	$(PINNED) requirements/cluster.txt --no-compile
	$(ITSELF)
	@touch $@

$(VENV)/.installed-for-tests: pyproject.toml requirements/run.txt requirements/cluster.txt requirements/test.txt | $(PY)
	$(PINNED) requirements/test.txt
	$(ITSELF)
	@touch $@ $(VENV)/.installed
