package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/store"
)

// action implements a kind of fault. Its functions act on all members that the fault affects (see
// injection.members). The context that they receive is never canceled.
type action struct {
	// prepare is called at the time `Amount` before the fault, if the fault has an `Amount`. The
	// affected members are not chosen yet at this time. The field may be nil.
	prepare func(ctx context.Context, i *Injector) error
	begin   func(ctx context.Context, o *injection) error // may be nil
	// endsProcesses is set if the function `begin` makes the members' processes exit. The injector
	// then waits until they have exited.
	endsProcesses bool
	// afterBegin is called after the fault has begun and, if `endsProcesses` is set, the processes
	// have exited. It may be nil.
	afterBegin func(ctx context.Context, o *injection) error
	// heal undoes the fault, even if the fault was only partly injected. healed is a participle
	// that describes the members after healing, for example "restarted".
	heal   func(ctx context.Context, o *injection) error
	healed string
}

// injection is a fault in progress.
type injection struct {
	*Injector
	// The contexts of the run and of the load.
	runCtx, loadCtx context.Context

	happening  *fault.Injection
	action     *action
	result     *record.Fault
	status     *store.Status   // the cluster's status before the fault
	members    []string        // names of the affected members
	allMembers []string        // names of all members, in order
	targets    []*store.Member // the affected members, or only the leader if the fault affects the whole cluster

	admin store.Admin // connection that undo uses
	undo  []func(context.Context) error

	healed string // replaces action.healed unless empty
}

// forEachMember calls the function `do` for each affected member.
func (o *injection) forEachMember(do func(member string) error) error {
	var errs []error
	for _, m := range o.members {
		errs = append(errs, do(m))
	}
	return errors.Join(errs...)
}

// membersText returns the names of the affected members. If the fault affects one member, the text
// also contains the member's role.
func (o *injection) membersText() string {
	if o.result.Member == record.AllMembers {
		return strings.Join(o.members, ", ")
	}
	return o.result.Member + ", " + o.result.Role
}

// breakAndHeal injects the fault, waits for its duration, and heals it. The fault is healed even if
// a context is canceled. The result `cut` is not nil if the fault was shorter than requested.
func (o *injection) breakAndHeal(run, load context.Context) (cut, err error) {
	uncanceled := context.WithoutCancel(run)
	began := o.Clock.Now()
	if o.action.begin != nil {
		if err := o.action.begin(uncanceled, o); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot begin the fault: %w", err), o.heal(uncanceled))
		}
	}
	o.result.BeganAt = o.windowSeconds(began)
	o.recordEvent(o.result, record.FaultBegan, began, fmt.Sprintf("fault %d: %s (%s)", o.result.Number, o.result.Description, o.membersText()))
	if o.action.endsProcesses {
		if err := o.forEachMember(func(m string) error { return o.awaitExit(uncanceled, m) }); err != nil {
			return nil, errors.Join(err, o.heal(uncanceled))
		}
		o.result.EndedAt = o.windowSeconds(o.Clock.Now())
	}
	if o.action.afterBegin != nil {
		if err := o.action.afterBegin(uncanceled, o); err != nil {
			return nil, errors.Join(err, o.heal(uncanceled))
		}
	}
	if !o.Clock.SleepUntil(load, began.Add(o.happening.Duration)) {
		cut = errors.New("the load ended before all steps of the fault were completed")
		if o.happening.Duration > 0 {
			cut = errors.New("the fault was cut short, because the load ended first")
		}
	}
	return cut, o.heal(uncanceled)
}

// heal undoes the fault.
func (o *injection) heal(ctx context.Context) error {
	if err := o.action.heal(ctx, o); err != nil {
		return fmt.Errorf("the fault was not healed: %w", err)
	}
	now := o.Clock.Now()
	o.result.HealedAt = o.windowSeconds(now)
	if !o.result.Injected() {
		return nil // Run records an event with the reason why the fault was not injected
	}
	was := "was"
	if len(o.members) > 1 {
		was = "were"
	}
	o.recordEvent(o.result, record.FaultHealed, now, fmt.Sprintf("%s %s %s (fault %d)", strings.Join(o.members, ", "), was, cmp.Or(o.healed, o.action.healed), o.result.Number))
	return nil
}

// awaitReady waits until all members are running again, and records the time.
func (o *injection) awaitReady(ctx context.Context) error {
	if err := o.awaitRecovery(ctx); err != nil {
		return err
	}
	now := o.Clock.Now()
	o.result.RecoveredAt = o.windowSeconds(now)
	o.recordEvent(o.result, record.FaultReady, now, fmt.Sprintf("all members are running again %.3g s after fault %d began", *o.result.RecoveredAt-*o.result.BeganAt, o.result.Number))
	return nil
}

// awaitRecovery waits until all members are running again. It restarts a member that exits during
// startup, for example because another program took its port.
func (o *injection) awaitRecovery(ctx context.Context) error {
	end := o.Clock.Now().Add(readyTimeout)
	for {
		_, err := o.awaitHealthy(ctx, restartInterval)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.New("the run ended before all members were confirmed to be running again")
		case o.Clock.Now().After(end):
			return fmt.Errorf("not all members were running again within %s: %w", readyTimeout, err)
		}
		if again := o.forEachMember(func(m string) error { return o.Cluster.Restart(ctx, m) }); again != nil {
			return fmt.Errorf("not all members are running again: %w", again)
		}
	}
}

// exitTimeout is how long a member that was asked to exit may take before it is killed.
const exitTimeout = 10 * time.Second

// awaitExit waits until the member's processes have exited. It kills them if they do not exit
// within exitTimeout.
func (o *injection) awaitExit(ctx context.Context, member string) error {
	limited, cancel := context.WithTimeout(ctx, exitTimeout)
	err := o.Cluster.AwaitEnd(limited, member)
	cancel()
	if err == nil {
		return nil
	}
	err = o.Cluster.Signal(ctx, member, host.Kill)
	limited, cancel = context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	return errors.Join(err, o.Cluster.AwaitEnd(limited, member))
}

// recordStep records an event about one member for a step of the fault.
func (o *injection) recordStep(member, stepText string) {
	o.Event(record.Event{
		Time: o.Clock.Now(), Kind: record.FaultStep, Member: member, Text: fmt.Sprintf("%s %s (fault %d)", member, stepText, o.result.Number),
	})
}
