package limits

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Kinds of causes.
const (
	CauseAlarm     = "alarm"
	CauseElection  = "leader change"
	CauseDisk      = "disk"
	CauseCPU       = "CPU"
	CauseGenerator = "load generator"
	CauseOthers    = "other programs"
	CauseNetwork   = "network"
	CauseMember    = "member"
	CauseMemory    = "memory"
)

// Limits above which a cause is reported. docs/reference/limits.md lists their sources.
const (
	limitFsyncP99  = 10 * time.Millisecond
	limitCommitP99 = 25 * time.Millisecond
	// for a single sync or commit: the longest one determines the time of the slowest write
	limitLongSync  = maxSlowest / 2
	limitPeerP99   = 150 * time.Millisecond
	limitRoundTrip = 100 * time.Millisecond // for the median time of TCP connects
	// for the longest TCP connect: a lost packet is retransmitted after 1 s
	limitConnect      = time.Second
	limitBusy         = 0.85 // share of all CPUs
	limitRunDelay     = 0.10 // share of the window
	limitPause        = 100 * time.Millisecond
	limitSlowResponse = maxSlowest / 2 // for the time until a member returns its metrics
	limitForeign      = 0.10           // share of all CPUs above which other programs are reported
)

// Cause describes a resource or an event that limited a trial. Figure is the measured value that
// shows this.
type Cause struct {
	Kind   string  `json:"what"`             // one of the Cause constants of this package
	Member string  `json:"member,omitempty"` // empty if the cause does not concern a single member
	Text   string  `json:"text"`             // a sentence
	Figure float64 `json:"figure,omitempty"`
	// Unit of Figure: "s" for seconds, or empty for a count or a share
	Unit  string  `json:"unit,omitempty"`
	Limit float64 `json:"limit,omitempty"`
}

// excessRatio returns the figure divided by its limit.
func (c *Cause) excessRatio() float64 {
	if c.Limit <= 0 {
		return c.Figure
	}
	return c.Figure / c.Limit
}

// causeIfExceeded returns a cause if the figure exceeds the limit. Otherwise it returns nil.
func causeIfExceeded(kind, member string, figure, limit float64, text string) *Cause {
	if figure <= limit {
		return nil
	}
	return &Cause{Kind: kind, Member: member, Text: text, Figure: figure, Limit: limit}
}

// causeIfTooLong does the same as causeIfExceeded for a figure that is a duration.
func causeIfTooLong(kind, member string, took, limit time.Duration, text string) *Cause {
	c := causeIfExceeded(kind, member, took.Seconds(), limit.Seconds(), text)
	if c != nil {
		c.Unit = "s"
	}
	return c
}

func durationText(d time.Duration) string { return text.Duration(float64(d)) }
