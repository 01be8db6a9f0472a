package scenario

import (
	"strings"
	"testing"
	"time"
)

const assigned = `
defaults: {store: etcd, connections: 4, clients: 8}
trials:
  - name: put
    operation: put
    total: 100
    watch: {watchers: 10, streams: 5}
    settings: {snapshot-count: 7, heartbeat: 100ms}
  - {name: get, operation: get, endpoints: "127.0.0.1:2379", user: "a:b", duration: 5s}
  - name: list
    operation: range
    range-limit: 10
    matrix: {clients: [1, 2], value-size: [64]}
`

func assignments(t *testing.T, texts ...string) Options {
	t.Helper()
	var o Options
	for _, text := range texts {
		a, err := ParseAssignment(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Assignments = append(o.Assignments, a)
	}
	return o
}

func TestAssignmentsReplaceTrialsValues(t *testing.T) {
	s, err := Parse("f.yaml", []byte(assigned), shelf{}, assignments(t, "clients=3", "duration=2s", "watch.streams=2",
		"range-limit=5", "prefix=/a: #b", "endpoints="+"127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Trials) != 3 {
		t.Fatalf("there are %d trials, want 3, because the assigned value replaces a list", len(s.Trials))
	}
	for _, trial := range s.Trials {
		l := trial.Load
		if l.Clients != 3 || l.Duration != 2*time.Second || l.Total != 0 || l.Prefix != "/a: #b" || trial.Cluster.RunningCluster.Endpoints[0] != "127.0.0.1:1" {
			t.Errorf("%s: %+v", trial.Name, l)
		}
		if note := "set on the command line: clients=3, duration=2s, "; len(trial.Notes) == 0 || !strings.HasPrefix(trial.Notes[0], note) {
			t.Errorf("%s: %q", trial.Name, trial.Notes)
		}
		switch trial.Name {
		case "put":
			if l.Watch.Streams != 2 || l.Watch.Watchers != 10 {
				t.Errorf("%+v", l.Watch)
			}
		case "list-clients=3-value-size=64":
			if l.RangeLimit != 5 {
				t.Errorf("%s: %d", trial.Name, l.RangeLimit)
			}
		}
		if trial.Name != "put" && l.Watch != nil {
			t.Errorf("%s has watchers: %+v", trial.Name, l.Watch)
		}
	}
}

// Assignments to entries of watch or compact, such as watch.streams=4, affect only trials that
// already have that mapping.
func TestAssignedEntriesMakeNoWatchers(t *testing.T) {
	data := "trials: [{store: etcd, name: watched, operation: put, watch: {watchers: 4, streams: 2}}," +
		"{store: etcd, name: put, operation: put}, {store: etcd, name: none, operation: put, watch: none, compact: none}]"
	s, err := Parse("f.yaml", []byte(data), shelf{}, assignments(t, "watch.watchers=20"))
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range s.Trials {
		if w := trial.Load.Watch; (trial.Name == "watched") != (w != nil) || w != nil && (w.Watchers != 20 || w.Streams != 2) {
			t.Errorf("%s: %+v", trial.Name, w)
		}
	}
}

// If an assignment excludes the key of a list (for example, duration excludes total), the list is
// ignored. Otherwise it would expand the trial into identical trials.
func TestAssignmentsDropExcludedLists(t *testing.T) {
	for _, test := range []struct{ list, set string }{
		{"matrix: {total: [100, 1000]}", "duration=2s"},
		{"matrix: {operation: [put, get]}", "mix=put=1,get=1"},
		{"steps: {rate: [10, 20]}", "arrival=closed"},
		{"matrix: {members: [1, 3]}", "endpoints=a:1"},
	} {
		data := "{defaults: {operation: put}, trials: [{store: etcd, name: x, " + test.list + "}]}"
		s, err := Parse("f.yaml", []byte(data), shelf{}, assignments(t, test.set))
		if err != nil || len(s.Trials) != 1 || s.Trials[0].Name != "x" {
			t.Errorf("%s with %s: %+v, %v", test.list, test.set, s, err)
		}
	}
}

// An assigned rate turns closed loops into open loops with constant arrivals. A list that contains
// both kinds of arrivals must therefore not create two trials with the same load.
func TestAssignedRateOverListsOfArrivals(t *testing.T) {
	for _, test := range []struct{ list, want string }{
		{"[closed, constant]", "x-arrival=constant"},
		{"[closed, poisson]", "x-arrival=constant x-arrival=poisson"},
		{"[poisson, constant]", "x-arrival=constant x-arrival=poisson"},
		{"[closed]", "x-arrival=constant"},
	} {
		data := "trials: [{store: etcd, name: x, operation: put, matrix: {arrival: " + test.list + "}}]"
		s, err := Parse("f.yaml", []byte(data), shelf{}, assignments(t, "rate=50"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(s), " "); got != test.want {
			t.Errorf("%s becomes %s, not %s", test.list, got, test.want)
		}
		for _, trial := range s.Trials {
			if l := trial.Load; l.Rate.PerSecond != 50 || !strings.HasSuffix(trial.Name, l.Arrival.String()) {
				t.Errorf("%s: %s at %s", trial.Name, l.Arrival, l.Rate)
			}
		}
		want := `--set rate=50 sets a rate, which closed loops do not have, so "closed" in the list of arrivals in line 1 is replaced by "constant"`
		if said := len(s.Warnings) == 1 && s.Warnings[0] == want; said != strings.Contains(test.list, "closed") {
			t.Errorf("%s: it warns %q", test.list, s.Warnings)
		}
	}
}

// Assignments to entries of stm affect only trials with stm operations.
func TestAssignedSTMAppliesToTransactions(t *testing.T) {
	s, err := Parse("f.yaml", []byte("defaults: {store: etcd}\ntrials: [{operation: put}, {operation: stm}]"), shelf{}, assignments(t, "stm.keys=3"))
	if err != nil {
		t.Fatal(err)
	}
	if put, stm := trial(t, s, "put").Load.STM, trial(t, s, "stm").Load.STM; put != nil || stm.KeysPerTxn != 3 {
		t.Errorf("%+v and %+v", put, stm)
	}
}

func TestAssignedSettingsKeepTheOthers(t *testing.T) {
	data := []byte("trials: [{store: etcd, operation: put, settings: {snapshot-count: 7, heartbeat: 100ms}, env: {A: x, B: y}}]")
	s, err := Parse("f.yaml", data, shelf{}, assignments(t, "settings.heartbeat=200ms", "env.B=1 2", "members=1", "settings.unsafe-no-sync=true"))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Trials[0].Cluster
	if want := (etcdSettings{SnapshotCount: 7, Heartbeat: 200 * time.Millisecond, UnsafeNoSync: true}); c.Settings != want {
		t.Errorf("%+v, not %+v", c.Settings, want)
	}
	if got := strings.Join(c.Environment(), ","); got != "A=x,B=1 2" || c.Members != 1 {
		t.Errorf("%s, %d members", got, c.Members)
	}
}

// Assigned values are not scaled, and do not appear in the record's copy of the file.
func TestAssignmentsAreTakenLiterally(t *testing.T) {
	o := assignments(t, "clients=400", "user=me:secret", "endpoints=127.0.0.1:1")
	o.Scale = 0.01
	s, err := Parse("f.yaml", []byte(`trials: [{store: etcd, operation: put, total: 1000, clients: 9}]`), shelf{}, o)
	if err != nil {
		t.Fatal(err)
	}
	if l := s.Trials[0].Load; l.Clients != 400 || l.Total != 10 {
		t.Errorf("%+v", l)
	}
	if text := strings.Join(s.Trials[0].Notes, "\n"); strings.Contains(text, "secret") || !strings.Contains(text, "clients=400, user, endpoints") {
		t.Errorf("%q", text)
	}
}

func TestRefusedAssignmentsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"clients=0":               "--set clients=0: clients is 0, but must be at least 1",
		"clients=x":               "--set clients=x: clients must be a whole number, not x",
		"duration=5":              "--set duration=5: 5 lacks a unit; write a duration such as 500ms, 5s or 1m",
		"watch.stream=1":          `--set watch.stream=1: watch has no key "stream"; did you mean "streams"?`,
		"stm.keys=5":              "--set stm.keys=5: stm.keys applies only to stm operations, and no trial has any",
		"compact.every=5s":        "--set compact.every=5s: no trial has the mapping compact, so its entry every cannot be set; set the whole mapping compact",
		"compact.behind=5":        "--set compact.behind=5: no trial has the mapping compact, so its entry behind cannot be set; set the whole mapping compact",
		"settings.heartbeat=many": `--set settings.heartbeat=many: cannot read these settings for etcd: invalid duration "many"`,
		"store=slow":              "--set store=slow: choose the server with --store NAME[@VERSION] or --exec PATH",
		"trials=3":                "--set trials=3: trials is not a parameter of a load or a cluster, so --set cannot change it; set a key of a trial, as in clients=200",
		"steps=3":                 "--set steps=3: steps is not a parameter of a load or a cluster, so --set cannot change it; set a key of a trial, as in clients=200",
		"mix={put":                "--set mix={put: this is not a YAML value; quote text with braces, brackets or colons, for example 'mix={put: 20, get: 80}'",
		"mix=put=1,fly=2":         `--set mix=put=1,fly=2: there is no operation "fly"`,
		"user=root:x y":           "--set user: user applies only to a running cluster, but this trial has no endpoints; give endpoints, or remove user",
		"settings=5":              "--set settings=5: settings must be a mapping of the store's own settings, not 5",
		"clients=":                `--set clients=: clients must be a whole number, not ""`,
	} {
		_, err := Parse("f.yaml", []byte(assigned), shelf{}, assignments(t, text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, not %s", text, err, want)
		} else if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("the error for %s has more than one line: %v", text, err)
		}
	}
	_, err := Parse("f.yaml", []byte(`trials: [{store: etcd, operation: put, endpoints: "a:1"}]`), shelf{}, assignments(t, "members=5"))
	if want := "--set members=5: members applies only to clusters that quorumbench starts, but all trials use running clusters"; err == nil || err.Error() != want {
		t.Errorf("%v, not %s", err, want)
	}
}

// An assignment can set a single key of a baseline, even in trials without a baseline.
func TestAssignedBaseline(t *testing.T) {
	parsed := func(text string, set ...string) (*Scenario, error) {
		o := Options{Exec: "/head"}
		for _, s := range set {
			a, err := ParseAssignment(s)
			if err != nil {
				t.Fatal(err)
			}
			o.Assignments = append(o.Assignments, a)
		}
		return Parse("f.yaml", []byte(text), shelf{}, o)
	}
	const trial = "{name: put, store: etcd, operation: put}"
	for _, text := range []string{"trials: [" + trial + "]", "defaults: {baseline: {exec: /old, label: old}}\ntrials: [" + trial + "]"} {
		s, err := parsed(text, "baseline.exec=/base", "baseline.label=base", "baseline.env={GOGC: 50}")
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Trials) != 2 {
			t.Fatalf("%d trials", len(s.Trials))
		}
		for _, trial := range s.Trials {
			c, want := trial.Cluster, [3]string{"/head", "", ""}
			if trial.BaselineOf == "put" {
				want = [3]string{"/base", "base", "50"}
			}
			if got := [3]string{c.Exec, c.Label, c.Env["GOGC"]}; got != want {
				t.Errorf("%s is of %q, not %q", trial.Name, got, want)
			}
		}
	}
	for set, want := range map[string]string{
		"baseline=none":       "baseline is not a parameter of a load or a cluster, so --set cannot change it",
		"baseline.clients=3":  `a baseline can change store, endpoints`,
		"baseline.exec=/head": "the baseline of put uses the same cluster as the trial; give the baseline another version, binary or setting",
		"baseline.env=50":     "env must be a mapping",
	} {
		if _, err := parsed("trials: ["+trial+"]", set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", set, err, want)
		}
	}
}
