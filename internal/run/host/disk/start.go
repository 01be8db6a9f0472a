package disk

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/run/host/helper"
)

// Command is the name of the quorumbench command that serves a disk. Its arguments are the mount
// point and the folder for the disk's files.
const Command = "disk"

// FilesDir returns the folder for the files of the disk that is mounted at mountPoint.
func FilesDir(mountPoint string) string { return mountPoint + ".disk" }

// Disk is a folder that simulates a bad disk on request. A separate process serves the disk and
// unmounts the folder when it exits. A Disk is not safe for concurrent use.
type Disk struct {
	mountPoint string
	server     *helper.Process
}

// Start mounts a disk on the folder mountPoint, which must exist and be empty. The quorumbench
// binary at the path self serves the disk in a separate process. Start creates the folder
// FilesDir(mountPoint) for the disk's files.
func Start(ctx context.Context, self, mountPoint string) (*Disk, error) {
	server, err := helper.Start(ctx, self, "the disk at "+mountPoint, nil, Command, mountPoint, FilesDir(mountPoint))
	if err != nil {
		unmountStale(mountPoint)
		return nil, err
	}
	return &Disk{mountPoint: mountPoint, server: server}, nil
}

// PID returns the ID of the process that serves the disk.
func (d *Disk) PID() int { return d.server.PID() }

// Set injects the faults in f, which replace all earlier ones.
func (d *Disk) Set(ctx context.Context, f Faults) error {
	_, err := d.server.Ask(ctx, &request{Set: &f})
	return err
}

// WriteBack ensures that all data written so far survives a power loss, including data that was not
// synced. It has the same effect as if the kernel had written the data to the device.
func (d *Disk) WriteBack(ctx context.Context) error {
	_, err := d.server.Ask(ctx, &request{WriteBack: true})
	return err
}

// PowerLoss drops all data that was not synced. It returns the number of files that lost data. All
// processes that used the disk must have exited.
func (d *Disk) PowerLoss(ctx context.Context) (damagedFiles int, err error) {
	a, err := d.server.Ask(ctx, &request{PowerLoss: true})
	return a.DamagedFiles, err
}

// Close unmounts the disk and waits until it is unmounted. The disk's files remain in the folder
// that FilesDir returns. Close may be called more than once.
func (d *Disk) Close() {
	d.server.Close()
	unmountStale(d.mountPoint) // unmounts the disk if the server was killed and could not unmount it
}
