package agents

import (
	"context"
	"net"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/remote"
)

// NewPiped returns a worker that sends its calls to w through pipes in this process. The calls are
// encoded as if they were sent to another machine.
func NewPiped(w load.Worker) *remote.Worker {
	return remote.New(func(context.Context) (remote.Stream, error) {
		localEnd, remoteEnd := net.Pipe()
		// The caller receives the error in the reply.
		go func() { _ = remote.Serve(context.Background(), remote.NewFramed(remoteEnd), w) }()
		return remote.NewFramed(localEnd), nil
	})
}
