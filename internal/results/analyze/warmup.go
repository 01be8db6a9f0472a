package analyze

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// longerWarmup is how much longer than asked for, in seconds, a warm-up is that
// the report says.
const longerWarmup = 0.25

// warmups says after how much warm-up throughput was steady, where that was
// longer than asked for in any of the trials; empty if in none.
func warmups(trials []*record.Trial) string {
	least, most, longer := math.Inf(1), 0.0, false
	for _, t := range trials {
		if t.WarmupRun == nil || t.WarmupSteady == nil || !*t.WarmupSteady {
			continue
		}
		least, most = min(least, *t.WarmupRun), max(most, *t.WarmupRun)
		longer = longer || *t.WarmupRun > t.Warmup.Seconds()+longerWarmup
	}
	switch {
	case !longer:
		return ""
	case most-least < longerWarmup:
		return "steady after " + tenths(most) + " of warm-up"
	}
	return fmt.Sprintf("steady after %s to %s of warm-up", tenths(least), tenths(most))
}

// unsteady is a note about a warm-up that ended at its bound; empty if it did
// not.
func unsteady(t *record.Trial) string {
	if t.WarmupRun == nil || t.WarmupSteady == nil || *t.WarmupSteady {
		return ""
	}
	return fmt.Sprintf("Throughput was not steady when the window opened, after %s of warm-up.", tenths(*t.WarmupRun))
}

// tenths is a length of time to 0.1 s.
func tenths(s float64) string { return readable.Seconds(math.Round(10*s) / 10) }
