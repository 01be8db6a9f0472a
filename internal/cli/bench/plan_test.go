package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// planned returns the scenario that `bench` would run. The first word is the name of the operation,
// and the other words are flags.
func planned(t *testing.T, words ...string) (*scenario.Scenario, error) {
	t.Helper()
	for _, kind := range kinds() {
		if kind.name != words[0] {
			continue
		}
		set := pflag.NewFlagSet(kind.name, pflag.ContinueOnError)
		f := newOptions(newCommon(command.NewFlags(set), new(bool)), kind, set)
		if err := set.Parse(words[1:]); err != nil {
			return nil, command.FlagError(&cobra.Command{Use: kind.name}, err)
		}
		return f.scenario(set.Args(), registry.Catalog{})
	}
	t.Fatalf("there is no command %q", words[0])
	return nil, nil
}

// The suggestion to repeat a measurement and the check of --repeats agree on which flags exclude
// repeats.
func TestFlagsForASingleMeasurement(t *testing.T) {
	for _, flag := range []string{"", "sample", "precise", "report-perfdash", "check-hashkv"} {
		kind := kinds()[slices.IndexFunc(kinds(), func(k kind) bool { return k.name == "put" })]
		set := pflag.NewFlagSet(kind.name, pflag.ContinueOnError)
		f := newOptions(newCommon(command.NewFlags(set), new(bool)), kind, set)
		if flag != "" {
			if err := set.Parse([]string{"--" + flag}); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.singleOnly(); got != flag {
			t.Errorf("with the flag %q, singleOnly returns %q", flag, got)
		}
		if f.repeats = 5; (f.checkRepeats() == nil) != (flag == "") {
			t.Errorf("with the flag %q, the check of --repeats returns %v", flag, f.checkRepeats())
		}
	}
}

// op returns one entry of a mix.
func op(k kv.Kind, c kv.Consistency, weight float64) scenario.Operation {
	return scenario.Operation{Kind: k, Consistency: c, Weight: weight}
}

func TestPlan(t *testing.T) {
	const (
		defaultKeys   = scenario.DefaultKeySpace
		etcdValueSize = 8 // the default value size of etcd's benchmark tool
		catchUp       = 5 * time.Minute
	)
	for _, test := range []struct {
		words string
		args  []string
		want  func(*scenario.Load)
	}{
		{"put", nil, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"get with a duration", []string{"get", "--duration", "5s", "--warmup", "1s", "--consistency", "s"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Get, kv.Local, 1)}
			l.Duration, l.Warmup, l.KeySpace, l.Preload = 5*time.Second, time.Second, defaultKeys, true
		}},
		{"get without preload", []string{"get", "--no-preload", "--consistency=l", "--total=500", "--key-space-size=20"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Get, kv.Linearizable, 1)}
			l.Total, l.KeySpace = 500, 20
		}},
		{"put in an open loop", []string{"put", "--rate", "5_000", "--conns", "4", "--max-in-flight", "7", "--preload"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Arrival, l.Rate.PerSecond, l.MaxInFlight, l.Preload = scenario.Constant, 5000, 7, true
			l.Connections, l.Clients = 4, 4
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"poisson", []string{"put", "--rate", "10", "--arrival", "poisson"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Arrival, l.Rate.PerSecond = scenario.Poisson, 10
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"rate 0 is a closed loop", []string{"put", "--rate", "0"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"range of an interval", []string{"range", "a", "b", "--limit", "3", "--target", "leader"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Range, kv.Linearizable, 1)}
			l.RangeKey, l.RangeEnd, l.RangeLimit = []byte("a"), []byte("b"), 3
			l.Target.Mode = kv.LeaderOnly
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"range of a key", []string{"range", "a"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Range, kv.Linearizable, 1)}
			l.RangeKey = []byte("a")
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"delete", []string{"delete", "--total", "7"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Delete, kv.NoConsistency, 1)}
			l.Distribution.Name = scenario.Sequential
			l.Total, l.KeySpace, l.Preload = 7, 7, true
		}},
		{"mixed", []string{"mixed", "--put-weight", "1", "--get-weight", "3", "--consistency", "local"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1), op(kv.Get, kv.Local, 3)}
			l.Total, l.KeySpace, l.Preload = 10_000, 10_000, true
		}},
		{"mixed of one", []string{"mixed", "--put-weight", "0"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Get, kv.Linearizable, 50)}
			l.Total, l.KeySpace, l.Preload = 10_000, 10_000, true
		}},
		{"keys", []string{"put", "--sequential-keys", "--key-size", "16", "--val-size", "1KiB", "--prefix", "p/", "--threads", "1", "--timeout", "2s",
			"--conns", "10", "--clients", "100", "--target", "member:2"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Distribution = scenario.Distribution{Name: scenario.Sequential}
			l.KeySize, l.ValueSize, l.Prefix, l.Threads, l.Timeout = 16, 1024, "p/", 1, 2*time.Second
			l.Connections, l.Clients, l.Target = 10, 100, kv.Target{Mode: kv.SingleMember, Member: 2}
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"connections alone bring no clients", []string{"put", "--conns", "3", "--rate", "0", "--clients", "3"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Connections, l.Clients = 3, 3
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"target-leader", []string{"put", "--target-leader", "--key-space-size", "1"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Target.Mode = kv.LeaderOnly
			l.Total, l.KeySpace = 10_000, 1
		}},
		{"auto-sync-interval", []string{"get", "--auto-sync-interval", "1s"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Get, kv.Linearizable, 1)}
			l.Target.Mode, l.Preload = kv.AllMembers, true
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"range of a prefix", []string{"range", "a\xff", "--prefix"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Range, kv.Linearizable, 1)}
			l.RangeKey, l.RangeEnd = []byte("a\xff"), []byte("b")
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"list", []string{"list", "--limit", "20", "--consistency", "s"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Range, kv.Local, 1)}
			l.RangeLimit, l.Preload = 20, true
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"cas", []string{"cas", "--total", "9"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.CAS, kv.NoConsistency, 1)}
			l.Total, l.KeySpace, l.Preload = 9, 9, true
		}},
		{"txn-put", []string{"txn-put", "--txn-ops", "4"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Txn, kv.NoConsistency, 1)}
			l.TxnKeys, l.ValueSize = 4, etcdValueSize
			l.Distribution = scenario.Distribution{Name: scenario.Sequential}
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"txn-mixed", []string{"txn-mixed", "foo", "--end-key", "goo", "--rw-ratio", "3", "--key-space-size", "1"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.TxnGet, kv.Linearizable, 3), op(kv.Txn, kv.NoConsistency, 1)}
			l.TxnKeys, l.ValueSize, l.RangeLimit, l.RangeKey, l.RangeEnd = 1, etcdValueSize, 1000, []byte("foo"), []byte("goo")
			l.Distribution = scenario.Distribution{Name: scenario.Sequential}
			l.Total, l.KeySpace, l.Preload = 10_000, 1, true
		}},
		{"txn-mixed of all its keys", []string{"txn-mixed", "--consistency", "s"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.TxnGet, kv.Local, 1), op(kv.Txn, kv.NoConsistency, 1)}
			l.TxnKeys, l.ValueSize, l.RangeLimit, l.RangeKey, l.RangeEnd = 1, etcdValueSize, 1000, []byte(scenario.RunningClusterPrefix), call.PrefixEnd([]byte(scenario.RunningClusterPrefix))
			l.Distribution = scenario.Distribution{Name: scenario.Sequential}
			l.Total, l.KeySpace, l.Preload = 10_000, 10_000, true
		}},
		{"stm", []string{"stm"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.STM, kv.NoConsistency, 1)}
			l.STM = &scenario.STM{Isolation: kv.RepeatableReads, KeysPerTxn: 1, WritePercent: 50}
			l.KeySize, l.ValueSize, l.Total, l.KeySpace = 16, etcdValueSize, 10_000, 1
		}},
		{"stm under a lock", []string{"stm", "--isolation", "ss", "--keys", "9", "--keys-per-txn", "4", "--txn-wr-percent", "75", "--stm-locker", "lock-rpc", "--val-size", "20"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.STM, kv.NoConsistency, 1)}
			l.STM = &scenario.STM{Isolation: kv.SerializableSnapshot, KeysPerTxn: 4, WritePercent: 75, Locker: kv.LockRPC}
			l.KeySize, l.ValueSize, l.Total, l.KeySpace = 16, 20, 10_000, 9
		}},
		{"lease-keepalive", []string{"lease-keepalive", "--clients", "7"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.KeepAlive, kv.NoConsistency, 1)}
			l.Distribution = scenario.Distribution{Name: scenario.Sequential}
			l.Clients, l.Total, l.KeySpace = 7, 10_000, 1
		}},
		{"watch", []string{"watch"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Distribution = scenario.Distribution{Name: scenario.Sequential}
			l.KeySize, l.ValueSize, l.Total, l.KeySpace = 32, 32, 1000, 1
			l.Watch = &scenario.Watch{Watchers: 1000, Streams: 10}
		}},
		{"watch many keys", []string{"watch", "--watched-key-total", "50", "--key-space-size", "20", "--sequential-keys", "--put-rate", "10", "--put-total", "5", "--conns", "3"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Distribution = scenario.Distribution{Name: scenario.Sequential}
			l.Arrival, l.Rate.PerSecond, l.Connections, l.Clients = scenario.Constant, 10, 3, 3
			l.KeySize, l.ValueSize, l.Total, l.KeySpace = 32, 32, 5, 20
			l.Watch = &scenario.Watch{Watchers: 1000, Streams: 10}
		}},
		{"watch-get", []string{"watch-get", "--conns", "10", "--clients", "100", "--streams", "4"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Get, kv.Local, 1)}
			l.Distribution = scenario.Distribution{Name: scenario.Sequential}
			l.ValueSize, l.Duration, l.KeySpace, l.Preload = 32, catchUp, 1, true
			l.Watch = &scenario.Watch{Watchers: 10_000, Streams: 4, Connections: 4, Key: []byte(scenario.RunningClusterPrefix + "watchkey"), EarlierEvents: 8, CreatedInWindow: true}
		}},
		{"watch-latency", []string{"watch-latency", "--conns", "5", "--prevkv"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Distribution = scenario.Distribution{Name: scenario.Sequential}
			l.Arrival, l.Rate.PerSecond = scenario.Constant, 100
			l.KeySize, l.ValueSize, l.Total, l.KeySpace = 32, 32, 1000, 1
			l.Watch = &scenario.Watch{Watchers: 100, Streams: 10, Connections: 5, PrevKV: true}
		}},
		{"compaction and hashes", []string{"put", "--compact-interval", "5m", "--check-hashkv"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Total, l.KeySpace = 10_000, 10_000
			l.Compact, l.CompareHashes = scenario.Compaction{Interval: 5 * time.Minute, KeptRevisions: 1000}, true
		}},
		{"compaction first", []string{"put", "--compact-first", "--preload"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Total, l.KeySpace, l.Preload = 10_000, 10_000, true
			l.CompactFirst = true
		}},
		{"range in pages", []string{"range", "--prefix", "--paginate", "--keys-only"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Range, kv.Linearizable, 1)}
			l.RangeKey, l.RangeEnd, l.Scan = []byte(firstKey), []byte(endOfKeys), scenario.Scan{KeysOnly: true, PageSize: 10_000}
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"range as a stream", []string{"range", "a", "b", "--stream"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Range, kv.Linearizable, 1)}
			l.RangeKey, l.RangeEnd, l.Scan = []byte("a"), []byte("b"), scenario.Scan{Streamed: true}
			l.Total, l.KeySpace = 10_000, 10_000
		}},
		{"what files can say", []string{"put", "--watchers", "6", "--streams", "2", "--watch-conns", "1", "--watched-keys", "5", "--keys-per-watcher", "3", "--prevkv",
			"--val-size", "20", "--compact-interval", "5s", "--allow-volatile"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Watch = &scenario.Watch{Watchers: 6, Streams: 2, Connections: 1, WatchedKeys: 5, KeysPerWatcher: 3, PrevKV: true}
			l.Compact = scenario.Compaction{Interval: 5 * time.Second, KeptRevisions: 1000}
			l.ValueSize, l.AllowVolatile, l.Total, l.KeySpace = 20, true, 10_000, 10_000
		}},
		{"a mix of anything", []string{"mixed", "--mix", "put=1,get:local=2,get:l=3,range=4", "--consistency", "s", "--limit", "7", "--range-key", "a", "--range-end", "c"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1), op(kv.Get, kv.Local, 2), op(kv.Get, kv.Linearizable, 3), op(kv.Range, kv.Local, 4)}
			l.RangeKey, l.RangeEnd, l.RangeLimit = []byte("a"), []byte("c"), 7
			l.Total, l.KeySpace, l.Preload = 10_000, 10_000, true
		}},
		{"stm in a mix", []string{"mixed", "--mix", "put,stm", "--keys-per-txn", "3"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1), op(kv.STM, kv.NoConsistency, 1)}
			l.STM = &scenario.STM{Isolation: kv.RepeatableReads, KeysPerTxn: 3, WritePercent: 50}
			l.Total, l.KeySpace, l.Preload = 10_000, 10_000, true
		}},
		{"a later preload", []string{"stm", "--keys", "7", "--preload", "--distribution", "sequential"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.STM, kv.NoConsistency, 1)}
			l.STM = &scenario.STM{Isolation: kv.RepeatableReads, KeysPerTxn: 1, WritePercent: 50}
			l.Distribution = scenario.Distribution{Name: scenario.Sequential}
			l.KeySize, l.ValueSize, l.Total, l.KeySpace, l.Preload = 16, etcdValueSize, 10_000, 7, true
		}},
		{"hotspot", []string{"put", "--distribution", "hotspot:0.1:0.9"}, func(l *scenario.Load) {
			l.Mix = []scenario.Operation{op(kv.Put, kv.NoConsistency, 1)}
			l.Distribution = scenario.Distribution{Name: scenario.Hotspot, HotKeys: 0.1, HotOps: 0.9}
			l.Total, l.KeySpace = 10_000, 10_000
		}},
	} {
		t.Run(test.words, func(t *testing.T) {
			if test.args == nil {
				test.args = []string{test.words}
			}
			s, err := planned(t, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			want := scenario.DefaultLoad()
			want.Duration, want.Prefix = 0, scenario.RunningClusterPrefix
			if test.args[0] == "put" {
				want.ValueSize = etcdValueSize
			}
			test.want(&want)
			if diff := cmp.Diff(want, s.Trials[0].Load, cmpopts.IgnoreFields(scenario.Load{}, "Seed")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(s.Warnings) > 0 {
				t.Errorf("the plan has the warnings %q", s.Warnings)
			}
		})
	}
}

func TestPlanAttaches(t *testing.T) {
	for _, test := range []struct {
		args []string
		want scenario.RunningCluster
	}{
		{nil, scenario.RunningCluster{Endpoints: []string{"127.0.0.1:2379"}}},
		{[]string{"--endpoints", "http://a:1, b:2,http://[::1]:3/"}, scenario.RunningCluster{Endpoints: []string{"a:1", "b:2", "[::1]:3"}}},
		{[]string{"--endpoints", "https://a:1"}, scenario.RunningCluster{Endpoints: []string{"a:1"}, TLS: true}},
		{[]string{"--endpoints", "a:1", "--cacert", "ca", "--cert", "c", "--key", "k"},
			scenario.RunningCluster{Endpoints: []string{"a:1"}, TLS: true, CACert: "ca", Cert: "c", CertKey: "k"}},
		{[]string{"--endpoints", "a:1", "--insecure-skip-tls-verify", "--user", "root:a:b"},
			scenario.RunningCluster{Endpoints: []string{"a:1"}, TLS: true, SkipVerify: true, User: "root:a:b"}},
	} {
		s, err := planned(t, append([]string{"put"}, test.args...)...)
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		if diff := cmp.Diff(&test.want, s.Trials[0].Cluster.RunningCluster); diff != "" {
			t.Errorf("%q: -want +got:\n%s", test.args, diff)
		}
	}
}

func TestPlanHasTheGivenSeed(t *testing.T) {
	for _, test := range []struct {
		words []string
		want  uint64
	}{{[]string{"put"}, scenario.DefaultSeed}, {[]string{"put", "--seed", "5"}, 5}} {
		s, err := planned(t, test.words...)
		if err != nil {
			t.Fatal(err)
		}
		if s.Seed != test.want || s.Trials[0].Load.Seed != test.want {
			t.Errorf("%q: seeds %d and %d, not %d", test.words, s.Seed, s.Trials[0].Load.Seed, test.want)
		}
	}
}

// Every repeat is a trial with the same load and the given seed.
func TestPlanRepeats(t *testing.T) {
	s, err := planned(t, "put", "--repeats", "3", "--seed", "5", "--sample=false")
	if err != nil || len(s.Trials) != 3 {
		t.Fatal(s, err)
	}
	for i, trial := range s.Trials {
		if trial.Number != 1 || trial.Repeat != i+1 || trial.Repeats != 3 || trial.Load.Seed != 5 || trial.Name != "put" {
			t.Errorf("trial %d is %+v", i, trial)
		}
		if diff := cmp.Diff(s.Trials[0].Load, trial.Load); diff != "" {
			t.Errorf("the load of trial %d differs from that of the first: %s", i, diff)
		}
	}
}

// With a new connection for each operation, the number of connections equals the number of clients.
func TestPlanConnectsAnew(t *testing.T) {
	s, err := planned(t, "get", "--new-connection", "--clients", "7")
	if err != nil {
		t.Fatal(err)
	}
	one := s.Trials[0]
	if !one.Load.NewConnection || one.Load.Connections != 7 || len(s.Warnings) != 0 || len(one.Notes) != 1 || one.Notes[0] != scenario.NewConnectionNote {
		t.Errorf("%+v, warnings %q", one, s.Warnings)
	}
}

func TestPlanDropsSurplusConnections(t *testing.T) {
	s, err := planned(t, "put", "--conns", "100", "--clients", "10")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"100 connections for 10 clients: 90 are without a client and will not be opened"}
	if diff := cmp.Diff(want, s.Warnings); diff != "" || s.Trials[0].Load.Connections != 10 {
		t.Errorf("%d connections, warnings -want +got:\n%s", s.Trials[0].Load.Connections, diff)
	}
}
