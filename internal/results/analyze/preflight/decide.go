// Package preflight judges whether machines are good enough for a store, before the store is
// installed. Its inputs are measurements of disks, of the network and of the machines' limits, and
// the rules in the stores' documents (see kv.HostRules).
package preflight

import (
	"math"
	"time"

	"gonum.org/v1/gonum/floats"
)

// State is the result of a rule.
type State uint8

// The states, from the best to the worst. A set of rules has the worst of the rules' states.
const (
	Pass State = iota
	CannotTell
	Fail
)

// String returns the state as in reports.
func (s State) String() string { return [...]string{"PASS", "CANNOT TELL YET", "FAIL"}[s] }

// The rates of wrong decisions for which the sequential tests are designed.
const (
	FalseAlarms = 0.02 // share of good sets of hosts that fail
	Misses      = 0.05 // share of bad disks that pass
)

// Decision is the result of a sequential test.
type Decision struct {
	State State
	// More is the additional time after which the test will probably decide, if the disk continues
	// as before. It is 0 if the state is not CannotTell, or if more time will hardly help.
	More time.Duration
}

// A share counts as good below goodShare times its limit, and as bad above badShare times its
// limit. Between these two shares, both decisions are acceptable.
const (
	goodShare = 0.5
	badShare  = 2
)

// Times of one slow phase of a disk, in seconds. A test treats all slow writes of a phase as one
// event, because they are not independent. If the phases of a disk were assumed to be shorter than
// shortestPhase, a disk without slow writes would pass too early. If longestPhase were longer, a
// disk that is always slow would fail too late.
const (
	shortestPhase = 1
	longestPhase  = 10
)

// phaseLength returns the mean length of a slow phase in seconds, limited to the range from
// shortestPhase to longestPhase. A phase is an uninterrupted sequence of seconds with slow writes.
// Each second counts as its share of slow writes: a second in which half of the writes are slow
// counts as half a second.
func phaseLength(slow []float64) float64 {
	n := phases(slow)
	if n == 0 {
		return shortestPhase
	}
	return min(max(floats.Sum(slow)/float64(n), shortestPhase), longestPhase)
}

// decideShare tests whether the share of slow time is below a limit. `slow` contains the share of
// slow writes in each second. `hosts` is the number of hosts that are tested: if a test can fail on
// each of them, each test must be more careful.
//
// It is Wald's sequential probability ratio test ("Sequential Tests of Statistical Hypotheses",
// Ann. Math. Stat. 16, 1945) between the shares goodShare × limit and badShare × limit. Such a test
// may be repeated after each second. Its unit is one slow phase, because the seconds of a phase are
// not independent.
func decideShare(slow []float64, limit float64, hosts int) Decision {
	sum := floats.Sum(slow)
	good, bad := goodShare*limit, badShare*limit
	phase := phaseLength(slow)
	evidence := sum/phase*math.Log(bad/good) + (float64(len(slow))-sum)/phase*math.Log((1-bad)/(1-good))
	return decide(evidence, len(slow), hosts)
}

// If a rule limits the longest write, a disk counts as good if it has at most one stall per hour,
// and as bad if it has at least one stall per minute. A stall is a slow phase; see countStalls.
const (
	goodStalls = 1.0 / 3600 // per second
	badStalls  = 1.0 / 60
)

// decideStalls tests whether stalls are rare. `stalls` is the result of countStalls. The test is
// the same as in decideShare, but for a Poisson process. A disk never fails because of a single
// stall, because even a good disk may have a stall at the beginning. After a single stall, More is
// the time after which the disk will pass if it has no other stall.
func decideStalls(stalls, seconds, hosts int) Decision {
	evidence := float64(stalls)*math.Log(badStalls/goodStalls) - (badStalls-goodStalls)*float64(seconds)
	d := decide(evidence, seconds, hosts)
	if stalls != 1 || d.State == Pass {
		return d
	}
	more := math.Ceil((evidence - passBound(hosts)) / (badStalls - goodStalls))
	return Decision{State: CannotTell, More: time.Duration(more) * time.Second}
}

// passBound returns the evidence at or below which a sequential test passes.
func passBound(hosts int) float64 { return math.Log(Misses / (1 - FalseAlarms/float64(hosts))) }

// maxMore is the longest additional time that a decision suggests.
const maxMore = time.Hour

// decide compares the evidence, which is the logarithm of a likelihood ratio, with the bounds of
// the sequential test.
func decide(evidence float64, seconds, hosts int) Decision {
	fail := math.Log((1 - Misses) * float64(hosts) / FalseAlarms)
	pass := passBound(hosts)
	switch {
	case evidence >= fail:
		return Decision{State: Fail}
	case evidence <= pass:
		return Decision{State: Pass}
	case seconds == 0:
		return Decision{State: CannotTell}
	}
	target := fail
	if evidence < 0 {
		target = pass
	}
	more := math.Ceil((target - evidence) / evidence * float64(seconds))
	if !(more > 0) || more > maxMore.Seconds() {
		return Decision{State: CannotTell}
	}
	return Decision{State: CannotTell, More: time.Duration(more) * time.Second}
}

// countStalls returns the number of slow phases. A phase counts once for every longestPhase seconds
// that it lasts. Otherwise, a disk that is always slow would have a single stall, and would pass
// after some minutes.
func countStalls(slow []float64) (n int) {
	length := 0 // of the current phase, in seconds
	for _, share := range slow {
		if share == 0 {
			length = 0
			continue
		}
		if length%longestPhase == 0 {
			n++
		}
		length++
	}
	return n
}

// phases returns the number of uninterrupted sequences of values above 0.
func phases(slow []float64) (n int) {
	for i, share := range slow {
		if share > 0 && (i == 0 || slow[i-1] == 0) {
			n++
		}
	}
	return n
}

// SecondsPerDecision is the number of seconds between two decisions during a measurement.
const SecondsPerDecision = 5
