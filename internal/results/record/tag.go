package record

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Time says which of an operation's times a histogram in latency.hlog holds.
type Time uint8

// The times.
const (
	Response  Time = iota // done - due of successes
	Service               // done - sent of successes
	ErrorTime             // known - due of errors of one kind
	Lateness              // sent - due of everything sent, open loop
	WatchDue              // a watch event's arrival - due of its write
	WatchSent             // a watch event's arrival - sent of its write
	WatchMade             // until a watcher was created that had been asked for
)

// alone are the times that are of no operation: a tag has nothing behind them.
var alone = map[Time]string{Lateness: "lateness", WatchDue: "watch-due", WatchSent: "watch-sent", WatchMade: "watch-made"}

// Tag says what an interval of latency.hlog is of. It is written as fields
// with points between them, without a comma, a space or a character that a
// file's name cannot have, because tools split logs by tag into files:
//
//	measured.response.get.linearizable.8e9e05c52164694d.2
//	measured.error-timeout.put.none.0.0
//	warmup.lateness
//	measured.watch-due
type Tag struct {
	Phase measure.Phase
	Time  Time
	// What follows is not set for Lateness and the times of watching.
	measure.Series
	Error kv.Outcome // ErrorTime only
}

// String returns the tag as the log has it.
func (t Tag) String() string {
	if name, ok := alone[t.Time]; ok {
		return t.Phase.String() + "." + name
	}
	var time string
	switch t.Time {
	case Response:
		time = "response"
	case Service:
		time = "service"
	default:
		time = "error-" + t.Error.String()
	}
	level := t.Consistency.String()
	if t.Consistency == kv.None {
		level = "none"
	}
	return fmt.Sprintf("%s.%s.%s.%s.%s.%d", t.Phase, time, t.Kind, level, ID(t.Member), t.Term)
}

// ParseTag is the inverse of String.
func ParseTag(s string) (Tag, error) {
	bad := func() (Tag, error) { return Tag{}, fmt.Errorf("%q is no tag of quorumbench", s) }
	f := strings.Split(s, ".")
	if len(f) != 2 && len(f) != 6 {
		return bad()
	}
	t := Tag{Phase: measure.Measured}
	if f[0] == measure.Warmup.String() {
		t.Phase = measure.Warmup
	} else if f[0] != measure.Measured.String() {
		return bad()
	}
	if len(f) == 2 {
		for time, name := range alone {
			if f[1] == name {
				t.Time = time
				return t, nil
			}
		}
		return bad()
	}
	if !t.parseTime(f[1]) || t.parseSeries(f[2:]) != nil {
		return bad()
	}
	return t, nil
}

func (t *Tag) parseTime(s string) bool {
	switch s {
	case "response":
		t.Time = Response
		return true
	case "service":
		t.Time = Service
		return true
	}
	name, ok := strings.CutPrefix(s, "error-")
	if !ok {
		return false
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		if o.String() == name {
			t.Time, t.Error = ErrorTime, o
			return true
		}
	}
	return false
}

func (t *Tag) parseSeries(f []string) (err error) {
	if t.Kind, err = kv.ParseKind(f[0]); err != nil {
		return err
	}
	if f[1] != "none" {
		if t.Consistency, err = kv.ParseConsistency(f[1]); err != nil {
			return err
		}
	}
	if t.Member, err = strconv.ParseUint(f[2], 16, 64); err != nil {
		return err
	}
	t.Term, err = strconv.ParseUint(f[3], 10, 64)
	return err
}
