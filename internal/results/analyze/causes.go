package analyze

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// The kinds of causes.
const (
	CauseAlarm    = "alarm"
	CauseElection = "leader change"
	CauseDisk     = "disk"
	CauseCPU      = "CPU"
	CauseTester   = "load generator"
	CauseOthers   = "other programs"
	CauseNetwork  = "network"
	CauseMember   = "member"
	CauseMemory   = "memory"
)

// The limits of the rules. docs/reference/limits.md has their sources.
const (
	limitFsyncP99   = 10 * time.Millisecond
	limitCommitP99  = 25 * time.Millisecond
	limitLongSync   = mostSlow / 2 // a single sync or commit, where the slowest write matters
	limitPeerP99    = 150 * time.Millisecond
	limitRoundTrip  = 100 * time.Millisecond // median of TCP connects
	limitConnect    = time.Second            // the longest: a lost packet is retransmitted after 1 s
	limitBusy       = 0.85                   // share of the CPUs
	limitRunDelay   = 0.10                   // share of the window
	limitPause      = 100 * time.Millisecond
	limitSlowAnswer = mostSlow / 2 // response time of a member's metrics
	limitForeign    = 0.10         // smallest share of the CPUs that is reported
)

// Cause is something that limits a trial, with the figure that shows it.
type Cause struct {
	What   string  `json:"what"`             // one of the constants
	Member string  `json:"member,omitempty"` // empty if the cause is not a member
	Text   string  `json:"text"`             // a sentence
	Figure float64 `json:"figure,omitempty"`
	Unit   string  `json:"unit,omitempty"` // of the figure: s, or empty for a count or a share of 1
	Limit  float64 `json:"limit,omitempty"`
}

// excess returns the figure as a multiple of its limit.
func (c *Cause) excess() float64 {
	if c.Limit <= 0 {
		return c.Figure
	}
	return c.Figure / c.Limit
}

// causeOver returns a cause with its figure; nil if the figure is within its limit.
func causeOver(what, member string, figure, limit float64, text string) *Cause {
	if figure <= limit {
		return nil
	}
	return &Cause{What: what, Member: member, Text: text, Figure: figure, Limit: limit}
}

// overLimit is over for a figure that is a time.
func overLimit(what, member string, took, limit time.Duration, text string) *Cause {
	c := causeOver(what, member, took.Seconds(), limit.Seconds(), text)
	if c != nil {
		c.Unit = "s"
	}
	return c
}

func spent(d time.Duration) string { return text.Duration(float64(d)) }

// DurationOf returns a time given in seconds, capped at 1<<62 ns.
func DurationOf(seconds float64) time.Duration {
	return time.Duration(min(seconds*1e9, float64(1<<62)))
}
