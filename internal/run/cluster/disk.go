package cluster

import (
	"context"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// mountDisk puts the member's data on a disk on which faults can be injected, if the spec requires
// this.
func (c *Cluster) mountDisk(ctx context.Context, m *member) (err error) {
	if !c.spec.Disks {
		return nil
	}
	if m.disk, err = m.place.host.Disk(ctx, c.spec.Self, m.details.DataDir); err != nil {
		return err
	}
	m.details.DiskServer = &Process{Name: m.details.Name + "-disk", PID: m.disk.PID()}
	return nil
}

// Disk returns the disk with the member's data. It returns an error if faults cannot be injected on
// it.
func (c *Cluster) Disk(name string) (host.Disk, error) {
	m, _, err := c.find(name)
	if err != nil {
		return nil, err
	}
	if m.disk == nil {
		return nil, fmt.Errorf("member %s has no disk on which faults can be injected", name)
	}
	return m.disk, nil
}
