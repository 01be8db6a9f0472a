package limits

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// The output formats of `etcdctl check perf` 3.7.3 (ctlv3/command/check.go) as regular expressions.
// Go's %f prints six decimals.
var original = map[string]*regexp.Regexp{
	"throughput bad":  regexp.MustCompile(`^FAIL: Throughput too low: \d+ writes/s$`),
	"throughput good": regexp.MustCompile(`^PASS: Throughput is \d+ writes/s$`),
	"slowest bad":     regexp.MustCompile(`^Slowest request took too long: \d+\.\d{6}s$`),
	"slowest good":    regexp.MustCompile(`^PASS: Slowest request took \d+\.\d{6}s$`),
	"stddev bad":      regexp.MustCompile(`^Stddev too high: \d+\.\d{6}s$`),
	"stddev good":     regexp.MustCompile(`^PASS: Stddev is \d+\.\d{6}s$`),
	"errors":          regexp.MustCompile(`^FAIL: too many errors$`),
	"error":           regexp.MustCompile(`^FAIL: ERROR\(.+\) -> \d+$`),
}

// slowest returns an effect that changes only the time of the slowest operation.
func slowest(share float64) (e verdict.Effect) {
	e.Times[9] = share
	return e
}

func TestPerfIsJudged(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*record.Trial)
		lines  []string
		pass   bool
	}{
		{"good", func(*record.Trial) {}, []string{"throughput good", "slowest good", "stddev good"}, true},
		// The original check fails if the throughput is exactly 0.9 of the rate. It passes if the
		// slowest write takes exactly 0.5 s, or if the standard deviation is exactly 0.1 s.
		{"nine tenths", func(t *record.Trial) { t.PerSecond = 900 }, []string{"throughput bad", "slowest good", "stddev good"}, false},
		{"above nine tenths", func(t *record.Trial) { t.PerSecond = 900.1 }, []string{"throughput good", "slowest good", "stddev good"}, true},
		{"half a second", func(t *record.Trial) { t.SlowestNS = new(5e8) }, []string{"throughput good", "slowest good", "stddev good"}, true},
		{"above half a second", func(t *record.Trial) { t.SlowestNS = new(5.001e8) }, []string{"throughput good", "slowest bad", "stddev good"}, false},
		{"a tenth", func(t *record.Trial) { t.StddevNS = new(1e8) }, []string{"throughput good", "slowest good", "stddev good"}, true},
		{"above a tenth", func(t *record.Trial) { t.StddevNS = new(1.1e8) }, []string{"throughput good", "slowest good", "stddev bad"}, false},
		{"an error", func(t *record.Trial) { t.ErrorsByKind["timeout"] = 1 }, []string{"errors", "error", "throughput good", "slowest good", "stddev good"}, false},
		{"not sent", func(t *record.Trial) { t.ErrorsByKind["not_sent"] = 5 }, []string{"throughput good", "slowest good", "stddev good"}, true},
		{"not known", func(t *record.Trial) {
			t.SlowestNS, t.Verdict.Effect = new(7e8), slowest(0.5)
		}, []string{"throughput good", "slowest bad", "stddev good"}, false},
		{"slower than what disturbed it", func(t *record.Trial) {
			t.SlowestNS, t.Verdict.Effect = new(7e8), slowest(0.3)
		}, []string{"throughput good", "slowest bad", "stddev good"}, false},
		{"nothing", func(t *record.Trial) { t.PerSecond, t.SlowestNS, t.StddevNS = 0, nil, nil }, []string{"throughput bad", "slowest good", "stddev good"}, false},
	} {
		rate := 1000.0
		trial := &record.Trial{State: record.Complete, Seconds: 60, Counts: record.Counts{PerSecond: 1000, ErrorsByKind: map[string]uint64{}}, Latencies: record.Latencies{SlowestNS: new(2e7), StddevNS: new(1e6)},
			Conditions: record.Conditions{Rate: &rate, Load: scenario.Load{Arrival: scenario.Constant, MaxInFlight: 200}}}
		test.change(trial)
		c := CheckPerf(trial)
		if known := c.UndecidedReason == ""; known == (test.name == "not known") {
			t.Errorf("%s: the reason for no decision is %q", test.name, c.UndecidedReason)
		}
		if c.Pass != test.pass || len(c.Lines) != len(test.lines) {
			t.Errorf("%s: the result is pass %v with the lines %q", test.name, c.Pass, c.Lines)
			continue
		}
		for i, what := range test.lines {
			if !original[what].MatchString(c.Lines[i]) {
				t.Errorf("%s: line %d is %q, not %v", test.name, i, c.Lines[i], original[what])
			}
		}
	}
}

func TestErrorsAreListedWithTheirCounts(t *testing.T) {
	c := CheckPerf(&record.Trial{Counts: record.Counts{
		ErrorsByKind: map[string]uint64{kv.NoSpace.String(): 4, kv.ConnectionLost.String(): 3, kv.NotSent.String(): 9},
		ErrorTexts:   map[string]string{kv.NoSpace.String(): "mvcc: database space exceeded"},
	}})
	lost := "FAIL: ERROR(" + kv.ConnectionLost.String() + ") -> 3"
	full := "FAIL: ERROR(" + kv.NoSpace.String() + ": mvcc: database space exceeded) -> 4"
	want := []string{"FAIL: too many errors", lost, full}
	if kv.NoSpace < kv.ConnectionLost {
		want[1], want[2] = full, lost
	}
	if diff := cmp.Diff(want, c.Lines[:3]); diff != "" || c.NotSent != 9 {
		t.Errorf("%d operations were not sent, want 9; lines (-want +got):\n%s", c.NotSent, diff)
	}
}

// The cost of a member is the difference between its first and its last row. The members are in the
// order of the endpoints. A member that did not respond at the end has no cost.
func TestKeysCost(t *testing.T) {
	row := func(second int, name string, memory, disk float64) record.StoreRow {
		return record.StoreRow{Time: noon.Add(time.Duration(second) * time.Second), Name: name, Endpoint: name + ":1", ResponseTime: time.Millisecond,
			Metrics: store.Sample{store.ResidentBytes: {Value: memory}, store.DatabaseBytes: {Value: disk}}}
	}
	gone := row(9, "m3", 0, 0)
	gone.Metrics, gone.Failure = nil, "no answer"
	stated := gone // the size comes from the member's status
	stated.Name, stated.Endpoint, stated.Metrics = "m4", "m4:1", store.Sample{store.DatabaseBytes: {Value: 25}}
	trial := &record.Trial{State: record.Complete, Seconds: 5, Counts: record.Counts{Operations: 10, ErrorsByKind: map[string]uint64{}},
		Conditions: record.Conditions{Endpoints: []string{"m3:1"}},
		Parts:      record.Parts{ByMember: []record.ByMember{{Endpoint: "m2:1"}, {Endpoint: "m1:1"}, {Endpoint: "m3:1"}}},
		AttachedData: record.AttachedData{Stores: []record.StoreRow{row(0, "m1", 100, 10), row(0, "m2", 200, 0), row(0, "m3", 300, 10),
			row(5, "m1", 900, 90), row(9, "m1", 150, 30), row(9, "m2", 180, 0), gone, row(0, "m4", 300, 10), stated}}}
	c := CheckScale(trial)
	want := []MemberCost{
		{Name: "m2", Endpoint: "m2:1", Memory: Growth{200, 180, true}},
		{Name: "m1", Endpoint: "m1:1", Memory: Growth{100, 150, true}, Disk: Growth{10, 30, true}},
		{Name: "m3", Endpoint: "m3:1", Memory: Growth{300, 300, false}, Disk: Growth{10, 10, false}, UnreadReason: "no answer"},
		{Name: "m4", Endpoint: "m4:1", Memory: Growth{300, 300, false}, Disk: Growth{10, 25, true}, UnreadReason: "no answer"},
	}
	if diff := cmp.Diff(want, c.Members); diff != "" || !c.Pass {
		t.Errorf("pass %v; -want +got:\n%s", c.Pass, diff)
	}
	if each, ok := c.Members[1].Memory.PerKey(10); !ok || each != 5 {
		t.Errorf("the memory per key is %v (%v), want 5", each, ok)
	}
	if _, ok := c.Members[0].Memory.PerKey(10); ok {
		t.Error("keys whose memory use shrank have a cost")
	}
}

func TestDiskIsJudged(t *testing.T) {
	rule := kv.DiskRule{Percentile: 99, Limit: 10 * time.Millisecond, Source: "so it is"}
	with := func(change func(*DiskCheck)) *DiskCheck {
		c := &DiskCheck{FileSystem: "ext4", Durable: true}
		c.Sync.Percentiles[6] = measure.Figure{NS: 9e6, Known: true}
		change(c)
		c.Judge("etcd", rule)
		return c
	}
	for text, test := range map[string]struct {
		c    *DiskCheck
		pass bool
	}{
		"p99 is 9.00 ms, below 10.0 ms: so it is":                                          {with(func(*DiskCheck) {}), true},
		"p99 is 10.0 ms, not below 10.0 ms: so it is":                                      {with(func(c *DiskCheck) { c.Sync.Percentiles[6].NS = 1e7 }), false},
		"p99 is unknown with so few records; use a larger --size":                          {with(func(c *DiskCheck) { c.Sync.Percentiles[6].Known = false }), false},
		"tmpfs loses its data at power loss, so acknowledged writes are not durable on it": {with(func(c *DiskCheck) { c.FileSystem, c.Durable = "tmpfs", false }), false},
	} {
		if o := test.c.Opinions[0]; o.Text != text || test.c.Pass("etcd") != test.pass || test.c.Pass("zookeeper") {
			t.Errorf("the result is %+v, want the text %q", o, text)
		}
	}
}
