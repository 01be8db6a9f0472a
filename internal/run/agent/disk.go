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

// heldDisk is a session's disk. It is safe for concurrent use.
type heldDisk struct {
	mu sync.Mutex
	d  host.Disk
}

// execute executes a request.
func (h *heldDisk) execute(ctx context.Context, r *request) (lost int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case r.Do == setDisk && r.Disk != nil && r.Disk.SyncDelay >= 0:
		return 0, h.d.Set(ctx, *r.Disk)
	case r.Do == writeBack:
		return 0, h.d.WriteBack(ctx)
	case r.Do == powerLoss:
		return h.d.PowerLoss(ctx)
	}
	return 0, fmt.Errorf("unknown disk request %q", r.Do)
}

func (h *heldDisk) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.d.Close()
}

// serveDisk puts a folder on a disk with injected faults. If the stream ends without a release
// request, the disk remains until the processes of the session have been stopped.
func (s *Server) serveDisk(ctx context.Context, now *session, st *stream, path string) error {
	if err := s.folder.check(path); err != nil {
		return err
	}
	disks, ok := s.host.(host.Disker)
	if !ok || !now.claims(path) {
		return fmt.Errorf("the folder %s is not in a data folder of this session, so the agent cannot mount a disk on it", text.Line(path, longestPath))
	}
	d, err := disks.Disk(ctx, s.o.Self, path)
	if err != nil {
		return err
	}
	held := &heldDisk{d: d}
	if !now.holdDisk(held) {
		held.close()
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
		if r.Do == release {
			held.close()
			return sendJSON(st, reply{})
		}
		a := reply{}
		if a.Lost, err = held.execute(ctx, &r); err != nil {
			a.Error = err.Error()
		}
		if err := sendJSON(st, a); err != nil {
			return nil
		}
	}
}

// Disk implements host.Disker. The quorumbench binary on the agent's machine serves the disk.
func (h *remoteHost) Disk(ctx context.Context, _, dir string) (host.Disk, error) {
	st, a, err := h.open(ctx, request{Do: onDisk, Path: dir})
	if err != nil {
		return nil, err
	}
	if a.Process == nil || a.Process.PID < 1 {
		st.close()
		return nil, h.impossible("the disk has no process")
	}
	return &remoteDisk{h: h, st: st, pid: a.Process.PID}, nil
}

// Empty implements host.Emptier.
func (h *remoteHost) Empty(ctx context.Context, dir string) error {
	_, err := h.call(ctx, request{Do: empty, Path: dir})
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
	_, err := d.ask(ctx, request{Do: setDisk, Disk: &f})
	return err
}

// WriteBack implements host.Disk.
func (d *remoteDisk) WriteBack(ctx context.Context) error {
	_, err := d.ask(ctx, request{Do: writeBack})
	return err
}

// PowerLoss implements host.Disk.
func (d *remoteDisk) PowerLoss(ctx context.Context) (lost int, err error) {
	a, err := d.ask(ctx, request{Do: powerLoss})
	if err == nil && a.Lost < 0 {
		err = d.h.impossible("the number of files that lost data is negative")
	}
	return max(a.Lost, 0), err
}

// PID implements host.Disk.
func (d *remoteDisk) PID() int { return d.pid }

// Close implements host.Disk. An agent that has lost its controller unmounts the disk by itself.
func (d *remoteDisk) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	_, _ = d.ask(ctx, request{Do: release})
	d.st.close()
}
