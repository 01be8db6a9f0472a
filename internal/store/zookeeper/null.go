package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper/nullserver"
)

var _ store.NullServed = (*Store)(nil)

// NullServer implements store.NullServed. MaxStreams means nothing here: the
// protocol has no way to say it.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) { return nullserver.New(o) }
