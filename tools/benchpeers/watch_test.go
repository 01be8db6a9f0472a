package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
)

// With either client, each watcher must receive exactly one event for each put in the window.
func TestWatching(t *testing.T) {
	w := Work{
		Case:     Case{Kind: kv.Watch, Connections: 1, Clients: 300, Streams: 7, Rate: 50},
		Endpoint: embedded.Etcd(t), Warmup: 100 * time.Millisecond, Window: 400 * time.Millisecond,
	}
	for _, command := range []string{clientV3WatchCommand, ourWatchCommand} {
		t.Run(command, func(t *testing.T) {
			f, err := loopIn(t, command, w)
			if err != nil {
				t.Fatal(err)
			}
			if f.Operations != 20*300 || f.PerSecond <= 0 || f.CPUPerOp <= 0 || f.MaxRSS <= 0 {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// The figures must include only the puts in the window. The method figures must return an error
// unless exactly the expected events arrived.
func TestWatchFigures(t *testing.T) {
	begin := moment{time.Unix(100, 0), probe.SelfUsage{CPUSeconds: 0.004}}
	end := moment{time.Unix(102, 0), probe.SelfUsage{CPUSeconds: 0.008, MaxRSS: 7}}
	w := watchWork{Work: Work{Case: Case{Clients: 1000}}, puts: 4}
	f, err := watchResult{4, 4000, begin, end}.figures(w)
	if err != nil || f.Operations != 4000 || f.PerSecond != 2000 || f.CPUPerOp != 1000 || f.MaxRSS != 7 {
		t.Errorf("got %+v, %v", f, err)
	}
	for _, c := range []struct {
		seen watchResult
		want string
	}{
		{watchResult{4, 3999, begin, end}, "received 3999 events instead of 4000 for 4 puts"},
		{watchResult{4, 4001, begin, end}, "received 4001 events"},
		{watchResult{3, 3000, begin, end}, "3 of 4 puts"},
	} {
		if _, err := c.seen.figures(w); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// The warm-up and the window must each contain a whole number of puts.
func TestWatchPuts(t *testing.T) {
	w := Work{Case: Case{Clients: 10, Rate: 3}, Warmup: time.Second, Window: 3 * time.Second}
	begin := moment{time.Unix(100, 0), probe.SelfUsage{}}
	for _, c := range []struct {
		rate         float64
		warmup, puts int
	}{{3, 3, 9}, {0.1, 1, 1}} {
		w.Rate = c.rate
		_, err := watch(t.Context(), w, func(_ context.Context, w watchWork) (watchResult, error) {
			if w.warmup != c.warmup || w.puts != c.puts {
				t.Errorf("the plan has %d warm-up puts and %d puts", w.warmup, w.puts)
			}
			return watchResult{uint64(w.puts), uint64(w.puts * w.Clients), begin, moment{begin.at.Add(time.Second), begin.used}}, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
