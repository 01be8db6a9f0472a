package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// alike returns n equal workers over the given number of seconds. From second to second, the
// workers' median response times vary together, with the standard deviation `together`, and
// independently of each other, with the standard deviation `each`.
func alike(r *rand.Rand, n, seconds int, together, each float64) []Worker {
	medians := make([][]float64, n)
	for range seconds {
		store := together * r.NormFloat64()
		for i := range medians {
			medians[i] = append(medians[i], store+each*r.NormFloat64())
		}
	}
	all := make([]Worker, n)
	for i := range all {
		all[i].Part = &measure.Part{Worker: fmt.Sprintf("w%d", i+1)}
		for s := range seconds {
			others := 0.0
			for k := range medians {
				if k != i {
					others += medians[k][s] / float64(n-1)
				}
			}
			all[i].MedianDistances = append(all[i].MedianDistances, medians[i][s]-others)
		}
	}
	return all
}

// R29 may report equal workers, but not more often than its rate of false alarms allows, no matter
// how the speed of the store varies. It always reports a worker that has a tenth of the speed of
// the other workers.
func TestR29FalseAlarms(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(4, 2))
	for _, of := range []struct{ workers, seconds int }{{2, 5}, {4, 10}, {4, 30}, {16, 10}} {
		const runs = 4000
		alarms := 0
		for range runs {
			f := Figures{Workers: alike(r, of.workers, of.seconds, 1, 0.3)}
			if R29WorkerApart(&f).text != "" {
				alarms++
			}
		}
		if most := int(3 * falseAlarmProbability * runs); alarms > most {
			t.Errorf("%d of %d runs of %d identical workers name a worker, want at most %d", alarms, runs, of.workers, most)
		}
		for range 200 {
			f := Figures{Workers: alike(r, of.workers, of.seconds, 1, 0.1)}
			for i := range f.Workers {
				for s := range f.Workers[i].MedianDistances {
					if i == 0 {
						f.Workers[i].MedianDistances[s] += math.Log(10)
					} else {
						f.Workers[i].MedianDistances[s] -= math.Log(10) / float64(of.workers-1)
					}
				}
			}
			if text := R29WorkerApart(&f).text; !strings.Contains(text, "worker w1 was ") {
				t.Fatalf("the slow worker of %d over %d s is not named: %q", of.workers, of.seconds, text)
			}
		}
	}
}

// Clients whose operations take random times complete different numbers of operations. R28 almost
// never reports a worker because of such a difference. It always reports a worker that has a tenth
// of the pace of the other workers.
func TestR28FalseAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	// done returns the number of operations that end before `until`. Their times have a log-normal
	// distribution with a mean of 1.
	done := func(until float64) (n uint64) {
		const sigma = 1.0
		for at := math.Exp(sigma*r.NormFloat64() - sigma*sigma/2); at < until; n++ {
			at += math.Exp(sigma*r.NormFloat64() - sigma*sigma/2)
		}
		return n
	}
	// The standard deviation of these times is √(e-1) times their mean, as in `done`.
	response := measure.NonEmptySteps(repeated(1e9, 3679))
	response.Add(repeated(0, 6321))
	f := Figures{Workers: []Worker{{Part: &measure.Part{Worker: "w1", Length: 100e9, Response: response}}, {Part: &measure.Part{Worker: "w2", Length: 100e9}}}}
	alarms := 0
	for range 2000 {
		f.Workers[0].Connections = completed(done(100))
		f.Workers[1].Connections = completed(done(100), done(100), done(100))
		if R28SlowWorker(&f).text != "" {
			alarms++
		}
	}
	if alarms > 4 {
		t.Errorf("%d of 2000 runs name a worker that is not slower than the others", alarms)
	}
	f.Workers[0].Connections, f.Workers[1].Connections = completed(10), completed(90, 100, 110)
	if text := R28SlowWorker(&f).text; !strings.Contains(text, "a client of worker w1 completed 10 % as many operations") {
		t.Fatalf("%q", text)
	}
}

// completed returns a connection whose clients completed the given numbers of operations.
func completed(byClient ...uint64) []measure.Connection {
	return []measure.Connection{{Endpoint: "a:2379", Completed: byClient}}
}

// A reason that concerns a worker names the worker.
func TestReasonsNameTheWorker(t *testing.T) {
	fresh := func() []Worker {
		var all []Worker
		for i := range 3 {
			m := good().Measured
			p := &measure.Part{
				Worker: fmt.Sprintf("w%d on b", i+1), Length: 10e9, Loops: 2, Window: m.Window, LoopCPU: m.LoopCPU, RunDelay: m.RunDelay,
				Connections: completed(1000), Response: measure.NonEmptySteps(repeated(10e6, 1000)),
			}
			all = append(all, Worker{Part: p, MedianDistances: []float64{0.01, -0.01, 0.02, 0}, Added: added(0.005, 0.005, 0.005)})
		}
		return all
	}
	tests := []struct {
		rule  int
		set   func(w *Worker)
		state State
		want  string
	}{
		{0, func(*Worker) {}, Valid, ""},
		{26, func(w *Worker) { w.Lost = "the worker is gone" }, Invalid, "worker or host lost: worker w2 on b was lost, and its load ended: the worker is gone"},
		{27, func(w *Worker) { w.StartDelay = 3e9 }, Suspect, "uneven start: worker w2 on b began 3"},
		{0, func(w *Worker) { w.StartDelay = 5e6 }, Valid, ""},
		{28, func(w *Worker) { w.Connections = completed(100) }, Suspect, "slow worker: on average, a client of worker w2 on b completed 10 % as many operations as other workers' clients"},
		{0, func(w *Worker) { w.Connections = completed(700); w.Response.Add(repeated(1e12, 1)) }, Valid, ""},
		{29, func(w *Worker) { w.MedianDistances = []float64{0.5, 0.49, 0.51} }, Suspect, "worker with other times: the median response time of worker w2 on b was 65 % above that of the other workers"},
		{29, func(w *Worker) { w.MedianDistances = []float64{-0.5, -0.49, -0.51} }, Suspect, "worker with other times: the median response time of worker w2 on b was 39 % below that of the other workers"},
		{0, func(w *Worker) { w.MedianDistances = []float64{0.5, -0.5, 1} }, Valid, ""},
		{0, func(w *Worker) { w.MedianDistances = []float64{0.09, 0.09, 0.0901} }, Valid, ""},
		{30, func(w *Worker) { w.LoopCPU, w.Added = 19e9, added(0, 0.2, 0.3) }, Suspect, "disturbed worker: worker w2 on b: the event loops of the load generator were busy 95 % of the time"},
		{30, func(w *Worker) { w.ThrottledNS, w.RunDelay, w.Added = new(int64(8e9)), 8e9, added(0, 0.2, 0.3) }, Suspect, "disturbed worker: worker w2 on b: the control group of the load generator used up its CPU quota"},
	}
	for _, test := range tests {
		f := good()
		f.Workers = fresh()
		test.set(&f.Workers[1])
		v := Judge(f)
		if v.State != test.state || len(v.Reasons) != min(test.rule, 1) {
			t.Errorf("R%d: %+v", test.rule, v)
			continue
		}
		if test.rule > 0 && (v.Reasons[0].Rule != test.rule || !strings.HasPrefix(v.Reasons[0].Text, test.want)) {
			t.Errorf("want R%d: %s, got %v", test.rule, test.want, v.Reasons)
		}
	}
}

// CPU steal on another machine does not explain why a worker was slow, so R30 names the worker's own
// cause.
func TestStealOnAnotherHostIsNoCause(t *testing.T) {
	f := good()
	f.StolenShare = 0.4 // the highest share of any machine
	f.Hosts = []measure.Host{{Name: "a", Machine: "m1", StolenShare: new(0.4), HasMembers: true}, {Name: "b", Machine: "m2", StolenShare: new(0.0), GeneratesLoad: true}}
	f.Workers = []Worker{{Part: &measure.Part{Worker: "w1 on b", Length: 10e9, Loops: 1, RunDelay: 1e9}, Added: added(0, 0.2, 0.3)}}
	const want = "worker w1 on b: the threads of the load generator waited for a CPU "
	if found := R30DisturbedWorker(&f); found.state != Suspect || !strings.HasPrefix(found.text, want) {
		t.Errorf("without CPU steal on the worker's host, R30 is %+v, want %q", found, want)
	}
	f.Hosts[1].StolenShare = new(0.4)
	if found := R30DisturbedWorker(&f); found.text != "" {
		t.Errorf("with CPU steal on the worker's host, R30 is %+v, want none, because R10 reports the steal", found)
	}
}

// In an open loop, the reason for a single worker also states the mean delay, because the p99 of a
// single worker is not known.
func TestLateWorkerOfAnOpenLoop(t *testing.T) {
	f := goodOpen()
	f.Workers = []Worker{
		{Part: &measure.Part{Worker: "w1 on a", Length: 10e9, Loops: 1}, Added: added(0, 0.2, 0.3)},
		{Part: &measure.Part{Worker: "w2 on b", Length: 10e9, Loops: 1}},
	}
	const want = "worker w1 on a: the load generator sent operations or read responses late (on average "
	if found := R30DisturbedWorker(&f); found.state != Suspect || !strings.HasPrefix(found.text, want) {
		t.Errorf("R30: %+v, want %q", found, want)
	}
}

// If a reason contains a sum of times, the reason states how many loops and workers the sum
// includes. A reason that concerns a lost host names the host.
func TestReasonsAboutSeveralLoopsAndHosts(t *testing.T) {
	f := good()
	f.Measured.Paused, f.Measured.LongestPause, f.Added = 9e9, 1e9, added(0, 0, 0.3)
	for _, test := range []struct {
		loops, workers int
		want           string
	}{{1, 0, " in total, "}, {2, 0, " in total (sum over its 2 loops), "}, {8, 4, " in total (sum over the 8 loops of 4 workers), "}} {
		f.Loops, f.Workers = test.loops, make([]Worker, test.workers)
		if found := R5GeneratorPaused(&f); found.state != Suspect || !strings.Contains(found.text, test.want) {
			t.Errorf("%d loops of %d workers: %+v", test.loops, test.workers, found)
		}
	}
	f.Workers, f.Hosts = nil, []measure.Host{{Name: "db1"}, {Name: "db2", Lost: "the agent is gone"}}
	if found := R26WorkerLost(&f); found.state != Invalid || found.text != "host db2 was lost with its members, and the load ended: the agent is gone" {
		t.Errorf("%+v", found)
	}
}

// R4 reports nothing if a worker was lost, because the last operations of that worker's clients are
// unknown.
func TestLittlesLawIgnoresALostWorker(t *testing.T) {
	f := good()
	f.Clients, f.Measured.MeanInFlight, f.Measured.Seconds = 16, 12, 100
	setTimes(&f, 16*100e9, 20e6, 20e6)
	f.Measured.Parts = []measure.Part{{Worker: "w1 on a", Length: 100e9}, {Worker: "w2 on b", Length: 100e9}}
	f.Workers = []Worker{{Part: &f.Measured.Parts[0]}, {Part: &f.Measured.Parts[1]}}
	if found := R4LittlesLaw(&f); found.state != Invalid {
		t.Fatalf("with 12 of 16 clients busy, the finding is %+v, want invalid", found)
	}
	f.Workers[1].Lost = "the worker is gone"
	if found := R4LittlesLaw(&f); found.state != Valid {
		t.Errorf("after the loss of a worker, the finding is %+v", found)
	}
}

// If a worker has sent its part of the total number of operations, its clients stop, even while
// other workers still send operations. This is not a defect.
func TestClientsOutsideTheirWorkersWindow(t *testing.T) {
	f := Figures{Measured: &measure.Totals{Seconds: 0.5}}
	for _, w := range []struct {
		length  int64
		clients []uint64
	}{{5e8, []uint64{7, 7}}, {1.25e8, []uint64{7, 7}}, {6e8, []uint64{7, 7, 7}}, {1e8, nil}} {
		f.Workers = append(f.Workers, Worker{Part: &measure.Part{Length: w.length, Connections: completed(w.clients...)}})
	}
	if got := f.meanInactiveClients(); math.Abs(got-1.5) > 1e-9 {
		t.Errorf("%v clients were inactive on average, want 1.5", got)
	}
	f.Measured.Seconds = 0
	if got := f.meanInactiveClients(); got != 0 {
		t.Errorf("without a window, %v clients were inactive", got)
	}
}
