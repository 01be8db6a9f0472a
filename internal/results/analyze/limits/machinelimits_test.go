package limits

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Each row describes a trial that is slow for a single reason, which machines.csv shows.
func TestMachineWaitsAreReported(t *testing.T) {
	const whole, m1, vda = record.MachineName, "m1", "disk vda"
	each := func(name string, change func(*record.MachineRow, float64)) func(*record.Trial) {
		return func(t *record.Trial) { runs.AddRows(t, name, 10, change) }
	}
	for _, test := range []struct {
		name   string
		change func(*record.Trial)
		what   string // empty if there is no cause
		text   string
	}{
		{"disks", each(whole, func(r *record.MachineRow, s float64) { r.IOFull = 7 + 0.23*s }), CauseDisk, "all tasks on this machine waited for disks 23 % of the time (limit 10 %)"},
		{"disks at the limit", each(whole, func(r *record.MachineRow, s float64) { r.IOFull = 0.1 * s }), "", ""},
		{"disks of the generator's own machine", func(t *record.Trial) {
			t.SharesMachine = nil
			runs.AddRows(t, whole, 10, func(r *record.MachineRow, s float64) { r.IOFull = 0.9 * s })
		}, "", ""},
		{"disks of another machine", each(record.OtherMachine("b"), func(r *record.MachineRow, s float64) { r.IOFull = 0.5 * s }), CauseDisk, "all tasks on machine b waited"},
		{"a counter that was reset", each(whole, func(r *record.MachineRow, s float64) {
			if r.IOFull = 0.05 * s; s >= 5 {
				r.IOFull = 0.01 * s
			}
		}), "", ""},
		{"memory", each(whole, func(r *record.MachineRow, s float64) { r.MemoryFull = 0.06 * s }), CauseMemory, "waited for memory 6 % of the time (limit 5 %)"},
		{"segments", each(whole, func(r *record.MachineRow, s float64) { r.Segments, r.Retransmitted = 1000*s, 18*s }), CauseNetwork, "1.8 % of the 10,000 TCP segments that this machine sent were retransmitted (limit 1 %)"},
		{"few segments", each(whole, func(r *record.MachineRow, s float64) { r.Segments, r.Retransmitted = 50*s, 18*s }), "", ""},
		{"flushes", each(vda, func(r *record.MachineRow, s float64) { r.DiskFlushes, r.FlushTime = 200*s, 2.8*s }), CauseDisk, "flushes of disk vda took 14.0 ms on average over 2,000 flushes (limit 10.0 ms)"},
		{"flushes that reads do not wait for", func(t *record.Trial) {
			t.Mix = []scenario.Operation{{Kind: kv.Get, Weight: 1}}
			runs.AddRows(t, vda, 10, func(r *record.MachineRow, s float64) { r.DiskFlushes, r.FlushTime = 200*s, 2.8*s })
		}, "", ""},
		{"no flushes", each(vda, func(r *record.MachineRow, s float64) { r.DiskFlushes, r.FlushTime = 0, 0 }), "", ""},
		{"a limit on processor time", each(m1, func(r *record.MachineRow, s float64) { r.Throttled = 3 + 0.32*s }), CauseCPU, "the CPU quota of member m1 withheld 3.20 s of CPU time in 10 s"},
		{"open files", each(m1, func(r *record.MachineRow, s float64) { r.FDs, r.FDLimit = 980, 1024 }), CauseMember, "member m1 had 980 of at most 1,024 files open (limit 90 %)"},
		{"one processor", each(whole, func(r *record.MachineRow, s float64) { r.Cores = []float64{9 + 0.1*s, 5 + 0.98*s, s / 5, s / 5} }), CauseCPU, "CPU 1 of this machine was busy 98 % of the time, but all 4 CPUs together only 37 %"},
		{"all processors", each(whole, func(r *record.MachineRow, s float64) { r.Cores = []float64{0.99 * s, 0.99 * s} }), "", ""},
		{"a processor that came", each(whole, func(r *record.MachineRow, s float64) { r.Cores = make([]float64, 2+int(s)) }), "", ""},
	} {
		trial := slowTrial()
		trial.Stores, trial.Seconds, trial.Members, trial.Machine, trial.SharesMachine = nil, 10, 3, &measure.Machine{CPUs: 4}, new(true)
		test.change(trial)
		l := Find(trial)
		switch {
		case test.what == "" && len(l.Causes) > 0:
			t.Errorf("%s: %+v", test.name, l.Causes)
		case test.what != "" && (len(l.Causes) != 1 || l.Causes[0].Kind != test.what || !strings.Contains(l.Causes[0].Text, test.text)):
			t.Errorf("%s: want %s with %q, got %+v", test.name, test.what, test.text, l.Causes)
		}
	}
}

// The programs that filled the machine are named.
func TestOtherProgramsAreNamed(t *testing.T) {
	trial := slowTrial()
	trial.Stores, trial.Seconds, trial.Machine, trial.SharesMachine = nil, 10, &measure.Machine{CPUs: 4}, new(true)
	trial.BusyShare, trial.ForeignShare = new(0.99), new(0.45)
	for _, p := range []struct {
		name string
		used float64
	}{{"program cc1", 1.2}, {"program ld", 0.4}, {"program sshd", 0.02}, {"program cc1 of b", 4}} {
		runs.AddRows(trial, p.name, 10, func(r *record.MachineRow, _ float64) { r.Processors = p.used })
	}
	l := Find(trial)
	if len(l.Causes) != 1 || l.Causes[0].Kind != CauseOthers || !strings.HasSuffix(l.Causes[0].Text, "other programs used 45 % (cc1 30 %, ld 10 %); stop them") {
		t.Errorf("%+v", l.Causes)
	}
}

// The reported use of other programs does not depend on the sampling interval.
func TestRarelySampledProgramsAreNamed(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 300 {
		trial := slowTrial()
		trial.Seconds, trial.Machine = 10, &measure.Machine{CPUs: 2}
		used := 0.2 + r.Float64()
		for at := -3.0; at < 15; {
			covered := 1 + 4*r.Float64()
			at += covered
			row := record.NewMachineRow(trial.Opened.Add(time.Duration(at*1e9)), "program cc1")
			row.Processors, row.ProcessorsSeconds = used, covered
			trial.Machines = append(trial.Machines, *row)
		}
		if got, want := programsUsed(trial), "cc1 "+text.Share(used/2); got != want {
			t.Fatalf("%q, not %q", got, want)
		}
	}
}

// A spike is explained by the figures in machines.csv during the spike, but not by those at other
// times.
func TestSpikesAreExplainedByMachines(t *testing.T) {
	trial := runs.TrialWithP99(5, 5, 5, 800, 5, 5, 5, 5, 5, 5)
	trial.Machine = &measure.Machine{CPUs: 4}
	// a counter whose increment is different after second 3
	burst := func(s, usual, then float64) float64 {
		if s > 3 {
			return usual*(s-1) + then
		}
		return usual * s
	}
	runs.AddRows(trial, record.MachineName, 10, func(r *record.MachineRow, s float64) { r.IOFull, r.MemoryFull = burst(s, 0.02, 0.62), 0.3*s })
	runs.AddRows(trial, "disk vda", 10, func(r *record.MachineRow, s float64) {
		r.Queue, r.DiskFlushes, r.FlushTime = burst(s, 0.2, 34), 100*s, burst(s, 0.2, 12)
	})
	runs.AddRows(trial, "m2", 10, func(r *record.MachineRow, s float64) {
		r.Retransmitted, r.Throttled, r.MajorFaults = burst(s, 0, 37), burst(s, 0, 0.4), burst(s, 1, 350)
	})
	runs.AddRows(trial, "program cc1", 10, func(r *record.MachineRow, s float64) {
		if r.Processors = 0.1; s == 4 {
			r.Processors = 1.9
		}
	})
	s := Spikes(trial)
	if len(s) != 1 {
		t.Fatalf("%+v", s)
	}
	got := map[string]string{}
	for _, c := range s[0].Coincided {
		got[c.Text] = c.Member
	}
	for text, member := range map[string]string{
		"all tasks on this machine waited for disks 62 % of the time (usually 2 %)": "",
		"disk vda had 34 requests queued on average (usually 0.2)":                  "",
		"flushes of disk vda took 120 ms on average (usually 2.00 ms)":              "",
		"retransmitted 37 TCP segments per second (usually 0)":                      "m2",
		"was paused by its CPU quota for 0.4 s of CPU time per second (usually 0)":  "m2",
		"read 350 pages of its memory per second from disk (usually 1)":             "m2",
		"the other program cc1 used 1.9 CPUs (0.28 on average over the window)":     "",
	} {
		if who, ok := got[text]; !ok || who != member {
			t.Errorf("the cause %q with the member %q was not found", text, member)
		}
	}
	if len(got) != 7 {
		t.Errorf("%q", got)
	}
}
