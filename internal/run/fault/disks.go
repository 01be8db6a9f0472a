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

// badDisk gives members' disks faults, and takes them away again. A member may
// have ended for them.
func badDisk(faults func(*fault.Happening) disk.Faults) *action {
	return &action{
		begin: func(ctx context.Context, o *one) error {
			return o.each(func(m string) error { return o.setDisk(ctx, m, faults(o.what)) })
		},
		heal: func(ctx context.Context, o *one) error {
			return o.each(func(m string) error {
				return errors.Join(o.setDisk(ctx, m, disk.Faults{}), o.Cluster.StartAgain(ctx, m))
			})
		},
		healed: "given a disk in order",
	}
}

func (o *one) setDisk(ctx context.Context, member string, f disk.Faults) error {
	d, err := o.Cluster.Disk(member)
	if err != nil {
		return err
	}
	return d.Set(ctx, f)
}

// powerLoss kills members, and has their disks lose what was not synced. What had been
// written so long before as its by says is written back then.
func powerLoss() *action {
	a := ending(host.Kill)
	a.ahead, a.then = writeBack, forget
	return a
}

// forget has the disks of members that have ended lose what was not synced.
func forget(ctx context.Context, o *one) error {
	return o.each(func(m string) error {
		d, err := o.Cluster.Disk(m)
		if err != nil {
			return err
		}
		lost, err := d.PowerLoss(ctx)
		o.f.LostFiles += lost
		return err
	})
}

// lyingDisk has members' disks acknowledge syncs that they do not do, until the power
// goes.
func lyingDisk() *action {
	return &action{
		begin: func(ctx context.Context, o *one) error {
			return o.atOnce(ctx, o.members, func(m string) error { return o.setDisk(ctx, m, disk.Faults{Lying: true}) })
		},
		heal: func(ctx context.Context, o *one) error {
			var err error
			if o.f.Done() { // else not all disks lied, and nothing is to be lost for it
				err = powerGoes(ctx, o)
			}
			return errors.Join(err, o.each(func(m string) error {
				return errors.Join(o.setDisk(ctx, m, disk.Faults{}), o.Cluster.StartAgain(ctx, m))
			}))
		},
		healed: "started again after the power went, with disks in order",
	}
}

// powerGoes ends members whose disks lose what was not synced.
func powerGoes(ctx context.Context, o *one) error {
	if err := signal(host.Kill)(ctx, o); err != nil {
		return err
	}
	if err := o.each(func(m string) error { return o.end(ctx, m) }); err != nil {
		return err
	}
	o.f.Ended = o.window(o.Clock.Now())
	return forget(ctx, o)
}

// writeBack has all that the members have written survive a power loss.
func writeBack(ctx context.Context, i *Injector) error {
	return i.atOnce(ctx, slices.Sorted(maps.Values(i.Names)), func(m string) error {
		d, err := i.Cluster.Disk(m)
		if err != nil {
			return err
		}
		return d.WriteBack(ctx)
	})
}

// atOnce does something to each member while all of them stand still: what is on their
// disks then is of one moment, in which no member knows of a write that the others have
// not.
func (i *Injector) atOnce(ctx context.Context, members []string, do func(member string) error) error {
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
