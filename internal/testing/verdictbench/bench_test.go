package verdictbench

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// sampleSize is the number of trials per kind of disturbance, unless the environment variable
// trialsEnv contains another number. `make test-long` sets this variable.
const (
	sampleSize  = 12
	trialsEnv   = "QUORUMBENCH_VERDICT_TRIALS"
	wholeSize   = 100 // with at least this many trials, each kind must have leastOfEach near and far figures
	leastOfEach = 30
)

func size(t *testing.T) int {
	t.Helper()
	text := os.Getenv(trialsEnv)
	if text == "" {
		return sampleSize
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is %q, want a number", trialsEnv, text)
	}
	return n
}

// conduct runs the given number of trials for each kind of disturbance, and the same total number
// of undisturbed trials.
func conduct(t *testing.T, each int) (*Table, []Outcome) {
	t.Helper()
	type one struct {
		kind Kind
		seed uint64
	}
	var todo []one
	for i := range each {
		for _, k := range Kinds() {
			todo = append(todo, one{k, uint64(i)}, one{Quiet, uint64(len(todo))})
		}
	}
	all := make([]Outcome, len(todo))
	next := make(chan int)
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for i := range next {
				var err error
				if all[i], err = simulated(todo[i].kind, todo[i].seed); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range todo {
		next <- i
	}
	close(next)
	running.Wait()
	table := &Table{}
	for _, o := range all {
		table.Add(&o)
	}
	return table, all
}

// These are the minimum rates of correct verdicts. leastCaught and leastPassed apply to all trials
// together. leastOfKind applies to each kind and each figure.
const (
	leastCaught = 0.95
	leastPassed = 0.98
	leastOfKind = 0.85
)

// Whatever disturbs the load generator, a printed figure that is wrong by more than a tenth must
// not be valid, and a correct figure must be valid.
func TestVerdictsError(t *testing.T) {
	settle.SkipUnderRace(t)
	n := size(t)
	table, all := conduct(t, n)
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &b)
	for i := range all {
		if all[i].HasWrongVerdict() {
			t.Log(all[i].String())
		}
	}
	judge := func(what string, whole Rates, leastCaught, leastPassed float64) {
		if caught := Share(whole.Caught, whole.Far); caught < leastCaught {
			t.Errorf("%s: of the figures that are off by more than %v, a share of %.3f is not valid", what, FarOff, caught)
		}
		if passed := Share(whole.Passed, whole.Near); passed < leastPassed {
			t.Errorf("%s: of the figures that are off by at most %v, a share of %.3f is valid", what, NearBy, passed)
		}
	}
	judge("all", table.AllRates(), leastCaught, leastPassed)
	if n >= wholeSize {
		for _, name := range verdict.PrintedFigures() {
			judge(name, table.FigureRates(name), leastOfKind, leastPassed)
		}
	}
	for _, kind := range Kinds() {
		r := table.KindRates(kind)
		judge(string(kind), r, leastOfKind, leastOfKind)
		if n >= wholeSize && (r.Far < leastOfEach || r.Near < leastOfEach) {
			t.Errorf("%s: %d figures are far off and %d are near, want at least %d each", kind, r.Far, r.Near, leastOfEach)
		}
	}
}
