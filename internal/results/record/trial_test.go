package record

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// stall returns the standard example of coordinated omission: for 10 s, 1,000 operations per second
// become due. Each operation takes 2 ms, except that the store stalls once, for one second. 1,000
// of the 10,000 operations become due during the stall, and wait until it ends.
func stall() *measure.Totals {
	t := &measure.Totals{Seconds: 10, LongestGap: 1, MeanInFlight: 52, Tally: measure.Tally{Due: 10_000, Done: 10_000, Lateness: measure.NewHistogram()}}
	t.Outcomes[kv.OK] = 10_000
	c := cellOf(&t.Cells, measure.Series{Kind: kv.Put, Member: leaderID, Term: 2})
	for i := range 10_000 {
		ns := int64(2e6)
		if i < 1000 {
			ns += int64(i) * 1e6
		}
		add(&c.Response, ns)
		add(&c.Service, ns)
		measure.Record(t.Lateness, 50_000)
	}
	return t
}

func near(t *testing.T, what string, f measure.Figure, want float64) {
	t.Helper()
	if !f.Known || math.Abs(f.NS-want) > 0.005*want {
		t.Errorf("%s is %+v, want %.0f", what, f, want)
	}
}

func TestStallMatchesArithmetic(t *testing.T) {
	c := conditions()
	c.Mix, c.Operation = []scenario.Operation{{Kind: kv.Put, Weight: 1}}, "put"
	r := NewTrial(c, Observed{CPUSeconds: 0.1}, stall(), nil, roles)
	near(t, "p50", r.ResponseTime.Percentile(50), 2e6)
	near(t, "p95", r.ResponseTime.Percentile(95), 0.5e9)
	near(t, "p99", r.ResponseTime.Percentile(99), 0.9e9)
	if r.PerSecond != 1000 || *r.CPUPerOp != 10_000 || r.LongestGap != 1 || r.FailedFrom != nil {
		t.Errorf("the trial is %+v", r)
	}
	if r.StoreCPUSeconds != nil || r.StoreCPUPerOp != nil || r.StoreMaxRSSBytes != nil {
		t.Error("the store's resource use is reported, although it was not sampled")
	}
	r = NewTrial(c, Observed{CPUSeconds: 0.1, Store: &StoreUsage{CPUSeconds: 0.5, MaxRSSBytes: 1 << 20}}, stall(), nil, roles)
	if *r.StoreCPUSeconds != 0.5 || *r.StoreCPUPerOp != 50_000 || *r.StoreMaxRSSBytes != 1<<20 {
		t.Errorf("the store used %v, %v, %v", *r.StoreCPUSeconds, *r.StoreCPUPerOp, *r.StoreMaxRSSBytes)
	}
	if r.Verdict.State != verdict.Valid || r.State != Complete {
		t.Errorf("%s: %+v", r.State, r.Verdict)
	}
	if len(r.ByOperation) != 0 {
		t.Error("a trial with one operation has a list by operation")
	}
	if got := r.ByRole; len(got) != 1 || got[0].Role != "leader" || got[0].Operations != 10_000 {
		t.Errorf("the operations by role are %+v", got)
	}
}

// If the operation at a percentile's rank failed, the percentile is written to the file as null,
// and is marked as failed after reading.
func TestPercentileOnAFailureIsNull(t *testing.T) {
	m := stall()
	m.Due, m.Outcomes[kv.TimedOut] = 10_200, 200
	timedOut := cellOf(&m.Cells, measure.Series{Kind: kv.Put})
	for range 200 {
		add(&timedOut.Failed[measure.ErrorIndex(kv.TimedOut)], 10e9)
	}
	m.ErrorTexts = map[kv.Outcome]string{kv.TimedOut: "no response within 10s", kv.NotSent: "in the warm-up, and not in the window"}
	r := NewTrial(conditions(), Observed{}, m, nil, roles)
	b, err := json.Marshal(r)
	must(t, err)
	var flat map[string]any
	must(t, json.Unmarshal(b, &flat))
	times := flat["response_time_ns"].(map[string]any)
	if times["p99"] != nil || times["max"] != nil || times["mean"] != nil || times["p95"] == nil {
		t.Errorf("response times: %v", times)
	}
	if flat["success_response_time_ns"].(map[string]any)["p99"] == nil {
		t.Error("the successes alone have no p99")
	}
	if got, want := flat["failed_from_percentile"].(float64), 100*10_000/10_200.0; got != want {
		t.Errorf("failed from %v, want %v", got, want)
	}
	if flat["errors_by_kind"].(map[string]any)["timeout"] != 200.0 || flat["error_texts"].(map[string]any)["timeout"] != "no response within 10s" {
		t.Errorf("errors: %v, %v", flat["errors_by_kind"], flat["error_texts"])
	}
	if len(r.ErrorTexts) != 1 {
		t.Errorf("the error texts are %q, want one text of the kind that occurred", r.ErrorTexts)
	}
	near(t, "time of errors", r.ErrorTimes["timeout"].Percentile(50), 10e9)
	var back Trial
	must(t, json.Unmarshal(b, &back))
	if f := back.ResponseTime.Percentile(99); !f.Failed {
		t.Errorf("p99 reads back as %+v, want a failed figure", f)
	}
}

// The names in the JSON object must not change, because other programs read them.
func TestJSONNamesAreStable(t *testing.T) {
	m := stall()
	for range 5000 { // enough for p99.9
		add(&m.Cells[0].Response, 2e6)
		add(&m.Cells[0].Service, 2e6)
		measure.Record(m.Lateness, 50_000)
	}
	m.Due, m.Outcomes[kv.OK] = 15_000, 15_000
	warmup, steady := 3.5, true
	b, err := json.Marshal(NewTrial(conditions(), Observed{Started: noon, WarmupSeconds: &warmup, Steady: &steady, Store: &StoreUsage{CPUSeconds: 1, MaxRSSBytes: 1 << 20}}, m, nil, roles))
	must(t, err)
	var flat map[string]json.RawMessage
	must(t, json.Unmarshal(b, &flat))
	for _, name := range []string{
		"schema", "store", "version", "operation", "consistency", "members", "rate", "seed", "load",
		"seconds", "due", "operations", "errors", "conflicts", "misses", "wrong_responses", "errors_by_kind", "error_texts",
		"operations_per_second", "longest_gap_seconds", "failed_from_percentile", "response_time_ns", "success_response_time_ns",
		"service_time_ns", "lateness_ns", "client_cpu_seconds", "client_cpu_ns_per_operation", "client_max_rss_bytes", "verdict",
		"name", "repeat", "started", "carried_in", "carried_in_age_ns", "max_in_flight", "in_flight_capped", "reconnects",
		"longest_pause_ns", "run_delay_ns", "by_role", "roles", "durability", "machine",
		"store_cpu_seconds", "store_cpu_ns_per_operation", "store_max_rss_bytes", "warmup_seconds_run", "warmup_steady", "by_member",
	} {
		if _, ok := flat[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
	var load map[string]json.RawMessage
	must(t, json.Unmarshal(flat["load"], &load))
	for _, key := range []string{"mix", "target", "connections", "clients", "arrival", "key-size", "value-size", "key-space", "distribution", "warmup", "timeout"} {
		if _, ok := load[key]; !ok {
			t.Errorf("the load has no %s", key)
		}
	}
	var times map[string]*int64
	must(t, json.Unmarshal(flat["response_time_ns"], &times)) // integers
	for _, name := range []string{"min", "mean", "stddev", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99_9", "max"} {
		if times[name] == nil {
			t.Errorf("response_time_ns has no %s", name)
		}
	}
	for name, value := range flat {
		if string(value) == "null" && name != "machine" && name != "failed_from_percentile" && name != "window_opened" &&
			name != "throttled_ns" && name != "cpu_steal_share" && name != "busy_cpu_share" && name != "foreign_cpu_share" && name != "generator_added" && name != "members_share_machine" {
			t.Errorf("%s is null", name)
		}
	}
}

func TestNewTrialChangesNothing(t *testing.T) {
	settle.SkipUnderRace(t)
	l := newLoad(5, 0.1, true)
	l.phase(measure.Measured, 2, 500)
	m := l.totals[measure.Measured]
	var before []*measure.Histogram
	for _, c := range m.Cells {
		if c.Response != nil {
			before = append(before, c.Response.Clone())
		}
	}
	first := NewTrial(conditions(), Observed{}, m, nil, roles)
	second := NewTrial(conditions(), Observed{}, m, nil, roles)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second result differs:\n%s", diff)
	}
	i := 0
	for _, c := range m.Cells {
		if c.Response != nil {
			if !c.Response.Equals(before[i]) {
				t.Error("the histogram of a cell changed")
			}
			i++
		}
	}
}

// Little's law holds for a closed loop if times that began before the window are taken into
// account. These times are in the warm-up's histograms.
func TestLittlesLawAtTheEdges(t *testing.T) {
	settle.SkipUnderRace(t)
	c := conditions()
	c.Arrival, c.Rate, c.Clients = scenario.Closed, nil, 100
	totals := func(n int, ns int64) *measure.Totals {
		m := &measure.Totals{Seconds: 10, Tally: measure.Tally{Due: uint64(n), Done: uint64(n)}}
		m.Outcomes[kv.OK] = uint64(n)
		cell := cellOf(&m.Cells, measure.Series{Kind: kv.Put, Member: leaderID, Term: 2})
		for range n {
			add(&cell.Response, ns)
			add(&cell.Service, ns)
		}
		return m
	}
	// A stall of 2 s began before the window. As a result, the clients have only 8 s of work in the
	// window of 10 s.
	warm := totals(100, 2e9)
	m := totals(80_000, 10e6)
	m.InFlightAtStart = 100
	if v := NewTrial(c, Observed{}, m, warm, roles).Verdict; v.State != verdict.Valid {
		t.Errorf("the stall is reported as a defect: %+v", v)
	}
	if v := NewTrial(c, Observed{}, m, nil, roles).Verdict; v.State != verdict.Valid {
		t.Errorf("without the times of the warm-up, the verdict is %+v, want valid", v)
	}
	if v := NewTrial(c, Observed{}, m, totals(100, 10e6), roles).Verdict; v.State != verdict.Invalid || v.Reasons[0].Rule != 4 {
		t.Errorf("the verdict on idle clients is %+v, want invalid", v)
	}
}

func TestRoles(t *testing.T) {
	known := RoleHistory{
		{Member: 1, Term: 5, Role: "leader"}, {Member: 2, Term: 5, Role: "unknown"}, {Member: 3, Term: 6, Role: "follower"},
	}
	for _, tt := range []struct {
		member, term uint64
		want         kv.Role
	}{
		{1, 5, kv.Leader}, {2, 5, kv.Follower}, {3, 5, kv.Follower}, {9, 5, kv.Follower}, {0, 5, kv.UnknownRole},
		{3, 6, kv.Follower}, {1, 6, kv.UnknownRole}, {1, 7, kv.UnknownRole}, {1, 0, kv.UnknownRole},
	} {
		if got := known.Resolve(tt.member, tt.term); got != tt.want {
			t.Errorf("member %d at term %d is %s, want %s", tt.member, tt.term, got, tt.want)
		}
	}
}

func TestFromScenario(t *testing.T) {
	s := scenario.Trial{
		Name: "mix", Number: 3, Repeat: 2, Repeats: 5,
		Cluster: scenario.Cluster{Store: "etcd", RunningCluster: &scenario.RunningCluster{
			Endpoints: []string{"h:1"}, CACert: "ca.pem", User: "root:secret",
		}},
		Load: scenario.Load{
			Mix:    []scenario.Operation{{Kind: kv.Put, Weight: 1}, {Kind: kv.Get, Consistency: kv.Local, Weight: 9}},
			Target: kv.Target{Mode: kv.SingleMember, Member: 2}, Arrival: scenario.Poisson, Rate: scenario.Rate{PerSecond: 500},
			MaxInFlight: 100, Duration: 1500 * time.Millisecond, Prefix: "\xff",
			Distribution: scenario.Distribution{Name: "zipfian", Theta: 0.99, HotKeys: 0.2, HotOps: 0.8},
		},
	}
	c := NewConditions(&s)
	if c.Operation != Mixed || c.Consistency != "local" || c.Target.String() != "member:2" || *c.Rate != 500 || !c.TLS || !c.Authenticated ||
		c.Duration != 1500*time.Millisecond || c.Prefix != "\xff" || c.Distribution.Theta != 0.99 || c.Distribution.HotKeys != 0 || !c.Open() || c.MaxInFlight != 100 {
		t.Errorf("got %+v", c)
	}
	b, err := json.Marshal(c)
	must(t, err)
	if s := string(b); len(s) == 0 || strings.Contains(s, "secret") || strings.Contains(s, "root") {
		t.Errorf("the user is recorded: %s", s)
	}
	s.Load.Mix = append(s.Load.Mix, scenario.Operation{Kind: kv.Get, Consistency: kv.Linearizable})
	s.Load.Rate = scenario.Rate{Percent: 50, SourceTrial: "put"}
	if c = NewConditions(&s); c.Consistency != Mixed || c.Rate != nil {
		t.Errorf("got %+v", c)
	}
	s.Load.Arrival = scenario.Closed
	if c = NewConditions(&s); c.Open() || c.MaxInFlight != 0 {
		t.Errorf("got %+v", c)
	}
}

// If a trial becomes slower during the window, it is suspect.
func TestSlowdownInTheWindowIsSuspect(t *testing.T) {
	steady, slower := &DoneCounts{}, &DoneCounts{}
	for i := range 31 {
		steady.Total = append(steady.Total, uint64(1000+i%3))
		slower.Total = append(slower.Total, uint64(1000-20*i))
	}
	slower.Total[30] = 9 // the window ended within this second
	for _, test := range []struct {
		answered *DoneCounts
		suspect  bool
	}{{steady, false}, {slower, true}} {
		trial := NewTrial(Conditions{}, Observed{DoneCounts: test.answered}, &measure.Totals{Seconds: 30.01}, nil, nil)
		if got := slices.ContainsFunc(trial.Verdict.Reasons, func(r verdict.Reason) bool { return r.Rule == 25 }); got != test.suspect {
			t.Errorf("R25 is among %v: %v", trial.Verdict.Reasons, got)
		}
	}
}

// Restart writes lists that are empty, not null, like Trial.
func TestRestartWritesEmptyLists(t *testing.T) {
	w := newRun(t)
	c := conditions()
	tw, err := w.Trial(c, noon)
	must(t, err)
	c.Endpoints, c.Notes = nil, nil
	must(t, tw.Restart(c))
	if b := readFile(t, w.Dir(), runFile); strings.Contains(b, `"notes": null`) || strings.Contains(b, `"endpoints": null`) {
		t.Errorf("a list in run.json is null, want an empty list:\n%s", b)
	}
}
