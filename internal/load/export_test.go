package load

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
)

// Portable makes the worker use the poller for systems without epoll.
func (w *Local) Portable() {
	w.poller = func(conns int, base time.Time, d poll.Dialer) (poll.Poller, error) {
		return poll.NewPortable(conns, base, d), nil
	}
}

// Bounded limits the total size of the seconds, in bytes, that a job of Workers stores while it
// waits for a slow worker.
func Bounded(j Job, most int) { j.(*jobs).merger.maxWaitingBytes = most }
