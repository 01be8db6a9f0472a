package load

import (
	"context"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// readBackTries is the number of times that ReadBack tries to read all keys. Reads fail during an
// election.
const readBackTries = 3

// ReadBack implements Worker.
func (w *Local) ReadBack(ctx context.Context, a *Assignment, level kv.Consistency, newRecorder RecorderFactory) (found uint64, err error) {
	p, err := w.plan(a)
	if err != nil {
		return 0, err
	}
	p.final, p.reports.NewRecorder = true, newRecorder
	read := p.readKeys
	if p.script != nil {
		read = p.readScriptKeys
	}
	for range readBackTries {
		if found, err = read(ctx, level); err == nil {
			return found, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return 0, err
}

// readKeys reads each key in the key space. If the field p.Only is set, it reads only the keys in
// that set.
func (p *plan) readKeys(ctx context.Context, level kv.Consistency) (found uint64, err error) {
	left := fullSet(p.Load.KeySpace)
	if p.Only != nil {
		left = newSetFromWords(p.Only)
	}
	total, missing := left.count.Load(), newSet(p.Load.KeySpace)
	if err := p.sendPass(ctx, scenario.Operation{Kind: kv.Get, Consistency: level, Weight: 1}, left, missing, &preloadState{anyValue: true}); err != nil {
		return 0, err
	}
	return total - missing.count.Load(), nil
}

// readScriptKeys reads each key of a script.
func (p *plan) readScriptKeys(ctx context.Context, level kv.Consistency) (found uint64, err error) {
	model := p.script.Model()
	if model == nil {
		return 0, fmt.Errorf("quorumbench cannot read the keys of the application %s after the load, because the application does not number its keys", p.Load.Application.Name)
	}
	back := &finalReadSource{model: model, level: level}
	attempt := *p
	attempt.script = nil
	attempt.chronicler = func(recorder *history.Recorder) engine.History {
		return &finalRecorder{recorder: model.NewKeyRecorder(recorder)}
	}
	_, err = attempt.repeat(ctx, scenario.Operation{Kind: kv.Get, Consistency: level, Weight: 1}, fullSet(model.Keys()), attempt.reports, func(*source) engine.Source { return back })
	return back.found, err
}

// finalReadSource is a source that reads each key of a script once. Only one loop uses it.
type finalReadSource struct {
	model app.Model
	level kv.Consistency
	key   []byte
	found uint64
}

// Fill implements engine.Source.
func (r *finalReadSource) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	r.key = r.model.AppendKey(r.key[:0], n)
	*op = store.Op{Kind: kv.Get, Consistency: r.level, Key: r.key}
	r.model.MakeRead(n, op)
	return n
}

// Kind implements engine.Source.
func (r *finalReadSource) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) {
	return kv.Get, r.level
}

// Shares implements engine.Source.
func (r *finalReadSource) Shares(measure.Phase) []engine.Share {
	return []engine.Share{{Kind: kv.Get, Consistency: r.level, Fraction: 1}}
}

// Check implements engine.Source.
func (r *finalReadSource) Check(_ kv.Kind, _ uint64, ev *store.Event) kv.Outcome {
	switch {
	case ev.Outcome != kv.OK:
		return ev.Outcome
	case !r.model.Exists(ev):
		return kv.Miss
	}
	r.found++
	return kv.OK
}

// finalRecorder passes the final reads to a script's recorder.
type finalRecorder struct {
	engine.HistoryBase
	recorder app.KeyRecorder
}

// OperationEnded implements engine.History.
func (f *finalRecorder) OperationEnded(done *engine.Completion) {
	o := done.Op
	o.Revision, o.Final = max(done.Event.StoreRevision, 0), true
	f.recorder.Read(done.Ref, done.Event, o)
}
