package trial

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/text"
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

// clockSeen is what was known of a host's clock at a time of ours.
type clockSeen struct {
	at time.Time
	host.Clock
}

// reading is that at another time.
func (c *clockSeen) reading(at time.Time) record.ClockReading {
	return record.ClockReading{At: at.UTC(), AheadNS: int64(c.Ahead), BoundNS: int64(c.Within(at))}
}

// clockBetween is the clock over a window, of what was seen of it since the trial
// began, at the beginning of the window and later; nil where nothing was.
func clockBetween(seen []clockSeen, from, to time.Time) *record.Clock {
	if len(seen) == 0 {
		return nil
	}
	first, last := &seen[0], &seen[0]
	for i := range seen {
		if at := seen[i].at; !at.After(from) {
			first = &seen[i]
		}
		if at := seen[i].at; !at.After(to) {
			last = &seen[i]
		}
	}
	c := &record.Clock{Before: first.reading(from), After: last.reading(to)}
	c.Jumps, c.SetNS = seen[len(seen)-1].Jumps-seen[0].Jumps, int64(seen[len(seen)-1].Set-seen[0].Set)
	c.WidestBoundNS = max(c.Before.BoundNS, c.After.BoundNS)
	for i := range seen {
		if at := seen[i].at; at.After(from) && at.Before(to) {
			c.WidestBoundNS = max(c.WidestBoundNS, int64(seen[i].Within(at)))
		}
	}
	return c
}

// source is a Source that is sampled.
type source struct {
	Source
	on     *sampled
	row    string // its generator's; empty without one
	clocks []clockSeen
	lost   string // why it was, before the load's end; empty if it was not
}

// look notes what is known of the clocks, and returns those that were set since the
// last time.
func (s *sampler) look() (set []record.Event) {
	now := measure.Now()
	if by := s.own.look(s.ahead()); by != 0 {
		set = append(set, clockWasSet(now, "the machine that conducts the run", by, ""))
	}
	for i := range s.sources {
		c, ok := s.sources[i].Host.(host.Clocked)
		if !ok {
			continue
		}
		one := &s.sources[i]
		is := clockSeen{now, c.Clock()}
		if n := len(one.clocks); n > 0 && one.clocks[n-1].Jumps != is.Jumps {
			set = append(set, clockWasSet(now, "host "+one.Name, is.Set-one.clocks[n-1].Set, ", or drifted"))
		}
		one.clocks = append(one.clocks, is)
	}
	return set
}

// clockWasSet is the event of that.
func clockWasSet(at time.Time, of string, by time.Duration, or string) record.Event {
	way := "forward"
	if by < 0 {
		way = "back"
	}
	return record.Event{Time: at, Kind: clockSet, Text: fmt.Sprintf("the clock of %s was set %s by %s%s", of, way, measure.Duration(float64(by.Abs())), or)}
}

// ownClock is this machine's beside what times are told by.
type ownClock struct {
	was time.Duration // by how much it was ahead
	record.ClockSet
}

// leastSet is less than a clock is set by.
const leastSet = time.Millisecond

// look takes by how much it is ahead now, and returns by how much it was set since.
func (c *ownClock) look(is time.Duration) (by time.Duration) {
	if by = is - c.was; by.Abs() < leastSet {
		return 0
	}
	c.was = is
	c.Times++
	c.SetNS += int64(by)
	return by
}

// clockSet is how our clock was set during the trial; nil if it was not.
func (w *monitor) clockSet() *record.ClockSet {
	set := w.sampler.own.ClockSet
	if set.Times == 0 {
		return nil
	}
	set.Members = slices.ContainsFunc(w.t.Cluster.Members(), func(m cluster.Member) bool {
		_, apart := m.Host.(host.Clocked)
		return !apart
	})
	return &set
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
			one.lost = text.Line(context.Cause(h).Error(), text.OfServer)
			first = cmp.Or(first, context.Cause(h))
		}
	}
	return first
}

// clockSet is the kind of event of a host's clock that was set.
const clockSet = "clock_set"

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
