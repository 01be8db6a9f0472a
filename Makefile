# Targets for developers. CONTRIBUTING.md describes them.

GOLANGCI_LINT_VERSION := v2.15.0
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/quorumbench/tools
GOLANGCI_LINT := $(CACHE)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint

GOTESTSUM_VERSION := v1.13.0
GOTESTSUM := $(CACHE)/gotestsum-$(GOTESTSUM_VERSION)/gotestsum

NFPM_VERSION := v2.43.4
NFPM := $(CACHE)/nfpm-$(NFPM_VERSION)/nfpm

GOVULNCHECK_VERSION := v1.9.0
GOVULNCHECK := $(CACHE)/govulncheck-$(GOVULNCHECK_VERSION)/govulncheck

HDRHISTOGRAM_VERSION := 2.2.2
HDRHISTOGRAM := $(CACHE)/HdrHistogram-$(HDRHISTOGRAM_VERSION).jar

PATRONI_VERSION := 4.1.5
KAZOO_VERSION := 2.11.0
PATRONI := $(CACHE)/patroni-$(PATRONI_VERSION)-kazoo-$(KAZOO_VERSION)

.PHONY: test test-long build lint servers browser sshd patroni prometheus hdrhistogram unit fuzz bench bench-peers bench-verdict hosts-demo

# Installs what the checks need, and runs all checks that a change must pass.
test: lint known-vulnerabilities servers browser sshd patroni prometheus hdrhistogram unit

build:
	go build -o bin/quorumbench ./cmd/quorumbench

# Builds a static binary without dependencies. For another architecture:
# GOARCH=arm64 make build-static
.PHONY: build-static image
build-static:
	GOOS=linux CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/quorumbench-static ./cmd/quorumbench

# Builds a container image that contains only this binary, as an archive (OCI layout) for
# containerd, podman and Docker. No container engine is needed.
IMAGE ?= localhost/quorumbench:$(shell git rev-parse --short=12 HEAD)
image: build-static
	GOARCH= go run ./tools/image -name $(IMAGE) -binary bin/quorumbench-static -to bin/quorumbench-image.tar
	@echo $(IMAGE)

# Builds the files of a release from the current commit, in the folder `dist`: docs/install.md. The
# bytes depend only on the commit and the version of Go. PLATFORMS=linux/amd64 builds fewer files.
.PHONY: release test-release vulnerabilities
PLATFORMS ?=
release: $(NFPM)
	rm -rf dist
	go run ./tools/release -nfpm $(NFPM) $(if $(PLATFORMS),-platforms $(PLATFORMS)) -to dist

# Installs the files in `dist` in new Debian root file systems, runs them there, and removes them
# again. Needs root, and some minutes the first time. Run `make release` before.
test-release:
	deploy/test-install.sh dist $(CACHE)

# Searches the program's modules for known vulnerabilities. GOVULNDB=file:///PATH names a copy of the
# database if https://vuln.go.dev cannot be reached.
GOVULNDB ?= https://vuln.go.dev
vulnerabilities: $(GOVULNCHECK)
	$(GOVULNCHECK) -db $(GOVULNDB) ./cmd/quorumbench

# Does the same, but only prints a message if curl cannot read the database.
.PHONY: known-vulnerabilities
known-vulnerabilities:
	@if curl -fsS --max-time 20 -o /dev/null $(GOVULNDB)/index/db.json; then $(MAKE) vulnerabilities; \
	else echo "The database of vulnerabilities cannot be read: the search is skipped."; fi

lint: $(GOLANGCI_LINT)
	go vet ./...
	$(GOLANGCI_LINT) run ./...
	go run ./tools/prose

# Builds each tool once per version, outside the checkout. If several make processes run at the same
# time, each builds in its own folder, and the last process to finish replaces the binary.
$(GOLANGCI_LINT): tool = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
$(GOTESTSUM): tool = gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
$(NFPM): tool = github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)
$(GOVULNCHECK): tool = golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
$(GOLANGCI_LINT) $(GOTESTSUM) $(NFPM) $(GOVULNCHECK):
	@mkdir -p $(CACHE)
	dir=$$(mktemp -d $(CACHE)/build.XXXXXX) && \
	GOBIN=$$dir go install $(tool) && \
	mkdir -p $(@D) && mv $$dir/$(@F) $@ && rmdir $$dir

# Installs the real servers that are not part of the quorumbench binary, and the object store and
# kine, which tests use. Each is built once per version in the user's cache folder. Building Consul
# takes a few minutes.
servers:
	go run ./cmd/quorumbench stores install all
	go run ./internal/testing/servers/install versitygw kine

# Installs Debian's Chromium, in which tests open HTML reports. If it is missing and cannot be
# installed, these tests are skipped with a message.
browser:
	@command -v chromium >/dev/null || \
	{ test "$$(id -u)" = 0 && apt-get update -q && apt-get install -q -y --no-install-recommends chromium; } || \
	echo "Chromium is not installed: the tests of reports in a browser are skipped."

# Installs Debian's OpenSSH server, which tests start to simulate hosts that are reached via ssh. If
# it is missing and cannot be installed, these tests are skipped with a message. Note: systems that
# start services on installation also start the SSH service.
sshd:
	@test -x /usr/sbin/sshd || \
	{ test "$$(id -u)" = 0 && apt-get update -q && apt-get install -q -y --no-install-recommends openssh-server; } || \
	echo "sshd is not installed: the tests of hosts that are reached via ssh are skipped."

# Installs Patroni in a Python virtual environment, and Debian's PostgreSQL. A test compares the
# application "patroni" with these programs. If they are missing and cannot be installed, this test
# is skipped with a message. During the installation, a changed configuration file prevents the
# package from creating and starting a PostgreSQL cluster. Afterwards the original file is restored.
CREATECLUSTER := /etc/postgresql-common/createcluster.conf
patroni:
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || \
	{ test "$$(id -u)" = 0 && apt-get update -q && apt-get install -q -y --no-install-recommends postgresql-common && \
	cp -p $(CREATECLUSTER) $(CREATECLUSTER).kept && echo 'create_main_cluster = false' >>$(CREATECLUSTER) && \
	{ apt-get install -q -y --no-install-recommends postgresql; is=$$?; mv $(CREATECLUSTER).kept $(CREATECLUSTER); test $$is = 0; }; } || \
	echo "PostgreSQL is not installed: the test with a real Patroni is skipped."
	@test -x $(PATRONI)/bin/patroni || python3 -c 'import ensurepip' 2>/dev/null || \
	{ test "$$(id -u)" = 0 && apt-get update -q && apt-get install -q -y --no-install-recommends python3-venv; } || \
	echo "Python cannot create virtual environments: install the Debian package python3-venv."
	@test -x $(PATRONI)/bin/patroni || $(MAKE) $(PATRONI)/bin/patroni || \
	echo "Patroni is not installed: the test with a real Patroni is skipped."

$(PATRONI)/bin/patroni:
	rm -rf $(PATRONI) && mkdir -p $(CACHE) && python3 -m venv $(PATRONI) && \
	$(PATRONI)/bin/pip install -q patroni==$(PATRONI_VERSION) python-etcd==0.4.5 psycopg2-binary==2.9.13 dnspython==2.9.2 urllib3==2.8.0 \
		python-dateutil==4.0.0 psutil==7.2.2 PyYAML==6.0.4 prettytable==3.18.0 click==8.5.1 wcwidth==0.9.4 ydiff==1.4.2 py-consul==1.8.0 \
		kazoo==$(KAZOO_VERSION) requests==2.34.2 certifi==2026.10.19.post1 charset-normalizer==3.5.3 idna==3.20 tzdata==2026.6 || { rm -rf $(PATRONI); exit 1; }

# Installs Debian's Prometheus. Tests let it scrape a run, and receive a run's pushes. If it is
# missing and cannot be installed, these tests are skipped with a message. On systems that start
# services on installation, the Prometheus service is stopped and disabled again.
prometheus:
	@command -v prometheus >/dev/null || \
	{ test "$$(id -u)" = 0 && apt-get update -q && apt-get install -q -y --no-install-recommends prometheus && \
	{ ! command -v systemctl >/dev/null || systemctl disable --now --quiet prometheus || true; }; } || \
	echo "Prometheus is not installed: the tests with a real Prometheus are skipped."

# Installs HdrHistogram's Java tools. A test reads quorumbench's histogram logs with them.
# Without Maven this test is skipped with a message.
hdrhistogram:
	@test -f $(HDRHISTOGRAM) || { command -v mvn >/dev/null && $(MAKE) $(HDRHISTOGRAM); } || \
	{ ! command -v mvn >/dev/null && echo "Maven is not installed: the test with HdrHistogram's Java tools is skipped."; }

$(HDRHISTOGRAM):
	@mkdir -p $(CACHE)
	dir=$$(mktemp -d $(CACHE)/build.XXXXXX) && \
	mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
		-Dartifact=org.hdrhistogram:HdrHistogram:$(HDRHISTOGRAM_VERSION) -DoutputDirectory=$$dir && \
	mv $$dir/HdrHistogram-$(HDRHISTOGRAM_VERSION).jar $(HDRHISTOGRAM) && rmdir $$dir

# Runs unit and integration tests with the race detector, against real servers. On a shared machine
# a real server sometimes misses a deadline, so up to ten failed tests are run once more and listed
# at the end. Tests with a data race are not run again. Tests that call settle.SkipUnderRace or
# settle.RandomCases skip under the race detector and then run without it. They use simulated time,
# statistics, random samples or counts of allocations. vet is off (-vet=off) because `make lint`
# runs it, and -w omits debug information. The slowest packages start first, so that none of them
# runs alone at the end. internal/load measures short times, so it starts after the end-to-end
# tests.
UNIT_TIMEOUT := 30m
LONGEST := ./internal/testing/e2e ./internal/cli ./internal/load/app/patroni ./internal/load/app/election
unit: $(GOTESTSUM)
	GORACE=atexit_sleep_ms=0 $(GOTESTSUM) --format pkgname-and-test-fails --hide-summary skipped --rerun-fails=1 --rerun-fails-max-failures=10 \
		--rerun-fails-run-root-test --rerun-fails-abort-on-data-race --packages '$(LONGEST) ./...' -- -race -vet=off -ldflags=-w -timeout $(UNIT_TIMEOUT)
	$(MAKE) unraced

# Finds the files that contain tests which run without the race detector.
UNRACED = grep -rlE --include='*_test.go' 'settle\.(SkipUnderRace|RandomCases)\(' internal tools

.PHONY: unraced
unraced: $(GOTESTSUM)
	@test -n "$$($(UNRACED))" || { echo "No test calls settle.SkipUnderRace."; exit 1; }
	@echo "Without the race detector:" && $(GOTESTSUM) --format pkgname-and-test-fails --hide-summary skipped \
		--rerun-fails=1 --rerun-fails-max-failures=10 --rerun-fails-run-root-test \
		--packages "$$($(UNRACED) | xargs -n1 dirname | sort -u | sed 's,^,./,' | paste -sd ' ' -)" -- -vet=off -timeout 20m \
		-run "^($$($(UNRACED) | xargs awk '/^func (Test|Fuzz)/ {split($$2, name, "(")} /settle\.(SkipUnderRace|RandomCases)\(/ {print name[1]}' | sort -u | paste -sd '|' -))$$"

# Runs every case of every test (QUORUMBENCH_LONG) with the full numbers of trials, histories, lies
# and kills; `make test` runs a fixed sample. Also vets the code for other systems. The program that
# command tests start is built with the race detector, too; `make test` enables the detector only in
# the test process.
test-long: export QUORUMBENCH_LONG = 1
test-long: lint servers browser sshd patroni prometheus hdrhistogram
	GOOS=darwin go vet ./...
	QUORUMBENCH_VERDICT_TRIALS=150 go test -timeout 60m ./internal/testing/verdictbench
	QUORUMBENCH_CAPACITY_SEEDS=100 go test -timeout 120m ./internal/results/analyze/capacity
	QUORUMBENCH_STATS_RUNS=20000 go test -timeout 20m ./internal/results/analyze/stats
	QUORUMBENCH_STATS_RUNS=20000 go test -timeout 20m ./internal/testing/disks
	QUORUMBENCH_OUTAGES=10 go test -timeout 20m ./internal/measure
	QUORUMBENCH_LIES=20 go test -timeout 40m -run 'PlantedLies|LiesToWatchers|LiesToAMembership|LiesToACatalog|LiesToElections' ./internal/testing/e2e
	QUORUMBENCH_CHECKED=5 go test -timeout 30m -run NoStoreIsAccused ./internal/testing/e2e
	QUORUMBENCH_HISTORIES=1000 QUORUMBENCH_ORACLE=700 go test -timeout 60m ./internal/results/verify
	QUORUMBENCH_TEST_RACE=1 go test -race -timeout 30m ./internal/cli
	QUORUMBENCH_TEST_KILLS=0-49 go test -timeout 60m -run TestKills ./internal/cli
	QUORUMBENCH_TEST_AGENTS=100 go test -timeout 20m -run TestManyAgentsOnOneMachine ./internal/cli
	$(MAKE) unit UNIT_TIMEOUT=120m

# Tests quorumbench on a real one-node Kubernetes, which the test creates in its own namespaces. API
# server, controllers, scheduler and kubelet are built from their Go module, which takes a few
# minutes the first time. containerd, runc and the CNI plug-ins are installed from Debian if
# possible. The tests need root. Without root, or if a program is missing, they are skipped with a
# message.
.PHONY: test-kubernetes
test-kubernetes:
	@command -v containerd >/dev/null && command -v busybox >/dev/null || \
	{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -q && \
	apt-get install -q -y --no-install-recommends containerd runc containernetworking-plugins iproute2 busybox-static; } || \
	echo "containerd is not installed: the tests on Kubernetes are skipped."
	go run ./internal/testing/servers/install kubernetes
	QUORUMBENCH_TEST_KUBERNETES=1 go test -v -count=1 -timeout 20m ./internal/run/kubernetes ./internal/testing/e2e/kubernetes

# Runs each fuzz test for the given time: make fuzz FUZZTIME=1m. Inputs that reach new code are
# minimized in 10 steps only; by default, minimizing can take up to a minute per input.
FUZZTIME ?= 20s
fuzz:
	@for pkg in $$(grep -rl --include='*_test.go' '^func Fuzz' internal | xargs -n1 dirname | sort -u); do \
		for name in $$(grep -rho --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' $$pkg | sed 's/func //'); do \
			echo "$$pkg $$name" && go test ./$$pkg -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
		done; \
	done

# Runs the benchmarks of the hot path and counts allocations.
bench:
	go test -run '^$$' -bench . -skip '^Benchmark(Agents|VerificationCost)' -benchmem ./internal/...

# Measures many agents on this machine, and the overhead of an agent, in pairs of runs with and
# without an agent. Takes a few minutes.
.PHONY: bench-agents
bench-agents:
	go test -run '^$$' -bench '^BenchmarkAgents' -benchtime 1x -timeout 60m ./internal/cli

# Measures the overhead of recording a history for verification, in pairs of runs. Also measures how
# long it takes to verify 30 million operations on 100,000 keys. Takes a few minutes and 2 GB of
# memory.
.PHONY: bench-verify
bench-verify:
	go test -run '^$$' -bench '^BenchmarkVerificationCost' -benchtime 1x -timeout 20m ./internal/cli
	QUORUMBENCH_HISTORY_OPERATIONS=30000000 go test -run '^$$' -bench '^BenchmarkFile' -benchtime 1x -timeout 20m ./internal/results/verify

# Measures the overhead of a recording relay, and how far the times in a replay deviate from the
# recorded times.
.PHONY: bench-record
bench-record:
	go test -run '^$$' -bench '^Benchmark(RecordingCost|ReplayTiming)$$' -benchtime 1x -timeout 20m ./internal/cli

# Repeats ten capacity searches with a real etcd, whose limit is a network link, and measures how
# much the results differ. Takes up to an hour and needs an otherwise idle machine.
# QUORUMBENCH_SEARCHES is the number of searches. QUORUMBENCH_LINK is the link's rate in Mbit/s (0:
# no link; the machine is the limit). QUORUMBENCH_DATA is the folder for the member's data, for
# example in memory.
.PHONY: bench-capacity
bench-capacity:
	go test -run '^$$' -bench '^BenchmarkSearchesAgree$$' -benchtime 1x -timeout 120m -v ./internal/cli

# Compares quorumbench with h2load, wrk, hey and the official clients on this machine.
bench-peers:
	go run ./tools/benchpeers

# Measures how often the verdict is wrong. To do so, it disturbs a load generator in known ways, in
# real time. Needs an otherwise idle machine.
bench-verdict:
	go run ./tools/verdictbench

# Runs six stores on seven hosts with agents, and writes a report. The hosts are network namespaces
# on this machine: docs/how-to/many-machines.md.
hosts-demo: build servers
	go run ./tools/hostsdemo

# Writes the documentation as a static site, which needs no server, into the folder `site`.
.PHONY: site
site:
	rm -rf site
	go run ./tools/site

# Draws the pictures of the live view and of a report's overview in the README. Needs Chromium and an
# otherwise idle machine.
.PHONY: pictures
pictures: build servers
	rm -rf bin/pictures && mkdir bin/pictures
	go run ./tools/terminalsvg -after 36s -out docs/pictures/live-view.svg \
		bin/quorumbench run tools/terminalsvg/live-view.yaml --out bin/pictures/live-view
	bin/quorumbench run tools/terminalsvg/overview.yaml --out bin/pictures/overview --progress none
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1100,540 \
		--screenshot=docs/pictures/report-overview.png file://$(CURDIR)/bin/pictures/overview/report.html

# Compares zetcd with ZooKeeper and with etcd. With CETCD=PATH, it also compares cetcd with Consul
# and with etcd.
.PHONY: proxies-table
proxies-table: build servers
	sed $(if $(CETCD),'s#^\#cetcd##;s#exec: CETCD#exec: $(abspath $(CETCD))#',-n p) scenarios/proxies.yaml | bin/quorumbench run -

# Measures the capacity of each store for the same objective. Each store takes two minutes
# (docs/explanation/published-results.md). CETCD=PATH adds cetcd.
.PHONY: capacity-table
capacity-table: build servers
	bin/quorumbench capacity --objective 'p99<100ms, errors<0.1%' --until $(if $(CETCD),720s,600s) \
		--over store=etcd,etcdv2,zookeeper,consul,zetcd$(if $(CETCD),$(comma)cetcd=$(abspath $(CETCD)))

# Injects faults into all stores and measures their effect: docs/how-to/break-the-leader.md. Takes
# about 70 minutes, or 85 minutes with CETCD=PATH, where PATH is a cetcd binary (cetcd is in no
# registry).
.PHONY: faults-table
CETCD ?=
comma := ,
faults-table: build servers
	sed 's#\(store: \[[^]]*\)\]#\1$(if $(CETCD),$(comma) {name: cetcd$(comma) exec: $(abspath $(CETCD))})]#' scenarios/faults.yaml | bin/quorumbench run -
