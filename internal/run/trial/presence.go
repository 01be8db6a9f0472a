package trial

import (
	"cmp"
	"context"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/text"
)

// whilePresent ends with run, and when a host with members is lost, with which the load
// ends, too. Those who run workers look after their hosts.
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

// presence ends when a host with members is lost; nil where none can be.
func (s *source) presence() context.Context {
	if h, ok := s.Host.(host.Losable); ok && s.Members {
		return h.Presence()
	}
	return nil
}

// noteLost notes which hosts with members were lost, when the load has ended, and
// returns why the first was.
func (s *sampler) noteLost() (first error) {
	for i := range s.sources {
		one := &s.sources[i]
		if h := one.presence(); h != nil && h.Err() != nil {
			one.lost = text.Line(context.Cause(h).Error(), text.OfServer)
			first = cmp.Or(first, context.Cause(h))
		}
	}
	return first
}
