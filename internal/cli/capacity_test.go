package cli

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
)

func TestOver(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"value-size=128,1KiB,16KiB":                          3,
		"mix={put: 20, get: 80},{put: 80, get: 20}":          2,
		"endpoints=[a:1, b:2],[c:3]":                         2,
		"clients=10":                                         1,
		" store = etcd@3.5.30 , zookeeper ":                  2,
		"settings={snapshot-count: 10, quota: [1, {a: 2}]},": 1,
	} {
		o, err := parseOver(text)
		if err != nil || len(o.values) != want {
			t.Errorf("%q: %d values %q, %v; want %d", text, len(o.values), o.values, err, want)
			continue
		}
		if again, err := parseOver(o.String()); err != nil || again.String() != o.String() {
			t.Errorf("%q is written %q, which reads as %q, %v", text, o, again, err)
		}
	}
	if o, err := parseOver(" nodes "); err != nil || !o.searched() || o.String() != "nodes" {
		t.Errorf("a key alone reads as %v, %v", o, err)
	}
	for _, text := range []string{"", " ", "=1", "x=", "x=,,", "x=1,2,1"} {
		if o, err := parseOver(text); err == nil {
			t.Errorf("%q reads as %v", text, o)
		}
	}
}

// A store that becomes faster is warmed up until it does not, or the time is over.
func TestWarming(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		atMost time.Duration
		rates  []float64 // of the trials, as far as there are any
		trials int
		steady bool
	}{
		{30 * time.Second, []float64{100, 200, 300, 310, 0}, 4, true},
		{30 * time.Second, []float64{100, 90, 0}, 2, true},
		{30 * time.Second, []float64{100, 200, 400, 800, 1600, 3200, 0}, 6, false},
		{12 * time.Second, []float64{100, 200, 0}, 2, false},
		{2 * time.Second, []float64{100, 0}, 1, false},
		{0, []float64{0}, 0, false},
	} {
		w := newWarming(c.atMost)
		n, spent := 0, time.Duration(0)
		for {
			length, number := w.next()
			if length == 0 {
				break
			}
			if n++; number != n || !w.runs() {
				t.Fatalf("trial %d has the number %d, and runs: %v", n, number, w.runs())
			}
			spent += length
			about := w.take(c.rates[n-1], "")
			if len(about.PerSecond) != n {
				t.Errorf("%d trials are told after %d", len(about.PerSecond), n)
			}
		}
		steady := w != nil && w.about.Steady
		if n != c.trials || steady != c.steady || spent > c.atMost || w.runs() {
			t.Errorf("within %s: %d trials in %s, steady %v; want %d, %v", c.atMost, n, spent, steady, c.trials, c.steady)
		}
	}
}

// Where no rate that was tried held there is no best estimate, and 0 is none.
func TestNothingHeldIsNoEstimate(t *testing.T) {
	t.Parallel()
	for _, p := range []*searchedParameter{nil, {key: "nodes", whole: true, least: 1, most: 100, read: valueless}} {
		o := capacity.Options{Goals: []capacity.Goal{{Limit: 0.01, Span: 1}}, Until: 600, From: 10, Least: 1, Most: 100}
		if p != nil {
			o = p.options(o, true)
		}
		s := &seeker{parameter: p, search: capacity.New(o)}
		tried := func(rate, bad float64) {
			one := capacity.Trial{Plan: capacity.Plan{Rate: rate, Window: 10}, Length: 10, Due: 10_000, Done: 10_000, Served: 10_000}
			for range 10 {
				one.Seconds = append(one.Seconds, capacity.Second{Due: 1000, Bad: []float64{bad}})
			}
			s.search.Add(one, 12)
			s.tell(true)
		}
		tried(40, 1000)
		if f := &s.found; f.UpperPerSecond == nil || f.Estimate != nil || f.EstimatePerSecond != nil {
			t.Errorf("with %v it is %+v", p, f)
		}
		tried(20, 0)
		if f := &s.found; f.Estimate == nil && p != nil || f.EstimatePerSecond == nil && p == nil {
			t.Errorf("when a rate held, with %v it is %+v", p, f)
		}
	}
}

func TestRatesInNamesHaveNoExponent(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]string{100: "100", 9018.4473: "9018.4", 102400: "102400", 1234567: "1234600", 0.5: "0.5"} {
		if got := nameRate(rate); got != want {
			t.Errorf("%v: %q, want %q", rate, got, want)
		}
	}
}
