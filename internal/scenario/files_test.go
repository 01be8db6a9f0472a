package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

func init() { scenario.Apps = load.Applications }

// ready parses a file in the folder scenarios, with the real stores.
func ready(t *testing.T, name string, o scenario.Options) *scenario.Scenario {
	t.Helper()
	s, err := scenario.ParseFile("../../scenarios/"+name+".yaml", registry.Catalog{Apps: load.Applications}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every scenario in the folder scenarios is accepted without a warning, has the same name as its
// file, begins with a comment, and can be scaled.
func TestBuiltInScenariosAreValid(t *testing.T) {
	files, err := filepath.Glob("../../scenarios/*.yaml")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			s := ready(t, name, scenario.Options{})
			if s.Name != name || s.Description == "" || len(s.Warnings) != 0 {
				t.Errorf("the scenario has the name %s, the description %q and the warnings %q", s.Name, s.Description, s.Warnings)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(data), "# ") {
				t.Error("the file does not begin with a comment about its purpose")
			}
			small := ready(t, name, scenario.Options{Scale: 0.001})
			if len(small.Trials) == 0 || len(small.Trials) > len(s.Trials) || len(small.Warnings) != 0 {
				t.Errorf("the scaled scenario has %d trials of %d and the warnings %q", len(small.Trials), len(s.Trials), small.Warnings)
			}
			for i := range small.Trials {
				if l := small.Trials[i].Load; l.Arrival == scenario.Closed && l.Clients > 10 || l.Connections > l.Clients || l.Total > 5000 {
					t.Errorf("the load of %s is not scaled: %+v", small.Trials[i].Name, l)
				}
			}
		})
	}
}

// published describes the properties that each scenario must have to reproduce a published table.
func TestPublishedScenariosAreAsPublished(t *testing.T) {
	for name, c := range map[string]struct {
		trials int
		is     func(t *scenario.Trial) bool
	}{
		"etcd-v2-matrix": {24, func(t *scenario.Trial) bool {
			l := t.Load
			return t.Cluster.Store == "etcdv2" && t.Cluster.Members == 3 && l.KeySpace == 1 && l.Prefix == "foo" && l.KeySize == 0 && l.Preload &&
				(l.ValueSize == 64 || l.ValueSize == 256) && (l.Clients == 1 || l.Clients == 64 || l.Clients == 256) && l.Connections == l.Clients &&
				(l.Mix[0].Kind == kv.Put || l.Mix[0].Kind == kv.Get && l.Mix[0].Consistency == kv.Local) && l.Duration == 10*time.Second
		}},
		"etcd-put-range": {18, func(t *scenario.Trial) bool {
			l := t.Load
			one := l.Total == 10_000 && l.Clients == 1 && l.Connections == 1
			many := l.Total == 100_000 && l.Clients == 1000 && l.Connections == 100
			return (one || many) && (l.Mix[0].Kind == kv.Get && l.KeySpace == 1 || l.Mix[0].Kind == kv.Put && l.KeySpace == l.Total && l.KeySize == 8 && l.ValueSize == 256)
		}},
		"dbtester-write-1m": {3, func(t *scenario.Trial) bool {
			clients := map[string][2]int{"etcd": {1000, 100}, "zookeeper": {700, 700}, "consul": {500, 500}}[t.Cluster.Store]
			return records(t, 1_000_000) && [2]int{t.Load.Clients, t.Load.Connections} == clients && !t.Load.Preload
		}},
		"dbtester-client-variable": {24, func(t *scenario.Trial) bool { return records(t, 125_000) && t.Load.Preload }},
		"dbtester-write-1000qps": {3, func(t *scenario.Trial) bool {
			return records(t, 1_000_000) && t.Load.Rate.PerSecond == 1000 && t.Load.Clients == 100
		}},
		"dbtester-write-100k-one-client": {3, func(t *scenario.Trial) bool { return records(t, 100_000) && t.Load.Clients == 1 }},
		"dbtester-too-many-keys":         {3, func(t *scenario.Trial) bool { return records(t, 3_000_000) }},
		"dbtester-read-3m-same-key": {6, func(t *scenario.Trial) bool {
			return t.Load.KeySpace == 1 && t.Load.Total == 3_000_000 && t.Load.Mix[0].Kind == kv.Get
		}},
		"dbtester-read-oneshot": {6, func(t *scenario.Trial) bool {
			return t.Load.NewConnection && t.Load.KeySpace == 1 && t.Load.Mix[0].Kind == kv.Get
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := ready(t, name, scenario.Options{})
			if len(s.Trials) != c.trials {
				t.Errorf("the scenario has %d trials, want %d", len(s.Trials), c.trials)
			}
			for i := range s.Trials {
				if !c.is(&s.Trials[i]) {
					t.Errorf("trial %s differs from the published conditions: %+v", s.Trials[i].Name, s.Trials[i])
				}
			}
		})
	}
	v3 := ready(t, "etcd-v2-matrix", scenario.Options{Store: "etcd"})
	if len(v3.Trials) != 24 || v3.Trials[0].Cluster.Store != "etcd" {
		t.Errorf("with --store etcd, there are %d trials of %s", len(v3.Trials), v3.Trials[0].Cluster.Store)
	}
}

// records reports whether the trial writes new keys of 256 bytes with values of 1 KiB, each key
// once.
func records(t *scenario.Trial, total uint64) bool {
	l := t.Load
	return l.Total == total && l.KeySpace == total && l.KeySize == 256 && l.ValueSize == 1024 &&
		l.Distribution.Name == scenario.Sequential && l.Mix[0].Kind == kv.Put && t.Cluster.Members == 3
}

// Features that a store lacks are refused before anything starts, and features that it has are
// accepted. The test covers watchers, transactions and keep-alives for every store.
func TestFilesCanUseStoresAbilities(t *testing.T) {
	for _, s := range registry.All() {
		has := s.Capabilities().Operations
		for k, of := range map[kv.Kind]string{
			kv.Watch: "operation: put, watch: {watchers: 3}", kv.STM: "operation: stm", kv.KeepAlive: "operation: keepalive", kv.TxnGet: "operation: txn-get, range-limit: 3",
		} {
			_, err := scenario.Parse("f.yaml", []byte("trials: [{store: "+s.Name()+", "+of+"}]"), registry.Catalog{Apps: load.Applications}, scenario.Options{})
			switch {
			case has[k] != "" && err != nil:
				t.Errorf("%s supports %s, but the error is %v", s.Name(), k, err)
			case has[k] == "" && (err == nil || !strings.Contains(err.Error(), s.Name()+" has no operation "+k.String()) && !strings.Contains(err.Error(), k.String()+" is refused")):
				t.Errorf("%s does not support %s, but the error is %v", s.Name(), k, err)
			}
		}
	}
}

// A feature that the store does not support is refused with the position in the file, and with the
// store's own explanation if it has one.
func TestFilesCanUseOnlySupportedFeatures(t *testing.T) {
	for _, s := range registry.All() {
		can := s.Capabilities()
		for _, of := range []struct {
			feature  kv.Feature
			load, at string
		}{
			{kv.Compaction, "operation: put, compact: {every: 30s}", ": <compact.every> is not supported by this store: "},
			{kv.Hashes, "operation: put, compare-hashes: true", ": <compare-hashes> is not supported by this store: "},
			{kv.TLS, "operation: put, endpoints: 127.0.0.1:1, tls: {}", ": <tls> is not supported by this store: "},
			{kv.Users, "operation: put, endpoints: 127.0.0.1:1, user: a:b", ": <user> is not supported by this store: "},
		} {
			want := can.CheckFeature(s.Name(), of.feature)
			text := "trials:\n- {store: " + s.Name() + ",\n   " + of.load + "}"
			_, err := scenario.Parse("f.yaml", []byte(text), registry.Catalog{Apps: load.Applications}, scenario.Options{})
			switch at := strings.NewReplacer("<", "", ">", "").Replace(of.at); {
			case want == nil && err != nil:
				t.Errorf("%s supports %s, but the error is %v", s.Name(), of.feature, err)
			case want != nil && (err == nil || !strings.HasPrefix(err.Error(), "f.yaml:3:") || !strings.Contains(err.Error(), at+want.Error())):
				t.Errorf("%s does not support %s, but the error is %v", s.Name(), of.feature, err)
			}
		}
	}
}

// proxies.yaml contains commented-out lines for cetcd. The Makefile target proxies-table enables
// these lines. They define trials like the others: the same load on another store.
func TestProxiesWithCetcd(t *testing.T) {
	text, err := os.ReadFile("../../scenarios/proxies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.NewReplacer("\n#cetcd", "\n", "exec: CETCD", "exec: /opt/cetcd").Replace(string(text))
	s, err := scenario.Parse("proxies.yaml", []byte(whole), registry.Catalog{Apps: load.Applications}, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	others := map[string]int{}
	for _, trial := range s.Trials {
		if trial.BaselineOf != "" {
			others[trial.BaselineOf+" "+trial.Cluster.Store]++
		} else if trial.Cluster.Store == "cetcd" && trial.Cluster.Exec != "/opt/cetcd" {
			t.Errorf("%s starts the program %q", trial.Name, trial.Cluster.Exec)
		}
	}
	for _, pair := range []string{"zetcd-vs-zookeeper zookeeper", "zetcd-vs-etcd etcd", "cetcd-vs-consul consul", "cetcd-vs-etcd etcd"} {
		if others[pair] != 1 {
			t.Errorf("the pair %s occurs %d times", pair, others[pair])
		}
	}
}
