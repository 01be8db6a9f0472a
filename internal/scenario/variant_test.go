package scenario

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
)

func names(s *Scenario) []string {
	var out []string
	for i := range s.Trials {
		out = append(out, s.Trials[i].Name)
	}
	slices.Sort(out)
	return out
}

func trial(t *testing.T, s *Scenario, name string) *Trial {
	t.Helper()
	for i := range s.Trials {
		if s.Trials[i].Name == name {
			return &s.Trials[i]
		}
	}
	t.Fatalf("there is no trial %s among %q", name, names(s))
	return nil
}

func TestVersionsAndBuildsSideBySide(t *testing.T) {
	s := parse(t, "f.yaml", `
defaults: {operation: put, members: 1, settings: {snapshot-count: 5}}
trials:
  - name: "{store}"
    matrix:
      store:
        - etcd
        - {name: etcd, version: 1.0}
        - {name: etcd, version: 2.0, label: new, members: 5}
        - {name: etcd, exec: /opt/etcd}
        - {name: slow, settings: {snapshot-count: 9}}
`)
	if diff := cmp.Diff([]string{"etcd", "etcd-1.0", "etcd-4", "new", "slow"}, names(s)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	keys := map[string]bool{}
	for i := range s.Trials {
		keys[s.Trials[i].Cluster.Key] = true
	}
	if len(keys) != 5 {
		t.Errorf("there are %d clusters, not 5", len(keys))
	}
	c := trial(t, s, "new").Cluster
	if c.Version != "2.0" || c.Label != "new" || c.Members != 5 || c.Store != "etcd" || c.Settings.(etcdSettings).SnapshotCount != 5 {
		t.Errorf("the cluster is %+v", c)
	}
	if c := trial(t, s, "etcd-4").Cluster; c.Exec != "/opt/etcd" || c.Members != 1 || c.Label != "" {
		t.Errorf("the cluster is %+v", c)
	}
	lines := strings.Join(s.Lines(), "\n")
	for _, want := range []string{"etcd x1", "etcd 1.0 x1", "etcd (new) x5", "etcd (etcd) x1", "slow x1"} {
		if !strings.Contains(lines, want) {
			t.Errorf("the plan lacks %q:\n%s", want, lines)
		}
	}
}

func TestBaselineSendsTheSameLoad(t *testing.T) {
	s := parse(t, "f.yaml", `
repeats: 3
defaults: {store: etcd, label: mine, exec: /new/etcd, baseline: {version: 1.0}}
trials:
  - name: put
    operation: put
  - {name: half, operation: put, rate: 50% of put}
  - {name: alone, operation: get, endpoints: "a:1", baseline: {endpoints: "b:1"}}
`)
	if len(s.Trials) != 18 {
		t.Fatalf("there are %d trials, want 3 repeats of 3 trials and 3 baselines", len(s.Trials))
	}
	for _, name := range []string{"put", "half", "alone"} {
		own, base := trial(t, s, name), trial(t, s, name+"-baseline")
		if own.BaselineOf != "" || base.BaselineOf != name || own.Number == base.Number {
			t.Errorf("%s: %+v and %+v", name, own, base)
		}
		if diff := cmp.Diff(own.Load, base.Load); diff != "" {
			t.Errorf("the loads of %s differ (-own +baseline):\n%s", name, diff)
		}
		if own.Cluster.Key == base.Cluster.Key || base.Cluster.Label != "" {
			t.Errorf("%s: the cluster of the baseline is %+v", name, base.Cluster)
		}
	}
	if c := trial(t, s, "put-baseline").Cluster; c.Version != "1.0" || c.Exec != "" {
		t.Errorf("the cluster of the baseline is %+v", c)
	}
	// Every round contains each trial once.
	for i := 0; i < 18; i += 6 {
		round := map[string]bool{}
		for _, t := range s.Trials[i : i+6] {
			round[t.Name] = true
		}
		if len(round) != 6 {
			t.Errorf("round %d has %d of the 6 trials", i/6+1, len(round))
		}
	}
}

func TestBaselinePasswordsAreKeptOut(t *testing.T) {
	s := parse(t, "f.yaml", "defaults: {store: etcd, operation: put, endpoints: 'a:1', baseline: {endpoints: 'b:1', user: root:geheim}}\ntrials:\n- {name: a}\n- {name: b}\n")
	if strings.Contains(string(s.Source), "geheim") || trial(t, s, "a-baseline").Cluster.RunningCluster.User != "root:geheim" {
		t.Errorf("the source is %s", s.Source)
	}
}

func TestMixedLoadsHaveASessionForEachClient(t *testing.T) {
	for name, c := range map[string]struct {
		ordered bool
		rest    string
		want    int
	}{
		"one kind":                     {true, "operation: put, connections: 10, clients: 50", 10},
		"two kinds":                    {true, "mix: {put: 1, get: 1}, connections: 10, clients: 50", 50},
		"two levels":                   {true, "mix: [{operation: get, consistency: local}, {operation: get}], connections: 10, clients: 50", 50},
		"two kinds, enough":            {true, "mix: {put: 1, get: 1}, connections: 50, clients: 50", 50},
		"two kinds, no order":          {false, "mix: {put: 1, get: 1}, connections: 10, clients: 50", 10},
		"two kinds, connection each":   {false, "mix: {put: 1, get: 1}, clients: 50, new-connection: true", 50},
		"connections default and more": {false, "operation: put, clients: 500, new-connection: true", 500},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("f.yaml", []byte("trials: [{store: etcd, "+c.rest+"}]"), ordered{shelf{}, c.ordered}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := s.Trials[0]
			if got.Load.Connections != c.want {
				t.Errorf("%d connections, want %d", got.Load.Connections, c.want)
			}
			changed := c.ordered && c.want == 50 && !strings.Contains(c.rest, "connections: 50")
			if said := strings.Contains(strings.Join(got.Notes, " "), "responds in order"); said != changed || said != (len(s.Warnings) == 1) {
				t.Errorf("the notes are %q, and the warnings are %q", got.Notes, s.Warnings)
			}
		})
	}
}

type ordered struct {
	shelf
	yes bool
}

func (o ordered) Capabilities(store string) kv.Capabilities {
	can := o.shelf.Capabilities(store)
	can.OrderedResponses = o.yes
	return can
}

func scaledBy(t *testing.T, factor float64, data string) *Scenario {
	t.Helper()
	s, err := Parse("f.yaml", []byte(data), shelf{}, Options{Scale: factor})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScale(t *testing.T) {
	const file = `
defaults: {store: etcd, operation: put}
trials:
  - {name: total, total: 100_000, clients: 500, connections: 200}
  - {name: follows, total: 100_000, key-space: 100_000}
  - {name: own-keys, total: 100_000, key-space: 5000}
  - {name: duration, duration: 20s, warmup: 4s, rate: 700, key-space: 900}
  - {name: short, duration: 20s, warmup: 500ms, scale-duration: true}
  - {name: txn, operation: txn, txn-keys: 8, total: 200}
  - {name: "step-{clients}", total: 1000, steps: {clients: [1, 10, 50, 100, 300, 500, 700, 1000]}}
  - {name: half, rate: 50% of step-1000}
  - {name: tenth, rate: 10% of step-10}
`
	s := scaledBy(t, 0.01, file)
	want := []string{"duration", "follows", "half", "own-keys", "short", "step-1", "step-10", "step-3", "step-5", "step-7", "tenth", "total", "txn"}
	if diff := cmp.Diff(want, names(s)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		total, keys          uint64
		clients, connections int
		window, warmup       time.Duration
	}{
		"total":    {1000, 1000, 5, 2, 0, 2 * time.Second},
		"follows":  {1000, 1000, 10, 1, 0, 2 * time.Second},
		"own-keys": {1000, 5000, 10, 1, 0, 2 * time.Second},
		"duration": {0, 900, 1000, 100, 20 * time.Second, 4 * time.Second},
		"short":    {0, 100_000, 10, 1, time.Second, 500 * time.Millisecond},
		"txn":      {2, 8, 10, 1, 0, 2 * time.Second},
		"step-10":  {10, 10, 10, 1, 0, 2 * time.Second},
	} {
		l := trial(t, s, name).Load
		if l.Total != c.total || l.KeySpace != c.keys || l.Clients != c.clients || l.Connections != c.connections || l.Duration != c.window || l.Warmup != c.warmup {
			t.Errorf("%s: total %d, keys %d, clients %d, connections %d, window %v, warm-up %v; want %+v",
				name, l.Total, l.KeySpace, l.Clients, l.Connections, l.Duration, l.Warmup, c)
		}
	}
	if r := trial(t, s, "duration").Load.Rate.PerSecond; r != 700 {
		t.Errorf("the rate is %v, want 700, because rates are not scaled", r)
	}
	if a, b := trial(t, s, "half").Load.Rate.SourceTrial, trial(t, s, "tenth").Load.Rate.SourceTrial; a != "step-10" || b != "step-1" && b != "step-10" {
		t.Errorf("the rates refer to the trials %s and %s", a, b)
	}
	was := trial(t, s, "total")
	if diff := cmp.Diff(&Unscaled{Factor: 0.01, Total: 100_000, KeySpace: 100_000, Clients: 500, Connections: 200}, was.Unscaled); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	note := "scaled by 0.01: 1,000 operations instead of 100,000, 1,000 keys instead of 100,000, 5 clients instead of 500, 2 connections instead of 200; everything else is unchanged"
	if s.Scale != 0.01 || len(was.Notes) != 1 || was.Notes[0] != note {
		t.Errorf("scale %v, notes %q", s.Scale, was.Notes)
	}
	// Without scaling, a plan of the same file does not mention scaling.
	plain := parse(t, "f.yaml", file)
	if plain.Scale != 0 || plain.Trials[0].Unscaled != nil || len(plain.Trials[0].Notes) != 0 || len(plain.Trials) != 16 {
		t.Errorf("without scaling, the scale is %v, the first trial is %+v and there are %d trials", plain.Scale, plain.Trials[0], len(plain.Trials))
	}
	if l := trial(t, scaledBy(t, 2, file), "total").Load; l.Total != 200_000 || l.Clients != 1000 {
		t.Errorf("doubled: %+v", l)
	}
}

func TestScaleRefused(t *testing.T) {
	zero := 0.0
	for text, f := range map[string]float64{"-1": -1, "NaN": zero / zero, "+Inf": 1 / zero, "0": 0} {
		if err := CheckScale(f); err == nil || err.Error() != "the scale is "+text+", but must be a number above 0, such as 0.01" {
			t.Errorf("%v: %v", f, err)
		}
		if f == 0 {
			continue
		}
		if _, err := Parse("f.yaml", quick(), shelf{}, Options{Scale: f}); err == nil {
			t.Errorf("the scale %v is accepted", f)
		}
	}
	_, err := Parse("f.yaml", quick(), shelf{}, Options{Scale: 1e9})
	if err == nil || !strings.Contains(err.Error(), "clients is 1000000000000, but must be at most 1000000") {
		t.Errorf("%v", err)
	}
}

func TestOverrides(t *testing.T) {
	s, err := Parse("f.yaml", quick(), shelf{}, Options{Exec: "/opt/etcd"})
	if err != nil || s.Trials[0].Cluster.Exec != "/opt/etcd" {
		t.Errorf("%v", err)
	}
	file := "defaults: {store: etcd, settings: {snapshot-count: 5}, baseline: {version: 1.0}}\ntrials: [{name: a, operation: put}]"
	s, err = Parse("f.yaml", []byte(file), shelf{}, Options{Store: "slow", Version: "2.0"})
	if err != nil {
		t.Fatal(err)
	}
	own, base := trial(t, s, "a").Cluster, trial(t, s, "a-baseline").Cluster
	if own.Store != "slow" || own.Version != "2.0" || own.Settings.(etcdSettings).SnapshotCount != 10_000 || base.Store != "slow" || base.Version != "1.0" {
		t.Errorf("%+v, %+v", own, base)
	}
	for want, c := range map[string]struct {
		o    Options
		file string
	}{
		"f.yaml:1:12: --store slow cannot override a key of the trial itself, where store is etcd; remove the key from the trial": {Options{Store: "slow"}, "trials: [{ store: etcd, operation: put}]"},
		"f.yaml:2:11: --exec /x cannot override a key of the trial itself, where version is 1.0; remove the key from the trial":   {Options{Exec: "/x"}, "defaults: {store: etcd}\ntrials: [{version: 1.0, operation: put}]"},
		"--exec /x: this binary is the server of one store, but the trials use several stores (etcd, slow); set exec in":          {Options{Exec: "/x"}, "trials: [{store: etcd, operation: put}, {store: slow, name: b, operation: put}]"},
		"--exec /x: this binary is the server of one store, but the trials use several stores (etcd, slow); set":                  {Options{Exec: "/x"}, "trials: [{store: etcd, operation: put, baseline: {store: slow}}]"},
		"f.yaml:1:11: --exec applies only to clusters that quorumbench starts, but this trial uses a running cluster":             {Options{Exec: "/x"}, "trials: [{endpoints: 'a:1', store: etcd, operation: put}]"},
		"there is no store \"redis\"": {Options{Store: "redis"}, "defaults: {store: etcd}\ntrials: [{operation: put}]"},
		"--exec and --version both":   {Options{Exec: "/x", Version: "1"}, string(quick())},
	} {
		_, err := Parse("f.yaml", []byte(c.file), shelf{}, c.o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
