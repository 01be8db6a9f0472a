package fault

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// rollingAction returns the action that restarts all members one after the other, the leader last.
// Before it restarts the next member, it waits until all members are running again.
func rollingAction(start func(o *injection, ctx context.Context, member string) error) *action {
	return &action{
		afterBegin: func(ctx context.Context, o *injection) error { return o.restartInTurn(ctx, start) },
		heal:       restartMembers, healed: "restarted one after the other",
	}
}

func (o *injection) restartInTurn(ctx context.Context, start func(o *injection, ctx context.Context, member string) error) error {
	last := len(o.members)
	o.healed = "not all restarted"
	for n, member := range o.leaderLast() {
		if o.loadCtx.Err() != nil {
			return fmt.Errorf("the fault was cut short, because the load ended when only %d of %d members had been restarted", n, last)
		}
		if err := o.Cluster.Signal(ctx, member, host.Terminate); err != nil {
			return err
		}
		if err := o.awaitExit(ctx, member); err != nil {
			return err
		}
		if err := start(o, ctx, member); err != nil {
			return err
		}
		o.recordStep(member, fmt.Sprintf("was restarted as member %d of %d", n+1, last))
		if err := o.awaitRecovery(o.runCtx); err != nil {
			if n+1 == last {
				break // all members were restarted; the wait for readiness will report the error
			}
			return fmt.Errorf("not all members were running again after %d of %d members had been restarted, so the others were not restarted: %w", n+1, last, err)
		}
	}
	o.healed = o.action.healed
	return nil
}

// leaderLast returns the names of all members, with the leader's name last.
func (o *injection) leaderLast() (all []string) {
	leader := ""
	for i := range o.status.Members {
		if m := &o.status.Members[i]; m.Role == kv.Leader {
			leader = o.name(m)
		} else {
			all = append(all, o.name(m))
		}
	}
	return append(all, leader)
}

// upgrade restarts a member with the server software that the fault specifies.
func (o *injection) upgrade(ctx context.Context, member string) error {
	s, err := o.Server(o.happening.Server)
	if err != nil {
		return errors.Join(err, o.Cluster.Restart(ctx, member))
	}
	return o.Cluster.RestartWithServer(ctx, member, s)
}

// replace returns the action that kills a member and replaces it with a new member whose disk is
// empty. If the member cannot be replaced, it is restarted with its data.
func replace() *action {
	return &action{
		begin: signalMembers(host.Kill), endsProcesses: true,
		heal: func(ctx context.Context, o *injection) error {
			if err := o.replace(ctx); err != nil {
				return errors.Join(err, o.Cluster.Restart(ctx, o.members[0]))
			}
			return nil
		},
		healed: "replaced with an empty member",
	}
}

func (o *injection) replace(ctx context.Context) error {
	replaced := o.targets[0]
	err := o.withAdmin(ctx, o.endpoints(replaced), func(ctx context.Context, a store.Admin) error {
		if r, ok := a.(store.Operator); ok {
			return r.Replace(ctx, *replaced)
		}
		return nil // this store does not require a request before the replacement
	})
	if err != nil {
		return err
	}
	return o.Cluster.RestartEmpty(ctx, o.members[0])
}
