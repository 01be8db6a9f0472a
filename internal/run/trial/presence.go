package trial

import (
	"cmp"
	"context"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/text"
)

// untilHostLost returns a context that is canceled when the context run is canceled or when a host
// with members is lost. In the second case, the load is also stopped. For hosts that have only
// workers, the code that runs the workers detects the loss.
func (w *monitor) untilHostLost(run context.Context) (present context.Context, abandonRecovery context.CancelFunc) {
	present, cancel := context.WithCancel(run)
	release := []func() bool{}
	for i := range w.sampler.sources {
		if h := w.sampler.sources[i].presence(); h != nil {
			release = append(release, context.AfterFunc(h, func() {
				w.stop()
				cancel()
			}))
		}
	}
	return present, func() {
		for _, r := range release {
			r()
		}
		cancel()
	}
}

// presence returns a context that is canceled when the host is lost. It returns nil if the host has
// no members or if its loss cannot be detected.
func (s *source) presence() context.Context {
	if h, ok := s.Host.(host.Remote); ok && s.Members {
		return h.Presence()
	}
	return nil
}

// recordLostHosts records which hosts with members were lost by the time when the load ended. It
// returns the reason why the first of them was lost.
func (s *sampler) recordLostHosts() (first error) {
	for i := range s.sources {
		one := &s.sources[i]
		if h := one.presence(); h != nil && h.Err() != nil {
			one.lost = text.Line(context.Cause(h).Error(), text.MaxServerText)
			first = cmp.Or(first, context.Cause(h))
		}
	}
	return first
}
