package trial

import (
	"context"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// served is a machine with an agent. Its clock differs from the clock of this process.
type served struct {
	*scripted
	clock   host.Clock
	process int
}

func (s *served) Clock() host.Clock { return s.clock }

func (*served) Presence() context.Context                              { return context.Background() }
func (*served) Reach() func(context.Context, string) (net.Conn, error) { return nil }
func (*served) CheckLaunch(context.Context, host.Launch) error         { return nil }
func (*served) Renew(context.Context, host.Launch) error               { return nil }

func (s *served) Describe(ctx context.Context) (host.Description, error) {
	d, err := s.scripted.Describe(ctx)
	d.Process = s.process
	return d, err
}

// serving returns a machine whose agent is process 70.
func serving(name string) *served {
	s := &served{scripted: newScripted(name), process: 70}
	s.processes[70] = probe.ProcessUsage{Group: probe.GroupUsage{Throttled: 0}}
	return s
}

// If several hosts see the same processes of a machine, only one of these hosts is asked about the
// processes. The cost is divided among the hosts.
func TestAsksOnceAboutProcessesThatSeveralHostsSee(t *testing.T) {
	here, one, other, apart, there := newScripted("here"), serving("here"), serving("here"), serving("here"), serving("a")
	for i, m := range []*scripted{here, one.scripted, other.scripted, apart.scripted, there.scripted} {
		m.about.NamespaceView, m.about.Network = "the same", "a network"
		if m == apart.scripted {
			m.about.Network = "another"
		}
		m.usage.CPU.Idle, m.usage.ReceivedBytes = 1, int64(10+i)
		here.processes[70+i] = probe.ProcessUsage{UserSeconds: float64(i)}
	}
	other.process, apart.process = 72, 73
	apart.processes[73] = probe.ProcessUsage{UserSeconds: 3}
	s, err := newSampler(t.Context(), here, []cluster.Member{{Host: other, Process: cluster.Process{Name: "m1", PID: 71}}},
		Source{Name: "one", Host: one, Load: true}, Source{Name: "other", Host: other, Load: true}, Source{Name: "apart", Host: apart, Load: true}, Source{Name: "there", Host: there, Load: true})
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(s, t)
	for name, user := range map[string]float64{"generator": 0, "generator one": 0, "m1": 1, "generator other": 2, "generator apart": 3, "generator there": 0, "machine": math.NaN(), "machine a": math.NaN(), "network apart": math.NaN()} {
		if r := rows[name]; r == nil || !math.IsNaN(user) && r.User != user {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if n := rows["network apart"]; n == nil || n.Received != 13 || n.Machine != "machine" || rows["generator apart"].Network != n.Name || rows["generator other"].Network != "" || rows["machine"].Received != 10 {
		t.Errorf("the row for the network of host apart is %+v", n)
	}
	s.sampleMembers(t.Context()) // samples only the members
	if got := [5]int{here.asked, one.asked, other.asked, apart.asked, there.asked}; got != [5]int{2, 0, 0, 1, 1} || len(rows) != 9 {
		t.Errorf("the hosts were asked for samples %v times, and there are %d rows", got, len(rows))
	}
	if got := [5]int{here.timed, one.timed, other.timed, apart.timed, there.timed}; got != [5]int{0, 1, 1, 0, 0} {
		t.Errorf("the hosts were asked only for the time %v times", got)
	}
	all, sum := s.byHost(s.cost[0].at, time.Now()), 0.0
	for i := range s.hosts {
		sum += s.hosts[i].samplingTime.Seconds()
	}
	if math.Abs(sum-0.008) > 1e-9 || len(all) != 4 {
		t.Errorf("sampling took %v s in total, and the hosts are %+v", sum, all)
	}
	for _, h := range s.hosts {
		if h.samplingTime <= 0 || h.samplingTime >= 8*time.Millisecond {
			t.Errorf("the sampling time %v of machine %s is outside its limits", h.samplingTime, h.machine)
		}
	}
}

// A host that only generates load has a row for the generator's process and a row for the machine.
// A host that only runs members has no row for the process that serves the host. The usage of other
// programs is known on each of these machines, although none of them is the controller's machine.
func TestHostsThatOnlyGenerateLoad(t *testing.T) {
	here, gen, db := newScripted("here"), serving("a"), serving("b")
	db.processes[41] = probe.ProcessUsage{}
	s, err := newSampler(t.Context(), here, []cluster.Member{{Host: db, Process: cluster.Process{Name: "m1", PID: 41}}},
		Source{Name: "gen", Host: gen, Load: true}, Source{Name: "db", Host: db, Members: true})
	if err != nil {
		t.Fatal(err)
	}
	for second := range 5 {
		x := float64(second)
		for _, m := range []*scripted{here, gen.scripted, db.scripted} {
			m.at = atSecond(x)
		}
		gen.processes[70] = probe.ProcessUsage{UserSeconds: 0.5 * x, Group: probe.GroupUsage{Throttled: 0.25 * x}}
		gen.usage = probe.MachineUsage{CPU: probe.SystemCPU{User: 0.75 * x, Steal: 0.25 * x, Idle: x}}
		db.processes[41] = probe.ProcessUsage{UserSeconds: x}
		db.processes[70] = probe.ProcessUsage{UserSeconds: 0.25 * x}
		db.usage = probe.MachineUsage{CPU: probe.SystemCPU{User: 1.5 * x, Idle: 0.5 * x}}
		rows := rowsOf(s, t)
		for _, name := range []string{"generator", "generator gen", "machine", "machine a", "machine b", "m1"} {
			if rows[name] == nil {
				t.Fatalf("there is no row for %s in %v", name, rows)
			}
		}
		if len(rows) != 6 || rows["generator gen"].Machine != "machine a" || rows["generator gen"].Kind() != record.GeneratorRow {
			t.Fatalf("%+v", rows)
		}
	}
	all := s.byHost(atSecond(1), atSecond(3))
	near := func(what string, got *float64, want float64) {
		if got == nil || math.Abs(*got-want) > 1e-9 {
			t.Errorf("%s: %v, not %v", what, got, want)
		}
	}
	near("gen busy", all[0].BusyShare, 0.375)
	near("gen stolen", all[0].StolenShare, 0.125)
	near("gen others", all[0].ForeignShare, 0.125)
	near("gen throttled", all[0].ThrottledSeconds, 0.5)
	near("db busy", all[1].BusyShare, 0.75)
	near("db others", all[1].ForeignShare, 0.125)
	if all[0].Name != "gen" || !all[0].GeneratesLoad || all[0].HasMembers || !all[1].HasMembers || all[1].GeneratesLoad || all[1].ThrottledSeconds != nil {
		t.Errorf("%+v", all)
	}
	if late := s.byHost(atSecond(4.5), atSecond(9)); late[0].BusyShare != nil {
		t.Errorf("the usage of a period without samples is known: %+v", late[0])
	}
}

// If a machine is sampled through another host, its agents are not counted as other programs.
func TestAgentsAreNotOtherPrograms(t *testing.T) {
	here, gen := newScripted("here"), serving("here")
	asked := &machine{Local: host.NewLocal(nil, nil), about: here.about}
	s, err := newSampler(t.Context(), asked, nil, Source{Name: "gen", Host: gen, Load: true})
	if err != nil {
		t.Fatal(err)
	}
	s.rows(t.Context())
	s.sampleMembers(t.Context())
	if len(asked.sampled) != 1 || len(asked.sampled[0]) != 2 || asked.sampled[0][1] != 70 || s.hosts[0].makesMachineRows == s.hosts[1].makesMachineRows {
		t.Errorf("the host was asked for the processes %v", asked.sampled)
	}
}

// The computed shares match the simulated usage, for any sample times and any number of our
// processes.
func TestSharesOfAMachine(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 1000 {
		cpus := float64(1 + r.IntN(8))
		ours, others, stolen := r.Float64(), r.Float64(), r.Float64()
		sum := (ours + others + stolen) * (1 + r.Float64())
		of := func(x float64) float64 { return x / sum * cpus } // per second
		u := newMachineUse(0)
		n := 1 + r.IntN(4)
		now := 0.0
		for now < 20 {
			since := now + 100 // since the boot
			u.add(atSecond(now), &probe.MachineUsage{CPU: probe.SystemCPU{
				User: of(ours+others) * since, Steal: of(stolen) * since, Idle: (cpus - of(ours+others+stolen)) * since,
			}})
			for i := range n {
				u.use(atSecond(now), i, string(rune('a'+i)), &probe.ProcessUsage{OK: true, UserSeconds: of(ours) * since / float64(n)})
			}
			now += 0.5 + r.Float64()
		}
		from := 10 * r.Float64()
		busy, taken, foreign := u.shares(atSecond(from), atSecond(from+1+5*r.Float64()))
		for _, share := range []struct {
			got  *float64
			want float64
		}{{busy, of(ours+others) / cpus}, {taken, of(stolen) / cpus}, {foreign, of(others) / cpus}} {
			if share.got == nil || math.Abs(*share.got-share.want) > 1e-6 {
				t.Fatalf("the computed share is %v, want %v", share.got, share.want)
			}
		}
	}
}

// The bound on a clock's error in a window is valid at every time in the window.
func TestClockErrorBoundHoldsThroughoutTheWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 1000 {
		rate := (2*r.Float64() - 1) * host.Drift
		truth := func(second float64) time.Duration { return time.Duration(1e9 * (100 + rate*second)) }
		var seen []clockEstimate
		for second := 0.0; second < 60; second += 1 + r.Float64() {
			asked := second - r.Float64()
			bound := time.Duration(r.ExpFloat64() * 1e6)
			off := time.Duration((2*r.Float64() - 1) * float64(bound))
			seen = append(seen, clockEstimate{atSecond(second), host.Clock{Ahead: truth(asked) + off, Bound: bound, At: atSecond(asked)}})
		}
		from, to := 5+10*r.Float64(), 40+10*r.Float64()
		c := clockBetween(seen, atSecond(from), atSecond(to))
		for _, one := range []struct {
			is     measure.ClockReading
			second float64
		}{{c.Before, from}, {c.After, to}} {
			if d := (time.Duration(one.is.AheadNS) - truth(one.second)).Abs(); int64(d) > one.is.BoundNS+1 || one.is.BoundNS > c.WidestBoundNS {
				t.Fatalf("the reading %+v in %+v differs from the clock's true offset %v by more than its bound", one.is, c, truth(one.second))
			}
		}
		if c.Jumps != 0 || c.ClockChangeNS != 0 {
			t.Fatalf("%+v", c)
		}
	}
	if c := clockBetween(nil, atSecond(0), atSecond(1)); c != nil {
		t.Errorf("%+v", c)
	}
}

// When a host's clock is set, exactly one event is recorded. The event contains the host's name.
func TestReportsAHostsClockThatWasSet(t *testing.T) {
	gen := serving("a")
	s, err := newSampler(t.Context(), newScripted("here"), nil, Source{Name: "gen", Host: gen, Load: true})
	if err != nil {
		t.Fatal(err)
	}
	if set := s.recordClocks(); len(set) != 0 {
		t.Errorf("%+v", set)
	}
	gen.clock = host.Clock{Ahead: -time.Hour, JumpSum: -time.Hour, Jumps: 1}
	set := s.recordClocks()
	if len(set) != 1 || set[0].Kind != clockSet || !strings.HasPrefix(set[0].Text, "the clock of host gen was set back by 3600 s") {
		t.Errorf("%+v", set)
	}
	if set := s.recordClocks(); len(set) != 0 {
		t.Errorf("the same change of the clock was reported again: %+v", set)
	}
}

// Each time the clock of this machine is set, an event is recorded and the change is added to the
// sum. The clock's offset before the trial is ignored.
func TestReportsOurClockThatWasSet(t *testing.T) {
	s, err := newSampler(t.Context(), newScripted("here"), nil)
	if err != nil {
		t.Fatal(err)
	}
	is := 5 * time.Second
	s.ahead, s.ownClock = func() time.Duration { return is }, ownClock{lastAhead: is}
	for _, step := range []struct {
		by   time.Duration
		says string
	}{{0, ""}, {time.Hour, "the clock of the controller's machine was set forward by 3600 s"}, {100 * time.Microsecond, ""}, {-time.Minute, "was set back by 60"}} {
		is += step.by
		events := s.recordClocks()
		if step.says == "" && len(events) > 0 || step.says != "" && (len(events) != 1 || events[0].Kind != clockSet || !strings.Contains(events[0].Text, step.says)) {
			t.Errorf("after the clock was set by %v, the events are %+v", step.by, events)
		}
	}
	if want := int64(time.Hour - time.Minute + 100*time.Microsecond); s.ownClock.Count != 2 || s.ownClock.ClockChangeNS != want {
		t.Errorf("%+v", s.ownClock)
	}
}
