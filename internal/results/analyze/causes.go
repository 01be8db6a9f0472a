package analyze

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// What limits a trial.
const (
	CauseAlarm    = "alarm"
	CauseElection = "leader change"
	CauseDisk     = "disk"
	CauseCPU      = "cpu of a member"
	CauseTester   = "cpu of the tester"
	CauseOthers   = "other programs"
	CauseNetwork  = "network"
	CauseMember   = "member"
	CauseMemory   = "memory"
)

// The rules' limits. docs/reference/limits.md says where each comes from.
const (
	limitFsyncP99   = 10 * time.Millisecond
	limitCommitP99  = 25 * time.Millisecond
	limitLongSync   = mostSlow / 2 // of one sync or commit, where the slowest write is at stake
	limitPeerP99    = 150 * time.Millisecond
	limitRoundTrip  = 100 * time.Millisecond // median of TCP connects
	limitConnect    = time.Second            // the longest: a lost packet is sent again after 1 s
	limitBusy       = 0.85                   // share of the processors
	limitRunDelay   = 0.10                   // share of the window
	limitPause      = 100 * time.Millisecond
	limitSlowAnswer = mostSlow / 2 // of a member's metrics
	limitForeign    = 0.10         // share of the processors that is worth a word
)

// Cause is one thing that limits a trial, with the figure that it rests on.
type Cause struct {
	What   string  `json:"what"`             // one of the constants
	Member string  `json:"member,omitempty"` // where it is one's
	Text   string  `json:"text"`             // a sentence
	Figure float64 `json:"figure,omitempty"`
	Unit   string  `json:"unit,omitempty"` // of the figure: s, or empty for a count or a share of 1
	Limit  float64 `json:"limit,omitempty"`
}

// excess is how many times its limit the figure is.
func (c *Cause) excess() float64 {
	if c.Limit <= 0 {
		return c.Figure
	}
	return c.Figure / c.Limit
}

// over is a cause with its figure; nil if that is within its limit.
func over(what, member string, figure, limit float64, text string) *Cause {
	if figure <= limit {
		return nil
	}
	return &Cause{What: what, Member: member, Text: text, Figure: figure, Limit: limit}
}

// overLimit is one whose figure is a time.
func overLimit(what, member string, took, limit time.Duration, text string) *Cause {
	c := over(what, member, took.Seconds(), limit.Seconds(), text)
	if c != nil {
		c.Unit = "s"
	}
	return c
}

func spent(d time.Duration) string { return text.Duration(float64(d)) }

// DurationOf returns a length of seconds, as long as there is one.
func DurationOf(seconds float64) time.Duration {
	return time.Duration(min(seconds*1e9, float64(1<<62)))
}
