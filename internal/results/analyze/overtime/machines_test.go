package overtime

import (
	"math"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// A gap in the samples, a replaced process and a reset counter appear as gaps in the charts. A
// figure that is always 0 is not drawn.
func TestChartsOfMachinesHaveGaps(t *testing.T) {
	settle.SkipUnderRace(t)
	m := runs.Random{Seconds: 12, PerSecond: 50, Idle: -1}.Record(t)
	figures.ReadTrialFiles(m.Run, m.Dir)
	trial := &m.Run.Trials[0]
	trial.Machines = nil
	runs.AddRows(trial, "m1", 12, func(r *record.MachineRow, s float64) {
		if r.PID, r.User, r.System, r.MajorFaults, r.Throttled = 7, 0.5*s, 0, 0, 0; s >= 6 {
			r.PID = 8 // the process was replaced
		}
	})
	// seconds 2 and 3 were not sampled
	trial.Machines = append(trial.Machines[:2], trial.Machines[4:]...)
	runs.AddRows(trial, record.MachineName, 12, func(r *record.MachineRow, s float64) {
		if r.User, r.System, r.IOFull, r.Cores = s, 0, 0.5*s, []float64{0.9 * s, 0.1 * s}; s >= 9 {
			r.User = s - 9 // the machine was rebooted
		}
	})
	o, err := Read(trial, 1000)
	must(t, err)
	line := func(panel, name string) (known string) {
		p := o.panelOf(panel)
		if p == nil {
			t.Fatalf("the panel %s is missing", panel)
		}
		for _, l := range p.Lines {
			for second := 0; l.Name == name && second < 12; second++ {
				if v := l.High[second-o.Grid.From]; math.IsNaN(v) {
					known += "-"
				} else {
					known += "x"
				}
			}
		}
		return known
	}
	if got := line("processors", "m1"); got != "x---x-xxxxxx" {
		t.Errorf("m1: %s", got)
	}
	if got := line("processors", record.MachineName); got != "xxxxxxxx-xxx" {
		t.Errorf("the line of the machine is %s", got)
	}
	if got := line("cores", record.MachineName+", busiest"); got != "xxxxxxxx-xxx" {
		t.Errorf("the line of the busiest processor is %s", got)
	}
	if got := line("pressure", record.MachineName+", all for disks"); got != "xxxxxxxx-xxx" {
		t.Errorf("the line of the pressure is %s", got)
	}
	for _, name := range []string{"throttled", "major-faults", "programs", "disk-queue", "retransmitted"} {
		for i := range o.Panels {
			if o.Panels[i].Name == name {
				t.Errorf("the panel %s is drawn", name)
			}
		}
	}
}
