package trial

import (
	"math"
	"os"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// secondUse contains the processor time, in seconds, that was used in one second on a machine with
// two processors. The processors were idle for the rest of the second.
type secondUse struct{ generator, member, others, stolen float64 }

// A wait for a processor is attributed to the members only while members or the generator use all
// processors. Seconds with more waiting time have more weight.
func TestRanForLoad(t *testing.T) {
	full := secondUse{generator: 0.5, member: 1.5}
	loaded := secondUse{generator: 0.5, member: 0.5, others: 1}
	slack := secondUse{generator: 0.4, member: 1.4}
	half := secondUse{generator: 0.5, member: 0.5}
	stolen := secondUse{generator: 0.5, member: 1.3, stolen: 0.2}
	for _, tt := range []struct {
		what   string
		member string // the machine that runs the member
		did    []secondUse
		waited []int64
		want   float64 // negative if unknown
	}{
		{"members keep it full", "here", []secondUse{full, full, full, full}, []int64{5, 1, 0, 3}, 1},
		{"others keep it full", "here", []secondUse{loaded, loaded, loaded, loaded}, []int64{5, 1, 0, 3}, 0},
		{"one processor is idle", "here", []secondUse{half, half, half, half}, []int64{5, 1, 0, 3}, 0},
		{"one processor after the other may be idle for a tenth", "here", []secondUse{slack, slack, slack, slack}, []int64{5, 1, 0, 3}, 0.8},
		{"the host takes a tenth away", "here", []secondUse{stolen, stolen, stolen, stolen}, []int64{5, 1, 0, 3}, 0.8},
		{"no wait while others run", "here", []secondUse{full, loaded, loaded, full}, []int64{7, 0, 0, 2}, 1},
		{"all wait while others run", "here", []secondUse{full, loaded, loaded, full}, []int64{0, 4, 4, 0}, 0},
		{"most wait while others run", "here", []secondUse{full, loaded, full, full}, []int64{1, 6, 1, 0}, 0.25},
		{"behind the last sample as in the whole window", "here", []secondUse{full, full, full, full}, []int64{0, 0, 0, 0, 0, 9}, 1},
		{"no wait", "here", []secondUse{full, full}, []int64{0, 0}, -1},
		{"no seconds", "here", []secondUse{full, full}, nil, -1},
		{"no samples", "here", nil, []int64{1}, 0},
		{"a cluster that ran already", "", []secondUse{full, full}, []int64{1, 1}, -1},
		{"members elsewhere", "there", []secondUse{full, full}, []int64{1, 1}, -1},
	} {
		got := sampledWhile(t, tt.member, tt.did).ranForLoad(atSecond(0), atSecond(max(float64(len(tt.waited)), 1)), tt.waited)
		switch {
		case got == nil && tt.want < 0:
		case got == nil || math.Abs(*got-tt.want) > 1e-6:
			t.Errorf("%s: %v, want %v", tt.what, show(got), tt.want)
		}
	}
}

func show(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

// sampledWhile returns a sampler that has sampled the machine "here" once per second. The parameter
// did contains the machine's processor time in each one-second interval. The parameter member is
// the name of the member's machine, or empty if the cluster was already running before the trial.
func sampledWhile(t *testing.T, member string, did []secondUse) *sampler {
	t.Helper()
	h := newScripted("here")
	h.about.Machine.CPUs = 2
	var members []cluster.Member
	if member != "" {
		on := h
		if member != "here" {
			on = newScripted(member)
			on.processes[41] = probe.ProcessUsage{}
		}
		members = append(members, cluster.Member{Host: on, Process: cluster.Process{Name: "m1", PID: 41}})
	}
	s, err := newSampler(t.Context(), h, members)
	if err != nil {
		t.Fatal(err)
	}
	var sum secondUse
	idle := 100.0 // since the boot
	for second := 0; ; second++ {
		h.at = atSecond(float64(second))
		h.processes[os.Getpid()] = probe.ProcessUsage{UserSeconds: sum.generator}
		h.processes[41] = probe.ProcessUsage{UserSeconds: sum.member}
		h.usage = probe.MachineUsage{CPU: probe.SystemCPU{User: sum.generator + sum.member + sum.others, Steal: sum.stolen, Idle: idle}}
		s.rows(t.Context())
		if second == len(did) {
			return s
		}
		d := did[second]
		sum.generator, sum.member, sum.others, sum.stolen = sum.generator+d.generator, sum.member+d.member, sum.others+d.others, sum.stolen+d.stolen
		idle += 2 - d.generator - d.member - d.others - d.stolen
	}
}

// On a machine without members, no wait is attributed to members, no matter where the members run.
// If several machines generate load, the lowest share is used.
func TestRanForLoadOnSeveralHosts(t *testing.T) {
	full, slack := secondUse{generator: 0.5, member: 1.5}, secondUse{generator: 0.4, member: 1.4}
	for _, tt := range []struct {
		what    string
		loads   [2]bool
		members [2]bool
		want    float64
	}{
		{"members on both", [2]bool{true, true}, [2]bool{true, true}, 0.8},
		{"load from one", [2]bool{true, false}, [2]bool{true, true}, 1},
		{"load from the other", [2]bool{false, true}, [2]bool{true, true}, 0.8},
		{"no member on one", [2]bool{true, true}, [2]bool{true, false}, -1},
		{"no member where the load is", [2]bool{false, true}, [2]bool{true, false}, -1},
	} {
		hosts := []*served{serving("a"), serving("b")}
		var members []cluster.Member
		var sources []Source
		for i, h := range hosts {
			h.about.Machine.CPUs = 2
			if tt.members[i] {
				members = append(members, cluster.Member{Host: h, Process: cluster.Process{Name: []string{"m1", "m2"}[i], PID: 41}})
			}
			sources = append(sources, Source{Name: []string{"a", "b"}[i], Host: h, Load: tt.loads[i], Members: tt.members[i]})
		}
		s, err := newSampler(t.Context(), newScripted("here"), members, sources...)
		if err != nil {
			t.Fatal(err)
		}
		for second := range 4 {
			x := float64(second)
			for i, d := range []secondUse{full, slack} {
				h := hosts[i]
				h.at = atSecond(x)
				h.processes[70] = probe.ProcessUsage{UserSeconds: d.generator * x}
				h.processes[41] = probe.ProcessUsage{UserSeconds: d.member * x}
				h.usage = probe.MachineUsage{CPU: probe.SystemCPU{User: (d.generator + d.member) * x, Idle: 100 + (2-d.generator-d.member)*x}}
			}
			s.rows(t.Context())
		}
		got := s.ranForLoad(atSecond(0), atSecond(3), []int64{1, 1, 1})
		if got == nil && tt.want < 0 {
			continue
		}
		if got == nil || math.Abs(*got-tt.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", tt.what, show(got), tt.want)
		}
	}
}
