package peer

import (
	"context"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// clientV3Command is the first argument with which our binary becomes a closed
// loop over etcd's official client.
const clientV3Command = "client-v3"

type clientV3 struct{ self string }

// NewClientV3 returns a closed loop over etcd's official Go client, in a
// process of its own. self is the binary that calls LoopMain.
func NewClientV3(self string) Peer { return clientV3{self} }

func (clientV3) Name() string     { return ClientV3 }
func (clientV3) Available() error { return nil }

// Does leaves one client alone out: the goal there is h2load's.
func (clientV3) Does(c Case) bool {
	return c.Store == etcd.Name && (c.Kind == kv.Watch || closed(c) && c.Clients > 1)
}

func (c clientV3) Run(ctx context.Context, w Work) (Figures, error) {
	if w.Kind == kv.Watch {
		return runLoop(ctx, c.self, ClientV3, w.watchArguments(clientV3WatchCommand))
	}
	return runLoop(ctx, c.self, ClientV3, w.clientV3Arguments())
}

func (w Work) clientV3Arguments() []string {
	args := w.loopArguments(clientV3Command)
	if w.Kind == kv.Put {
		return args
	}
	return append(args, "--serializable="+strconv.FormatBool(w.Consistency == kv.Local))
}
