package peer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// watchWithOurs watches with our generator, which also times each event, and
// looks whether it is lost, doubled, out of order or damaged.
func watchWithOurs(ctx context.Context, w watched) (seen watchSeen, err error) {
	worker := load.Local{Stores: func(string) (store.Store, error) { return etcd.New(), nil }}
	a := &load.Assignment{Load: watchLoad(w), Endpoints: []string{w.endpoint}}
	a.Load.Watch = &scenario.Watch{Watchers: w.watchers, Streams: w.streams}
	// Called in the generator's one loop, before Run returns.
	res, err := load.Run(ctx, &worker, a, load.Reports{Mark: func(m load.Mark) {
		if m.Phase == measure.Measured && !m.Ended {
			seen.began = now()
		}
	}})
	seen.ended = now()
	switch {
	case err != nil:
		return seen, err
	case res.Interrupted:
		return seen, context.Cause(ctx)
	case res.Loops != 1:
		return seen, fmt.Errorf("%d event loops share one connection", res.Loops)
	}
	m, all := res.Measured, res.Measured.Watching
	if m.Failed() > 0 {
		return seen, fmt.Errorf("%d puts failed", m.Failed())
	}
	if all.Expected != all.Delivered || all.Lost+all.Duplicated+all.Reordered+all.Wrong+all.Ended+all.Foreign > 0 {
		return seen, fmt.Errorf("%d events were expected and %d came: %d lost, %d doubled, %d out of order, %d wrong, %d watchers ended",
			all.Expected, all.Delivered, all.Lost, all.Duplicated, all.Reordered, all.Wrong+all.Foreign, all.Ended)
	}
	if seen.began.at.IsZero() {
		return seen, errors.New("the window did not open")
	}
	// All that were due, since none failed: some may end after the window.
	seen.puts, seen.events = m.Due, m.Watch.Delivered
	return seen, nil
}

// watchLoad is what is put: one key of that length on one connection. The
// watchers are on it as well.
func watchLoad(w watched) scenario.Load {
	l := scenario.DefaultLoad()
	l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	l.Connections, l.Clients = 1, 1
	l.Prefix, l.KeySize, l.KeySpace = w.key[:1], len(w.key)-1, 1
	l.Distribution = scenario.Distribution{Name: scenario.Sequential}
	l.ValueSize = w.valueSize
	l.Arrival, l.Rate.PerSecond = scenario.Constant, w.rate
	l.Duration, l.Total = 0, uint64(w.puts)
	l.Warmup = time.Duration(float64(w.warmup) / w.rate * float64(time.Second))
	l.Seed = scenario.DefaultSeed
	return l
}
