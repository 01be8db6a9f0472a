// Package survey measures a set of hosts for a given time, or until it is certain whether their
// disks are good enough for a store.
package survey

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/preflight"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// Target is a host to measure.
type Target struct {
	Name, Address string
	Host          host.Host
	Dir           string // the folder in which to write; empty for the host's own folder
}

// Options describe a survey.
type Options struct {
	Targets []Target
	Stores  []registry.StoreRules // the hosts are judged for each of these stores
	Writes  probe.PacedWrites
	// EndWhenDecided contains the rules of a store. The survey ends as soon as it is certain for
	// every host whether the host's disk meets the disk rule in EndWhenDecided. If EndWhenDecided
	// is nil, the survey lasts for the whole duration of Writes.
	EndWhenDecided *kv.HostRules
	// Planned is called before anything is written.
	Planned func(*preflight.Check, *probe.PacedWrites)
	// Progress reports a step, and how many seconds of writes are complete on all hosts.
	Progress func(step string, seconds int)
}

// roundTrips is the number of messages between each pair of hosts.
const roundTrips = 200

// Sizes returns the sizes of the writes that the stores' rules need.
func Sizes(stores []registry.StoreRules) (sizes []int) {
	for _, s := range stores {
		if !slices.Contains(sizes, s.Rules.Record) {
			sizes = append(sizes, s.Rules.Record)
		}
	}
	return sizes
}

// surveying is a survey in progress.
type surveying struct {
	Options
	check  *preflight.Check
	pids   []int
	mu     sync.Mutex // protects the field `enough`, and the writes in the field `check`
	enough bool       // set if no more writes are needed
}

// Run measures the hosts, and judges them for all stores. It measures the network first and then
// the disks of all hosts concurrently.
func Run(ctx context.Context, o Options) (*preflight.Check, error) {
	s := &surveying{Options: o, check: &preflight.Check{}}
	for _, step := range []func(context.Context) error{s.describe, s.network, s.disks} {
		if err := step(ctx); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	s.clocks()
	for _, of := range o.Stores {
		s.check.Judge(of.Store, of.Rules)
	}
	return s.check, nil
}

// describe reads the descriptions and limits of all hosts.
func (s *surveying) describe(ctx context.Context) error {
	s.Progress("limits", 0)
	for _, t := range s.Targets {
		d, err := t.Host.Describe(ctx)
		if err != nil {
			return err
		}
		h := preflight.Host{Name: t.Name, Address: t.Address, Dir: t.Dir, Machine: d.Machine, Steal: -1, Throttled: -1, Busy: -1}
		if h.Dir == "" {
			h.Dir = d.Folder
		}
		if h.Limits, err = t.Host.Limits(ctx, h.Dir); err != nil {
			return err
		}
		s.check.Hosts, s.pids = append(s.check.Hosts, h), append(s.pids, d.Process)
	}
	return nil
}

// network measures the round trips between all pairs of hosts. A host takes part in only one
// measurement at a time.
func (s *surveying) network(ctx context.Context) error {
	if len(s.Targets) < 2 {
		return nil
	}
	s.Progress("round trips", 0)
	echoes := make([]*host.Echo, len(s.Targets))
	defer func() {
		for _, e := range echoes {
			if e != nil {
				e.Close()
			}
		}
	}()
	for i, t := range s.Targets {
		var err error
		if echoes[i], err = t.Host.Echo(ctx); err != nil {
			return err
		}
	}
	for _, round := range pairings(len(s.Targets)) {
		pairs := make([]preflight.Pair, len(round))
		var measuring sync.WaitGroup
		for k, p := range round {
			pairs[k] = preflight.Pair{From: s.Targets[p[0]].Name, To: s.Targets[p[1]].Name}
			measuring.Go(func() {
				trips, err := s.Targets[p[0]].Host.RoundTrips(ctx, echoes[p[1]].Address, echoes[p[1]].Token, roundTrips)
				if pairs[k].Trips = trips; err != nil {
					pairs[k].Failure = err.Error()
				}
			})
		}
		measuring.Wait()
		s.check.Pairs = append(s.check.Pairs, pairs...)
	}
	return nil
}

// pairings returns rounds. All rounds together contain each pair of the numbers 0 to n-1 once, and
// each round contains each number at most once. This is the circle method for tournaments: one
// number stays, and the others rotate.
func pairings(n int) (rounds [][][2]int) {
	m := n + n%2 // if n is odd, the number n is added to the circle; pairs with it are omitted
	circle := make([]int, m)
	for i := range circle {
		circle[i] = i
	}
	for range m - 1 {
		var round [][2]int
		for i := range m / 2 {
			if a, b := min(circle[i], circle[m-1-i]), max(circle[i], circle[m-1-i]); b < n {
				round = append(round, [2]int{a, b})
			}
		}
		rounds = append(rounds, round)
		last := circle[m-1]
		copy(circle[2:], circle[1:m-1])
		circle[1] = last
	}
	return rounds
}

// disks performs the writes on all hosts. It also measures how much processor time was withheld
// from each host during the writes.
func (s *surveying) disks(ctx context.Context) error {
	s.Planned(s.check, &s.Writes)
	before, err := s.sample(ctx)
	if err != nil {
		return err
	}
	for i := range s.check.Hosts { // before the first call of the method add, which reads the writes of all hosts
		s.check.Hosts[i].Writes = preflight.Writes{Sizes: s.Writes.Sizes, Interval: s.Writes.Interval}
	}
	began := time.Now()
	group, writing := errgroup.WithContext(ctx)
	for i := range s.Targets {
		h := &s.check.Hosts[i]
		group.Go(func() error {
			return s.Targets[i].Host.WriteLog(writing, h.Dir, s.Writes, func(second measure.WrittenSecond) bool { return s.add(&h.Writes, second) })
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	s.check.Seconds = time.Since(began).Seconds()
	after, err := s.sample(ctx)
	if err != nil {
		return err
	}
	for i := range s.check.Hosts {
		setWithheld(&s.check.Hosts[i], &before[i], &after[i])
	}
	return nil
}

// add adds the writes of a one-second interval, and reports whether more writes are needed.
func (s *surveying) add(w *preflight.Writes, second measure.WrittenSecond) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Seconds = append(w.Seconds, second)
	measured := len(w.Seconds)
	for i := range s.check.Hosts {
		measured = min(measured, len(s.check.Hosts[i].Writes.Seconds))
	}
	s.Progress("disks", measured)
	if s.EndWhenDecided != nil && !s.enough && measured == len(w.Seconds) && measured%preflight.SecondsPerDecision == 0 {
		s.enough = s.decided()
	}
	return !s.enough
}

// decided reports whether it is certain for every host that the host's disk meets, or does not
// meet, the disk rule in EndWhenDecided.
func (s *surveying) decided() bool {
	for i := range s.check.Hosts {
		if s.check.Hosts[i].DecideDisk(s.EndWhenDecided, len(s.check.Hosts)).State == preflight.CannotTell {
			return false
		}
	}
	return true
}

// sample returns the current counters of all hosts.
func (s *surveying) sample(ctx context.Context) ([]host.Sample, error) {
	all := make([]host.Sample, len(s.Targets))
	for i, t := range s.Targets {
		var err error
		if all[i], err = t.Host.Sample(ctx, []int{s.pids[i]}, true); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// setWithheld sets the shares of the processor time that were withheld from a host between two
// samples.
func setWithheld(h *preflight.Host, before, after *host.Sample) {
	if a, b := before.Machine, after.Machine; a != nil && b != nil {
		d := b.CPU.Sub(a.CPU)
		if total := d.User + d.Nice + d.System + d.Idle + d.IOWait + d.IRQ + d.SoftIRQ + d.Steal; total > 0 {
			h.Steal = min(max(d.Steal/total, 0), 1)
			h.Busy = min(max(1-(d.Idle+d.IOWait)/total, 0), 1)
		}
	}
	if len(before.Processes) == 0 || len(after.Processes) == 0 {
		return
	}
	a, b, lasted := &before.Processes[0], &after.Processes[0], after.At.Sub(before.At).Seconds()
	if !a.OK || !b.OK || a.Group.Throttled < 0 || b.Group.Throttled < 0 || lasted <= 0 {
		return
	}
	processors := float64(max(h.Machine.CPUs, 1))
	if limit := h.Machine.CPULimit; limit != nil {
		processors = min(processors, *limit)
	}
	h.Throttled = min(max((b.Group.Throttled-a.Group.Throttled)/lasted/processors, 0), 1)
}

// clocks reads the offsets of the hosts' clocks.
func (s *surveying) clocks() {
	for i, t := range s.Targets {
		if remote, ok := t.Host.(host.Remote); ok {
			c := remote.Clock()
			h := &s.check.Hosts[i]
			h.Ahead, h.AheadBound = new(c.Ahead), new(c.ErrorBound(measure.Now()))
		}
	}
}
