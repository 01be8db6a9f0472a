//go:build linux

package e2e_test

import (
	"fmt"
	"testing"
)

// All event loops share a trial's work. Five connections are divided unequally, for example into
// two and three for two loops, but all clients work until the total is reached.
func TestLoopsShareATotal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t, "--script", "delay=1ms")
	for _, loops := range []int{1, 2, 4} {
		trial := w.bench(t, []string{endpoint}, exitDone, "put", "--threads", fmt.Sprint(loops), "--conns", "5", "--clients", "50", "--total", "60000")
		checkBetween(t, fmt.Sprint("operations of ", loops, " loops"), trial.Operations, 60_000, 60_000)
		// The last operations do not end simultaneously, so the mean number of busy clients may be
		// slightly below 50.
		checkBetween(t, fmt.Sprint("clients at work in ", loops, " loops"), trial.MeanInFlight, 48, 50.01)
		if text := rule(trial, 4); text != "" {
			t.Errorf("with %d loops, the verdict has the reason %s", loops, text)
		}
	}
}
