package wired

import (
	"context"
	"net"

	"github.com/quorumbench/quorumbench/internal/run/load"
)

// Piped returns a worker behind pipes in this process: what it does crosses as
// it would to another machine.
func Piped(w load.Worker) *Worker {
	return New(func(context.Context) (Stream, error) {
		here, there := net.Pipe()
		go func() { _ = Serve(context.Background(), Framed(there), w) }() // what is wrong the caller hears
		return Framed(here), nil
	})
}
