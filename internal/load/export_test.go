package load

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
)

// Portable makes the worker use the poller of systems without epoll.
func (w *Local) Portable() {
	w.poller = func(conns int, base time.Time, d poll.Dialer) (poll.Poller, error) {
		return poll.NewPortable(conns, base, d), nil
	}
}

// Bounded has a job of Workers keep so many bytes of seconds for a worker that is
// behind.
func Bounded(j Job, most int) { j.(*jobs).all.most = most }
