package analyze

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

func warmed(asked, run float64, steady bool) *record.Trial {
	t := &record.Trial{ActualWarmupSeconds: &run, WarmupSteady: &steady}
	t.Warmup = time.Duration(asked * float64(time.Second))
	return t
}

// The time until the throughput was steady is reported if it was longer than the configured
// warm-up. A note is shown if the throughput never became steady.
func TestLongWarmupsAreReported(t *testing.T) {
	old := &record.Trial{}
	for want, trials := range map[string][]*record.Trial{
		"":                           {old, warmed(2, 2.01, true), warmed(2, 12, false)},
		"warmed up for 3.5 s":        {warmed(1, 3.52, true), old},
		"warmed up for 2 s to 6.5 s": {warmed(2, 2, true), warmed(2, 6.5, true), warmed(2, 12, false)},
		"warmed up for 700 ms":       {warmed(0.2, 0.7, true)},
	} {
		if got := warmups(trials); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if got := unsteady(old) + unsteady(warmed(2, 3, true)); got != "" {
		t.Errorf("%q", got)
	}
}
