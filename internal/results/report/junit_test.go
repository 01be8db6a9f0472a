package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// thresholdResults returns the results of the thresholds for a run.
func thresholdResults(t *testing.T, r *record.Run, thresholds ...string) []analyze.ThresholdResult {
	t.Helper()
	var all []analyze.Threshold
	for _, text := range thresholds {
		parsed, err := analyze.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parsed)
	}
	h, err := analyze.EvaluateThresholds(all, r)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestThresholdsAsJUnit(t *testing.T) {
	r := run(record.Interrupted,
		made{number: 1, repeat: 1, repeats: 2, name: "put", kind: kv.Put, target: "leader", perSecond: 2010, p50: 1e6, clients: 2},
		made{number: 1, repeat: 2, repeats: 2, name: "put", kind: kv.Put, target: "leader", perSecond: 2010, p50: 9e6, clients: 18},
		made{number: 2, name: "put-open", kind: kv.Put, target: "leader", perSecond: 2010, p50: 2e6, rate: 2010},
		made{number: 3, name: "put-invalid", kind: kv.Put, target: "leader", perSecond: 2010, p50: 1e6, clients: 2})
	r.Planned++
	r.Trials[3].Verdict = verdict.Verdict{State: verdict.Invalid, Reasons: []verdict.Reason{{Rule: 8, Text: "answers were wrong"}}}
	end := noon.Add(90 * time.Second)
	r.Finished, r.Machines = &end, []measure.Machine{{Name: "box"}}
	r.Problems = []string{"The last line of trial-02-put/timeline.csv is incomplete."}
	var b bytes.Buffer
	if err := ThresholdsJUnit(&b, r, thresholdResults(t, r, "p50<5ms", "lateness-p99<1ms")); err != nil {
		t.Fatal(err)
	}
	golden(t, "thresholds.junit.xml", b.String())
	s := suitesOf(t, b.String())[0]
	// The second repeat misses its threshold. The test cases for lateness are skipped, because the
	// trials are closed loops. The invalid trial and the trial that did not run are errors.
	if s.count("failure") != 1 || s.count("skipped") != 3 || s.count("error") != 2 || len(s.Cases) != 9 {
		t.Errorf("the suite has %d failures, %d skipped and %d errors in %d cases", s.count("failure"), s.count("skipped"), s.count("error"), len(s.Cases))
	}
}

func TestComparisonsAsJUnit(t *testing.T) {
	settle.SkipUnderRace(t)
	base := matrix(5, 1)
	base.Started = noon.Add(-time.Hour)
	base.Trials = append(base.Trials, made{number: 3, name: "gone", kind: kv.Put, target: "leader", perSecond: 500, p50: 50e6}.trial())
	c := compareRuns(t, matrix(5, 0.8), base)
	again := *base
	same := compareRuns(t, &again, base)
	few := compareRuns(t, matrix(4, 1), base)
	compare.Judge(0.03, c, same)
	for name, test := range map[string]struct {
		all     []*compare.Comparison
		failing bool
		want    map[string]int // number of test cases in the first suite, by outcome
	}{
		"compare.junit.xml":     {[]*compare.Comparison{c, same}, true, map[string]int{"failure": 4, "skipped": 1}},
		"compare-all.junit.xml": {[]*compare.Comparison{c}, false, map[string]int{"skipped": 1}},
		"compare-few.junit.xml": {[]*compare.Comparison{few}, true, map[string]int{"skipped": 5, "error": 1}},
	} {
		var b bytes.Buffer
		if err := ComparisonsJUnit(&b, test.all, test.failing); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
		s := suitesOf(t, b.String())[0]
		for _, kind := range []string{"failure", "skipped", "error"} {
			if got := s.count(kind); got != test.want[kind] {
				t.Errorf("%s: %d with %s, not %d", name, got, kind, test.want[kind])
			}
		}
	}
}

// element is any XML element.
type element struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Inside  []element  `xml:",any"`
	Text    string     `xml:",chardata"`
}

func (e *element) attr(name string) (string, bool) {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}

// readSuite is a parsed test suite.
type readSuite struct {
	*element
	Cases []*element
}

func (s *readSuite) count(kind string) (n int) {
	for _, c := range s.Cases {
		for _, in := range c.Inside {
			if in.XMLName.Local == kind {
				n++
			}
		}
	}
	return n
}

// required lists, for each element, the attributes that the schemas of Jenkins and of Ant's report
// require.
var required = map[string]string{
	"testsuites": "", "testsuite": "id package name hostname timestamp tests failures errors time", "properties": "", "property": "name value",
	"testcase": "classname name time", "failure": "message type", "error": "message type", "skipped": "message", "system-out": "", "system-err": "",
}

// suitesOf parses JUnit's XML and checks it against the schemas.
func suitesOf(t testing.TB, text string) (suites []readSuite) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Fatalf("the XML is not valid UTF-8: %q", text)
	}
	d := xml.NewDecoder(strings.NewReader(text))
	var root element
	if err := d.Decode(&root); err != nil {
		t.Fatalf("the output is not valid XML: %v\n%s", err, text)
	}
	for { // only comments and spaces may follow
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	var check func(e *element)
	check = func(e *element) {
		names, known := required[e.XMLName.Local]
		if !known {
			t.Errorf("JUnit has no element %s", e.XMLName.Local)
		}
		for _, name := range strings.Fields(names) {
			if value, ok := e.attr(name); !ok || strings.TrimSpace(value) == "" {
				t.Errorf("%s has no %s in\n%s", e.XMLName.Local, name, text)
			}
		}
		for i := range e.Inside {
			check(&e.Inside[i])
		}
	}
	check(&root)
	for i := range root.Inside {
		s := readSuite{element: &root.Inside[i]}
		for k := range s.Inside {
			if c := &s.Inside[k]; c.XMLName.Local == "testcase" {
				s.Cases = append(s.Cases, c)
			}
		}
		for name, want := range map[string]int{"tests": len(s.Cases), "failures": s.count("failure"), "errors": s.count("error"), "skipped": s.count("skipped")} {
			if got, _ := s.attr(name); got != strconv.Itoa(want) {
				t.Errorf("%s is %s of %d", name, got, want)
			}
		}
		suites = append(suites, s)
	}
	return suites
}

// FuzzJUnit checks that the file is valid XML and contains all test cases, for any characters in
// the names of the run and a trial and in a reason.
func FuzzJUnit(f *testing.F) {
	for _, text := range []string{"", " ", "put", "]]>", "<!--", "&amp;<x a='\"'>", "\x00\x1b[31m\r\n\t", "\xff\xfe", "\ufffe\uffff", "\u202e\U0001f600", strings.Repeat("a", 5000)} {
		f.Add(text, text, text)
	}
	r := matrix(1, 1)
	one := *r
	f.Fuzz(func(t *testing.T, name, trial, why string) {
		now, base := one, *r
		now.Trials = append([]record.Trial{}, r.Trials...)
		now.Name, base.Name, now.Problems, now.Machines = name, name, []string{why}, []measure.Machine{{Name: name}}
		now.Tool.Version = why
		h := []analyze.ThresholdResult{
			{TrialRecord: &now.Trials[0], Missed: analyze.Missed{Threshold: why, Trial: trial, UndecidedReason: why}, ThresholdStatus: analyze.NotMet},
			{TrialRecord: &now.Trials[0], Missed: analyze.Missed{Threshold: why, Trial: trial, UndecidedReason: why}, ThresholdStatus: analyze.Inapplicable},
			{TrialRecord: &now.Trials[0], Missed: analyze.Missed{Threshold: why, Trial: trial, Figure: why}},
		}
		now.Trials[0].Name = trial
		var b bytes.Buffer
		if err := ThresholdsJUnit(&b, &now, h); err != nil {
			t.Fatal(err)
		}
		if s := suitesOf(t, b.String()); len(s) != 1 || len(s[0].Cases) != 3 || s[0].count("failure") != 1 || s[0].count("skipped") != 1 {
			t.Errorf("the XML does not have three cases with one failure and one skipped case:\n%s", &b)
		}
		c := &compare.Comparison{Run: &now, Base: &base, OnlyNew: []string{trial}, OnlyBase: []string{why}, Differences: []string{why}}
		b.Reset()
		if err := ComparisonsJUnit(&b, []*compare.Comparison{c}, true); err != nil {
			t.Fatal(err)
		}
		if s := suitesOf(t, b.String()); len(s) != 1 || len(s[0].Cases) != 3 {
			t.Errorf("the XML does not have one suite with three cases:\n%s", &b)
		}
	})
}
