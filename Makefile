# What a developer needs; CONTRIBUTING.md says more.

GOLANGCI_LINT_VERSION := v2.15.0
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/quorumbench/tools
GOLANGCI_LINT := $(CACHE)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint

GOTESTSUM_VERSION := v1.13.0
GOTESTSUM := $(CACHE)/gotestsum-$(GOTESTSUM_VERSION)/gotestsum

HDRHISTOGRAM_VERSION := 2.2.2
HDRHISTOGRAM := $(CACHE)/HdrHistogram-$(HDRHISTOGRAM_VERSION).jar

PATRONI_VERSION := 4.1.5
KAZOO_VERSION := 2.11.0
PATRONI := $(CACHE)/patroni-$(PATRONI_VERSION)-kazoo-$(KAZOO_VERSION)

.PHONY: test test-long build lint servers browser sshd patroni hdrhistogram unit fuzz bench bench-peers bench-verdict hosts-demo

# All that a change must pass; installs what it needs.
test: lint servers browser sshd patroni hdrhistogram unit

build:
	go build -o bin/quorumbench ./cmd/quorumbench

# One file that needs nothing beside it: GOARCH=arm64 make build-static, for others.
.PHONY: build-static image
build-static:
	GOOS=linux CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/quorumbench-static ./cmd/quorumbench

# A container image of that file alone, as an archive (OCI layout) that containerd,
# podman and Docker read. No container engine is needed.
IMAGE ?= localhost/quorumbench:$(shell git rev-parse --short=12 HEAD)
image: build-static
	GOARCH= go run ./tools/image -name $(IMAGE) -binary bin/quorumbench-static -to bin/quorumbench-image.tar
	@echo $(IMAGE)

lint: $(GOLANGCI_LINT)
	go vet ./...
	$(GOLANGCI_LINT) run ./...
	go run ./tools/prose

# Built once for each version, outside the checkout. Two makes at once build
# in places of their own, and the last one's file stays.
$(GOLANGCI_LINT): tool = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
$(GOTESTSUM): tool = gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
$(GOLANGCI_LINT) $(GOTESTSUM):
	@mkdir -p $(CACHE)
	dir=$$(mktemp -d $(CACHE)/build.XXXXXX) && \
	GOBIN=$$dir go install $(tool) && \
	mkdir -p $(@D) && mv $$dir/$(@F) $@ && rmdir $$dir

# The real servers that are not part of our own binary: built once for each
# version, in the user's cache folder, and the object stores and the kine of the tests.
# Consul takes some minutes.
servers:
	go run ./cmd/quorumbench stores install all
	go run ./internal/testing/servers/install versitygw kine

# Debian's Chromium, in which the pages of reports are tried out. Without it, and
# without the right to install it, those tests are skipped and say so.
browser:
	@command -v chromium >/dev/null || \
	{ test "$$(id -u)" = 0 && apt-get update -q && apt-get install -q -y --no-install-recommends chromium; } || \
	echo "There is no chromium: the tests of reports in a browser are skipped."

# Debian's OpenSSH server, which the tests start for hosts that are reached via ssh.
# Without it, and without the right to install it, those tests are skipped and say so.
# Where services start when they are installed, this one does, too.
sshd:
	@test -x /usr/sbin/sshd || \
	{ test "$$(id -u)" = 0 && apt-get update -q && apt-get install -q -y --no-install-recommends openssh-server; } || \
	echo "There is no sshd: the tests of hosts that are reached via ssh are skipped."

# Patroni, in an environment of Python of its own, and Debian's PostgreSQL, to which our
# load of the same name is compared. Without them, and without the right to install them,
# that test is skipped and says so. No PostgreSQL is left running: the file says that the
# package makes no cluster when it is installed, and is then what it was.
CREATECLUSTER := /etc/postgresql-common/createcluster.conf
patroni:
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || \
	{ test "$$(id -u)" = 0 && apt-get update -q && apt-get install -q -y --no-install-recommends postgresql-common && \
	cp -p $(CREATECLUSTER) $(CREATECLUSTER).kept && echo 'create_main_cluster = false' >>$(CREATECLUSTER) && \
	{ apt-get install -q -y --no-install-recommends postgresql; is=$$?; mv $(CREATECLUSTER).kept $(CREATECLUSTER); test $$is = 0; }; } || \
	echo "There is no PostgreSQL: the test with a real Patroni is skipped."
	@test -x $(PATRONI)/bin/patroni || python3 -c 'import ensurepip' 2>/dev/null || \
	{ test "$$(id -u)" = 0 && apt-get update -q && apt-get install -q -y --no-install-recommends python3-venv; } || \
	echo "Python cannot make an environment of its own here: Debian has that in python3-venv."
	@test -x $(PATRONI)/bin/patroni || $(MAKE) $(PATRONI)/bin/patroni || \
	echo "There is no Patroni: the test with a real one is skipped."

$(PATRONI)/bin/patroni:
	rm -rf $(PATRONI) && mkdir -p $(CACHE) && python3 -m venv $(PATRONI) && \
	$(PATRONI)/bin/pip install -q patroni==$(PATRONI_VERSION) python-etcd==0.4.5 psycopg2-binary==2.9.13 dnspython==2.9.2 urllib3==2.8.0 \
		python-dateutil==4.0.0 psutil==7.2.2 PyYAML==6.0.4 prettytable==3.18.0 click==8.5.1 wcwidth==0.9.4 ydiff==1.4.2 py-consul==1.8.0 \
		kazoo==$(KAZOO_VERSION) requests==2.34.2 certifi==2026.10.19.post1 charset-normalizer==3.5.3 idna==3.20 tzdata==2026.6 || { rm -rf $(PATRONI); exit 1; }

# HdrHistogram's own tools, which the tests have read our histogram logs. Without
# Maven those tests are skipped and say so.
hdrhistogram:
	@test -f $(HDRHISTOGRAM) || { command -v mvn >/dev/null && $(MAKE) $(HDRHISTOGRAM); } || \
	{ ! command -v mvn >/dev/null && echo "There is no Maven: the test with HdrHistogram's Java tools is skipped."; }

$(HDRHISTOGRAM):
	@mkdir -p $(CACHE)
	dir=$$(mktemp -d $(CACHE)/build.XXXXXX) && \
	mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
		-Dartifact=org.hdrhistogram:HdrHistogram:$(HDRHISTOGRAM_VERSION) -DoutputDirectory=$$dir && \
	mv $$dir/HdrHistogram-$(HDRHISTOGRAM_VERSION).jar $(HDRHISTOGRAM) && rmdir $$dir

# Unit and integration tests with the race detector, against real servers. Real
# servers on a machine that others share miss a deadline now and then: up to five
# tests that fail are run once more, and are named as such at the end. A data race is
# not. Then, without the detector, what settle.Unraced and settle.Drawn leave
# out with it: simulated seconds, statistics' rates, drawings, counted allocations.
# `make lint` has vetted all of it, and nobody debugs these binaries (-w). The packages that
# take longest begin first, so that none of them is left alone at the end; internal/load, whose
# tests measure short times, begins after the end-to-end tests.
LONGEST := ./internal/testing/e2e ./internal/cli ./internal/load/app/patroni ./internal/load/app/election
unit: $(GOTESTSUM)
	$(GOTESTSUM) --format pkgname-and-test-fails --hide-summary skipped --rerun-fails=1 --rerun-fails-max-failures=5 \
		--rerun-fails-run-root-test --rerun-fails-abort-on-data-race --packages '$(LONGEST) ./...' -- -race -vet=off -ldflags=-w -timeout 30m
	$(MAKE) unraced

# Where that is said: each file, and in it the tests.
UNRACED = grep -rlE --include='*_test.go' 'settle\.(Unraced|Drawn)\(' internal

.PHONY: unraced
unraced:
	@test -n "$$($(UNRACED))" || { echo "No test says settle.Unraced."; exit 1; }
	@echo "Without the race detector:" && go test -vet=off -timeout 20m -run "^($$($(UNRACED) | xargs awk '/^func (Test|Fuzz)/ {split($$2, name, "(")} /settle\.(Unraced|Drawn)\(/ {print name[1]}' | sort -u | paste -sd '|' -))$$" \
		$$($(UNRACED) | xargs -n1 dirname | sort -u | sed 's,^,./,')

# Every case of every test (QUORUMBENCH_LONG), with full counts of trials, histories, lies and
# kills, where CI runs a fixed sample; the code for other systems; and the race detector in the
# program that the tests of the commands start, where CI has it in the tests' own process.
test-long: export QUORUMBENCH_LONG = 1
test-long: lint servers browser sshd patroni hdrhistogram
	GOOS=darwin go vet ./...
	QUORUMBENCH_VERDICT_TRIALS=150 go test -timeout 60m ./internal/testing/verdictbench
	QUORUMBENCH_CAPACITY_SEEDS=100 go test -timeout 30m ./internal/results/analyze/capacity
	QUORUMBENCH_STATS_RUNS=20000 go test -timeout 20m ./internal/results/analyze/stats
	QUORUMBENCH_OUTAGES=10 go test -timeout 20m ./internal/measure
	QUORUMBENCH_LIES=20 go test -timeout 40m -run 'PlantedLies|LiesToWatchers|LiesToAMembership|LiesToACatalog|LiesToElections' ./internal/testing/e2e
	QUORUMBENCH_CHECKED=5 go test -timeout 30m -run NoStoreIsAccused ./internal/testing/e2e
	QUORUMBENCH_HISTORIES=1000 QUORUMBENCH_ORACLE=700 go test -timeout 60m ./internal/results/verify
	QUORUMBENCH_TEST_RACE=1 go test -race -timeout 30m ./internal/cli
	QUORUMBENCH_TEST_KILLS=0-49 go test -timeout 60m -run TestKills ./internal/cli
	QUORUMBENCH_TEST_AGENTS=100 go test -timeout 20m -run TestManyAgentsOnOneMachine ./internal/cli
	$(MAKE) unraced
	go test -race -timeout 120m ./...

# A run on a real Kubernetes of one node, which the test makes in namespaces of its
# own: API server, controllers, scheduler and kubelet from their Go module (built
# once, some minutes), containerd, runc and the CNI plug-ins from Debian, which are
# installed where that is allowed. Root is needed; without it, or without one of
# these, the tests are skipped and say so.
.PHONY: test-kubernetes
test-kubernetes:
	@command -v containerd >/dev/null || \
	{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -q && \
	apt-get install -q -y --no-install-recommends containerd runc containernetworking-plugins iproute2; } || \
	echo "There is no containerd: the tests on Kubernetes are skipped."
	go run ./internal/testing/servers/install kubernetes
	QUORUMBENCH_TEST_KUBERNETES=1 go test -v -count=1 -timeout 20m ./internal/run/kubernetes ./internal/testing/e2e/kubernetes

# Each fuzz test for a while: make fuzz FUZZTIME=1m. What it keeps is made small
# in a few steps only: by default that takes a minute for each.
FUZZTIME ?= 20s
fuzz:
	@for pkg in $$(grep -rl --include='*_test.go' '^func Fuzz' internal | xargs -n1 dirname | sort -u); do \
		for name in $$(grep -rho --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' $$pkg | sed 's/func //'); do \
			echo "$$pkg $$name" && go test ./$$pkg -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
		done; \
	done

# The hot path's own benchmarks, with allocations.
bench:
	go test -run '^$$' -bench . -skip '^Benchmark(Agents|CheckCost)' -benchmem ./internal/...

# Many agents on this machine, and what a load costs over one beside without: pairs of
# runs, some minutes.
.PHONY: bench-agents
bench-agents:
	go test -run '^$$' -bench '^BenchmarkAgents' -benchtime 1x -timeout 60m ./internal/cli

# What it costs a load that its answers are checked, in pairs of runs, and how long the
# check of 30 million operations of 100,000 keys takes. Some minutes, and 2 GB.
.PHONY: bench-check
bench-check:
	go test -run '^$$' -bench '^BenchmarkCheckCost' -benchtime 1x -timeout 20m ./internal/cli
	QUORUMBENCH_HISTORY_OPERATIONS=30000000 go test -run '^$$' -bench '^BenchmarkFile' -benchtime 1x -timeout 20m ./internal/results/verify

# What a relay that records costs a load, and by how much a replay misses the times of
# its recording.
.PHONY: bench-record
bench-record:
	go test -run '^$$' -bench '^Benchmark(RecordingCost|ReplayTiming)$$' -benchtime 1x -timeout 20m ./internal/cli

# How far ten searches of a real etcd's capacity lie apart, behind a link that limits it:
# up to an hour, on a machine that does nothing else. QUORUMBENCH_SEARCHES is how many,
# QUORUMBENCH_LINK how many Mbit/s (0: the machine itself is the limit), QUORUMBENCH_DATA
# where the member has its data, such as a folder in memory.
.PHONY: bench-capacity
bench-capacity:
	go test -run '^$$' -bench '^BenchmarkSearchesAgree$$' -benchtime 1x -timeout 120m -v ./internal/cli

# Against h2load, wrk, hey and the official clients, on one machine in one run.
bench-peers:
	go run ./tools/benchpeers

# How often the verdict is wrong: a generator disturbed in known ways, in real
# time, on a machine that does nothing else.
bench-verdict:
	go run ./tools/verdictbench

# Six stores on seven hosts, which are network namespaces of this machine, from
# agents to the report: docs/how-to/many-machines.md.
hosts-demo: build servers
	go run ./tools/hostsdemo

# What zetcd costs beside ZooKeeper and its etcd and, with CETCD=PATH, cetcd beside Consul.
.PHONY: proxies-table
proxies-table: build servers
	sed $(if $(CETCD),'s#^\#cetcd##;s#exec: CETCD#exec: $(abspath $(CETCD))#',-n p) scenarios/proxies.yaml | bin/quorumbench run -

# The capacity of each store for one objective, docs/explanation/published-results.md: two minutes each, with
# CETCD=PATH of cetcd, too.
.PHONY: capacity-table
capacity-table: build servers
	bin/quorumbench capacity --objective 'p99<100ms, errors<0.1%' --until $(if $(CETCD),720s,600s) \
		--over store=etcd,etcdv2,zookeeper,consul,zetcd$(if $(CETCD),$(comma)cetcd=$(abspath $(CETCD)))

# What breaks, and for how long, of all stores side by side: docs/how-to/break-the-leader.md. Some 70
# minutes; 85 with CETCD=PATH, the binary of cetcd, which no registry has.
.PHONY: faults-table
CETCD ?=
comma := ,
faults-table: build servers
	sed 's#\(store: \[[^]]*\)\]#\1$(if $(CETCD),$(comma) {name: cetcd$(comma) exec: $(abspath $(CETCD))})]#' scenarios/faults.yaml | bin/quorumbench run -
