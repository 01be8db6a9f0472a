package storetest

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Fixture contains what Conform needs to test a store.
type Fixture struct {
	Store store.Store
	// Start starts a real cluster that runs until the end of the test, and returns when the cluster
	// serves requests. If this machine has no server, Start skips the test. It returns nil for
	// options that it does not support. If it does not support TLS, Conform tests TLS with the
	// store's null server, provided that the store has one.
	Start func(t *testing.T, o Options) *Server
	// Official connects a client that the store's developers provide or, if they provide none,
	// another independent client.
	Official func(t testing.TB, a store.Access) Client

	// Keys lists unusual keys that the store accepts: keys with every allowed byte, keys with
	// slashes, and long keys. No key may be equal to another key or be the parent folder of another
	// key.
	Keys []string
	// Values lists unusual values: an empty value, a value of one byte, a large value, and a value
	// with all byte values.
	Values [][]byte
	// Refused lists operations that the server or the store's codec refuses.
	Refused []Refusal
	// TooLarge is an operation that exceeds the server's size limit. The server may close the
	// connection. If TooLarge has no outcome, Conform omits this test.
	TooLarge Refusal

	// RangeKey returns the i-th listed key. The keys ascend and begin with "ranges/". If
	// RangeKey is nil, the keys are ranges/000, ranges/001 and so on.
	RangeKey func(i int) string
	// Slash is set if the store ignores a slash at the beginning of a key.
	Slash bool
	// TxnNeedsKeys is set if a Txn can only write existing keys.
	TxnNeedsKeys bool
	// Members and Terms are set if responses to puts and gets contain the member and its term.
	Members, Terms bool
}

// Options describes a real cluster. The zero Options mean one member without TLS and without users.
type Options struct {
	Members int  // 0 means 1
	TLS     bool // use TLS
	User    bool // require authentication
}

// Server is a running cluster.
type Server struct {
	Access store.Access // credentials of a user with all permissions
	// Denied lists access settings that the cluster must refuse because the password is wrong or
	// missing.
	Denied []store.Access
	// Kill kills the i-th member. It is nil if members cannot be killed.
	Kill func(i int)
}

// Client is an official client. It writes keys that quorumbench then reads, and reads keys that
// quorumbench has written.
type Client interface {
	// Get reads a key. The returned version is the field Revision in the Event of a read, or 0 if
	// the key is missing.
	Get(key string) (value []byte, version int64, err error)
	Put(key string, value []byte) error
	// Delete is only called for stores that support it.
	Delete(key string) error
}

// Refusal is an operation that must fail, its outcome, and a part of its error text.
type Refusal struct {
	Op      store.Op
	Outcome kv.Outcome
	Text    string
}
