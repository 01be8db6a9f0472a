package zookeeper

import "github.com/quorumbench/quorumbench/internal/store"

// SessionID returns the ID of a codec's session.
func SessionID(c store.Codec) int64 { return c.(*codec).conn.Session().ID }
