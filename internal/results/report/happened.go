package report

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
)

// notableGap is the shortest gap that is shown beside what happened in it.
const notableGap = 100 * time.Millisecond

// spike is how many times the median second's p99 a second's must be to be
// shown beside what happened in it.
const spike = 2

// clock is how the time of an event is printed.
const clock = "15:04:05.000"

// happened writes what happened in the trials' windows, and nothing where
// nothing did. The run's events have been read (record.Run.ReadEvents).
func happened(b *bytes.Buffer, trials []record.Trial) {
	head := "\nWhat happened (times in UTC; events.jsonl has it all)\n"
	for i := range trials {
		t := &trials[i]
		facts := newStory(t).facts()
		if len(facts) == 0 {
			continue
		}
		b.WriteString(head)
		head = ""
		name := ""
		if len(trials) > 1 {
			name = analyze.Label(t) + ": "
		}
		fmt.Fprintf(b, "  %s%s\n", name, facts[0])
		for _, f := range facts[1:] {
			fmt.Fprintf(b, "    %s\n", f)
		}
	}
}

// story is what happened in a trial's window.
type story struct {
	t        *record.Trial
	from, to time.Time
	events   []record.Event
}

func newStory(t *record.Trial) *story {
	s := &story{t: t}
	if !analyze.Measured(t) || t.Opened == nil {
		return s
	}
	s.from = *t.Opened
	s.to = s.from.Add(time.Duration(t.Seconds * 1e9))
	s.events = overlapping(once(paired(t.Events)), s.from, s.to)
	return s
}

// facts is one line about everything, and one each for the longest gap and the
// slowest second, where something happened at that time.
func (s *story) facts() []string {
	held := s.held()
	all := s.counted()
	if len(all) == 0 {
		return held
	}
	line := strings.Join(all, "; ")
	if slices.ContainsFunc(s.events, func(e record.Event) bool { return e.Count > 0 }) {
		line += "; there were too many to list them all, and some are only counted"
	}
	facts := append([]string{line}, held...)
	gap, told := s.gap()
	if told != "" {
		facts = append(facts, told)
	}
	if told := s.slowest(gap); told != "" {
		facts = append(facts, told)
	}
	return facts
}

// held says how many clients of a closed loop a member kept from which the load
// had moved away.
func (s *story) held() []string {
	if s.from.IsZero() || s.t.HeldClients == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s waited for a member from which the load had moved away, for up to %s",
		readable.Plural(uint64(s.t.HeldClients), "client"), readable.Duration(float64(s.t.HeldLongestNS)))}
}

// span is a time from one moment to another.
type span struct{ from, to time.Time }

func (a span) overlaps(b span) bool { return !a.from.After(b.to) && !b.from.After(a.to) }

// gap tells what happened in the longest gap.
func (s *story) gap() (span, string) {
	length := time.Duration(s.t.LongestGap * 1e9)
	if s.t.LongestGapAt == nil || length < notableGap {
		return span{}, ""
	}
	from := s.from.Add(time.Duration(*s.t.LongestGapAt * 1e9))
	in := span{from, from.Add(length)}
	told := during(s.events, in)
	if told == "" {
		return span{}, ""
	}
	return in, fmt.Sprintf("in the longest gap, %s from %s: %s", readable.Duration(float64(length)), from.UTC().Format(clock), told)
}

// slowest tells what happened in the second that was worst, if that is a spike,
// and not the gap that was told already.
func (s *story) slowest(gap span) string {
	worst := worstSecond(s.t.Timeline)
	if worst == nil {
		return ""
	}
	// What was due in that second waited until after it; what failed, to its end.
	how, waited := "with p99 "+readable.Figure(worst.P99), time.Duration(worst.P99.NS)
	if !worst.P99.Known {
		how, waited = "with "+readable.Plural(worst.Errors, "error"), time.Second
	}
	in := span{worst.Time, worst.Time.Add(time.Second + waited)}
	if !gap.from.IsZero() && in.overlaps(gap) {
		return ""
	}
	told := during(s.events, in)
	if told == "" {
		return ""
	}
	return fmt.Sprintf("in the slowest second, from %s %s: %s", worst.Time.UTC().Format(clock), how, told)
}

// worstSecond is the measured second with most errors, of those whose p99 has
// failed or is not supported; else that with the highest p99, if it is a spike
// beside the others.
func worstSecond(rows []record.Row) *record.Row {
	var failed *record.Row
	var known []*record.Row
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Phase != measure.Measured.String():
		case r.P99.Known:
			known = append(known, r)
		case r.Errors > 0 && (failed == nil || r.Errors > failed.Errors):
			failed = r
		}
	}
	if failed != nil || len(known) < 3 {
		return failed
	}
	slices.SortStableFunc(known, func(a, b *record.Row) int { return cmp.Compare(a.P99.NS, b.P99.NS) })
	worst, middle := known[len(known)-1], known[len(known)/2]
	if worst.P99.NS < spike*middle.P99.NS {
		return nil
	}
	return worst
}

// overlapping are the events that were under way at some time of the span.
func overlapping(events []record.Event, from, to time.Time) []record.Event {
	var in []record.Event
	for _, e := range events {
		if (span{e.Began(), e.Time}).overlaps(span{from, to}) {
			in = append(in, e)
		}
	}
	return in
}

// paired gives the end of a snapshot the time since its beginning, where its
// line does not say how long it took, and leaves the beginning out.
func paired(events []record.Event) []record.Event {
	begun := map[string]int{} // by member: index in out
	out := make([]record.Event, 0, len(events))
	gone := map[int]bool{}
	for _, e := range events {
		if e.Count == 0 {
			switch stores.SignalKind(e.Kind) {
			case stores.SnapshotStarted:
				begun[e.Member] = len(out)
			case stores.SnapshotDone:
				if i, ok := begun[e.Member]; ok {
					delete(begun, e.Member)
					gone[i] = true
					e.Duration = max(e.Duration, e.Time.Sub(out[i].Time))
				}
			}
		}
		out = append(out, e)
	}
	kept := out[:0]
	for i, e := range out {
		if !gone[i] {
			kept = append(kept, e)
		}
	}
	return kept
}

// once leaves out the elections that we saw by asking, where the members' logs
// tell them themselves.
func once(events []record.Event) []record.Event {
	elected := func(e record.Event) bool { return e.Kind == string(stores.Elected) }
	if !slices.ContainsFunc(events, func(e record.Event) bool { return elected(e) && e.Line != "" }) {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e record.Event) bool { return elected(e) && e.Line == "" })
}
