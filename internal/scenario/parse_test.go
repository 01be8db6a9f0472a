package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
)

func parse(t *testing.T, name, data string) *Scenario {
	t.Helper()
	s, err := Parse(name, []byte(data), shelf{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// parseTrial parses a scenario with a single trial that consists of the given lines, indented by
// four spaces.
func parseTrial(t *testing.T, lines ...string) (Trial, []string) {
	t.Helper()
	s := parse(t, "f.yaml", "trials:\n  - store: etcd\n    "+strings.Join(lines, "\n    ")+"\n")
	if len(s.Trials) != 1 {
		t.Fatalf("the scenario has %d trials, want 1", len(s.Trials))
	}
	return s.Trials[0], s.Warnings
}

func TestDefaultsOfAFile(t *testing.T) {
	s := parse(t, "dir/my file.yaml", "trials: [{store: etcd, operation: get}]")
	if s.Name != "my-file" || s.Seed != 1 || s.Ordered || len(s.Warnings) != 0 {
		t.Errorf("the scenario is %+v", s)
	}
	want := Trial{
		Name: "get", Number: 1, Repeat: 1, Repeats: 1,
		Cluster: Cluster{Store: "etcd", Members: 3, Settings: etcdSettings{SnapshotCount: 10_000},
			Key: `{"store":"etcd","members":3,"settings":{"SnapshotCount":10000,"Heartbeat":0,"UnsafeNoSync":false}}`},
		Load: Load{
			Mix:    []Operation{{kv.Get, kv.Linearizable, 1}},
			Target: kv.Target{Mode: kv.AllMembers}, Connections: 100, Clients: 1000,
			KeySize: 8, ValueSize: 256, KeySpace: 100_000, Distribution: Distribution{Name: Uniform},
			Duration: 10 * time.Second, Warmup: 2 * time.Second, Timeout: 10 * time.Second,
			TxnKeys: defaultTxnKeys, MaxInFlight: 100_000, Preload: true, Seed: s.Trials[0].Load.Seed,
		},
	}
	if diff := cmp.Diff([]Trial{want}, s.Trials); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryKeyOfATrial(t *testing.T) {
	got, warnings := parseTrial(t,
		"name: all-keys", "repeats: 1", "members: 5", "exec: /opt/etcd",
		"settings: {snapshot-count: 7, heartbeat: 50ms, unsafe-no-sync: true}",
		"mix: [{operation: put, weight: 1.5}, {operation: get, consistency: s}, {operation: range, weight: 2}]",
		"consistency: l", "target: member:2", "connections: 4", "clients: 8",
		"key-size: 16B", "value-size: 1.5KiB", "key-space: 5_000", "prefix: 'bench/'",
		"distribution: {name: hotspot, hot-keys: 0.1, hot-operations: 0.9}",
		"range-key: a", "range-end: b", "range-limit: 10",
		"arrival: poisson", "rate: 1_500.5", "total: 3000", "warmup: 0s", "timeout: 500ms",
		"max-in-flight: 50", "preload: false", "threads: 2", "allow-volatile: true")
	want := Trial{
		Name: "all-keys", Number: 1, Repeat: 1, Repeats: 1,
		Cluster: Cluster{Store: "etcd", Members: 5, Exec: "/opt/etcd", Key: got.Cluster.Key,
			Settings: etcdSettings{SnapshotCount: 7, Heartbeat: 50 * time.Millisecond, UnsafeNoSync: true}},
		Load: Load{
			Mix:    []Operation{{kv.Put, kv.NoConsistency, 1.5}, {kv.Get, kv.Local, 1}, {kv.Range, kv.Linearizable, 2}},
			Target: kv.Target{Mode: kv.SingleMember, Member: 2}, Connections: 4, Clients: 8,
			KeySize: 16, ValueSize: 1536, KeySpace: 5000, Prefix: "bench/",
			Distribution: Distribution{Name: Hotspot, HotKeys: 0.1, HotOps: 0.9},
			Ranges:       Ranges{RangeKey: []byte("a"), RangeEnd: []byte("b"), RangeLimit: 10}, TxnKeys: defaultTxnKeys,
			Arrival: Poisson, Rate: Rate{PerSecond: 1500.5}, Total: 3000, Timeout: 500 * time.Millisecond,
			MaxInFlight: 50, Threads: 2, TrialOptions: TrialOptions{AllowVolatile: true}, Seed: got.Load.Seed,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(warnings) != 0 {
		t.Errorf("the warnings are %q, want none", warnings)
	}
}

func TestAttach(t *testing.T) {
	got, _ := parseTrial(t, "operation: put", "endpoints: a:1, b:2", "user: root:geheim", "dial-timeout: 2s",
		"tls: {cacert: ca.pem, cert: c.pem, key: k.pem}")
	want := &RunningCluster{Endpoints: []string{"a:1", "b:2"}, TLS: true, CACert: "ca.pem", Cert: "c.pem", CertKey: "k.pem",
		User: "root:geheim", DialTimeout: 2 * time.Second}
	if diff := cmp.Diff(want, got.Cluster.RunningCluster); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !want.UsesTLS() || !(&RunningCluster{SkipVerify: true}).UsesTLS() || (&RunningCluster{}).UsesTLS() {
		t.Error("UsesTLS is wrong")
	}
	if got.Cluster.Members != 0 || got.Load.Target.Mode != kv.AnyEndpoint {
		t.Errorf("members %d, target %s; want none started and any", got.Cluster.Members, got.Load.Target)
	}
	if strings.Contains(got.Cluster.Key, "geheim") || !strings.Contains(got.Cluster.Key, "root") {
		t.Errorf("the cluster's key is %s; want a key that contains the user's name and no password", got.Cluster.Key)
	}
}

func TestPasswordsAreKeptOutOfTheSource(t *testing.T) {
	data := "defaults: {user: root:geheim} # as root:geheim\ntrials:\n- {store: etcd, operation: put, endpoints: a:1}\n" +
		"- {store: etcd, operation: put, name: b, endpoints: a:1, user: 'eve:x'}\n"
	s := parse(t, "f.yaml", data)
	want := strings.NewReplacer(" # as root:geheim", "", "geheim", "***", "eve:x", "eve:***").Replace(data)
	if diff := cmp.Diff(want, string(s.Source)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTrialOverridesDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		defaults, trial string
		ok              func(Trial) bool
	}{
		"total over duration":    {"duration: 5s", "total: 7", func(t Trial) bool { return t.Load.Total == 7 && t.Load.Duration == 0 && t.Load.KeySpace == 7 }},
		"duration over total":    {"total: 7", "duration: 5s", func(t Trial) bool { return t.Load.Total == 0 && t.Load.Duration == 5*time.Second }},
		"mix over operation":     {"operation: get", "mix: {put: 1}", func(t Trial) bool { return t.Load.Mix[0].Kind == kv.Put }},
		"rate over closed":       {"arrival: closed", "rate: 5", func(t Trial) bool { return t.Load.Arrival == Constant }},
		"closed over rate":       {"rate: 5", "arrival: closed", func(t Trial) bool { return t.Load.Rate == Rate{} }},
		"rate keeps poisson":     {"arrival: poisson", "rate: 5", func(t Trial) bool { return t.Load.Arrival == Poisson }},
		"endpoints over members": {"members: 5", "endpoints: a:1", func(t Trial) bool { return t.Cluster.RunningCluster != nil }},
		"members over endpoints": {"endpoints: 'a:1', user: 'a:b', data-dir: /var/lib/etcd", "members: 5", func(t Trial) bool { return t.Cluster.RunningCluster == nil && t.Cluster.Members == 5 }},
		"another store's": {"store: slow, settings: {snapshot-count: 5}", "target: all", func(t Trial) bool {
			return t.Cluster.Settings.(etcdSettings).SnapshotCount == 10_000
		}},
		"unused consistency": {"consistency: local", "operation: put", func(t Trial) bool { return t.Load.Mix[0].Consistency == kv.NoConsistency }},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.defaults
			if !strings.Contains(d, "operation") && !strings.Contains(c.trial, "operation") && !strings.Contains(c.trial, "mix") {
				d += ", operation: put"
			}
			s := parse(t, "f.yaml", "defaults: {"+d+"}\ntrials:\n  - store: etcd\n    "+c.trial+"\n")
			if !c.ok(s.Trials[0]) {
				t.Errorf("got %+v", s.Trials[0])
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		store, rest string
		want        []string
		connections int
	}{
		"surplus":           {"etcd", "operation: put, connections: 100, clients: 10", []string{"trial put: 100 connections for 10 clients: 90 are without a client and will not be opened"}, 10},
		"surplus not asked": {"etcd", "operation: put, clients: 10", nil, 10},
		"one at a time":     {"slow", "operation: put, connections: 10, clients: 50", []string{"trial put: 10 connections for 50 clients: a connection to this store can have only 1 operation in flight, so 50 connections are used"}, 50},
		"not asked":         {"slow", "operation: put, clients: 500", nil, 500},
		"as asked":          {"slow", "operation: put, connections: 50, clients: 50", nil, 50},
		"large value":       {"etcd", "operation: put, value-size: 2MB, key-space: 10", []string{"trial put: a key and its value together have 2000008 B, but most stores accept only 1.5 MiB by default"}, 100},
		"large preload":     {"etcd", "operation: put, value-size: 1MB, key-space: 10000", []string{"trial put: the preload writes 10,000 keys with values of 1 MB, more than 2 GiB in total"}, 100},
		"endless range":     {"etcd", "operation: range", []string{"trial range: each range operation reads to the end of the key space; use range-limit to limit it"}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, "f.yaml", "trials: [{store: "+c.store+", "+c.rest+"}]")
			if diff := cmp.Diff(c.want, s.Warnings); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := s.Trials[0].Load.Connections; got != c.connections {
				t.Errorf("%d connections, want %d", got, c.connections)
			}
		})
	}
}

func TestClusterKeys(t *testing.T) {
	s := parse(t, "f.yaml", `
order: written
defaults: {store: etcd, operation: put}
trials:
  - {name: a}
  - {name: b, settings: {snapshot-count: 10000}, clients: 5}
  - {name: c, members: 5}
  - {name: d, settings: {snapshot-count: 5}}
  - {name: e, exec: /opt/etcd}
  - {name: f, endpoints: "a:1"}
  - {name: g, endpoints: "a:2"}
`)
	keys := make(map[string]string)
	for _, trial := range s.Trials {
		keys[trial.Cluster.Key] += trial.Name
	}
	var groups []string
	for _, g := range keys {
		groups = append(groups, g)
	}
	if len(groups) != 6 || keys[s.Trials[0].Cluster.Key] != "ab" {
		t.Errorf("the groups that share a cluster are %q; want a and b alone to share one", groups)
	}
}

// Trials on the same running cluster share their connections to it only if they have the same access.
func TestClusterKeysOfRunningClusters(t *testing.T) {
	base := RunningCluster{Endpoints: []string{"a:1"}, TLS: true, CACert: "ca", Cert: "c", CertKey: "k", User: "root:geheim", DialTimeout: time.Second}
	keyOf := func(change func(*RunningCluster)) string {
		a := base
		change(&a)
		key, err := clusterKey(Cluster{Store: "etcd", RunningCluster: &a})
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	want := keyOf(func(*RunningCluster) {})
	if keyOf(func(a *RunningCluster) { a.DataDir = "/data" }) != want {
		t.Error("the key depends on the data folder, which is not a part of the access")
	}
	for name, change := range map[string]func(*RunningCluster){
		"endpoints": func(a *RunningCluster) { a.Endpoints = []string{"a:2"} }, "tls": func(a *RunningCluster) { a.TLS = false },
		"cacert": func(a *RunningCluster) { a.CACert = "" }, "authority": func(a *RunningCluster) { a.Authority = "PEM" },
		"cert": func(a *RunningCluster) { a.Cert = "d" }, "key": func(a *RunningCluster) { a.CertKey = "l" },
		"insecure-skip-tls-verify": func(a *RunningCluster) { a.SkipVerify = true }, "dial-timeout": func(a *RunningCluster) { a.DialTimeout = time.Minute },
		"user's name": func(a *RunningCluster) { a.User = "me:geheim" }, "password": func(a *RunningCluster) { a.User = "root:other" },
	} {
		if key := keyOf(change); key == want || strings.Contains(key, "geheim") {
			t.Errorf("with another %s, the key is %s; want a key without the password that differs from %s", name, key, want)
		}
	}
}

func TestColonsInListsInBraces(t *testing.T) {
	s := parse(t, "f.yaml", "trials: [{store: etcd, operation: put, endpoints: [127.0.0.1:2379, host:1, 'c:3']}, {store: etcd, operation: get, matrix: {target: [leader, member:2]}}]")
	for _, trial := range s.Trials {
		if trial.Name == "put" && strings.Join(trial.Cluster.RunningCluster.Endpoints, " ") != "127.0.0.1:2379 host:1 c:3" {
			t.Errorf("the endpoints are %q", trial.Cluster.RunningCluster.Endpoints)
		}
	}
	if !strings.Contains(order(s), "get-target=member-2") {
		t.Errorf("the trials are %s", order(s))
	}
	_, err := Parse("f.yaml", []byte("trials: [{store: etcd, operation: get, matrix: {target: [member: 2]}}]"), shelf{}, Options{})
	if err == nil || err.Error() != "f.yaml:1:58: target must be a single value, not a mapping" {
		t.Errorf("a real mapping: %v", err)
	}
}

// A scenario file can express all flags of bench.
func TestScansAndConduct(t *testing.T) {
	got, warnings := parseTrial(t, "operation: range", "range-limit: 7", "count-only: true", "compact: {every: 30s}", "compare-hashes: true")
	want := got.Load
	want.Scan, want.Compact, want.CompareHashes = Scan{CountOnly: true}, Compaction{Interval: 30 * time.Second, KeptRevisions: defaultKeptRevisions}, true
	if diff := cmp.Diff(want, got.Load); diff != "" || len(warnings) > 0 {
		t.Errorf("the warnings are %q, and the loads differ (-want +got):\n%s", warnings, diff)
	}
	got, _ = parseTrial(t, "operation: range", "keys-only: true", "page-size: 10_000", "compact: {every: 1m, behind: 5}")
	if l := &got.Load; l.Scan != (Scan{KeysOnly: true, PageSize: 10_000}) || l.Compact != (Compaction{Interval: time.Minute, KeptRevisions: 5}) {
		t.Errorf("%+v, %+v", l.Scan, l.Compact)
	}
	s := parse(t, "f.yaml", "defaults: {store: etcd, operation: range, range-limit: 1, compact: {every: 5s}}\ntrials: [{name: a, compact: none}, {name: b, stream: true}]")
	for _, trial := range s.Trials {
		if l := &trial.Load; l.Scan.Streamed != (trial.Name == "b") || (l.Compact.Interval > 0) != (trial.Name == "b") {
			t.Errorf("%s: %+v, %+v", trial.Name, l.Scan, l.Compact)
		}
	}
}
