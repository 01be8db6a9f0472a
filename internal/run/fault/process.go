package fault

import (
	"context"
	"errors"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// endWithin is how long a member that was asked to end may take before it is
// killed.
const endWithin = 10 * time.Second

// ending is the action that ends processes with a signal, and starts them again.
func ending(s host.Signal) *action {
	return &action{begin: signal(s), ends: true, heal: startAgain, healed: "started again"}
}

// signal sends a signal to each member's processes.
func signal(s host.Signal) func(context.Context, *one) error {
	return func(ctx context.Context, o *one) error {
		return o.each(func(m string) error { return o.Cluster.Signal(ctx, m, s) })
	}
}

func startAgain(ctx context.Context, o *one) error {
	return o.each(func(m string) error { return o.Cluster.StartAgain(ctx, m) })
}

// end waits until the member's processes have ended, and kills them if they do
// not do as they were asked.
func (o *one) end(ctx context.Context, member string) error {
	limited, cancel := context.WithTimeout(ctx, endWithin)
	err := o.Cluster.AwaitEnd(limited, member)
	cancel()
	if err == nil {
		return nil
	}
	err = o.Cluster.Signal(ctx, member, host.Kill)
	limited, cancel = context.WithTimeout(ctx, endWithin)
	defer cancel()
	return errors.Join(err, o.Cluster.AwaitEnd(limited, member))
}
