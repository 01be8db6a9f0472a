//go:build !linux

package poll

import "time"

// NewPoller returns this system's poller for the given number of connections. Its clock is
// the time since base.
func NewPoller(conns int, base time.Time, dialer Dialer) (Poller, error) {
	return NewPortable(conns, base, dialer), nil
}
