package peer

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

// goZooKeeperCommand is the first argument with which our binary becomes a
// closed loop over go-zookeeper.
const goZooKeeperCommand = "go-zookeeper"

type goZooKeeper struct{ self string }

// NewGoZooKeeper returns a closed loop over github.com/go-zookeeper/zk, the Go
// client that people use, in a process of its own. self is the binary that
// calls LoopMain.
func NewGoZooKeeper(self string) Peer { return goZooKeeper{self} }

func (goZooKeeper) Name() string     { return GoZooKeeper }
func (goZooKeeper) Available() error { return nil }

func (goZooKeeper) Does(c Case) bool {
	return c.Store == zookeeper.Name && closed(c) && (c.Kind == kv.Put || c.Consistency == kv.Local)
}

func (z goZooKeeper) Run(ctx context.Context, w Work) (Figures, error) {
	return runLoop(ctx, z.self, GoZooKeeper, w.loopArguments(goZooKeeperCommand))
}
