package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/store"
)

// simulated simulates a cluster of three members, and a clock. A member responds again one second
// after it was restarted.
type simulated struct {
	now              time.Time
	leader           int
	down             [3]bool
	respondsAt       [3]time.Time // time at which the member responds again
	actions          []string
	ignoresTerminate bool   // whether members ignore SIGTERM
	failingStarts    int    // number of starts that fail
	end              func() // called when the simulated time reaches endAt
	endAt            time.Time
}

func (s *simulated) Now() time.Time { return s.now }

func (s *simulated) SleepUntil(ctx context.Context, at time.Time) bool {
	if s.end != nil && !at.Before(s.endAt) {
		s.now = s.endAt
		s.end()
	}
	if ctx.Err() != nil {
		return false
	}
	if at.After(s.now) {
		s.now = at
	}
	return true
}

func (s *simulated) member(name string) int { return int(name[1] - '1') }

func (s *simulated) Signal(_ context.Context, name string, sig host.Signal) error {
	s.actions = append(s.actions, fmt.Sprintf("%s %s", sig, name))
	i := s.member(name)
	switch {
	case sig == host.Resume:
		s.down[i], s.respondsAt[i] = false, s.now
	case sig == host.Terminate && s.ignoresTerminate:
	default:
		s.down[i] = true
		if s.leader == i {
			s.leader = (i + 1) % 3
		}
	}
	return nil
}

func (s *simulated) AwaitEnd(ctx context.Context, name string) error {
	if !s.down[s.member(name)] {
		return errors.New("it has not ended")
	}
	return ctx.Err()
}

func (s *simulated) Restart(_ context.Context, name string) error {
	i := s.member(name)
	if s.failingStarts > 0 {
		s.failingStarts--
		return errors.New("no")
	}
	if s.down[i] {
		s.actions = append(s.actions, "start "+name)
		s.down[i], s.respondsAt[i] = false, s.now.Add(time.Second)
	}
	return nil
}

func (s *simulated) Disk(name string) (host.Disk, error) { return &simulatedDisk{s, name}, nil }

func (s *simulated) Network() (host.Network, error) { return &simulatedNetwork{s: s}, nil }

type simulatedNetwork struct {
	host.Network
	s *simulated
}

func (n *simulatedNetwork) Set(_ context.Context, all []network.Fault) error {
	text := "links"
	for _, f := range all {
		text += fmt.Sprintf(" %s>%s", f.From, f.To)
	}
	if len(all) > 0 {
		l := all[0].Link
		text += fmt.Sprintf(" %v %v %v %v %v", l.Cut, l.Delay, l.Loss, l.Reorder, l.Rate)
	}
	n.s.actions = append(n.s.actions, text)
	return nil
}

type simulatedDisk struct {
	s    *simulated
	name string
}

func (d *simulatedDisk) Set(_ context.Context, f disk.Faults) error {
	d.s.actions = append(d.s.actions, fmt.Sprintf("disk %s %v %v %v%s", d.name, f.SyncDelay, f.Full, f.Failing, map[bool]string{true: " lying"}[f.Lying]))
	return nil
}

func (d *simulatedDisk) WriteBack(context.Context) error {
	d.s.actions = append(d.s.actions, fmt.Sprintf("write back %s at %g", d.name, d.s.now.Sub(time.Unix(1000, 0)).Seconds()))
	return nil
}

func (d *simulatedDisk) PowerLoss(context.Context) (int, error) {
	if !d.s.down[d.s.member(d.name)] {
		return 0, errors.New("a process still uses it")
	}
	d.s.actions = append(d.s.actions, "power "+d.name)
	return 2, nil
}

func (d *simulatedDisk) PID() int { return 1 }

func (d *simulatedDisk) Close() {}

func (s *simulated) ask(ctx context.Context) (store.Status, error) {
	st := store.Status{Term: 1}
	for i := range s.down {
		m := store.Member{ID: uint64(i + 1), Endpoint: fmt.Sprintf("e%d", i+1), Role: kv.Follower, Term: 1}
		if i == s.leader {
			m.Role = kv.Leader
		}
		if s.down[i] || s.now.Before(s.respondsAt[i]) {
			m.Err = errors.New("it does not answer")
		}
		st.Members = append(st.Members, m)
	}
	return st, ctx.Err()
}

// injectFaults injects the faults in simulated time, in a window of the given length.
func (s *simulated) injectFaults(t *testing.T, faults string, window time.Duration) ([]record.Fault, []record.Event) {
	t.Helper()
	list, err := fault.Parse(faults)
	if err != nil {
		t.Fatal(err)
	}
	l := scenario.Load{Duration: window, Faults: list}
	opened := time.Unix(1000, 0)
	s.now, s.endAt = opened, opened.Add(window)
	load, end := context.WithCancel(t.Context())
	s.end = end
	var events []record.Event
	i := &Injector{Cluster: s, Ask: s.ask, Names: map[string]string{"e1": "m1", "e2": "m2", "e3": "m3"}, Clock: s,
		Admin: s.admin, Server: func(to string) (cluster.Server, error) { return cluster.Server{Version: to}, nil },
		Event: func(e record.Event) { events = append(events, e) }}
	return i.Run(t.Context(), load, opened, l.Injections()), events
}

func TestEachFaultIsInjectedOnTimeAndHealed(t *testing.T) {
	s := &simulated{}
	done, events := s.injectFaults(t, "kill leader at 2s for 3s every 10s repeat 2, terminate follower at 30s for 1s, pause m1 at 40s for 2s, restart leader at 50s", time.Minute)
	want := []string{"SIGKILL m1", "start m1", "SIGKILL m2", "start m2", "SIGTERM m1", "start m1", "SIGSTOP m1", "SIGCONT m1", "SIGTERM m3", "start m3"}
	if !slices.Equal(s.actions, want) {
		t.Errorf("the actions were %q, want %q", s.actions, want)
	}
	for i, times := range [][3]float64{{2, 5, 6}, {12, 15, 16}, {30, 31, 32}, {40, 42, 42}, {50, 50, 51}} {
		f := done[i]
		if f.Failure != "" || *f.BeganAt != times[0] || *f.HealedAt != times[1] || *f.RecoveredAt < times[2] || *f.RecoveredAt > times[2]+statusInterval.Seconds() {
			t.Errorf("fault %d: %+v began at %g, was healed at %g and had recovered at %g, want %v", i+1, f, *f.BeganAt, *f.HealedAt, *f.RecoveredAt, times)
		}
	}
	if len(events) != 3*len(done) {
		t.Errorf("%d events were recorded, want three for each fault", len(events))
	}
}

// There is an action for each kind of fault that a scenario can request.
func TestEachKindHasAnAction(t *testing.T) {
	for _, k := range fault.All() {
		if a := actions[k]; a == nil || a.begin == nil && a.afterBegin == nil || a.heal == nil || a.healed == "" {
			t.Errorf("%s: %+v", k, a)
		}
	}
}

func TestFaultsOfDisks(t *testing.T) {
	s := &simulated{}
	done, _ := s.injectFaults(t, "slow-disk leader by 200ms at 2s for 3s, full-disk m2 at 10s for 1s, failing-disk follower at 20s for 1s, power-loss all at 30s for 2s, kill all at 40s for 1s", time.Minute)
	want := []string{
		"disk m1 200ms false false", "disk m1 0s false false",
		"disk m2 0s true false", "disk m2 0s false false",
		"disk m2 0s false true", "disk m2 0s false false",
		"SIGKILL m1", "SIGKILL m2", "SIGKILL m3", "power m1", "power m2", "power m3", "start m1", "start m2", "start m3",
		"SIGKILL m1", "SIGKILL m2", "SIGKILL m3", "start m1", "start m2", "start m3",
	}
	if !slices.Equal(s.actions, want) {
		t.Errorf("the actions were %q, want %q", s.actions, want)
	}
	for i, f := range done {
		if f.Failure != "" || f.RecoveredAt == nil {
			t.Errorf("fault %d: %+v", i+1, f)
		}
	}
	if f := done[3]; f.Member != record.AllMembers || f.Role != "" || f.LostFiles != 6 || *f.EndedAt != 30 || *f.HealedAt != 32 {
		t.Errorf("the power loss was recorded as %+v", f)
	}
}

// Data that the members wrote long enough before a power loss survives. A lying disk loses data at
// the end of the fault, even if the load ends earlier.
func TestPowerLossesAfterAcknowledgedWrites(t *testing.T) {
	s := &simulated{}
	done, events := s.injectFaults(t, "power-loss m2 by 3s at 10s for 1s, lying-disk all at 20s for 5s, lying-disk m1 at 50s for 30s", time.Minute)
	want := []string{
		"SIGSTOP m1", "SIGSTOP m2", "SIGSTOP m3", "write back m1 at 7", "write back m2 at 7", "write back m3 at 7", "SIGCONT m1", "SIGCONT m2", "SIGCONT m3",
		"SIGKILL m2", "power m2", "start m2",
		"SIGSTOP m1", "SIGSTOP m2", "SIGSTOP m3", "disk m1 0s false false lying", "disk m2 0s false false lying", "disk m3 0s false false lying", "SIGCONT m1", "SIGCONT m2", "SIGCONT m3",
		"SIGKILL m1", "SIGKILL m2", "SIGKILL m3", "power m1", "power m2", "power m3",
		"disk m1 0s false false", "start m1", "disk m2 0s false false", "start m2", "disk m3 0s false false", "start m3",
		"SIGSTOP m1", "disk m1 0s false false lying", "SIGCONT m1", "SIGKILL m1", "power m1", "disk m1 0s false false", "start m1",
	}
	if !slices.Equal(s.actions, want) {
		t.Errorf("the actions were %q, want %q", s.actions, want)
	}
	if f := done[1]; f.Failure != "" || *f.BeganAt != 20 || *f.EndedAt != 25 || *f.HealedAt != 25 || f.LostFiles != 6 {
		t.Errorf("the fault of the lying disks was recorded as %+v", f)
	}
	if f := done[2]; !strings.Contains(f.Failure, "cut short") || *f.HealedAt != 60 || f.LostFiles != 2 {
		t.Errorf("the fault that the end of the load cut short was recorded as %+v", f)
	}
	if e := events[0]; e.Kind != record.FaultStep || e.Text != "the data of all members was written to their disks; this suspended each member for at most 0 s (fault 1)" {
		t.Errorf("the first event is %+v", e)
	}
}

func TestFaultsOfLinks(t *testing.T) {
	for fault, want := range map[string]string{
		"isolate leader":                           "links m1>m2 m2>m1 m1>m3 m3>m1 true 0s 0 0 0",
		"isolate m2 direction in":                  "links m1>m2 m3>m2 true 0s 0 0 0",
		"split m2":                                 "links m2>m1 m1>m2 m2>m3 m3>m2 true 0s 0 0 0",
		"bridge follower":                          "links m1>m3 m3>m1 true 0s 0 0 0",
		"blackhole leader":                         "links m1>clients clients>m1 m1>m2 m2>m1 m1>m3 m3>m1 true 0s 0 0 0",
		"blackhole m3 from clients direction out":  "links m3>clients true 0s 0 0 0",
		"delay m3 by 50ms from peers direction in": "links m1>m3 m2>m3 false 50ms 0 0 0",
		"loss all by 10% from clients":             "links m1>clients clients>m1 m2>clients clients>m2 m3>clients clients>m3 false 0s 0.1 0 0",
		"reorder m1 by 2.5% from clients":          "links m1>clients clients>m1 false 0s 0 0.025 0",
		"slow-link m1 to 100KB/s from clients":     "links m1>clients clients>m1 false 0s 0 0 100000",
	} {
		s := &simulated{}
		done, _ := s.injectFaults(t, fault+" at 2s for 3s", time.Minute)
		if !slices.Equal(s.actions, []string{want, "links"}) {
			t.Errorf("%s: the actions were %q, want %q", fault, s.actions, want)
		}
		if f := done[0]; f.Failure != "" || *f.BeganAt != 2 || *f.HealedAt != 5 || f.Description != fault+" for 3s" {
			t.Errorf("%s: %+v", fault, f)
		}
	}
}

// A split puts the fault's member into the smaller part of five members, and into one of the two
// equal parts of four members.
func TestPartsOfLargerClusters(t *testing.T) {
	for _, c := range []struct {
		all    []string
		halves []linkEnds
		others []linkEnds
	}{
		{[]string{"a", "b", "c", "d"}, []linkEnds{{"c", "b"}, {"c", "d"}, {"a", "b"}, {"a", "d"}}, []linkEnds{{"a", "b"}, {"a", "d"}}},
		{[]string{"a", "b", "c", "d", "e"}, []linkEnds{{"c", "b"}, {"c", "d"}, {"c", "e"}, {"a", "b"}, {"a", "d"}, {"a", "e"}}, []linkEnds{{"a", "d"}, {"a", "e"}, {"b", "d"}, {"b", "e"}}},
	} {
		o := &injection{members: []string{"c"}, allMembers: c.all}
		if got := linksBetweenHalves(o); !slices.Equal(got, c.halves) {
			t.Errorf("the links between the halves of %v are %v", c.all, got)
		}
		if got := linksBetweenOtherHalves(o); !slices.Equal(got, c.others) {
			t.Errorf("the links between the halves of %v without c are %v", c.all, got)
		}
	}
}

func TestFaultsAreHealedAfterErrors(t *testing.T) {
	for name, c := range map[string]struct {
		s         simulated
		faults    string
		window    time.Duration
		want      []string
		wantError string
	}{
		"the load ends in it":   {simulated{}, "pause leader at 2s for 30s", 10 * time.Second, []string{"SIGSTOP m1", "SIGCONT m1"}, "cut short"},
		"the load ends before":  {simulated{}, "kill leader at 20s for 3s", 10 * time.Second, nil, "had already ended"},
		"it does not terminate": {simulated{ignoresTerminate: true}, "terminate leader at 2s for 3s", time.Minute, []string{"SIGTERM m1", "SIGKILL m1", "start m1"}, ""},
		"it is not whole":       {simulated{down: [3]bool{true}, leader: 1}, "kill leader at 2s for 3s", time.Minute, nil, "not all members were running before"},
		"it cannot be started":  {simulated{failingStarts: 1}, "kill leader at 2s for 3s", time.Minute, []string{"SIGKILL m1", "start m1"}, "not healed: no"},
	} {
		t.Run(name, func(t *testing.T) {
			done, _ := c.s.injectFaults(t, c.faults, c.window)
			if !slices.Equal(c.s.actions, c.want) {
				t.Errorf("the actions were %q, want %q", c.s.actions, c.want)
			}
			if (done[0].Failure == "") != (c.wantError == "") || !strings.Contains(done[0].Failure, c.wantError) {
				t.Errorf("the fault's failure is %q", done[0].Failure)
			}
		})
	}
}
