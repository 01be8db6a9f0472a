package zookeeper

import "github.com/quorumbench/quorumbench/internal/store"

// SessionID is the session that a codec has.
func SessionID(c store.Codec) int64 { return c.(*codec).conn.Session().ID }
