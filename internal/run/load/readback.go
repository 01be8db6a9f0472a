package load

import (
	"context"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/run/load/engine"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// ReadBack implements Worker.
func (w *Local) ReadBack(ctx context.Context, a *Assignment, level kv.Consistency, to History) (found uint64, err error) {
	p, err := w.plan(a)
	if err != nil {
		return 0, err
	}
	p.final, p.reports.History = true, to
	read := p.readKeys
	if p.script != nil {
		read = p.readScripts
	}
	for range preloadRounds { // one that fails beside an election is read again
		if found, err = read(ctx, level); err == nil {
			return found, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return 0, err
}

// readKeys reads each key of the key space, or those that are asked for.
func (p *plan) readKeys(ctx context.Context, level kv.Consistency) (found uint64, err error) {
	total, only := p.Load.KeySpace, (*numberList)(nil)
	if p.Only != nil {
		only = numbersOf(p.Only)
		total = only.count
	}
	if total == 0 {
		return 0, nil
	}
	missing := newSet(p.Load.KeySpace)
	if _, err := p.pass(ctx, scenario.Operation{Kind: kv.Get, Consistency: level, Weight: 1}, total, only, missing, &preloading{anybodys: true}); err != nil {
		return 0, err
	}
	return total - missing.count.Load(), nil
}

// readScripts reads each key of a script.
func (p *plan) readScripts(ctx context.Context, level kv.Consistency) (found uint64, err error) {
	script, ok := p.script.(Checked)
	if !ok {
		return 0, fmt.Errorf("the keys of the application %s have no numbers by which they could be read", p.Load.Application.Name)
	}
	back := &reading{script: script, level: level}
	back.otherwise, _ = p.script.(Reader)
	one := *p
	one.script, one.wrap = nil, func(*source) engine.Source { return back }
	one.chronicler = func(to *history.Recorder) engine.History { return &finals{script.Chronicle(to)} }
	one.Load = closed(p.Load, script.Keys())
	one.reports = Reports{History: p.reports.History}
	g, err := newGenerator(&one)
	if err != nil {
		return 0, err
	}
	res, err := RunJob(ctx, g)
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, err
	}
	return back.found, failure(res.Measured, scenario.Operation{Kind: kv.Get})
}

// reading is a source that reads each key of a script once. It is of one loop.
type reading struct {
	script    Checked
	otherwise Reader // nil: keys are read as such
	level     kv.Consistency
	key       []byte
	found     uint64
}

func (r *reading) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	if r.otherwise != nil {
		r.otherwise.FillRead(n, r.level, op)
		return n
	}
	r.key = r.script.AppendKey(r.key[:0], n)
	*op = store.Op{Kind: kv.Get, Consistency: r.level, Key: r.key}
	return n
}

func (r *reading) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) { return kv.Get, r.level }

func (r *reading) Shares(measure.Phase) []engine.Share {
	return []engine.Share{{Kind: kv.Get, Consistency: r.level, Of: 1}}
}

func (r *reading) Check(_ kv.Kind, _ uint64, ev *store.Event) kv.Outcome {
	switch {
	case ev.Outcome != kv.OK:
		return ev.Outcome
	case r.otherwise != nil && !r.otherwise.There(ev):
		return kv.Miss
	}
	r.found++
	return kv.OK
}

// finals records those reads.
type finals struct{ to engine.Chronicler }

func (f *finals) Ended(_ measure.Phase, _, number uint64, _ int64, ev *store.Event, o *history.Op) {
	o.At, o.Final = max(ev.At, 0), true
	f.to.Read(number, ev, o)
}
