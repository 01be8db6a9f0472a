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

// badDisk injects faults into members' disks and heals them. A member may have ended
// because of them, so healing also starts it.
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
		healed: "given a working disk",
	}
}

func (o *one) setDisk(ctx context.Context, member string, f disk.Faults) error {
	d, err := o.Cluster.Disk(member)
	if err != nil {
		return err
	}
	return d.Set(ctx, f)
}

// powerLoss kills members, and makes their disks lose data that was not synced. Data that
// was written at least the fault's By before is written back first.
func powerLoss() *action {
	a := ending(host.Kill)
	a.ahead, a.then = writeBack, forget
	return a
}

// forget makes the disks of members that have ended lose data that was not synced.
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

// lyingDisk makes members' disks acknowledge syncs without doing them, until a power loss
// at the end.
func lyingDisk() *action {
	return &action{
		begin: func(ctx context.Context, o *one) error {
			return o.atOnce(ctx, o.members, func(m string) error { return o.setDisk(ctx, m, disk.Faults{Lying: true}) })
		},
		heal: func(ctx context.Context, o *one) error {
			var err error
			if o.f.Done() { // otherwise not all disks lied, and nothing should be lost
				err = powerGoes(ctx, o)
			}
			return errors.Join(err, o.each(func(m string) error {
				return errors.Join(o.setDisk(ctx, m, disk.Faults{}), o.Cluster.StartAgain(ctx, m))
			}))
		},
		healed: "started again after the power failure, with working disks",
	}
}

// powerGoes kills the members and makes their disks lose data that was not synced.
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

// writeBack makes everything that the members have written survive a power loss.
func writeBack(ctx context.Context, i *Injector) error {
	return i.atOnce(ctx, slices.Sorted(maps.Values(i.Names)), func(m string) error {
		d, err := i.Cluster.Disk(m)
		if err != nil {
			return err
		}
		return d.WriteBack(ctx)
	})
}

// atOnce calls do for each member while all of them are paused, so that the disks are in a
// consistent state: no member knows of a write that the others lack.
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
