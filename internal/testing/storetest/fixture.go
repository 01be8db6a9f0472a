package storetest

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Fixture is what a store supplies for Conform.
type Fixture struct {
	Store store.Store
	// Start starts a real cluster until the end of the test, and returns when it serves. It
	// skips the test if this machine has no server. It returns nil for options that it
	// cannot start; the null server, if there is one, is tested for those.
	Start func(t *testing.T, o Options) *Server
	// Official opens the client of the store's developers, or another independent client if
	// they have none.
	Official func(t testing.TB, a store.Access) Client

	// Keys are awkward keys that the store accepts: every allowed byte, slashes, long ones.
	// None equals another one, or is the folder of another one.
	Keys []string
	// Values are awkward values: empty, one byte, large, of every byte.
	Values [][]byte
	// Refused are operations that the server, or the codec for it, refuses.
	Refused []Refusal
	// TooLarge is an operation larger than the server accepts; it may end the connection.
	// Without an outcome it is omitted.
	TooLarge Refusal

	// RangeKey returns the i-th of the listed keys, which ascend below "ranges/"; nil for
	// ranges/000 and so on.
	RangeKey func(i int) string
	// Slash reports that a slash at the beginning of a key has no meaning.
	Slash bool
	// TxnNeedsKeys reports that a Txn only writes existing keys.
	TxnNeedsKeys bool
	// Members and Terms report that responses to puts and gets carry the member and its
	// term.
	Members, Terms bool
}

// Options describe a real cluster. The zero Options are one member without TLS and users.
type Options struct {
	Members int  // 0 for 1
	TLS     bool // over TLS
	User    bool // with authentication
}

// Server is a cluster that serves.
type Server struct {
	Access store.Access // of a user with all permissions
	// Denied are accesses with a wrong password, or without one.
	Denied []store.Access
	// Kill kills the i-th member; nil if that is not possible.
	Kill func(i int)
}

// Client is an official client, which writes what quorumbench reads, and reads what
// quorumbench writes.
type Client interface {
	// Get reads a key; the version is as in Event.Revision, 0 for a missing key.
	Get(key string) (value []byte, version int64, err error)
	Put(key string, value []byte) error
	// Delete is called for stores that support it.
	Delete(key string) error
}

// Refusal is an operation that fails, its outcome, and what its text must contain.
type Refusal struct {
	Op      store.Op
	Outcome kv.Outcome
	Text    string
}
