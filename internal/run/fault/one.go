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

// action implements a kind of fault. Its functions act on all members that the fault affects
// (injection.members). The context that they receive is never canceled.
type action struct {
	// ahead is called at the time `By` before the fault, if the fault has a `By`. The affected
	// members are not chosen yet at this time. The field may be nil.
	ahead func(ctx context.Context, i *Injector) error
	begin func(ctx context.Context, o *injection) error // may be nil
	// ends is set if begin makes the members' processes exit. The injector then waits until they
	// have exited.
	ends bool
	// then is called after the fault has begun and, if `ends` is set, the processes have exited. It
	// may be nil.
	then func(ctx context.Context, o *injection) error
	// heal undoes the fault, even if the fault was only partly injected. healed is a participle
	// that describes the members after healing, for example "restarted".
	heal   func(ctx context.Context, o *injection) error
	healed string
}

// injection is a fault in progress.
type injection struct {
	*Injector
	// The contexts of the run and of the load.
	run, load context.Context

	what    *fault.Happening
	do      *action
	f       *record.Fault
	status  *store.Status   // the cluster's status before the fault
	members []string        // names of the affected members
	all     []string        // names of all members, in order
	chosen  []*store.Member // the affected members, or only the leader if the fault affects the whole cluster

	admin store.Admin // connection that undo uses
	undo  []func(context.Context) error

	healed string // replaces action.healed unless empty
}

// forEachMember calls do for each affected member.
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
	if o.f.Member == record.AllMembers {
		return strings.Join(o.members, ", ")
	}
	return o.f.Member + ", " + o.f.Role
}

// breakAndHeal injects the fault, waits for its duration, and heals it. The fault is healed even if
// a context is canceled. The error cut is not nil if the fault was shorter than requested.
func (o *injection) breakAndHeal(run, load context.Context) (cut, err error) {
	must := context.WithoutCancel(run)
	began := o.Clock.Now()
	if o.do.begin != nil {
		if err := o.do.begin(must, o); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot begin the fault: %w", err), o.heal(must))
		}
	}
	o.f.Began = o.window(began)
	o.event(o.f, record.FaultBegan, began, fmt.Sprintf("fault %d: %s (%s)", o.f.Number, o.f.What, o.membersText()))
	if o.do.ends {
		if err := o.forEachMember(func(m string) error { return o.end(must, m) }); err != nil {
			return nil, errors.Join(err, o.heal(must))
		}
		o.f.Ended = o.window(o.Clock.Now())
	}
	if o.do.then != nil {
		if err := o.do.then(must, o); err != nil {
			return nil, errors.Join(err, o.heal(must))
		}
	}
	if !o.Clock.SleepUntil(load, began.Add(o.what.For)) {
		cut = errors.New("the load ended before all steps of the fault were completed")
		if o.what.For > 0 {
			cut = errors.New("the fault was cut short, because the load ended first")
		}
	}
	return cut, o.heal(must)
}

// heal undoes the fault.
func (o *injection) heal(ctx context.Context) error {
	if err := o.do.heal(ctx, o); err != nil {
		return fmt.Errorf("the fault was not healed: %w", err)
	}
	now := o.Clock.Now()
	o.f.Healed = o.window(now)
	if !o.f.Done() {
		return nil // Run records an event with the reason why the fault was not injected
	}
	was := "was"
	if len(o.members) > 1 {
		was = "were"
	}
	o.event(o.f, record.FaultHealed, now, fmt.Sprintf("%s %s %s (fault %d)", strings.Join(o.members, ", "), was, cmp.Or(o.healed, o.do.healed), o.f.Number))
	return nil
}

// ready waits until all members are running again, and records the time.
func (o *injection) ready(ctx context.Context) error {
	if err := o.awaitRecovery(ctx); err != nil {
		return err
	}
	now := o.Clock.Now()
	o.f.Ready = o.window(now)
	o.event(o.f, record.FaultReady, now, fmt.Sprintf("all members are running again %.3g s after fault %d began", *o.f.Ready-*o.f.Began, o.f.Number))
	return nil
}

// awaitRecovery waits until all members are running again. It restarts a member that exits during
// startup, for example because another program took its port.
func (o *injection) awaitRecovery(ctx context.Context) error {
	end := o.Clock.Now().Add(readyWithin)
	for {
		_, err := o.healthy(ctx, againEvery)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.New("the run ended before all members were confirmed to be running again")
		case o.Clock.Now().After(end):
			return fmt.Errorf("not all members were running again within %s: %w", readyWithin, err)
		}
		if again := o.forEachMember(func(m string) error { return o.Cluster.StartAgain(ctx, m) }); again != nil {
			return fmt.Errorf("not all members are running again: %w", again)
		}
	}
}

// endWithin is how long a member that was asked to exit may take before it is killed.
const endWithin = 10 * time.Second

// end waits until the member's processes have exited. It kills them if they do not exit within
// endWithin.
func (o *injection) end(ctx context.Context, member string) error {
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

// step records an event about one member for a step of the fault.
func (o *injection) step(member, did string) {
	o.Event(record.Event{
		Time: o.Clock.Now(), Kind: record.FaultStep, Member: member, Text: fmt.Sprintf("%s %s (fault %d)", member, did, o.f.Number),
	})
}
