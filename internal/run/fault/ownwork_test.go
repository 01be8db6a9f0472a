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
	"github.com/quorumbench/quorumbench/internal/store"
)

// RestartWithServer and RestartEmpty do the same as Restart, and record their parameters.
func (s *simulated) RestartWithServer(ctx context.Context, name string, of cluster.Server) error {
	s.actions = append(s.actions, fmt.Sprintf("%s from %s%s", name, of.Version, of.Exec))
	return s.Restart(ctx, name)
}

func (s *simulated) RestartEmpty(ctx context.Context, name string) error {
	s.actions = append(s.actions, name+" is empty")
	return s.Restart(ctx, name)
}

// simulatedAdmin executes every request to the store and records it.
type simulatedAdmin struct {
	store.Admin
	store.NoHistory
	s         *simulated
	endpoints []string
}

func (s *simulated) admin(endpoints []string) (store.Admin, error) {
	return &simulatedAdmin{s: s, endpoints: endpoints}, nil
}

func (a *simulatedAdmin) say(format string, args ...any) error {
	a.s.actions = append(a.s.actions, fmt.Sprintf(format, args...)+" at "+strings.Join(a.endpoints, " "))
	if a.s.failingStarts > 0 {
		a.s.failingStarts--
		return errors.New("no")
	}
	return nil
}

func (a *simulatedAdmin) Status(ctx context.Context) (store.Status, error) { return a.s.ask(ctx) }

func (a *simulatedAdmin) Members(context.Context) ([]store.Member, error) {
	return []store.Member{{Endpoint: a.endpoints[0]}}, nil
}

func (a *simulatedAdmin) Close() error { return nil }

// CheckRights implements store.Operator: the user has all rights.
func (a *simulatedAdmin) CheckRights(context.Context, kv.Feature) error { return nil }

func (a *simulatedAdmin) Compact(context.Context) (int64, error) { return 1, a.say("compact") }

func (a *simulatedAdmin) TrimHistory(context.Context, int64) (int64, error) { return 1, nil }

func (a *simulatedAdmin) Defragment(context.Context) error { return a.say("defragment") }

func (a *simulatedAdmin) MoveLeader(_ context.Context, id uint64) error {
	a.s.leader = int(id - 1)
	return a.say("move to %d", id)
}

func (a *simulatedAdmin) Replace(_ context.Context, gone store.Member) error {
	return a.say("replace %d", gone.ID)
}

func (a *simulatedAdmin) AddLearner(_ context.Context, at kv.MemberPlace) error {
	return a.say("add %s", at.Name)
}

func (a *simulatedAdmin) Promote(_ context.Context, at kv.MemberPlace) error {
	return a.say("promote %s", at.Name)
}

func (a *simulatedAdmin) RemoveMember(_ context.Context, at kv.MemberPlace) error {
	return a.say("dismiss %s", at.Name)
}

func (s *simulated) NewCertificate(_ context.Context, name string) error {
	s.actions = append(s.actions, "certificate of "+name)
	return nil
}

// Spare returns a fourth member.
func (s *simulated) Spare() (cluster.Spare, error) { return &simulatedSpare{s}, nil }

type simulatedSpare struct{ s *simulated }

func (p *simulatedSpare) Place() kv.MemberPlace { return kv.MemberPlace{Name: "m4"} }

func (p *simulatedSpare) Start(context.Context) error {
	p.s.actions = append(p.s.actions, "start m4")
	return nil
}

func (p *simulatedSpare) End(context.Context) error {
	p.s.actions = append(p.s.actions, "end m4")
	return nil
}

// The additional member joins, becomes a voter and leaves. It is removed even if it could not join
// completely.
func TestALearnerJoinsAndLeaves(t *testing.T) {
	s := &simulated{}
	done, events := s.injectFaults(t, "add-learner at 1s for 5s", time.Minute)
	const at = " at e1 e2 e3"
	want := []string{"add m4" + at, "start m4", "promote m4" + at, "dismiss m4" + at, "end m4"}
	if f := done[0]; !slices.Equal(s.actions, want) || f.Failure != "" || *f.BeganAt != 1 || *f.HealedAt != 6 {
		t.Errorf("the actions were %q, want %q; the fault is %+v", s.actions, want, f)
	}
	texts := ""
	for _, e := range events {
		texts += e.Text + "; "
	}
	if !strings.Contains(texts, "m4 joined as a learner (fault 1); m4 caught up and has a vote (fault 1); m1, m2, m3 were separated from the additional member again (fault 1)") {
		t.Errorf("the texts of the events are %q", texts)
	}
	s = &simulated{failingStarts: 1}
	done, _ = s.injectFaults(t, "add-learner at 1s for 5s", time.Minute)
	if f := done[0]; !slices.Equal(s.actions, []string{"add m4" + at, "dismiss m4" + at, "end m4"}) || f.Failure != "no" || f.HealedAt == nil {
		t.Errorf("the actions were %q; the fault is %+v", s.actions, f)
	}
}

func (a *simulatedAdmin) PerformMaintenance(_ context.Context, what kv.Feature, m store.Member) (func(context.Context) error, error) {
	err := a.say("%s of %d", what, m.ID)
	if what == kv.Snapshots {
		return nil, err
	}
	return func(context.Context) error { return a.say("undo %s of %d", what, m.ID) }, err
}

func TestStoreOperations(t *testing.T) {
	s := &simulated{}
	done, events := s.injectFaults(t, "move-leader m2 at 1s, compact at 2s, defragment all at 3s, snapshot leader at 4s, alarm follower at 5s for 2s, fill-quota at 8s for 1s, enable-auth at 10s for 1s", time.Minute)
	want := []string{
		"move to 2 at e1 e2 e3", "compact at e2", "defragment at e1", "defragment at e2", "defragment at e3", "snapshots of 2 at e2",
		"alarms of 1 at e1 e2 e3", "undo alarms of 1 at e1 e2 e3",
		"space-quota of 2 at e1 e2 e3", "undo space-quota of 2 at e1 e2 e3",
		"auth-switch of 2 at e1 e2 e3", "undo auth-switch of 2 at e1 e2 e3",
	}
	if !slices.Equal(s.actions, want) {
		t.Errorf("the actions were %q, want %q", s.actions, want)
	}
	for i, members := range []string{"m2", "all", "all", "m2", "m1", "all", "all"} {
		if f := done[i]; f.Failure != "" || f.RecoveredAt == nil || f.Member != members || f.EndedAt != nil {
			t.Errorf("fault %d: %+v", i+1, f)
		}
	}
	if text := events[1].Text; text != "m2 was made the leader (fault 1)" {
		t.Errorf("the text of an event is %q", text)
	}
}

func TestRollingAndReplaced(t *testing.T) {
	s := &simulated{}
	done, events := s.injectFaults(t, "rolling-restart at 1s, replace leader at 20s for 2s, rolling-upgrade to 3.9.5 at 30s", time.Minute)
	want := []string{
		"SIGTERM m2", "start m2", "SIGTERM m3", "start m3", "SIGTERM m1", "start m1", // the leader is last
		"SIGKILL m2", "replace 2 at e1 e3", "m2 is empty", "start m2",
		"SIGTERM m1", "m1 from 3.9.5", "start m1", "SIGTERM m2", "m2 from 3.9.5", "start m2", "SIGTERM m3", "m3 from 3.9.5", "start m3",
	}
	if !slices.Equal(s.actions, want) {
		t.Errorf("the actions were %q, want %q", s.actions, want)
	}
	for i, f := range done {
		if f.Failure != "" || f.RecoveredAt == nil {
			t.Errorf("fault %d: %+v", i+1, f)
		}
	}
	steps := 0
	for _, e := range events {
		if e.Kind == record.FaultStep {
			steps++
		}
	}
	if steps != 6 {
		t.Errorf("%d steps were recorded, want three for each rolling fault", steps)
	}
}

func TestStoreOperationsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		s      simulated
		faults string
		window time.Duration
		want   []string
		says   string
	}{
		"the store says no":       {simulated{failingStarts: 1}, "compact at 1s", time.Minute, []string{"compact at e1"}, "cannot begin the fault: no"},
		"half of it is undone":    {simulated{failingStarts: 1}, "alarm m1 at 1s for 1s", time.Minute, []string{"alarms of 1 at e1 e2 e3", "undo alarms of 1 at e1 e2 e3"}, "cannot begin the fault: no"},
		"it leads already":        {simulated{}, "move-leader m1 at 1s", time.Minute, nil, "m1 is already the leader"},
		"it is not replaced":      {simulated{failingStarts: 1}, "replace m3 at 1s for 1s", time.Minute, []string{"SIGKILL m3", "replace 3 at e1 e2", "start m3"}, "not healed: no"},
		"the load ends in it":     {simulated{}, "enable-auth at 1s for 30s", 10 * time.Second, []string{"auth-switch of 1 at e1 e2 e3", "undo auth-switch of 1 at e1 e2 e3"}, "cut short"},
		"the load ends meanwhile": {simulated{}, "rolling-restart at 1s", 2 * time.Second, []string{"SIGTERM m2", "start m2"}, "only 1 of 3 members"},
	} {
		t.Run(name, func(t *testing.T) {
			done, events := c.s.injectFaults(t, c.faults, c.window)
			if !done[0].Injected() && slices.ContainsFunc(events, func(e record.Event) bool { return e.Kind == record.FaultHealed }) {
				t.Error("a fault that was not injected has an event that it was healed")
			}
			if !slices.Equal(c.s.actions, c.want) {
				t.Errorf("the actions were %q, want %q", c.s.actions, c.want)
			}
			if !strings.Contains(done[0].Failure, c.says) || done[0].Failure == "" {
				t.Errorf("the fault's failure is %q", done[0].Failure)
			}
		})
	}
}

// The seed determines the member that "any" chooses and the time of a random fault.
func TestRandomMemberComesFromTheSeed(t *testing.T) {
	first, second := &simulated{}, &simulated{}
	first.injectFaults(t, "random any of kill/pause at 1s for 1s every 5s repeat 8", time.Minute)
	second.injectFaults(t, "random any of kill/pause at 1s for 1s every 5s repeat 8", time.Minute)
	if !slices.Equal(first.actions, second.actions) || len(first.actions) != 16 {
		t.Errorf("the actions with the same seed were %q and %q", first.actions, second.actions)
	}
}
