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

// CheckFiles verifies the history in the given files and returns the result for the record. The
// check reads the history several times. CheckFiles calls progress with the number of the current
// pass over the history and the number of operations read in this pass. If ctx is canceled,
// CheckFiles returns the cause.
func CheckFiles(ctx context.Context, paths []string, progress func(reading int, operations uint64)) (*record.Verification, error) {
	began := time.Now()
	set, err := history.Open(paths...)
	if err != nil {
		return nil, err
	}
	r, err := Check(&progressReader{Set: set, ctx: ctx, progress: progress}, Options{})
	if err != nil {
		return nil, err
	}
	out := r.toRecord()
	out.Undecided = append(out.Undecided, set.Problems...)
	if e := set.ClockError(); e > 0 {
		out.Undecided = append(out.Undecided, fmt.Sprintf("the clocks of other machines may be off by %s, so the order of operations whose times differ by less than twice this error is unknown", text.Duration(float64(e))))
	}
	out.Seconds = time.Since(began).Seconds()
	return out, nil
}

// progressReader is a history that reports its progress each time it is read. Its context can
// cancel the read.
type progressReader struct {
	*history.Set
	ctx      context.Context
	progress func(reading int, operations uint64)
	reading  int
}

// progressEvery is the number of operations after which Read reports its progress and checks
// whether the context is canceled.
const progressEvery = 1 << 16

// Read implements Input.
func (f *progressReader) Read(do func([]history.Op) error) error {
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

// toRecord converts the result to the type that is stored in the record of the run.
func (r *Result) toRecord() *record.Verification {
	out := &record.Verification{
		Operations: r.Operations, VerifiedOperations: r.VerifiedOperations, Keys: r.Keys, Indefinite: r.Indefinite, Resolved: r.Resolved,
		WrongByKind: map[string]uint64{}, Undecided: r.Undecided,
	}
	if w := r.Watches; w != nil {
		out.Watches = &record.WatchVerification{Watchers: w.Watchers, Events: w.Events, Progress: w.Progress, Resumed: w.Resumed, Ended: w.Ended}
	}
	if l := r.Leases; l != nil {
		out.Leases = &record.LeaseVerification{Leases: l.Leases, Renewals: l.Renewals, EndedLeases: l.EndedLeases}
		if l.ExpiryDelay.Max > 0 {
			out.Leases.ExpiryDelay = new(record.Spread(l.ExpiryDelay))
		}
	}
	if l := r.Locks; l != nil {
		out.Locks = &record.LockVerification{Locks: l.Locks, Acquisitions: l.Acquisitions, OverlappingHolds: l.OverlappingHolds, Waits: record.Spread(l.Waits), Holds: record.Spread(l.Holds)}
	}
	for kind, n := range r.Counts {
		out.WrongByKind[string(kind)] = n
	}
	for kind, n := range r.Consequences {
		if out.Consequences == nil {
			out.Consequences = map[string]uint64{}
		}
		out.Consequences[string(kind)] = n
	}
	for guarantee, n := range r.NotGuaranteed {
		if out.NotGuaranteed == nil {
			out.NotGuaranteed = map[string]uint64{}
		}
		out.NotGuaranteed[string(guarantee)] = n
	}
	for i := range r.Violations {
		v := &r.Violations[i]
		lines := strings.Split(v.Explanation, "\n")
		var shown []record.ShownOperation
		for k := range v.Ops {
			o := &v.Ops[k]
			shown = append(shown, record.ShownOperation{
				Client: o.Session, Watcher: o.Kind == kv.Watch, Member: record.ID(o.Member), From: o.Invoked, To: o.Done, Description: Label(o), Wrong: k == v.WrongIndex,
			})
		}
		var key *uint64
		if !slices.Contains(keyless, v.Kind) {
			key = new(v.Key)
		}
		out.Violations = append(out.Violations, record.Violation{
			Kind: string(v.Kind), Guarantee: string(v.Guarantee), Source: v.Source, Key: key,
			History: lines[:len(lines)-1], Explanation: lines[len(lines)-1], Operations: shown,
		})
	}
	for i := range r.Staleness {
		s := &r.Staleness[i]
		out.Staleness = append(out.Staleness, record.Staleness{
			Consistency: s.Consistency.String(), Member: record.ID(s.Member), Reads: s.Reads, StaleReads: s.StaleReads,
			Versions: record.Spread(s.Versions), Times: record.Spread(s.Nanoseconds),
		})
	}
	return out
}
