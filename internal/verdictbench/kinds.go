package verdictbench

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/load/random"
	"github.com/quorumbench/quorumbench/internal/run/load/simulate"
)

// Kind is a way of disturbing the generator.
type Kind string

// The kinds.
const (
	Quiet       Kind = "quiet"        // not at all
	Stopped     Kind = "stopped"      // for 5 to 200 ms, again and again
	BusyLoop    Kind = "busy loop"    // beside it on its processor
	LowPriority Kind = "low priority" // a program of a higher one takes its processor
	Quota       Kind = "quota"        // of its control group
	Steal       Kind = "steal"        // by the host
)

// Kinds lists those that disturb.
func Kinds() []Kind { return []Kind{Stopped, BusyLoop, LowPriority, Quota, Steal} }

// machine draws a machine that disturbs so, from hardly at all to beyond use,
// and says what it does.
func (k Kind) machine(d *draws) (func() simulate.Machine, string) {
	q := quietMachine(d.seed + 2)
	ms := func(ns float64) string { return measure.Duration(ns) }
	switch k {
	case Stopped:
		length := d.log(5e6, 200e6)
		period := length / d.log(0.0005, 0.4)
		return func() simulate.Machine {
			return &simulate.Interrupted{Quiet: q, Spans: simulate.Every(period, length, d.seed)}
		}, fmt.Sprintf("stopped for %s every %s", ms(length), ms(period))
	case Steal:
		length := d.log(1e6, 50e6)
		share := d.log(0.0005, 0.4)
		period := length / share
		return func() simulate.Machine {
			return &simulate.Interrupted{Quiet: q, Spans: simulate.Every(period, length, d.seed), Steal: true}
		}, fmt.Sprintf("%s of the time stolen, %s at once", measure.Percent(share), ms(length))
	case BusyLoop:
		duty, refused := d.log(0.003, 1), d.log(0.02, 0.9)
		return func() simulate.Machine {
			return &simulate.Shared{Quiet: q, Slice: 3e6, Other: 3e6, Refused: refused, Busy: duties(duty, d.seed)}
		}, fmt.Sprintf("a busy loop beside it for %s of the time, which goes on at %s of the wake-ups", measure.Percent(duty), measure.Percent(refused))
	case LowPriority:
		duty, refused, other := d.log(0.001, 1), d.log(0.02, 0.9), d.log(5e6, 50e6)
		return func() simulate.Machine {
			return &simulate.Shared{Quiet: q, Slice: 1e6, Other: other, Refused: refused, Busy: duties(duty, d.seed)}
		}, fmt.Sprintf("a program of a higher priority for %s of the time, up to %s at once at %s of the wake-ups", measure.Percent(duty), ms(other), measure.Percent(refused))
	case Quota:
		quota, beside := d.log(0.5e6, 20e6), d.unit()
		return func() simulate.Machine {
			return &simulate.Throttled{Quiet: q, Quota: int64(quota), Period: 100e6, Beside: beside}
		}, fmt.Sprintf("a quota of %s in 100 ms, %s of it used by others", ms(quota), measure.Percent(beside))
	}
	return func() simulate.Machine { q := q; return &q }, "nothing"
}

// spell is how long a program that is busy now and then is so at once, in
// nanoseconds.
const spell = 300e6

// duties is busy for a share of the time, in spells.
func duties(share float64, seed uint64) func(int64) bool {
	return func(at int64) bool { return random.Unit(seed, uint64(at/spell)) < share }
}
