// Package fault breaks members of a cluster on purpose while a load runs, and
// heals them. It knows neither the store nor the host: it acts through the
// cluster that it is given, and asks that how it is.
package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Bounds of what a fault waits for.
const (
	// askAhead is how long before a fault its cluster is asked how it is, and who
	// leads.
	askAhead = 200 * time.Millisecond
	// askEvery is the pause between two questions, to which the time of being ready
	// again is known.
	askEvery = 20 * time.Millisecond
	// askWithin bounds one question to all members.
	askWithin = 3 * time.Second
	// healthyWithin is how long a fault waits for the cluster to be whole before it.
	healthyWithin = 30 * time.Second
	// endWithin is how long a member that was asked to end may take before it is
	// killed.
	endWithin = 10 * time.Second
	// readyWithin is how long a healed cluster may take to be ready.
	readyWithin = 60 * time.Second
	// againEvery is the pause before a member that ended while it was started again
	// is started once more.
	againEvery = time.Second
)

// Cluster is what a fault needs of one.
type Cluster interface {
	Signal(ctx context.Context, member string, s host.Signal) error
	AwaitEnd(ctx context.Context, member string) error
	StartAgain(ctx context.Context, member string) error
}

// Clock is the time. Until waits for a time, and reports false when ctx ended
// before.
type Clock interface {
	Now() time.Time
	Until(ctx context.Context, at time.Time) bool
}

// Injector does the faults of one trial. Its methods are called from one
// goroutine.
type Injector struct {
	Cluster Cluster
	// Ask asks all members for their state, over connections of its own: one that
	// was lost is not tried again at once.
	Ask   func(ctx context.Context) (store.Status, error)
	Names map[string]string // the members' names by endpoint
	Clock Clock
	// Event records what happened.
	Event func(record.Event)

	opened time.Time
	done   []record.Fault
	taken  int // followers that were chosen
}

// Run does the faults at their times after opened, and returns what became of
// them. When load ends, no further one is begun, and the one that lasts is healed
// at once. What is healed is awaited until it is ready, unless run ends: that
// of an interrupted run is not waited for. Whatever happens, no member is left
// ended or standing still by a fault that could be healed.
func (i *Injector) Run(run, load context.Context, opened time.Time, all []scenario.Happening) []record.Fault {
	i.opened = opened
	for n := range all {
		h := &all[n]
		i.done = append(i.done, record.Fault{Number: n + 1, What: h.String(), Do: h.Do.String(), Asked: h.At.Seconds()})
		f := &i.done[n]
		if err := i.one(run, load, h, f); err != nil {
			f.Failure = err.Error()
			if !f.Done() {
				i.event(f, record.FaultUndone, i.Clock.Now(), fmt.Sprintf("fault %d (%s) was not done: %v", f.Number, f.What, err))
			}
		}
	}
	return i.done
}

// errOver is the failure of a fault for which no time was left.
var errOver = errors.New("the load had ended before")

// one does one fault. Its error says what was not as asked.
func (i *Injector) one(run, load context.Context, h *scenario.Happening, f *record.Fault) error {
	at := i.opened.Add(h.At)
	if !i.Clock.Until(load, at.Add(-askAhead)) {
		return errOver
	}
	status, err := i.healthy(load, healthyWithin)
	if err != nil {
		if load.Err() != nil {
			return errOver
		}
		return fmt.Errorf("the cluster was not whole before it: %w", err)
	}
	member, err := i.choose(&status, h.Member)
	if err != nil {
		return err
	}
	if !i.Clock.Until(load, at) {
		return errOver
	}
	f.Member, f.Role = i.name(member), member.Role.String()
	cut, err := i.breakAndHeal(run, load, h, f)
	if err != nil {
		return err
	}
	return errors.Join(cut, i.ready(run, f))
}

// healthy asks until all members answer and agree on a leader.
func (i *Injector) healthy(ctx context.Context, within time.Duration) (status store.Status, err error) {
	end := i.Clock.Now().Add(within)
	for {
		asked, cancel := context.WithTimeout(ctx, askWithin)
		status, err = i.Ask(asked)
		cancel()
		if err == nil {
			err = cluster.Unready(&status)
		}
		if err == nil || i.Clock.Now().After(end) || !i.Clock.Until(ctx, i.Clock.Now().Add(askEvery)) {
			return status, err
		}
	}
}

// choose is the member that is meant now. Followers take turns.
func (i *Injector) choose(s *store.Status, of kv.Target) (*store.Member, error) {
	var followers []*store.Member
	for k := range s.Members {
		m := &s.Members[k]
		switch {
		case of.Mode == kv.LeaderOnly && m.Role == kv.Leader, of.Mode == kv.One && k == of.Member-1:
			return m, nil
		case of.Mode == kv.Followers && m.Role != kv.Leader:
			followers = append(followers, m)
		}
	}
	if len(followers) == 0 {
		return nil, errors.New("the cluster has no such member")
	}
	i.taken++
	return followers[(i.taken-1)%len(followers)], nil
}

func (i *Injector) name(m *store.Member) string {
	if name := i.Names[m.Endpoint]; name != "" {
		return name
	}
	return m.Name
}

// breakAndHeal begins the fault, waits for as long as it lasts, and heals it,
// also when ctx has ended.
func (i *Injector) breakAndHeal(run, load context.Context, h *scenario.Happening, f *record.Fault) (cut, err error) {
	must := context.WithoutCancel(run)
	send := func(s host.Signal) error { return i.Cluster.Signal(must, f.Member, s) }
	began := i.Clock.Now()
	first := map[scenario.FaultKind]host.Signal{scenario.Kill: host.Kill, scenario.Terminate: host.Terminate, scenario.Restart: host.Terminate, scenario.Pause: host.Pause}[h.Do]
	f.Began = i.window(began)
	if err := send(first); err != nil {
		return nil, errors.Join(fmt.Errorf("the fault could not be begun: %w", err), i.heal(must, h, f))
	}
	i.event(f, record.FaultBegan, began, fmt.Sprintf("fault %d: %s (%s, %s)", f.Number, f.What, f.Member, f.Role))
	if h.Do != scenario.Pause {
		if err := i.end(must, f); err != nil {
			return nil, errors.Join(err, i.heal(must, h, f))
		}
	}
	if !i.Clock.Until(load, began.Add(h.For)) {
		cut = errors.New("it was cut short: the load ended before it was over")
	}
	return cut, i.heal(must, h, f)
}

// end waits until the member's processes have ended, and kills them if they do
// not do as they were asked.
func (i *Injector) end(ctx context.Context, f *record.Fault) error {
	limited, cancel := context.WithTimeout(ctx, endWithin)
	err := i.Cluster.AwaitEnd(limited, f.Member)
	cancel()
	if err != nil {
		err = i.Cluster.Signal(ctx, f.Member, host.Kill)
		limited, cancel := context.WithTimeout(ctx, endWithin)
		err = errors.Join(err, i.Cluster.AwaitEnd(limited, f.Member))
		cancel()
	}
	f.Ended = i.window(i.Clock.Now())
	return err
}

// heal undoes the fault.
func (i *Injector) heal(ctx context.Context, h *scenario.Happening, f *record.Fault) (err error) {
	if h.Do == scenario.Pause {
		err = i.Cluster.Signal(ctx, f.Member, host.Resume)
	} else {
		err = i.Cluster.StartAgain(ctx, f.Member)
	}
	if err != nil {
		return fmt.Errorf("it was not healed: %w", err)
	}
	now := i.Clock.Now()
	f.Healed = i.window(now)
	verb := "was started again"
	if h.Do == scenario.Pause {
		verb = "goes on"
	}
	i.event(f, record.FaultHealed, now, fmt.Sprintf("%s %s (fault %d)", f.Member, verb, f.Number))
	return nil
}

// ready waits until the cluster is whole again. A member that ends while it
// starts, as on a port that another program took, is started once more.
func (i *Injector) ready(ctx context.Context, f *record.Fault) error {
	end := i.Clock.Now().Add(readyWithin)
	for {
		_, err := i.healthy(ctx, againEvery)
		now := i.Clock.Now()
		switch {
		case err == nil:
			f.Ready = i.window(now)
			i.event(f, record.FaultReady, now, fmt.Sprintf("the cluster is whole again %.3g s after fault %d began", *f.Ready-*f.Began, f.Number))
			return nil
		case ctx.Err() != nil:
			return errors.New("the run ended before the cluster was seen whole again")
		case now.After(end):
			return fmt.Errorf("the cluster was not whole again within %s: %w", readyWithin, err)
		}
		if again := i.Cluster.StartAgain(ctx, f.Member); again != nil {
			return fmt.Errorf("the cluster is not whole again: %w", again)
		}
	}
}

// window is a time in seconds of the window.
func (i *Injector) window(t time.Time) *float64 { return new(t.Sub(i.opened).Seconds()) }

func (i *Injector) event(f *record.Fault, kind string, at time.Time, text string) {
	i.Event(record.Event{Time: at, Kind: kind, Member: f.Member, Text: text})
}

// Real is the system's clock.
type Real struct{}

// Now implements Clock.
func (Real) Now() time.Time { return time.Now() }

// Until implements Clock.
func (Real) Until(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
