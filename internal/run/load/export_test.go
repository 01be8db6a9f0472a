package load

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/run/load/engine"
)

// Portable makes the plan use the poller of systems without epoll.
func (p *Plan) Portable() {
	p.poller = func(conns int, base time.Time, d engine.Dialer) (engine.Poller, error) {
		return engine.NewPortable(conns, base, d), nil
	}
}
