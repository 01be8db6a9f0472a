package verdict

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// onHosts returns the figures of a run with members on one host, and with one worker on each of two
// other hosts.
func onHosts() Figures {
	f := good()
	f.Hosts = []measure.Host{
		{Name: "db", Machine: "machine db", HasMembers: true, BusyShare: new(0.5), CPUs: 2},
		{Name: "gen1", Machine: "machine gen1", GeneratesLoad: true, BusyShare: new(0.5), CPUs: 2},
		{Name: "gen2", Machine: "machine gen2", GeneratesLoad: true, BusyShare: new(0.5), CPUs: 2},
	}
	for _, name := range []string{"w1 on gen1", "w2 on gen2"} {
		f.Workers = append(f.Workers, Worker{Part: &measure.Part{Worker: name, Length: 10e9, Loops: 1}})
	}
	return f
}

func newUncertainClock(ns int64) *measure.Clock { return &measure.Clock{WidestBoundNS: ns} }

// Each host is judged by its part of the trial, and the reason names the host.
func TestHostsAreJudgedByTheirPart(t *testing.T) {
	waiting := func(f *Figures, worker int) {
		w := &f.Workers[worker]
		w.RunDelay, w.Added = 5e9, added(0, 0.2, 0.3)
	}
	for _, tt := range []struct {
		what string
		set  func(f *Figures)
		rule int
		says string // empty: nothing is suspect
	}{
		{"nothing", func(*Figures) {}, 23, ""},
		{"other programs on a load-only host without an effect", func(f *Figures) { f.Hosts[1].ForeignShare = new(0.4) }, 23, ""},
		{"other programs for which a generator waited", func(f *Figures) { f.Hosts[2].ForeignShare = new(0.4); waiting(f, 1) }, 23, "other programs used 40 % of the CPU time of host gen2; "},
		{"another host's generator waited", func(f *Figures) { f.Hosts[2].ForeignShare = new(0.4); waiting(f, 0) }, 23, ""},
		{"other programs next to a member on a full machine", func(f *Figures) { f.Hosts[0].ForeignShare, f.Hosts[0].BusyShare = new(0.3), new(1.0) }, 23, "other programs used 30 % of the CPU time of host db; "},
		{"the same on an idle one", func(f *Figures) { f.Hosts[0].ForeignShare, f.Hosts[0].BusyShare = new(0.1), new(0.2) }, 23, ""},
		{"one machine is judged once", func(f *Figures) {
			for i := range f.Hosts {
				f.Hosts[i].Machine, f.Hosts[i].ForeignShare, f.Hosts[i].BusyShare = "machine", new(0.3), new(1.0)
			}
		}, 23, "other programs used 30 % of the CPU time of the machine of hosts db, gen1, gen2; "},
		{"stolen from a generator", func(f *Figures) { f.Hosts[1].StolenShare = new(0.3); f.Workers[0].Added = added(0.2, 0.2, 0.3) }, 10, "the hypervisor of host gen1 withheld 37 % of the CPU time that programs needed; "},
		{"stolen from a host whose generator was not late", func(f *Figures) { f.Hosts[1].StolenShare = new(0.3) }, 10, ""},
		{"stolen from members", func(f *Figures) { f.Hosts[0].StolenShare = new(0.1) }, 10, "the hypervisor of host db withheld 17 % "},
		{"clocks known as usual", func(f *Figures) {
			f.Hosts[0].Clock, f.Hosts[1].Clock, f.Hosts[2].Clock = newUncertainClock(1e6), newUncertainClock(2e5), newUncertainClock(1e5)
		}, 32, ""},
		{"a clock that was set", func(f *Figures) { f.Hosts[0].Clock = &measure.Clock{Jumps: 1, ClockChangeNS: -3600e9} }, 32, "the clock of host db was set during the trial (1 change, 3600 s in total)"},
		{"a clock that is hardly known", func(f *Figures) { f.Hosts[0].Clock = newUncertainClock(0.6e9) }, 32, "the clock of host db is uncertain by 600 ms"},
		{"a start that is hardly known", func(f *Figures) {
			f.Measured.Seconds, f.Hosts[1].Clock, f.Hosts[2].Clock = 1, newUncertainClock(0.1e9), newUncertainClock(0.1e9)
		}, 32, "workers may have begun 200 ms apart because their hosts' clocks are uncertain; throughput may be up to 10 % too low"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			f := onHosts()
			tt.set(&f)
			said := ""
			for _, r := range Judge(f).Reasons {
				if r.Rule == tt.rule {
					said = r.Text
				}
			}
			if tt.says == "" && said != "" || !strings.Contains(said, tt.says) {
				t.Errorf("the reason of R%d is %q, want %q", tt.rule, said, tt.says)
			}
		})
	}
}

// A reason that concerns a generator on another host names the host.
func TestReasonNamesTheHostOfTheGenerator(t *testing.T) {
	f := good()
	f.ThrottledNS, f.Added = 2e9, added(0.2, 0, 0)
	for want, hosts := range map[string][]measure.Host{
		"generator throttled: the control group of the load generator used up its CPU quota and was paused for 2.00 s":         nil,
		"generator throttled: the control group of the load generator on gen1 used up its CPU quota and was paused for 2.00 s": onHosts().Hosts[:2],
	} {
		f.Hosts = hosts
		if v := Judge(f); len(v.Reasons) != 1 || v.Reasons[0].Rule != 6 || !strings.HasPrefix(v.Reasons[0].Text, want) {
			t.Errorf("%+v, not %q", v.Reasons, want)
		}
	}
}

// A worse clock, or more CPU use by other programs, never makes a verdict better, and the order
// of the hosts does not matter.
func TestHostsAreJudgedMonotonously(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(5, 6))
	f := onHosts()
	for range 2000 {
		for i := range f.Hosts {
			h := &f.Hosts[i]
			h.Clock, h.ForeignShare, h.StolenShare, h.BusyShare = newUncertainClock(r.Int64N(1e9)), new(r.Float64()/2), new(r.Float64()/2), new(0.5)
		}
		f.Workers[0].RunDelay, f.Workers[0].Added = r.Int64N(1e10), added(0, r.Float64()/5, r.Float64()/5)
		state := func(f Figures) State {
			return worstFinding([]finding{R10CPUSteal(&f), R23OtherPrograms(&f), R32UncertainClock(&f)}).state
		}
		before := state(f)
		turned := f
		turned.Hosts = []measure.Host{f.Hosts[2], f.Hosts[0], f.Hosts[1]}
		if after := state(turned); after != before {
			t.Fatalf("the state is %s, and with the hosts in another order it is %s: %+v", before, after, f.Hosts)
		}
		worse := f
		worse.Hosts = slices.Clone(f.Hosts)
		h := &worse.Hosts[r.IntN(len(worse.Hosts))]
		h.Clock, h.ForeignShare = newUncertainClock(2*h.Clock.WidestBoundNS), new(1.5**h.ForeignShare)
		if after := state(worse); before.Worse(after) {
			t.Fatalf("the state %s becomes the better state %s although a host is worse: %+v, %+v", before, after, f.Hosts, worse.Hosts)
		}
	}
}

// A change of the controller's clock makes a trial suspect only if members use that clock.
func TestClockOfTheController(t *testing.T) {
	for _, tt := range []struct {
		own  *ClockChanges
		want State
		says string
	}{
		{nil, Valid, ""},
		{&ClockChanges{}, Valid, ""},
		{&ClockChanges{Count: 1, ClockChangeNS: 3600e9}, Valid, "the clock of the controller's machine was set during the trial (1 change"},
		{&ClockChanges{Count: 2, ClockChangeNS: -1e9, HasMembers: true}, Suspect, "(2 changes, 1.00 s in total); members on this machine use this clock"},
	} {
		f := good()
		f.ControllerClock = tt.own
		v, said := Judge(f), ""
		for _, r := range v.Reasons {
			said += r.Text
		}
		said += strings.Join(v.Notes, "")
		if v.State != tt.want || tt.says == "" && said != "" || !strings.Contains(said, tt.says) {
			t.Errorf("%+v: %s, %q", tt.own, v.State, said)
		}
	}
}
