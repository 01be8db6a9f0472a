package check

import "github.com/quorumbench/quorumbench/internal/store"

// Figures is everything that the rules look at: of the load, of each member,
// and of this program. Times are in seconds; what is not known is absent.
type Figures struct {
	// The load.
	Seconds    float64 // the window's length
	Rate       float64 // writes due a second
	Clients    int     // the most in flight
	Throughput float64 // writes done a second
	Slowest    float64 // from due to done, failed ones included
	Stddev     float64
	Due        uint64
	NotSent    uint64 // due, and not sent before the window closed
	Errors     uint64 // that the store answered, or that no answer came
	// LongestGap is the longest time without any write done.
	LongestGap float64

	Members []MemberFigures
	Tester  TesterFigures
	// Elections is how much the term rose; 0 where the store has none.
	Elections uint64
	// Probe is a measurement of a member's data folder, after the load.
	Probe *ProbeFigures
}

// MemberFigures is what one member told, and what was seen of it.
type MemberFigures struct {
	Name string
	// Metrics is what happened to its metrics in the window; nil with Unread,
	// why they could not be read.
	Metrics store.Sample
	Unread  string

	Asked      int     // questions for its metrics or its state in the window
	Unanswered int     // of those
	Slowest    float64 // of the answers, or of waiting in vain

	Connects int       // TCP connections tried
	Refused  int       // of those, that did not come to be
	Round    RoundTrip // of those that did

	Alarms []string // such as NOSPACE
}

// RoundTrip is the time of a TCP connect between us and a member.
type RoundTrip struct{ Min, Median, Max float64 }

// TesterFigures is what this program, and the machine that it runs on, did.
type TesterFigures struct {
	Loops        int
	LoopCPU      float64 // seconds of processor time of all loops
	RunDelay     float64 // seconds in which they were ready and had no processor
	LongestPause float64
	Throttled    float64 // seconds in which a CPU limit held us back
	// MachineBusy is the share of all processors of this machine that was in
	// use, 0 to 1; below 0: not known.
	MachineBusy float64
	Processors  int
	// Shared names the members on this machine.
	Shared []string
}

// ProbeFigures is how long fdatasync takes in a data folder.
type ProbeFigures struct {
	Dir, FileSystem string
	Durable         bool
	P50, P99        float64 // 0: so few do not tell it
	Count           int
}
