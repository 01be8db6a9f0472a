package load_test

import (
	"context"
	"crypto/tls"
	"flag"
	"os"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/remote"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// task is an assignment and the worker that does it.
type task struct {
	load.Assignment
	Worker  *load.Local
	Reports load.Reports
}

// taskFor is a load on the etcd at an endpoint.
func taskFor(endpoint string, l scenario.Load) task {
	return taskOn(etcd.New(), []string{endpoint}, l)
}

func taskOn(s store.Store, endpoints []string, l scenario.Load) task {
	return task{
		Assignment: load.Assignment{
			Load: l, Store: s.Name(), Endpoints: endpoints,
			Access: scenario.Attach{Endpoints: endpoints, DialTimeout: patience},
		},
		Worker: &load.Local{Stores: func(string) (store.Store, error) { return s, nil }},
	}
}

// secure has the worker speak TLS as the given configuration says.
func (p *task) secure(with *tls.Config) {
	p.Worker.Access = func(a *scenario.Attach) (store.Access, error) {
		access, err := load.AccessOf(a)
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

// behind puts a worker where the tests want it; TestMain sets it.
var behind = func(w load.Worker) load.Worker { return w }

func (p *task) worker() load.Worker { return behind(p.Worker) }

// notOverAPipe is what says nothing of a worker behind a pipe: what an operation
// costs in memory, the time that a test of a second takes again, what has pipes of
// its own, and what has no worker.
const notOverAPipe = "Allocate|CoordinatedOmission|ClosedLoopMean|NeverAnswered|LoopsShareATotal|StallShows|Pollers|LatencyHas|LatencyIs|WatchEventFaults|Workers|Shards|LongRanges|AllAnswers"

// sampleOverAPipe are the tests that CI runs behind a pipe: those of what passes through it.
const sampleOverAPipe = "Recorded|EveryWorker|Errors|Preload|Watchers|Judged|Wrong|Sessions|PersistentWatches|ReadsWhatItWrote|Txn|Stop|Refuse|CutOff|Lost"

// TestMain runs the tests twice: on the worker in this process, and on the same
// worker behind an encoder and a decoder, where nothing passes but data.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && flag.Lookup("test.bench").Value.String() == "" && flag.Lookup("test.fuzz").Value.String() == "" {
		behind = func(w load.Worker) load.Worker { return remote.Piped(w) }
		skipped := flag.Lookup("test.skip").Value
		if s := skipped.String(); s == "" {
			_ = skipped.Set(notOverAPipe) // a string takes any
		}
		if chosen := flag.Lookup("test.run").Value; chosen.String() == "" && !settle.Long() {
			_ = chosen.Set(sampleOverAPipe)
		}
		code = m.Run()
	}
	os.Exit(code)
}
