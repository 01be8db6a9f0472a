package trial

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// minWrittenBytes returns the number of bytes that a load's settings imply.
func TestLeastWritten(t *testing.T) {
	put, get := scenario.Operation{Kind: kv.Put, Weight: 1}, scenario.Operation{Kind: kv.Get, Weight: 3}
	sized := scenario.Load{Prefix: "ab", KeySize: 8, ValueSize: 90, KeySpace: 1000}
	for name, of := range map[string]struct {
		change func(*scenario.Load)
		want   int64
	}{
		"a closed loop that ends by time":  {func(l *scenario.Load) { l.Duration = time.Minute }, 0},
		"a number of operations":           {func(l *scenario.Load) { l.Total = 10 }, 1000},
		"a quarter of them writes":         {func(l *scenario.Load) { l.Total, l.Mix = 40, []scenario.Operation{put, get} }, 1000},
		"a preload":                        {func(l *scenario.Load) { l.Preload = true }, 100_000},
		"a rate":                           {func(l *scenario.Load) { l.Arrival, l.Rate.PerSecond, l.Duration = scenario.Constant, 10, time.Minute }, 60_000},
		"a rate for longer than compacted": {func(l *scenario.Load) { l.Arrival, l.Rate.PerSecond, l.Duration = scenario.Poisson, 10, time.Hour }, 300_000},
		"reads":                            {func(l *scenario.Load) { l.Total, l.Mix = 10, []scenario.Operation{get} }, 0},
	} {
		l := sized
		l.Mix = []scenario.Operation{put}
		of.change(&l)
		if got := minWrittenBytes(&l); got != of.want {
			t.Errorf("%s: the minimum is %d bytes, want %d", name, got, of.want)
		}
	}
}

// If the store runs out of space during the warm-up, the error gives this reason. The trial has
// failed and was not interrupted.
func TestOutOfSpaceInTheWarmup(t *testing.T) {
	w := &monitor{phaseBegun: [2]bool{true, false}}
	if err := w.explainFailure(nil, load.ErrNoWindow, nil, nil); !errors.Is(err, load.ErrNoWindow) {
		t.Errorf("the error of an interrupted load is %v", err)
	}
	w.full.Store(true)
	if err := w.explainFailure(nil, load.ErrNoWindow, nil, nil); err == nil || errors.Is(err, load.ErrNoWindow) || !strings.Contains(err.Error(), "ran out of space") {
		t.Errorf("the error does not say that the store ran out of space: %v", err)
	}
}
