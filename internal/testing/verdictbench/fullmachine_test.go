package verdictbench

import (
	"fmt"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/simulate"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// sharedAndStopped is a machine on which busy members share the CPU of the generator's thread. The
// thread is also stopped during some spans.
type sharedAndStopped struct {
	simulate.Shared
	stops simulate.Interrupted
}

func (m *sharedAndStopped) Run(at, ns int64) int64 { return m.stops.Run(m.Shared.Run(at, ns), 0) }
func (m *sharedAndStopped) Wake(at int64) int64    { return m.stops.Run(m.Shared.Wake(at), 0) }

// closedSubject returns a random closed loop. The test needs closed loops, because in an open loop
// the number of operations in flight is not constant.
func closedSubject(d *draws) subject {
	for {
		if s := draw(d); s.load.Arrival == scenario.Closed {
			return s
		}
	}
}

// stopsNextToMembers returns two machines and a description of the second one. On both machines,
// the generator sometimes waits for a CPU that busy members use. Only the second machine also stops
// the generator at random times.
func stopsNextToMembers(d *draws) (without, with func() simulate.Machine, words string) {
	q := quietMachine(d.seed + 2)
	refused, other := d.log(0.02, 0.5), d.log(0.3e6, 3e6)
	length := d.log(20e6, 400e6)
	period := length / d.log(0.001, 0.3)
	shared := func() simulate.Shared {
		return simulate.Shared{Quiet: q, Slice: 3e6, Other: other, Refused: refused, Busy: func(int64) bool { return true }}
	}
	without = func() simulate.Machine { m := shared(); return &m }
	with = func() simulate.Machine {
		return &sharedAndStopped{shared(), simulate.Interrupted{Quiet: q, Spans: simulate.RandomSpans(period, length, d.seed)}}
	}
	return without, with, fmt.Sprintf("stopped for %s every %s, next to members for which it waits for up to %s at %s of the wake-ups",
		text.Duration(length), text.Duration(period), text.Duration(other), text.Share(refused))
}

// If busy members share the machine, the verdict must still find that the generator was stopped.
// The figures without the stops are the truth, because run queue wait that members cause is part of
// the measured system. Figures that are far from the truth must not be valid.
func TestStoppedGeneratorIsFoundOnAFullMachine(t *testing.T) {
	settle.SkipUnderRace(t)
	var rates Rates
	waited, stops := 0, 0
	full := 1.0
	n := uint64(4 * size(t)) // #nosec G115 -- a small number
	for seed := range n {
		d := &draws{seed: keys.DeriveSeed(seed, "verdict's bench, full machine")}
		s := closedSubject(d)
		without, with, text := stopsNextToMembers(d)
		truth, err := s.run(d.seed, without, &full)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.run(d.seed+1, with, &full)
		if err != nil {
			t.Fatal(err)
		}
		o := Outcome{Kind: Stopped, Seed: seed, What: s.text + "; " + text}
		o.Judge(truth, got)
		far := rates.Far
		for i := range o.Figures {
			rates.Add(&o.Figures[i])
		}
		if rates.Far > far {
			stops++
		}
		if rates.Caught < rates.Far {
			t.Log(o.String())
		}
		// If programs other than the members cause the same wait, the wait counts as the
		// generator's overhead.
		if a := truth.Overhead; a.RunWaitNS > 0.1*a.CycleNS {
			waited++
			none := 0.0
			if alone, err := s.run(d.seed, without, &none); err != nil || alone.Verdict.State == verdict.Valid || alone.Overhead.Effect.Throughput < 0.09 {
				t.Errorf("the generator waited for other programs for %v of a cycle, but the verdict is %+v (%v): %s", a.RunWaitNS/a.CycleNS, alone.Verdict, err, o.What)
			}
			if truth.Overhead.Effect.Throughput > 0.5*a.RunWaitNS/a.CycleNS {
				t.Errorf("the generator waited for members for %v of a cycle, but the verdict allows for a throughput that is %v too low: %s", a.RunWaitNS/a.CycleNS, truth.Overhead.Effect.Throughput, o.What)
			}
		}
	}
	t.Logf("%+v; %d trials waited for at least a tenth of a cycle", rates, waited)
	if stops < int(n/8) || waited < int(n/20) {
		t.Errorf("of %d trials, %d are far off and %d waited: too few for this test", n, stops, waited)
	}
	if caught := Share(rates.Caught, rates.Far); caught < leastCaught {
		t.Errorf("of the results that a stop moved by more than %v, a share of %.3f is not valid", FarOff, caught)
	}
}
