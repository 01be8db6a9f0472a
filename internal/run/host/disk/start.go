package disk

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/run/host/helper"
)

// Command is the name of the quorumbench command that serves a disk. Its arguments are FOLDER
// FILES.
const Command = "disk"

// FilesDir returns the folder in which the files of the disk at the given folder are stored.
func FilesDir(at string) string { return at + ".disk" }

// Disk is a folder that simulates a bad disk on request. A separate process serves the disk and
// unmounts the folder when it exits. A Disk is not safe for concurrent use.
type Disk struct {
	at     string
	server *helper.Process
}

// Start turns the folder at, which must exist and be empty, into a disk that is served by the
// quorumbench binary at self. It creates the folder FilesDir(at) for the disk's files.
func Start(ctx context.Context, self, at string) (*Disk, error) {
	server, err := helper.Start(ctx, self, "the disk at "+at, nil, Command, at, FilesDir(at))
	if err != nil {
		forget(at)
		return nil, err
	}
	return &Disk{at: at, server: server}, nil
}

// PID returns the ID of the process that serves the disk.
func (d *Disk) PID() int { return d.server.PID() }

// Set injects the faults in f, which replace all earlier ones.
func (d *Disk) Set(ctx context.Context, f Faults) error {
	_, err := d.server.Ask(ctx, &request{Set: &f})
	return err
}

// WriteBack makes all data written so far survive a power loss, including data that was not synced,
// as if the kernel had written it to the device.
func (d *Disk) WriteBack(ctx context.Context) error {
	_, err := d.server.Ask(ctx, &request{WriteBack: true})
	return err
}

// PowerLoss drops all data that was not synced. It returns the number of files that lost data. All
// processes that used the disk must have exited.
func (d *Disk) PowerLoss(ctx context.Context) (lost int, err error) {
	a, err := d.server.Ask(ctx, &request{PowerLoss: true})
	return a.Lost, err
}

// Close unmounts the disk and waits until it is unmounted. The disk's files remain in FilesDir(at).
// Close may be called more than once.
func (d *Disk) Close() {
	d.server.Close()
	forget(d.at) // unmount if the server was killed before it could
}
