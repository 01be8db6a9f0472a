package runner

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// rates contains the throughput of the trials that have run.
type rates map[string][]float64 // by trial name; the values are those of the repeats, in the order in which they ran

func (r rates) add(t *record.Trial) { r[t.Name] = append(r[t.Name], t.PerSecond) }

// resolveRate computes the rate of a trial whose rate is specified as a percentage of another
// trial's throughput. It uses the throughput of the same repeat of the other trial if that repeat
// has run. Otherwise it uses the other trial's last repeat.
func (r rates) resolveRate(t *scenario.Trial) error {
	rate := &t.Load.Rate
	if rate.SourceTrial == "" {
		return nil
	}
	seen := r[rate.SourceTrial]
	if len(seen) == 0 {
		return fmt.Errorf("the rate of trial %s is %g%% of the throughput of %[3]s, but %[3]s has no result", t.Name, rate.Percent, rate.SourceTrial)
	}
	of := seen[min(t.Repeat, len(seen))-1]
	if of <= 0 {
		return fmt.Errorf("the rate of trial %s is %g%% of the throughput of %[3]s, but %[3]s completed no operations", t.Name, rate.Percent, rate.SourceTrial)
	}
	if rate.PerSecond = of * rate.Percent / 100; rate.PerSecond > scenario.MaxRate {
		return fmt.Errorf("the rate of trial %s is %g%% of the throughput of %s; this would be %.0f operations per second, which is more than any generator can send; use a smaller percentage", t.Name, rate.Percent, rate.SourceTrial, rate.PerSecond)
	}
	return nil
}
