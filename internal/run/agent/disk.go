package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/text"
)

// sessionDisk is a session's disk. It is safe for concurrent use.
type sessionDisk struct {
	mu sync.Mutex
	d  host.Disk
}

// execute executes a request.
func (h *sessionDisk) execute(ctx context.Context, r *request) (damagedFiles int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case r.Action == setDiskFaultsAction && r.Disk != nil && r.Disk.SyncDelay >= 0:
		return 0, h.d.Set(ctx, *r.Disk)
	case r.Action == writeBackAction:
		return 0, h.d.WriteBack(ctx)
	case r.Action == powerLossAction:
		return h.d.PowerLoss(ctx)
	}
	return 0, fmt.Errorf("unknown disk request %q", r.Action)
}

func (h *sessionDisk) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.d.Close()
}

// serveDisk puts a folder on a disk with injected faults. If the stream ends without a release
// request, the disk remains until the processes of the session have been stopped.
func (s *Server) serveDisk(ctx context.Context, current *session, st *stream, path string) error {
	if err := s.folder.check(path); err != nil {
		return err
	}
	if !current.hasClaimed(path) {
		return fmt.Errorf("the folder %s is not in a data folder of this session, so the agent cannot mount a disk on it", text.Line(path, maxPathBytes))
	}
	d, err := s.host.Disk(ctx, s.options.Self, path)
	if err != nil {
		return err
	}
	served := &sessionDisk{d: d}
	if !current.addDisk(served) {
		served.close()
		return errors.New("the session has ended")
	}
	if err := sendJSON(st, reply{Process: &host.Identity{PID: d.PID()}}); err != nil {
		return nil
	}
	for {
		r, err := receiveJSON[request](st)
		if err != nil {
			return nil
		}
		if r.Action == releaseAction {
			served.close()
			return sendJSON(st, reply{})
		}
		a := reply{}
		if a.DamagedFiles, err = served.execute(ctx, &r); err != nil {
			a.Error = err.Error()
		}
		if err := sendJSON(st, a); err != nil {
			return nil
		}
	}
}

// Disk implements host.Host. The quorumbench binary on the agent's machine serves the disk.
func (h *remoteHost) Disk(ctx context.Context, _, dir string) (host.Disk, error) {
	st, a, err := h.open(ctx, request{Action: serveDiskAction, Path: dir})
	if err != nil {
		return nil, err
	}
	if a.Process == nil || a.Process.PID < 1 {
		st.close()
		return nil, h.impossible("the disk has no process")
	}
	return &remoteDisk{h: h, st: st, pid: a.Process.PID}, nil
}

// Empty implements host.Host.
func (h *remoteHost) Empty(ctx context.Context, dir string) error {
	_, err := h.call(ctx, request{Action: emptyAction, Path: dir})
	return err
}

// remoteDisk is a disk that an agent serves.
type remoteDisk struct {
	h   *remoteHost
	mu  sync.Mutex // serializes requests
	st  *stream
	pid int
}

func (d *remoteDisk) ask(ctx context.Context, q request) (reply, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.h.ask(ctx, d.st, q)
}

// Set implements host.Disk.
func (d *remoteDisk) Set(ctx context.Context, f disk.Faults) error {
	_, err := d.ask(ctx, request{Action: setDiskFaultsAction, Disk: &f})
	return err
}

// WriteBack implements host.Disk.
func (d *remoteDisk) WriteBack(ctx context.Context) error {
	_, err := d.ask(ctx, request{Action: writeBackAction})
	return err
}

// PowerLoss implements host.Disk.
func (d *remoteDisk) PowerLoss(ctx context.Context) (damagedFiles int, err error) {
	a, err := d.ask(ctx, request{Action: powerLossAction})
	if err == nil && a.DamagedFiles < 0 {
		err = d.h.impossible("the number of files that lost data is negative")
	}
	return max(a.DamagedFiles, 0), err
}

// PID implements host.Disk.
func (d *remoteDisk) PID() int { return d.pid }

// Close implements host.Disk. An agent that has lost its controller unmounts the disk by itself.
func (d *remoteDisk) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	_, _ = d.ask(ctx, request{Action: releaseAction})
	d.st.close()
}
