// Package fault breaks members of a cluster on purpose while a load runs, and
// heals them. It knows neither the store nor the host: it acts through the
// cluster that it is given, and asks that how it is.
package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
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
	StartAs(ctx context.Context, member string, s cluster.Server) error
	StartEmpty(ctx context.Context, member string) error
	Disk(member string) (host.Disk, error)
	Network() (host.Network, error)
	Spare() (cluster.Spare, error)
	NewCertificate(ctx context.Context, member string) error
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
	Ask func(ctx context.Context) (store.Status, error)
	// Admin opens an administration of the cluster at some of its endpoints.
	Admin func(endpoints []string) (store.Admin, error)
	// Server is what a rolling upgrade's to means on this machine.
	Server func(to string) (cluster.Server, error)
	Names  map[string]string // the members' names by endpoint
	Clock  Clock
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
func (i *Injector) Run(run, load context.Context, opened time.Time, all []fault.Happening) []record.Fault {
	i.opened = opened
	for n := range all {
		h := &all[n]
		i.done = append(i.done, record.Fault{Number: n + 1, What: h.String(), Do: h.Do.String(), Asked: h.At.Seconds()})
		f := &i.done[n]
		if err := i.doOne(run, load, h, f); err != nil {
			err = errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")) // one sentence
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

// doOne does one fault. Its error says what was not as asked.
func (i *Injector) doOne(run, load context.Context, h *fault.Happening, f *record.Fault) error {
	at := i.opened.Add(h.At)
	if err := i.ahead(run, load, h, f); err != nil {
		return err
	}
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
	chosen, err := i.choose(&status, h)
	if err != nil {
		return err
	}
	if !i.Clock.Until(load, at) {
		return errOver
	}
	o := &one{Injector: i, run: run, load: load, what: h, do: actions[h.Do], f: f, status: &status, chosen: chosen}
	for _, m := range chosen {
		o.members = append(o.members, i.name(m))
	}
	for k := range status.Members {
		o.all = append(o.all, i.name(&status.Members[k]))
	}
	f.Member, f.Role = o.members[0], chosen[0].Role.String()
	if h.Member.Mode == kv.All {
		f.Member, f.Role = record.AllMembers, ""
	}
	if h.Do.OfCluster() {
		o.chosen = []*store.Member{status.Leader()}
	}
	cut, err := o.breakAndHeal(run, load)
	if !f.Done() {
		return err
	}
	return errors.Join(cut, err, o.ready(run))
}

// ahead does what is done some time before the fault.
func (i *Injector) ahead(run, load context.Context, h *fault.Happening, f *record.Fault) error {
	do := actions[h.Do].ahead
	if do == nil || h.By == 0 {
		return nil
	}
	at := i.opened.Add(h.At - h.By)
	if !i.Clock.Until(load, at) {
		return errOver
	}
	began := i.Clock.Now()
	if late := began.Sub(at); late > h.By/2 { // the event says when it was
		return fmt.Errorf("what it keeps was to be of %s before it, and the fault before was over only %s after that", text.FormatDuration(h.By), text.FormatDuration(late.Round(time.Millisecond)))
	}
	if err := do(context.WithoutCancel(run), i); err != nil {
		return fmt.Errorf("what members had written could not be written back: %w", err)
	}
	now := i.Clock.Now()
	i.Event(record.Event{Time: now, Kind: record.FaultStep, Member: record.AllMembers,
		Text: fmt.Sprintf("what members had written by now is on their disks, for which they stood still for %.3g s at most (fault %d)", now.Sub(began).Seconds(), f.Number)})
	return nil
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

// choose are the members that are meant now. Followers take turns.
func (i *Injector) choose(s *store.Status, h *fault.Happening) (all []*store.Member, err error) {
	of := h.Member
	if of.Mode == kv.Any {
		among := make([]*store.Member, 0, len(s.Members))
		for k := range s.Members {
			if m := &s.Members[k]; m.Role != kv.Leader && m.Role != kv.NonVoter || !h.Do.OfFollower() {
				among = append(among, m)
			}
		}
		if len(among) == 0 {
			return nil, errors.New("the cluster has no such member")
		}
		k := h.Draw % uint64(len(among))
		return among[k : k+1], nil
	}
	var followers []*store.Member
	for k := range s.Members {
		m := &s.Members[k]
		switch {
		case of.Mode == kv.All:
			all = append(all, m)
		case of.Mode == kv.LeaderOnly && m.Role == kv.Leader, of.Mode == kv.One && k == of.Member-1:
			return []*store.Member{m}, nil
		case of.Mode == kv.Followers && m.Role != kv.Leader && m.Role != kv.NonVoter:
			followers = append(followers, m)
		}
	}
	switch {
	case len(all) > 0:
		return all, nil
	case len(followers) == 0:
		return nil, errors.New("the cluster has no such member")
	}
	i.taken++
	k := (i.taken - 1) % len(followers)
	return followers[k : k+1], nil
}

func (i *Injector) name(m *store.Member) string {
	if name := i.Names[m.Endpoint]; name != "" {
		return name
	}
	return m.Name
}

// one is a fault under way.
type one struct {
	*Injector
	// The contexts of the run and of the load.
	run, load context.Context

	what    *fault.Happening
	do      *action
	f       *record.Fault
	status  *store.Status   // the cluster before it
	members []string        // the names of those that it is done to
	all     []string        // the names of all members, in their order
	chosen  []*store.Member // the members; of the whole cluster the leader alone

	admin store.Admin // of work that is to be undone, by undo
	undo  []func(context.Context) error

	healed string // instead of the action's; empty for that
}

// each does something to each member.
func (o *one) each(do func(member string) error) error {
	var errs []error
	for _, m := range o.members {
		errs = append(errs, do(m))
	}
	return errors.Join(errs...)
}

// who says which members it is done to.
func (o *one) who() string {
	if o.f.Member == record.AllMembers {
		return strings.Join(o.members, ", ")
	}
	return o.f.Member + ", " + o.f.Role
}

// breakAndHeal begins the fault, waits for as long as it lasts, and heals it,
// also when a context has ended.
func (o *one) breakAndHeal(run, load context.Context) (cut, err error) {
	must := context.WithoutCancel(run)
	began := o.Clock.Now()
	if o.do.begin != nil {
		if err := o.do.begin(must, o); err != nil {
			return nil, errors.Join(fmt.Errorf("the fault could not be begun: %w", err), o.heal(must))
		}
	}
	o.f.Began = o.window(began)
	o.event(o.f, record.FaultBegan, began, fmt.Sprintf("fault %d: %s (%s)", o.f.Number, o.f.What, o.who()))
	if o.do.ends {
		if err := o.each(func(m string) error { return o.end(must, m) }); err != nil {
			return nil, errors.Join(err, o.heal(must))
		}
		o.f.Ended = o.window(o.Clock.Now())
	}
	if o.do.then != nil {
		if err := o.do.then(must, o); err != nil {
			return nil, errors.Join(err, o.heal(must))
		}
	}
	if !o.Clock.Until(load, began.Add(o.what.For)) {
		cut = errors.New("the load ended before it was over")
		if o.what.For > 0 {
			cut = errors.New("it was cut short: the load ended before it was over")
		}
	}
	return cut, o.heal(must)
}

// heal undoes the fault.
func (o *one) heal(ctx context.Context) error {
	if err := o.do.heal(ctx, o); err != nil {
		return fmt.Errorf("it was not healed: %w", err)
	}
	now := o.Clock.Now()
	o.f.Healed = o.window(now)
	if !o.f.Done() {
		return nil // the event says that it was not done, and why
	}
	was := "was"
	if len(o.members) > 1 {
		was = "were"
	}
	o.event(o.f, record.FaultHealed, now, fmt.Sprintf("%s %s %s (fault %d)", strings.Join(o.members, ", "), was, cmp.Or(o.healed, o.do.healed), o.f.Number))
	return nil
}

// ready waits until the cluster is whole again, and says so.
func (o *one) ready(ctx context.Context) error {
	if err := o.whole(ctx); err != nil {
		return err
	}
	now := o.Clock.Now()
	o.f.Ready = o.window(now)
	o.event(o.f, record.FaultReady, now, fmt.Sprintf("the cluster is whole again %.3g s after fault %d began", *o.f.Ready-*o.f.Began, o.f.Number))
	return nil
}

// whole waits until the cluster is whole again. A member that ends while it
// starts, as on a port that another program took, is started once more.
func (o *one) whole(ctx context.Context) error {
	end := o.Clock.Now().Add(readyWithin)
	for {
		_, err := o.healthy(ctx, againEvery)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.New("the run ended before the cluster was seen whole again")
		case o.Clock.Now().After(end):
			return fmt.Errorf("the cluster was not whole again within %s: %w", readyWithin, err)
		}
		if again := o.each(func(m string) error { return o.Cluster.StartAgain(ctx, m) }); again != nil {
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
func (Real) Now() time.Time { return measure.Now() }

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
