package disk

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/run/host/helper"
)

// Command is the name of quorumbench's command that serves a disk: Command FOLDER FILES.
const Command = "disk"

// FilesOf returns the folder that holds the files of the disk at the folder at.
func FilesOf(at string) string { return at + ".disk" }

// Disk is a folder that behaves like a bad disk on request. A separate process serves it
// and unmounts the folder when it ends. Only one goroutine at a time may use it.
type Disk struct {
	at     string
	server *helper.Process
}

// Start makes the folder at, which must exist and be empty, a disk served by our binary at
// self. It makes the folder FilesOf(at) for the files.
func Start(ctx context.Context, self, at string) (*Disk, error) {
	server, err := helper.Start(ctx, self, "the disk at "+at, nil, Command, at, FilesOf(at))
	if err != nil {
		forget(at)
		return nil, err
	}
	return &Disk{at: at, server: server}, nil
}

// PID returns the number of the process that serves the disk.
func (d *Disk) PID() int { return d.server.PID() }

// Set makes f the disk's only faults.
func (d *Disk) Set(ctx context.Context, f Faults) error {
	_, err := d.server.Ask(ctx, &request{Set: &f})
	return err
}

// WriteBack makes everything written until now survive a power loss, synced or not, as if
// the kernel had written it back.
func (d *Disk) WriteBack(ctx context.Context) error {
	_, err := d.server.Ask(ctx, &request{WriteBack: true})
	return err
}

// PowerLoss drops all data that was not synced, and returns how many files lost some. All
// processes that used the disk must have ended.
func (d *Disk) PowerLoss(ctx context.Context) (lost int, err error) {
	a, err := d.server.Ask(ctx, &request{PowerLoss: true})
	return a.Lost, err
}

// Close unmounts the disk and waits until it is unmounted. Its files stay in FilesOf(at).
// Close may be called more than once.
func (d *Disk) Close() {
	d.server.Close()
	forget(d.at) // a killed server unmounts nothing
}
