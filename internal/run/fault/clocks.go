package fault

import (
	"context"
	"time"
)

// clockJump moves members' wall clocks, and has them be right again.
func clockJump() *action {
	return &action{
		begin:  func(ctx context.Context, o *one) error { return o.moveClocks(ctx, o.what.By) },
		heal:   func(ctx context.Context, o *one) error { return o.moveClocks(ctx, 0) },
		healed: "told the right time again",
	}
}

func (o *one) moveClocks(ctx context.Context, ahead time.Duration) error {
	return o.each(func(m string) error { return o.Cluster.MoveClock(ctx, m, ahead) })
}
