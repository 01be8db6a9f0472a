package disk

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/run/host/helper"
)

// Command is the name of our command that serves a disk: Command FOLDER BESIDE.
const Command = "disk"

// Beside is the folder that keeps the files of the disk at a folder.
func Beside(at string) string { return at + ".disk" }

// Disk is a folder that behaves like a bad disk on request, served by a process of its
// own, which unmounts the folder when it ends. One goroutine at a time uses it.
type Disk struct {
	at     string
	server *helper.Process
}

// Start has our own binary at self make a folder a disk. The folder must be there and
// empty; its files are below Beside, which is made.
func Start(ctx context.Context, self, at string) (*Disk, error) {
	server, err := helper.Start(ctx, self, "the disk at "+at, nil, Command, at, Beside(at))
	if err != nil {
		forget(at)
		return nil, err
	}
	return &Disk{at: at, server: server}, nil
}

// PID is the number of the process that serves the disk.
func (d *Disk) PID() int { return d.server.PID() }

// Set has the disk have these faults, and no others.
func (d *Disk) Set(ctx context.Context, f Faults) error {
	_, err := d.server.Ask(ctx, &request{Set: &f})
	return err
}

// WriteBack has all that was written until now survive a power loss, as what the kernel
// wrote back does, synced or not.
func (d *Disk) WriteBack(ctx context.Context) error {
	_, err := d.server.Ask(ctx, &request{WriteBack: true})
	return err
}

// PowerLoss has the disk forget what was not synced, and returns how many files lost
// something. All processes that used the disk must have ended.
func (d *Disk) PowerLoss(ctx context.Context) (lost int, err error) {
	a, err := d.server.Ask(ctx, &request{PowerLoss: true})
	return a.Lost, err
}

// Close unmounts the disk, and returns when that is done. Its files stay where they
// are. It may be called again.
func (d *Disk) Close() {
	d.server.Close()
	forget(d.at) // a process that was killed unmounts nothing
}
