package trial

import (
	"cmp"
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Source is a host of the scenario that members of a trial are on, or that its load
// comes from.
type Source struct {
	Name          string
	Host          host.Host
	Members, Load bool
}

// machineUse is what a machine, and our processes there, had used at times.
type machineUse struct {
	cpus int
	// What the machine had spent: in all, on anything, on programs, and not, for its host
	// took it away.
	total, busy, programs, stolen []usedBy
	ours                          map[string][]usedBy // by process
}

// add takes what the machine had used.
func (u *machineUse) add(at time.Time, m *probe.MachineUsage) {
	if m == nil || m.CPU.Total() <= 0 {
		return
	}
	for _, one := range []struct {
		to *[]usedBy
		is float64
	}{{&u.total, m.CPU.Total()}, {&u.busy, m.CPU.Busy()}, {&u.programs, m.CPU.Programs()}, {&u.stolen, m.CPU.Steal}} {
		*one.to = append(*one.to, usedBy{at: at, cpu: one.is})
	}
}

// use is what one of our processes had used.
func (u *machineUse) use(at time.Time, process string, p *probe.ProcessUsage) {
	if p.OK {
		u.ours[process] = append(u.ours[process], usedBy{at: at, cpu: p.UserSeconds + p.SystemSeconds})
	}
}

// leastCovered is the share of a window that samples of the machine must be of, for
// them to speak for it.
const leastCovered = 0.5

// shares are the parts of the machine's processor time between two times that anything
// used, that its host took away, and that other programs than ours used; nil where
// that is not known.
func (u *machineUse) shares(from, to time.Time) (busy, stolen, foreign *float64) {
	if len(u.total) < 2 {
		return nil, nil, nil
	}
	whole := to.Sub(from)
	from, to = latest(from, u.total[0].at), earliest(to, u.total[len(u.total)-1].at)
	if whole <= 0 || to.Sub(from) < time.Duration(leastCovered*float64(whole)) {
		return nil, nil, nil
	}
	total := cpuBetween(u.total, from, to)
	if total <= 0 {
		return nil, nil, nil
	}
	others := cpuBetween(u.programs, from, to)
	for _, seen := range u.ours {
		others -= max(cpuBetween(seen, from, to), 0)
	}
	share := func(x float64) *float64 { return new(min(max(x/total, 0), 1)) }
	return share(cpuBetween(u.busy, from, to)), share(cpuBetween(u.stolen, from, to)), share(others)
}

// cpuBetween is what was used from one time to another.
func cpuBetween(seen []usedBy, from, to time.Time) float64 {
	cpu := func(u *usedBy) float64 { return u.cpu }
	return valueAt(seen, to, cpu) - valueAt(seen, from, cpu)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// source is a Source that is sampled.
type source struct {
	Source
	on     *sampled
	row    string // its generator's; empty without one
	clocks []clockSeen
	meant  moved // of what its clock did, by our own's having stood still
	lost   string // why it was, before the load's end; empty if it was not
}

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
			one.lost = printable.Line(context.Cause(h).Error(), printable.OfServer)
			first = cmp.Or(first, context.Cause(h))
		}
	}
	return first
}

// byHost is what each source was in a window.
func (s *sampler) byHost(from, to time.Time) (all []record.ByHost) {
	for i := range s.sources {
		one := &s.sources[i]
		h := record.ByHost{
			Name: one.Name, Lost: one.lost, Machine: one.on.machine, CPUs: one.on.use.cpus, Members: one.Members, Load: one.Load,
			Clock: clockBetween(one.clocks, from, to), SamplingCPUSeconds: tookOf(one.on.cost, from, to),
		}
		h.BusyShare, h.StolenShare, h.ForeignShare = one.on.use.shares(from, to)
		if seen := s.throttled[one.row]; len(seen) > 0 {
			h.ThrottledSeconds = new(max(cpuBetween(seen, from, to), 0))
		}
		all = append(all, h)
	}
	return all
}
