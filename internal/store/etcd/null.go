package etcd

import (
	"bytes"
	"context"
	"net"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd/nullserver"
)

var _ store.NullServed = (*Store)(nil)

// NullServer implements store.NullServed.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) {
	script, err := nullserver.ParseScript(o.Script)
	if err != nil {
		return nil, err
	}
	return nullServer{nullserver.Options{
		Script: script, NoMemory: !o.Memory, Value: bytes.Repeat([]byte("0"), o.ValueSize),
		TLS: o.TLS, User: o.User, MaxStreams: o.MaxStreams,
	}}, nil
}

type nullServer struct{ options nullserver.Options }

// Serve implements store.NullServer.
func (s nullServer) Serve(ctx context.Context, listeners []net.Listener) error {
	return nullserver.Serve(ctx, listeners, s.options)
}
