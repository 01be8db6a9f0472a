package storetest

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Fixture is what a store supplies to be tested by Conform.
type Fixture struct {
	Store store.Store
	// Start starts a real cluster that ends with the test, and returns when it
	// serves. It skips the test where this machine has no server, and returns
	// nil for options that it knows no way to start: for those the null server,
	// if there is one, is tested.
	Start func(t *testing.T, o Options) *Server
	// Official opens the client that the store's makers offer, or a client of
	// another kind than ours where they offer none.
	Official func(t testing.TB, a store.Access) Client

	// Keys are awkward keys that the store takes: every byte that it takes,
	// slashes, long ones. None is another one, or the folder of another one.
	Keys []string
	// Values are awkward values: empty, one byte, large, of every byte.
	Values [][]byte
	// Refused are operations that the server, or the codec for it, refuses.
	Refused []Refusal
	// TooLarge is one that is larger than the server takes; it may end the
	// connection. Without an outcome it is left out.
	TooLarge Refusal

	// RangeKey is the i-th of the keys that are listed, which ascend below
	// "ranges/"; nil: ranges/000 and so on.
	RangeKey func(i int) string
	// Slash says that a slash at a key's beginning means nothing.
	Slash bool
	// TxnNeedsKeys says that a Txn writes only keys that are there.
	TxnNeedsKeys bool
	// Members and Terms say that the answers to puts and gets carry the member
	// and its term.
	Members, Terms bool
}

// Options are those of a real cluster. The zero Options are one member, plain.
type Options struct {
	Members int  // 0: 1
	TLS     bool // over TLS
	User    bool // with authentication
}

// Server is a cluster that serves.
type Server struct {
	Access store.Access // of somebody who may do everything
	// Denied are accesses with the wrong password, or with none.
	Denied []store.Access
	// Kill ends the i-th member; nil: it cannot be done.
	Kill func(i int)
}

// Client is a view of an official client. It writes what ours reads, and reads
// what ours writes.
type Client interface {
	// Get reads a key; the version is what an Event has as Revision, 0 for a key
	// that is not there.
	Get(key string) (value []byte, version int64, err error)
	Put(key string, value []byte) error
	// Delete is called for stores that have it.
	Delete(key string) error
}

// Refusal is an operation that fails, how, and what its text must hold.
type Refusal struct {
	Op      store.Op
	Outcome kv.Outcome
	Text    string
}
