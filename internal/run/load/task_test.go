package load_test

import (
	"context"
	"crypto/tls"

	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
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

func (p *task) worker() load.Worker { return p.Worker }
