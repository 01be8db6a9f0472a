package fault

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// exitAction returns the action that ends members' processes with a signal. To heal the fault, the
// action restarts the members.
func exitAction(s host.Signal) *action {
	return &action{begin: signalMembers(s), endsProcesses: true, heal: restartMembers, healed: "restarted"}
}

// signalMembers sends a signal to each member's processes.
func signalMembers(s host.Signal) func(context.Context, *injection) error {
	return func(ctx context.Context, o *injection) error {
		return o.forEachMember(func(m string) error { return o.Cluster.Signal(ctx, m, s) })
	}
}

func restartMembers(ctx context.Context, o *injection) error {
	return o.forEachMember(func(m string) error { return o.Cluster.Restart(ctx, m) })
}

func (o *injection) restartMember(ctx context.Context, member string) error {
	return o.Cluster.Restart(ctx, member)
}
