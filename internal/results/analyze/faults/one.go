package faults

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Effect describes how one fault affected the clients in a trial.
type Effect struct {
	Trial *record.Trial
	Fault *record.Fault
	// Recovered is the time, in seconds, from the start of the fault until the throughput had
	// recovered. It is nil if the throughput had not recovered before the window closed.
	Recovered *float64
	// Before and After are the p99 of the successes' response times. Before covers the complete
	// seconds before the fault, and After covers the complete seconds after the recovery. Each is
	// unknown if there are too few operations.
	Before, After measure.Figure
}

// SingleEffect returns the effect of the first fault in a trial that injects a single fault. It
// returns an error if the fault was not injected.
func SingleEffect(t *record.Trial) (*Effect, error) {
	if len(t.Faults) == 0 {
		return nil, errors.New("the record contains no fault, because the load ended too early; read the verdict of the run")
	}
	f := &t.Faults[0]
	if !f.Injected() {
		return nil, fmt.Errorf("the fault was not injected: %s", cmp.Or(f.Failure, "the load ended before the fault was due"))
	}
	if !t.RecoveryKnown {
		return nil, errors.New("the effect of the fault is unknown, because slots.jsonl in the trial's folder is missing or damaged")
	}
	e := &Effect{Trial: t, Fault: f}
	if f.ThroughputRecoveredAt != nil {
		e.Recovered = new(*f.ThroughputRecoveredAt - *f.BeganAt)
	}
	var before, after measure.Sum
	keep := func(g record.Tag) bool { return g.Phase == measure.Measured && g.Time == record.Response }
	err := record.ReadIntervals(t.Dir, t.Folder, keep, func(i *record.Interval) error {
		from := i.Start.Sub(*t.Opened)
		switch to := from + i.Length; {
		case to.Seconds() <= *f.BeganAt:
			before.Add(&i.Steps)
		case f.ThroughputRecoveredAt != nil && f.RecoveredAt != nil && from.Seconds() >= max(*f.ThroughputRecoveredAt, *f.RecoveredAt):
			after.Add(&i.Steps)
		}
		return nil
	})
	e.Before, e.After = p99(&before), p99(&after)
	return e, err
}

// p99 returns the p99 of the times. It is unknown if there are too few of them.
func p99(times *measure.Sum) measure.Figure {
	n := times.Total()
	if n <= 0 || !measure.Supports(99, uint64(n)) {
		return measure.Figure{}
	}
	return times.PercentilesOf(0, 99)[0]
}

// Sentence describes the effect on the clients.
func (e *Effect) Sentence() string {
	f := e.Fault
	of := f.Member
	if f.Role != "" {
		of += ", " + f.Role
	}
	s := fmt.Sprintf("%s (%s): ", f.Description, of)
	switch {
	case f.Outage == nil:
		s += "clients saw no outage"
	case f.OutageUnfinished:
		s += fmt.Sprintf("no operation succeeded for the last %s of the window", secondsText(*f.Outage))
	default:
		s += fmt.Sprintf("no operation succeeded for %s", secondsText(*f.Outage))
	}
	if e.Recovered != nil {
		s += fmt.Sprintf(", throughput recovered after %s", secondsText(*e.Recovered))
	} else {
		s += ", throughput had not recovered when the window closed"
	}
	s += fmt.Sprintf("; %s failed, and %s an unknown outcome", text.Plural(f.Definite+f.Indefinite, "operation"), pluralWrites(f.Indefinite))
	if !e.Before.Known || !e.After.Known {
		return s + "; p99 unknown: fewer than 1,000 operations before the fault or after the recovery."
	}
	return s + fmt.Sprintf("; p99 was %s before and %s after.", e.Before.Text(), e.After.Text())
}

func pluralWrites(n uint64) string {
	if n == 1 {
		return "1 write has"
	}
	return text.Plural(n, "write") + " have"
}

func secondsText(seconds float64) string { return text.Duration(seconds * float64(time.Second)) }
