package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Answers verifies the history in the given files and returns the result for the record. The check
// reads the history several times. Answers calls progress with the number of the current pass over
// the history and the number of operations read in this pass. If ctx is canceled, Answers returns
// the cause.
func Answers(ctx context.Context, paths []string, progress func(reading int, operations uint64)) (*record.Answers, error) {
	began := time.Now()
	set, err := history.Open(paths...)
	if err != nil {
		return nil, err
	}
	r, err := Check(&followed{Set: set, ctx: ctx, progress: progress}, Options{})
	if err != nil {
		return nil, err
	}
	out := r.record()
	out.Undecided = append(out.Undecided, set.Problems...)
	if e := set.ClockError(); e > 0 {
		out.Undecided = append(out.Undecided, fmt.Sprintf("the clocks of other machines may be off by %s, so the order of operations whose times differ by less than twice this error is unknown", text.Duration(float64(e))))
	}
	out.Seconds = time.Since(began).Seconds()
	return out, nil
}

// followed is a history that reports its progress each time it is read. Its context can cancel the
// read.
type followed struct {
	*history.Set
	ctx      context.Context
	progress func(reading int, operations uint64)
	reading  int
}

// progressEvery is the number of operations after which Read reports its progress and checks
// whether the context is canceled.
const progressEvery = 1 << 16

// Read implements Input.
func (f *followed) Read(do func([]history.Op) error) error {
	f.reading++
	n, next := uint64(0), uint64(0)
	return f.Set.Read(func(ops []history.Op) error {
		if n >= next {
			next = n + progressEvery
			if err := context.Cause(f.ctx); err != nil {
				return err
			}
			if f.progress != nil && n > 0 {
				f.progress(f.reading, n)
			}
		}
		n += uint64(len(ops))
		return do(ops)
	})
}

// record converts the result to the type that is stored in the record of the run.
func (r *Result) record() *record.Answers {
	out := &record.Answers{
		Operations: r.Operations, Judged: r.Judged, Keys: r.Keys, Indefinite: r.Indefinite, Resolved: r.Resolved,
		Wrong: map[string]uint64{}, Undecided: r.Undecided,
	}
	if w := r.Watches; w != nil {
		out.Watches = &record.CheckedWatches{Watchers: w.Watchers, Events: w.Events, Progress: w.Progress, Resumed: w.Resumed, Ended: w.Ended}
	}
	if l := r.Leases; l != nil {
		out.Leases = &record.CheckedLeases{Leases: l.Leases, KeptAlive: l.KeptAlive, Gone: l.Gone}
		if l.Late.Max > 0 {
			out.Leases.Late = new(record.Spread(l.Late))
		}
	}
	if l := r.Locks; l != nil {
		out.Locks = &record.CheckedLocks{Locks: l.Locks, Granted: l.Granted, Outlived: l.Outlived, Waits: record.Spread(l.Waits), Holds: record.Spread(l.Holds)}
	}
	for kind, n := range r.Counts {
		out.Wrong[string(kind)] = n
	}
	for kind, n := range r.Consequences {
		if out.Consequences == nil {
			out.Consequences = map[string]uint64{}
		}
		out.Consequences[string(kind)] = n
	}
	for promise, n := range r.NotPromised {
		if out.NotPromised == nil {
			out.NotPromised = map[string]uint64{}
		}
		out.NotPromised[string(promise)] = n
	}
	for i := range r.Violations {
		v := &r.Violations[i]
		lines := strings.Split(v.Text, "\n")
		var shown []record.ShownOperation
		for k := range v.Ops {
			o := &v.Ops[k]
			shown = append(shown, record.ShownOperation{
				Client: o.Session, Watcher: o.Kind == kv.Watch, Member: record.ID(o.Member), From: o.Invoked, To: o.Done, What: Label(o), Bad: k == v.Wrong,
			})
		}
		var key *uint64
		if !slices.Contains(keyless, v.Kind) {
			key = new(v.Key)
		}
		out.Violations = append(out.Violations, record.Violation{
			Kind: string(v.Kind), Promise: string(v.Promise), Source: v.Source, Key: key,
			History: lines[:len(lines)-1], Why: lines[len(lines)-1], Operations: shown,
		})
	}
	for i := range r.Staleness {
		s := &r.Staleness[i]
		out.Staleness = append(out.Staleness, record.Staleness{
			Consistency: s.Consistency.String(), Member: record.ID(s.Member), Reads: s.Reads, Behind: s.Behind,
			Versions: record.Spread(s.Versions), Times: record.Spread(s.Nanoseconds),
		})
	}
	return out
}
