package trial

import (
	"cmp"
	"context"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/text"
)

// whilePresent returns a context that is canceled with run, or when a host with members is lost;
// the load is then stopped, too. Hosts that have only workers are watched by the code that runs the
// workers.
func (w *monitor) whilePresent(run context.Context) (present context.Context, forsake context.CancelFunc) {
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
// no members or cannot be lost.
func (s *source) presence() context.Context {
	if h, ok := s.Host.(host.Losable); ok && s.Members {
		return h.Presence()
	}
	return nil
}

// noteLost records which hosts with members were lost by the end of the load. It returns the reason
// for the first loss.
func (s *sampler) noteLost() (first error) {
	for i := range s.sources {
		one := &s.sources[i]
		if h := one.presence(); h != nil && h.Err() != nil {
			one.lost = text.Line(context.Cause(h).Error(), text.MaxServerText)
			first = cmp.Or(first, context.Cause(h))
		}
	}
	return first
}
