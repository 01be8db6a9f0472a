package load_test

import (
	"context"
	"crypto/tls"
	"flag"
	"os"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/agents"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// task is an assignment and the worker that executes it.
type task struct {
	load.Assignment
	Worker  *load.Local
	Reports load.Reports
}

// taskFor returns a load for the etcd server at the given endpoint.
func taskFor(endpoint string, l scenario.Load) task {
	return taskOn(etcd.New(), []string{endpoint}, l)
}

func taskOn(s store.Store, endpoints []string, l scenario.Load) task {
	return task{
		Assignment: load.Assignment{
			Load: l, Store: s.Name(), Endpoints: endpoints,
			Access: scenario.RunningCluster{Endpoints: endpoints, DialTimeout: patience},
		},
		Worker: &load.Local{Stores: func(string) (store.Store, error) { return s, nil }},
	}
}

// secure makes the worker use TLS with the given configuration.
func (p *task) secure(with *tls.Config) {
	p.Worker.Access = func(a *scenario.RunningCluster) (store.Access, error) {
		access, err := load.ReadAccess(a)
		access.TLS = with
		return access, err
	}
}

func (p *task) check() error {
	_, err := p.worker().Check(context.Background(), &p.Assignment)
	return err
}

func preload(ctx context.Context, p task) (*load.Preloaded, error) {
	return p.worker().Preload(ctx, &p.Assignment)
}

// wrapWorker wraps the worker in all tests. TestMain sets it.
var wrapWorker = func(w load.Worker) load.Worker { return w }

func (p *task) worker() load.Worker { return wrapWorker(p.Worker) }

// notOverAPipe matches the tests that do not need to run again over a pipe: tests that measure
// memory per operation, long measurements, tests that use pipes anyway, and tests without a worker.
const notOverAPipe = "Allocate|CoordinatedOmission|ClosedLoopMean|NeverAnswered|LoopsShareATotal|StallShows|Pollers|LatencyHas|LatencyIs|WatchEventFaults|Workers|Shards|LongRanges|AllReplies"

// sampleOverAPipe matches the tests that CI runs over a pipe: those that check the data that passes
// through the pipe.
const sampleOverAPipe = "Recorded|EveryWorker|Errors|Preload|Watchers|Judged|Wrong|Sessions|PersistentWatches|ReadsWhatItWrote|Txn|Stop|Refuse|CutOff|Lost"

// TestMain runs the tests twice: with a worker in this process, and with the same worker behind an
// encoder and a decoder, so that only encoded data reaches it.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && flag.Lookup("test.bench").Value.String() == "" && flag.Lookup("test.fuzz").Value.String() == "" {
		wrapWorker = func(w load.Worker) load.Worker { return agents.NewPiped(w) }
		skipped := flag.Lookup("test.skip").Value
		if s := skipped.String(); s == "" {
			_ = skipped.Set(notOverAPipe) // accepts any string
		}
		if chosen := flag.Lookup("test.run").Value; chosen.String() == "" && !settle.Long() {
			_ = chosen.Set(sampleOverAPipe)
		}
		code = m.Run()
	}
	os.Exit(code)
}
