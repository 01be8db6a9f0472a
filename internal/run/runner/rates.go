package runner

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// rates holds the throughput of the trials that have run.
type rates map[string][]float64 // trial name -> by repeat, in the order run

func (r rates) add(t *record.Trial) { r[t.Name] = append(r[t.Name], t.PerSecond) }

// settle computes the rate of a trial that is given as a share of another's throughput: in
// the same repeat if that has run, or else in the last one.
func (r rates) settle(t *scenario.Trial) error {
	rate := &t.Load.Rate
	if rate.Of == "" {
		return nil
	}
	seen := r[rate.Of]
	if len(seen) == 0 {
		return fmt.Errorf("trial %s takes %g%% of the throughput of %s, which has no result", t.Name, rate.Percent, rate.Of)
	}
	of := seen[min(t.Repeat, len(seen))-1]
	if of <= 0 {
		return fmt.Errorf("trial %s takes %g%% of the throughput of %s, which completed nothing", t.Name, rate.Percent, rate.Of)
	}
	if rate.PerSecond = of * rate.Percent / 100; rate.PerSecond > scenario.MaxRate {
		return fmt.Errorf("trial %s takes %g%% of the throughput of %s, which is %.0f operations per second, more than any generator sends; take a smaller share", t.Name, rate.Percent, rate.Of, rate.PerSecond)
	}
	return nil
}
