package fault

import (
	"context"
	"errors"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// badDisk gives members' disks faults, and takes them away again. A member may
// have ended for them.
func badDisk(faults func(*scenario.Happening) disk.Faults) *action {
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

// powerLoss kills members, and has their disks lose what was not synced.
func powerLoss() *action {
	a := ending(host.Kill)
	a.then = func(ctx context.Context, o *one) error {
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
	return a
}
