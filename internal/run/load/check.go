package load

import (
	"context"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/load/engine"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Loops is how many event loops the plan's generator has.
func (p *Plan) Loops() int { return p.threads() }

// Check asks every endpoint of the plan one local read of the load's first
// key, so that a server that is not there, speaks something else or does not
// let us in is told in one sentence before anything is measured.
func Check(ctx context.Context, plan Plan) error {
	l := plan.Load
	if k := l.Mix[0].Kind; k == kv.STM || k == kv.KeepAlive { // what those need is not there yet
		l.Mix = []scenario.Operation{{Kind: kv.Get, Weight: 1}}
	}
	src, err := newSource(&l)
	if err != nil {
		return err
	}
	dialer := plan.dialer()
	var op store.Op
	src.Fill(measure.Measured, 0, 0, &op)
	op = store.Op{Kind: kv.Get, Consistency: weakest(plan.Store.Semantics()), Key: op.Key}
	for _, endpoint := range plan.Endpoints {
		ev, err := dialer.Ask(ctx, endpoint, plan.Store.Codecs(plan.Access), &op)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case ev.Outcome.Failed() && len(ev.Text) > 0:
			return fmt.Errorf("%s does not answer a read: %s", endpoint, ev.Text)
		case ev.Outcome.Failed():
			return fmt.Errorf("%s does not answer a read: %v", endpoint, ev.Outcome)
		}
	}
	return nil
}

// weakest is the level of a read that a member can answer alone, if there is one.
func weakest(s store.Semantics) kv.Consistency {
	if _, ok := s.Reads[kv.Local]; ok {
		return kv.Local
	}
	return Strongest(s)
}

// Background makes the calling goroutine give way to the generator's loops for
// the rest of its life.
func Background() { engine.Background() }
