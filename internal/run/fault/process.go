package fault

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// ending returns the action that ends members' processes with a signal. To heal the fault, the
// action restarts the members.
func ending(s host.Signal) *action {
	return &action{begin: signal(s), ends: true, heal: startAgain, healed: "restarted"}
}

// signal sends a signal to each member's processes.
func signal(s host.Signal) func(context.Context, *injection) error {
	return func(ctx context.Context, o *injection) error {
		return o.forEachMember(func(m string) error { return o.Cluster.Signal(ctx, m, s) })
	}
}

func startAgain(ctx context.Context, o *injection) error {
	return o.forEachMember(func(m string) error { return o.Cluster.StartAgain(ctx, m) })
}

func (o *injection) startAgain(ctx context.Context, member string) error {
	return o.Cluster.StartAgain(ctx, member)
}
