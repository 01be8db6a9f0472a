package analyze

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// timesOf returns a distribution in which all percentiles are ns nanoseconds.
func timesOf(ns int64) record.Times {
	h := measure.NewHistogram()
	measure.RecordAll(h, ns, 10_000)
	return record.Times{Summary: measure.Summarize(h, 0)}
}

// calibrating returns a run of the calibration scenario with three rounds.
func calibrating() *record.Run {
	run := &record.Run{}
	add := func(name string, repeat int, perSecond float64, ns int64, rate float64) {
		t := record.Trial{State: record.Complete, Counts: record.Counts{Completed: 1, PerSecond: perSecond}, Latencies: record.Latencies{ServiceTime: timesOf(ns), ResponseTime: timesOf(2 * ns)}}
		t.Name, t.Repeat, t.Repeats = name, repeat, 3
		if rate > 0 {
			late := timesOf(3 * ns)
			t.Rate, t.Lateness, t.Arrival = &rate, &late, scenario.Constant
		} else {
			t.CPUPerOp = new(float64(ns))
		}
		run.Trials = append(run.Trials, t)
	}
	names := scenario.CalibrationTrials
	for i, x := range []float64{2, 1, 3} {
		add(names.OneClient, i+1, 10*x, int64(100_000*x), 0)
		add(names.ManyClients, i+1, 1000*x, int64(100*x), 0)
		add(names.Paced, i+1, 50, int64(1_000_000*x), 50)
		add(names.Overloaded, i+1, 2000*x, int64(1e6*x), 2500)
	}
	return run
}

func TestLimitsOfGenerator(t *testing.T) {
	g, err := LimitsOfGenerator(calibrating())
	must(t, err)
	// A histogram has a precision of three significant digits.
	for name, of := range map[string]struct {
		got  *record.RoundsSummary
		unit float64
	}{
		"service p50": {g.ServiceP50NS, 100_000}, "service p99": {g.ServiceP99NS, 100_000}, "closed": {g.ClosedPerSecond, 1000}, "cpu": {g.CPUPerOpNS, 100},
		"response p50": {g.ResponseP50NS, 2_000_000}, "response p99": {g.ResponseP99NS, 2_000_000}, "late p50": {g.LateP50NS, 3_000_000}, "late p99": {g.LateP99NS, 3_000_000},
		"open": {g.OpenPerSecond, 2000},
	} {
		near := func(x, want float64) bool { return x >= 0.999*want && x <= 1.001*want }
		if of.got == nil || !near(of.got.Lowest, of.unit) || !near(of.got.Median, 2*of.unit) || !near(of.got.Highest, 3*of.unit) {
			t.Errorf("%s is %+v, want the values 1, 2 and 3 times %g", name, of.got, of.unit)
		}
	}
	if g.OpenRate != 50 {
		t.Errorf("the rate of the open loop is %g/s, want 50/s", g.OpenRate)
	}
}

// If the generator and the null server share a CPU, the times are different. The limits of the
// machine include both cases.
func TestOneClient(t *testing.T) {
	c, run := calibrated(t), calibrating()
	for i := range run.Trials {
		if run.Trials[i].Name == scenario.CalibrationTrials.OneClient {
			run.Trials[i].ServiceTime = timesOf(int64(20_000 * (i + 1)))
		}
	}
	var err error
	c.Generator.OneProcessorP50NS, c.Generator.OneProcessorP99NS, err = OneClientTimes(run)
	must(t, err)
	if s := c.Generator.OneProcessorP50NS; s == nil || s.Highest > 200_000 || s.Lowest >= s.Median {
		t.Errorf("%+v", s)
	}
	fast := &record.Trial{State: record.Complete, Latencies: record.Latencies{ServiceTime: timesOf(50_000)}, Opened: &noon, AttachedData: record.AttachedData{Calibration: c}}
	if got := atFloor(fast); len(got) != 1 || !strings.Contains(got[0], "(20.0–300 µs,") {
		t.Errorf("%q", got)
	}
	if !strings.Contains(CalibrationLine(c), ", p50 on the null server's CPU ") {
		t.Error(CalibrationLine(c))
	}
	if _, _, err := OneClientTimes(&record.Run{}); err == nil {
		t.Error("OneClientTimes accepts a run without a result")
	}
}

// A figure is unknown if the sample of one round is too small for it.
func TestLimitsOfGeneratorOfFewOperations(t *testing.T) {
	run := calibrating()
	few := measure.NewHistogram()
	measure.RecordAll(few, 1000, 100)
	run.Trials[0].ServiceTime = record.Times{Summary: measure.Summarize(few, 0)}
	g, err := LimitsOfGenerator(run)
	if err != nil || g.ServiceP50NS == nil || g.ServiceP99NS != nil {
		t.Errorf("%+v %+v, %v", g.ServiceP50NS, g.ServiceP99NS, err)
	}
}

func TestLimitsOfGeneratorExplainsErrors(t *testing.T) {
	settle.SkipUnderRace(t)
	for want, spoil := range map[string]func(*record.Run){
		"the load one-client against the null server has no result; calibrate again": func(r *record.Run) { *r = record.Run{} },
		"the load paced against the null server did not complete; calibrate again":   func(r *record.Run) { r.Trials[2].State = record.Interrupted },
		"the load one-client against the null server completed no operations: closed": func(r *record.Run) {
			r.Trials[0].Completed, r.Trials[0].ErrorsByKind, r.Trials[0].ErrorTexts = 0, map[string]uint64{"x": 1}, map[string]string{"x": "closed"}
		},
		"the load many-clients got wrong responses from the null server; report this defect of quorumbench": func(r *record.Run) { r.Trials[1].WrongResponses = 1 },
	} {
		run := calibrating()
		spoil(run)
		if _, err := LimitsOfGenerator(run); err == nil || err.Error() != want {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

func calibrated(t *testing.T) *record.Calibration {
	t.Helper()
	g, err := LimitsOfGenerator(calibrating())
	must(t, err)
	p99 := int64(200_000)
	return &record.Calibration{Measured: noon, Rounds: 3, Store: "s", Generator: g,
		Disk: &record.DataDir{Durability: measure.Durability{FdatasyncP50NS: 100_000, FdatasyncP99NS: &p99, Fdatasyncs: 1000, FileSystem: "ext4"}}}
}

func TestCalibrated(t *testing.T) {
	c := calibrated(t)
	const want = "2026-03-01 12:00 UTC, median (range) of 3 rounds against a null server for s: p50 of one client 200 µs (100–300 µs), " +
		"at most 2,000/s (1,000–3,000/s), p50 of an open loop 4.00 ms (2.00–6.00 ms), p99 of the lateness 6.00 ms (3.00–9.00 ms); fdatasync p50 100 µs on ext4"
	if got := CalibrationLine(c); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	c = &record.Calibration{Measured: noon, Outdated: "the machine has the kernel 2 instead of 1"}
	const old = `outdated: the machine has the kernel 2 instead of 1 (measured 2026-03-01 12:00 UTC); measure again with "quorumbench check machine"`
	if got := CalibrationLine(c); got != old {
		t.Errorf("%s\nnot\n%s", got, old)
	}
	if CalibrationLine(nil) != "" || Rounds(nil, nil) != "-" {
		t.Error("CalibrationLine or Rounds returns text without a calibration")
	}
}

// A note appears only for a figure that is no better than in the calibration, which involves no
// store.
func TestAtFloor(t *testing.T) {
	c := calibrated(t)
	trial := func(ns int64, perSecond float64) *record.Trial {
		t := &record.Trial{State: record.Complete, Counts: record.Counts{PerSecond: perSecond}, Latencies: record.Latencies{ServiceTime: timesOf(ns), ResponseTime: timesOf(20 * ns)}, AttachedData: record.AttachedData{Calibration: c}}
		t.Opened = &noon
		return t
	}
	for _, tt := range []struct {
		t    *record.Trial
		want []string
	}{
		{trial(200_000, 10), []string{"The p50 of 200 µs is not above the p50 of one client against the null server on this machine"}},
		{trial(310_000, 10), nil},
		{trial(1_000_000, 999), nil},
		{trial(1_000_000, 1000), []string{"The throughput of 1,000/s is as high as that of the null server on this machine (1,000–3,000/s,"}},
		{trial(50_000, 5000), []string{"The p50", "The throughput"}},
	} {
		got := atFloor(tt.t)
		if len(got) != len(tt.want) {
			t.Errorf("%q, not %q", got, tt.want)
			continue
		}
		for i, want := range tt.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%q, not %q", got[i], want)
			}
		}
	}
	// an open loop is compared by its response times and its throughput
	open := trial(200_000, 1500)
	open.Arrival = scenario.Constant
	if got := atFloor(open); len(got) != 1 || !strings.HasPrefix(got[0], "The p50 of 4.00 ms is not above the p50 of an open loop") {
		t.Errorf("%q", got)
	}
	old := trial(50_000, 5000)
	old.Calibration = &record.Calibration{Outdated: "x", Generator: c.Generator}
	if got := atFloor(old); got != nil {
		t.Errorf("the trial is compared with an outdated calibration: %q", got)
	}
	if old.Calibration = nil; atFloor(old) != nil {
		t.Error("atFloor compares a trial without a calibration")
	}
}
