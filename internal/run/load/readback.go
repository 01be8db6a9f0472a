package load

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// ReadBack implements Worker.
func (w *Local) ReadBack(ctx context.Context, a *Assignment, level kv.Consistency, to History) (found uint64, err error) {
	p, err := w.plan(a)
	if err != nil {
		return 0, err
	}
	p.final, p.reports.History = true, to
	total, only := p.Load.KeySpace, (*numberList)(nil)
	if a.Only != nil {
		only = numbersOf(a.Only)
		total = only.count
	}
	if total == 0 {
		return 0, nil
	}
	for range preloadRounds { // one that fails beside an election is read again
		missing := newSet(p.Load.KeySpace)
		if _, err = p.pass(ctx, scenario.Operation{Kind: kv.Get, Consistency: level, Weight: 1}, total, only, missing, &preloading{anybodys: true}); err == nil {
			return total - missing.count.Load(), nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return 0, err
}
