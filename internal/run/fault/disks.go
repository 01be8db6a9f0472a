package fault

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
)

// diskAction returns the action that injects faults into members' disks. Healing also starts the
// members, because the faults may have made them exit.
func diskAction(faults func(*fault.Injection) disk.Faults) *action {
	return &action{
		begin: func(ctx context.Context, o *injection) error {
			return o.forEachMember(func(m string) error { return o.setDisk(ctx, m, faults(o.happening)) })
		},
		heal: func(ctx context.Context, o *injection) error {
			return o.forEachMember(func(m string) error {
				return errors.Join(o.setDisk(ctx, m, disk.Faults{}), o.Cluster.Restart(ctx, m))
			})
		},
		healed: "given a working disk",
	}
}

func (o *injection) setDisk(ctx context.Context, member string, f disk.Faults) error {
	d, err := o.Cluster.Disk(member)
	if err != nil {
		return err
	}
	return d.Set(ctx, f)
}

// powerLoss returns the action that kills members and makes their disks lose all data that was not
// synced. If the fault's field `Amount` is not 0, the action also writes all members' data to their
// disks at the time `Amount` before the power loss. Only data that was written after that time can
// then be lost.
func powerLoss() *action {
	a := exitAction(host.Kill)
	a.prepare, a.afterBegin = writeBack, dropUnsynced
	return a
}

// dropUnsynced makes the disks of members that have exited lose the data that was not synced.
func dropUnsynced(ctx context.Context, o *injection) error {
	return o.forEachMember(func(m string) error {
		d, err := o.Cluster.Disk(m)
		if err != nil {
			return err
		}
		lost, err := d.PowerLoss(ctx)
		o.result.LostFiles += lost
		return err
	})
}

// lyingDisk returns the action that makes members' disks acknowledge syncs without performing them.
// The fault ends with a power loss.
func lyingDisk() *action {
	return &action{
		begin: func(ctx context.Context, o *injection) error {
			return o.whileSuspended(ctx, o.members, func(m string) error { return o.setDisk(ctx, m, disk.Faults{Lying: true}) })
		},
		heal: func(ctx context.Context, o *injection) error {
			var err error
			if o.result.Injected() { // if only some of the disks lied, the fault was not injected, and no power loss follows
				err = losePower(ctx, o)
			}
			return errors.Join(err, o.forEachMember(func(m string) error {
				return errors.Join(o.setDisk(ctx, m, disk.Faults{}), o.Cluster.Restart(ctx, m))
			}))
		},
		healed: "restarted after the power loss, with working disks",
	}
}

// losePower kills the members and makes their disks lose the data that was not synced.
func losePower(ctx context.Context, o *injection) error {
	if err := signalMembers(host.Kill)(ctx, o); err != nil {
		return err
	}
	if err := o.forEachMember(func(m string) error { return o.awaitExit(ctx, m) }); err != nil {
		return err
	}
	o.result.EndedAt = o.windowSeconds(o.Clock.Now())
	return dropUnsynced(ctx, o)
}

// writeBack writes all data of the members to their disks, so that the data survives a power loss.
func writeBack(ctx context.Context, i *Injector) error {
	return i.whileSuspended(ctx, slices.Sorted(maps.Values(i.Names)), func(m string) error {
		d, err := i.Cluster.Disk(m)
		if err != nil {
			return err
		}
		return d.WriteBack(ctx)
	})
}

// whileSuspended suspends all given members, calls the function `do` for each of them, and resumes
// them. Because no member runs until all calls have ended, these calls have the same effect on the
// disks as if they were made at the same moment.
func (i *Injector) whileSuspended(ctx context.Context, members []string, do func(member string) error) error {
	var errs []error
	for _, step := range []func(m string) error{
		func(m string) error { return i.Cluster.Signal(ctx, m, host.Pause) }, do,
		func(m string) error { return i.Cluster.Signal(ctx, m, host.Resume) },
	} {
		for _, m := range members {
			errs = append(errs, step(m))
		}
	}
	return errors.Join(errs...)
}
