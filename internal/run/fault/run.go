package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Run injects each fault at its time, measured from the time `opened`, and returns the results of
// all faults. When the context `load` is canceled, Run begins no further fault and immediately
// heals a fault in progress. After each fault, Run waits until the healed cluster is ready, unless
// the context `run` is canceled. Run heals every fault that can be healed, so that no member
// remains stopped or suspended.
func (i *Injector) Run(run, load context.Context, opened time.Time, all []fault.Injection) []record.Fault {
	i.windowStart = opened
	for n := range all {
		h := &all[n]
		i.results = append(i.results, record.Fault{Number: n + 1, Description: h.String(), Action: h.Kind.String(), ScheduledAt: h.At.Seconds()})
		f := &i.results[n]
		if err := i.inject(run, load, h, f); err != nil {
			err = errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")) // make it one sentence
			f.Failure = err.Error()
			if !f.Injected() {
				i.recordEvent(f, record.FaultUndone, i.Clock.Now(), fmt.Sprintf("fault %d (%s) was not injected: %v", f.Number, f.Description, err))
			}
		}
	}
	return i.results
}

// errLoadEnded reports that a fault was not injected because the load had already ended.
var errLoadEnded = errors.New("the load had already ended")

// inject injects one fault. The error describes each difference from the requested fault.
func (i *Injector) inject(run, load context.Context, h *fault.Injection, f *record.Fault) error {
	at := i.windowStart.Add(h.At)
	if err := i.prepare(run, load, h, f); err != nil {
		return err
	}
	if !i.Clock.SleepUntil(load, at.Add(-statusLeadTime)) {
		return errLoadEnded
	}
	status, err := i.awaitHealthy(load, healthyTimeout)
	if err != nil {
		if load.Err() != nil {
			return errLoadEnded
		}
		return fmt.Errorf("not all members were running before the fault: %w", err)
	}
	chosen, err := i.choose(&status, h)
	if err != nil {
		return err
	}
	if !i.Clock.SleepUntil(load, at) {
		return errLoadEnded
	}
	o := &injection{Injector: i, runCtx: run, loadCtx: load, happening: h, action: actions[h.Kind], result: f, status: &status, targets: chosen}
	for _, m := range chosen {
		o.members = append(o.members, i.name(m))
	}
	for k := range status.Members {
		o.allMembers = append(o.allMembers, i.name(&status.Members[k]))
	}
	f.Member, f.Role = o.members[0], chosen[0].Role.String()
	if h.Member.Mode == kv.AllMembers {
		f.Member, f.Role = record.AllMembers, ""
	}
	if h.Kind.AffectsCluster() {
		o.targets = []*store.Member{status.Leader()}
	}
	cut, err := o.breakAndHeal(run, load)
	if !f.Injected() {
		return err
	}
	return errors.Join(cut, err, o.awaitReady(run))
}

// prepare performs the action that must precede the fault, if any (see action.prepare).
func (i *Injector) prepare(run, load context.Context, h *fault.Injection, f *record.Fault) error {
	do := actions[h.Kind].prepare
	if do == nil || h.Amount == 0 {
		return nil
	}
	at := i.windowStart.Add(h.At - h.Amount)
	if !i.Clock.SleepUntil(load, at) {
		return errLoadEnded
	}
	began := i.Clock.Now()
	if late := began.Sub(at); late > h.Amount/2 { // a shorter delay is accepted, and is visible in the time of the event
		return fmt.Errorf("the members' data must be written to their disks %s before the fault, but the previous fault ended %s too late for this; leave more time between the two faults", text.FormatDuration(h.Amount), text.FormatDuration(late.Round(time.Millisecond)))
	}
	if err := do(context.WithoutCancel(run), i); err != nil {
		return fmt.Errorf("cannot write the members' data to their disks: %w", err)
	}
	now := i.Clock.Now()
	i.Event(record.Event{Time: now, Kind: record.FaultStep, Member: record.AllMembers,
		Text: fmt.Sprintf("the data of all members was written to their disks; this suspended each member for at most %.3g s (fault %d)", now.Sub(began).Seconds(), f.Number)})
	return nil
}

// choose returns the members that the fault affects. Successive faults on a follower affect the
// followers in turn.
func (i *Injector) choose(s *store.Status, h *fault.Injection) (all []*store.Member, err error) {
	target := h.Member
	if target.Mode == kv.AnyEndpoint {
		candidates := make([]*store.Member, 0, len(s.Members))
		for k := range s.Members {
			if m := &s.Members[k]; m.Role != kv.Leader && m.Role != kv.NonVoter || !h.Kind.AffectsFollower() {
				candidates = append(candidates, m)
			}
		}
		if len(candidates) == 0 {
			return nil, errors.New("the cluster has no member that matches the fault's target")
		}
		k := h.MemberChoice % uint64(len(candidates))
		return candidates[k : k+1], nil
	}
	var followers []*store.Member
	for k := range s.Members {
		m := &s.Members[k]
		switch {
		case target.Mode == kv.AllMembers:
			all = append(all, m)
		case target.Mode == kv.LeaderOnly && m.Role == kv.Leader, target.Mode == kv.SingleMember && k == target.Member-1:
			return []*store.Member{m}, nil
		case target.Mode == kv.Followers && m.Role != kv.Leader && m.Role != kv.NonVoter:
			followers = append(followers, m)
		}
	}
	switch {
	case len(all) > 0:
		return all, nil
	case len(followers) == 0:
		return nil, errors.New("the cluster has no member that matches the fault's target")
	}
	i.followerChoices++
	k := (i.followerChoices - 1) % len(followers)
	return followers[k : k+1], nil
}
