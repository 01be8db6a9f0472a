//go:build !linux

package poll

import "time"

// NewPoller returns a portable poller for the given number of connections. The poller's clock shows
// the time since base.
func NewPoller(conns int, base time.Time, dialer Dialer) (Poller, error) {
	return NewPortable(conns, base, dialer), nil
}
