package zookeeper

import (
	"bytes"
	"context"
	"net"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper/nullserver"
)

var _ store.NullServed = (*Store)(nil)

// NullServer implements store.NullServed. MaxStreams means nothing here: the
// protocol has no way to say it.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) {
	script, err := nullserver.ParseScript(o.Script)
	if err != nil {
		return nil, err
	}
	return nullServer{nullserver.Options{
		Script: script, NoMemory: !o.Memory, Value: bytes.Repeat([]byte("0"), o.ValueSize),
		TLS: o.TLS, User: o.User,
	}}, nil
}

type nullServer struct{ options nullserver.Options }

// Serve implements store.NullServer.
func (s nullServer) Serve(ctx context.Context, listeners []net.Listener) error {
	return nullserver.Serve(ctx, listeners, s.options)
}
