package check

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadsAreTheOriginals(t *testing.T) {
	for name, want := range map[string]string{"s": "s", "small": "s", "m": "m", "medium": "m", "l": "l", "large": "l", "xl": "xl", "xLarge": "xl"} {
		if got, err := Load(name); err != nil || got != want {
			t.Errorf("load %s is %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "S", "xlarge", "huge"} {
		if _, err := Load(name); err == nil || !strings.HasPrefix(err.Error(), "unknown load option "+name) {
			t.Errorf("load %q: %v", name, err)
		}
	}
}

// The formats of `etcdctl check perf` 3.7.3, ctlv3/command/check.go, as the
// expressions by which people look for them. A Go %f has six decimals.
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

func TestJudgement(t *testing.T) {
	good := Figures{Rate: 1000, Throughput: 1000, Slowest: 0.02, Stddev: 0.001, Due: 60000}
	with := func(change func(*Figures)) Figures {
		f := good
		change(&f)
		return f
	}
	for _, test := range []struct {
		name  string
		f     Figures
		lines []string
		pass  bool
	}{
		{"good", good, []string{"throughput good", "slowest good", "stddev good"}, true},
		// The original fails at 0.9 itself, and passes at 0.5 s and 0.1 s.
		{"nine tenths", with(func(f *Figures) { f.Throughput = 900 }), []string{"throughput bad", "slowest good", "stddev good"}, false},
		{"above nine tenths", with(func(f *Figures) { f.Throughput = 900.1 }), []string{"throughput good", "slowest good", "stddev good"}, true},
		{"half a second", with(func(f *Figures) { f.Slowest = 0.5 }), []string{"throughput good", "slowest good", "stddev good"}, true},
		{"above half a second", with(func(f *Figures) { f.Slowest = 0.5001 }), []string{"throughput good", "slowest bad", "stddev good"}, false},
		{"a tenth", with(func(f *Figures) { f.Stddev = 0.1 }), []string{"throughput good", "slowest good", "stddev good"}, true},
		{"above a tenth", with(func(f *Figures) { f.Stddev = 0.11 }), []string{"throughput good", "slowest good", "stddev bad"}, false},
		{"an error", with(func(f *Figures) { f.Errors = 1 }), []string{"errors", "error", "throughput good", "slowest good", "stddev good"}, false},
		{"not sent", with(func(f *Figures) { f.NotSent = 5 }), []string{"throughput good", "slowest good", "stddev good"}, true},
		{"nothing", Figures{Rate: 150}, []string{"throughput bad", "slowest good", "stddev good"}, false},
	} {
		v := Judge(test.f, []Failure{{Kind: "timeout", Text: "no answer", Count: test.f.Errors}})
		if v.Pass != test.pass || len(v.Lines) != len(test.lines) {
			t.Errorf("%s: pass %v, %q", test.name, v.Pass, v.Lines)
			continue
		}
		for i, what := range test.lines {
			if !original[what].MatchString(v.Lines[i]) {
				t.Errorf("%s: line %d is %q, not %v", test.name, i, v.Lines[i], original[what])
			}
		}
	}
}

func TestErrorsAreListedWithTheirCounts(t *testing.T) {
	v := Judge(Figures{Errors: 7}, []Failure{{Kind: "no_space", Text: "mvcc: database space exceeded", Count: 4}, {Kind: "connection_lost", Count: 3}})
	want := []string{"FAIL: too many errors", "FAIL: ERROR(no_space: mvcc: database space exceeded) -> 4", "FAIL: ERROR(connection_lost) -> 3"}
	if diff := cmp.Diff(want, v.Lines[:3]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
