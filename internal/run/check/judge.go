package check

import "fmt"

// The limits of `check perf`, those of `etcdctl check perf`.
const (
	LeastShare = 0.9 // of the rate; the throughput must be above it
	MostSlow   = 0.5 // seconds, of the slowest write
	MostStddev = 0.1 // seconds
)

// Verdict is a perf check's judgement.
type Verdict struct {
	Pass bool
	// Lines are the judgement in words, the original's but for the last one,
	// PASS or FAIL.
	Lines []string
	// Which limits were missed.
	TooLow, TooSlow, TooUneven, HadErrors bool
}

// Judge holds a load's figures to the limits. Response times run from when a
// write was due, so one that waited for a client to be free waited for the
// store. Writes that were never sent are not the store's errors: they stand in
// the throughput that they lack, and in the slowest with the time that they
// waited.
func Judge(f Figures, errors []Failure) Verdict {
	var v Verdict
	say := func(failed bool, bad, good string, args ...any) bool {
		if failed {
			good = bad
		}
		v.Lines = append(v.Lines, fmt.Sprintf(good, args...))
		return failed
	}
	if v.HadErrors = f.Errors > 0; v.HadErrors {
		v.Lines = append(v.Lines, "FAIL: too many errors")
		for _, e := range errors {
			v.Lines = append(v.Lines, fmt.Sprintf("FAIL: ERROR(%s) -> %d", e, e.Count))
		}
	}
	v.TooLow = say(f.Throughput <= LeastShare*f.Rate,
		"FAIL: Throughput too low: %.0f writes/s", "PASS: Throughput is %.0f writes/s", f.Throughput)
	v.TooSlow = say(f.Slowest > MostSlow,
		"Slowest request took too long: %fs", "PASS: Slowest request took %fs", f.Slowest)
	v.TooUneven = say(f.Stddev > MostStddev,
		"Stddev too high: %fs", "PASS: Stddev is %fs", f.Stddev)
	v.Pass = !v.HadErrors && !v.TooLow && !v.TooSlow && !v.TooUneven
	return v
}

// String is an error as FAIL: ERROR() names it.
func (f Failure) String() string {
	if f.Text == "" {
		return f.Kind
	}
	return f.Kind + ": " + f.Text
}
