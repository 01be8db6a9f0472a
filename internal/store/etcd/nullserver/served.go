package nullserver

import (
	"bytes"
	"context"
	"net"

	"github.com/quorumbench/quorumbench/internal/store"
)

// New prepares a null server as the store contract wants one. The error says
// what is wrong with the options.
func New(o store.NullOptions) (store.NullServer, error) {
	script, err := ParseScript(o.Script)
	if err != nil {
		return nil, err
	}
	options := Options{Script: script, NoMemory: !o.Memory, TLS: o.TLS, User: o.User, MaxStreams: o.MaxStreams}
	if options.NoMemory {
		options.Value = bytes.Repeat([]byte{'v'}, max(o.ValueSize, 0))
	}
	if err := options.check(); err != nil {
		return nil, err
	}
	return served{options}, nil
}

// served is Serve with its options.
type served struct{ options Options }

func (s served) Serve(ctx context.Context, listeners []net.Listener) error {
	return Serve(ctx, listeners, s.options)
}
