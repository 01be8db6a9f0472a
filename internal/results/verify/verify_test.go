package verify

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// story returns the text of a violation: one line for each operation, and the explanation.
func story(v *record.Violation) string {
	return strings.Join(append(slices.Clone(v.History), v.Explanation), "\n")
}

// checked returns the result of Check, and all findings.
func checked(t testing.TB, m *memory, opt Options) (*record.Verification, []finding) {
	t.Helper()
	c, err := checkerOf(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.check()
	if err != nil {
		t.Fatal(err)
	}
	return r, c.found.all
}

// example is a history with at most one violation.
type example struct {
	ops  []history.Op
	want Kind   // empty for a correct history
	also Kind   // if not empty: the check also finds violations of this kind
	says string // part of the text of the violation
}

// holds compares the result of a check with the example.
func (e *example) holds(t *testing.T, name string, r *record.Verification) {
	t.Helper()
	if e.want == "" {
		if len(r.WrongByKind) > 0 {
			t.Errorf("%s: %v\n%s", name, r.WrongByKind, story(&r.Violations[0]))
		}
		return
	}
	at := slices.IndexFunc(r.Violations, func(v record.Violation) bool { return v.Kind == e.want })
	kinds := 1
	if e.also != "" {
		kinds += int(r.WrongByKind[e.also]) // #nosec G115 -- one
	}
	if len(r.WrongByKind) != kinds || r.WrongByKind[e.want] != 1 || at < 0 {
		t.Errorf("%s: %v, want one %s", name, r.WrongByKind, e.want)
		return
	}
	if text := story(&r.Violations[at]); !strings.Contains(text, e.says) || strings.Contains(text, "%!") {
		t.Errorf("%s: %s", name, text)
	}
}

// sizes returns the seeds of the first and last history to check, and the number of operations in
// each history. By default, it selects 24 histories. QUORUMBENCH_HISTORIES selects larger
// histories: their number, such as 1000, or a range of seeds, such as 200-399.
func sizes(t *testing.T) (first, last, operations int) {
	t.Helper()
	which := os.Getenv("QUORUMBENCH_HISTORIES")
	if which == "" {
		return 0, 23, 20_000
	}
	from, to, some := strings.Cut(which, "-")
	first, err := strconv.Atoi(from)
	if !some {
		first, last = 0, first-1
	} else if err == nil {
		last, err = strconv.Atoi(to)
	}
	if err != nil || last < first {
		t.Fatalf("QUORUMBENCH_HISTORIES is %q; want a number of histories, or the first and the last", which)
	}
	return first, last, 200_000
}

// TestCorrectStoresCauseNoFindings checks stores with crashes, late and lost writes, stale local
// reads and coarse clocks, and with keys and values from before the history.
func TestCorrectStoresCauseNoFindings(t *testing.T) {
	first, last, operations := sizes(t)
	var resolved, behind uint64
	for i := first; i <= last; i++ {
		m, _ := simulated(uint64(i), 1+operations>>(i%8*2), noLie, 0)
		if i%3 == 1 {
			m.header.BaseRevision = 0 // the first revision is unknown
		}
		r, _ := checked(t, m, Options{Partition: 1 + operations/(1+i%4)})
		if len(r.WrongByKind) > 0 {
			t.Fatalf("seed %d: %v\n%s", i, r.WrongByKind, story(&r.Violations[0]))
		}
		if len(r.Undecided) > 1 {
			t.Errorf("seed %d: %q", i, r.Undecided)
		}
		resolved += r.Resolved
		for _, s := range r.Staleness {
			behind += s.StaleReads
		}
	}
	if resolved == 0 || behind == 0 {
		t.Errorf("%d writes were late, and %d reads were stale: the simulation lacks these cases", resolved, behind)
	}
}

// TestEveryLieIsFound checks that each lie that violates a guarantee in the history is found.
func TestEveryLieIsFound(t *testing.T) {
	settle.SkipUnderRace(t)
	first, last, operations := sizes(t)
	proven := map[lieKind]int{}
	for i := first; i <= last; i++ {
		kind := lieKinds[i%len(lieKinds)]
		m, lies := simulated(uint64(i), operations, kind, 10/float64(operations))
		r, found := checked(t, m, Options{Partition: 1 + operations/(1+i%4), MaxViolations: 1 << 30})
		any := false
		for _, l := range lies {
			if !l.proven {
				any = any || l.hinted
				continue
			}
			proven[kind]++
			any = true
			if !slices.ContainsFunc(found, func(f finding) bool { return involves(&f, l) }) {
				t.Errorf("seed %d: a %s of key %d by operation %d was not found; found were %v", i, kind, l.key, l.ops[0], r.WrongByKind)
			}
		}
		if !any && len(r.WrongByKind) > 0 {
			t.Errorf("seed %d: no response violates a guarantee, but the check reports %v\n%s", i, r.WrongByKind, story(&r.Violations[0]))
		}
		for _, v := range r.Violations {
			if v.Explanation == "" || v.Source != "documentation" || len(v.Operations) == 0 || strings.Contains(story(&v), "%!") {
				t.Errorf("seed %d: %+v", i, v)
			}
		}
	}
	for _, kind := range lieKinds {
		if proven[kind] == 0 {
			t.Errorf("no history has a %s", kind)
		}
	}
	t.Log(proven)
}

func involves(f *finding, l *lie) bool {
	for _, ord := range f.ords[:f.operationCount] {
		if slices.Contains(l.ops, int(ord)) {
			return true
		}
	}
	return false
}

func BenchmarkCheck(b *testing.B) {
	m, _ := simulated(1, 1_000_000, noLie, 0)
	for b.Loop() {
		r, _ := checked(b, m, Options{})
		if len(r.WrongByKind) > 0 {
			b.Fatal(r.WrongByKind)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(m.ops)), "ns/operation")
}
