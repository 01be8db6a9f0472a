// Package storetest contains tests that every store must pass. Conform tests a store's declared
// capabilities on its real server. Wire drives a codec over a socket. ServeNull starts null
// servers. CheckSignals checks the signals that a store finds in log lines that real members wrote.
package storetest

import (
	"bytes"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Conform tests a store with its real server. The store must have its declared capabilities. The
// official client must be able to read what quorumbench writes, and vice versa.
func Conform(t *testing.T, f Fixture) {
	t.Run("capabilities", func(t *testing.T) { CheckCapabilities(t, f.Store) })
	t.Run("one member", func(t *testing.T) {
		s := f.Start(t, Options{})
		Operations(t, f, s.Access)
		c := newConformer(t, f, s.Access)
		c.run("refused", c.checkRefusals)
		c.run("lost connections", c.lostConnections)
		c.run("administration", c.administration)
		c.run("from elsewhere", c.checkDialFunction)
		if c.can.Has(kv.Users) {
			c.run("user", c.checkUser)
		}
	})
	if f.Store.Capabilities().Has(kv.TLS) {
		t.Run("tls", func(t *testing.T) { testTLS(t, f) })
	}
	t.Run("three members", func(t *testing.T) { threeMembers(t, f) })
}

// Operations tests every operation that the store supports at the first endpoint. None of the
// fixture's keys may exist there.
func Operations(t *testing.T, f Fixture, a store.Access) {
	c := newConformer(t, f, a)
	c.run("keys", c.agreeOnKeys)
	c.run("order", c.agreeOnOrder)
	for _, of := range []struct {
		kind kv.Kind
		name string
		test func()
	}{
		{kv.Exists, "existence", c.agreeOnExistence},
		{kv.Range, "ranges", c.agreeOnRanges},
		{kv.Txn, "transactions", c.agreeOnTransactions},
		{kv.STM, "optimistic transactions", c.agreeOnSTM},
		{kv.Ephemeral, "ephemeral keys", c.agreeOnEphemerals},
		{kv.KeepAlive, "leases", c.keepLeasesAlive},
		{kv.Watch, "watches", c.agreeOnWatches},
	} {
		if c.supports(of.kind) {
			c.run(of.name, of.test)
		}
	}
}

// agreeOnKeys runs every single-key operation on each of the fixture's keys and values.
func (c *conformer) agreeOnKeys() {
	for i, key := range c.Keys {
		c.agreeOnKey(key, fmt.Appendf(nil, "value %d", i))
	}
	for i, value := range c.Values {
		c.agreeOnKey(fmt.Sprintf("values/%d", i), value)
	}
}

// conformer tests one store at one endpoint.
type conformer struct {
	Fixture
	t      *testing.T
	access store.Access
	can    kv.Capabilities
	levels []kv.Consistency
	w      *Wire
	client Client
}

func newConformer(t *testing.T, f Fixture, a store.Access) *conformer {
	t.Helper()
	c := &conformer{Fixture: f, t: t, access: a, can: f.Store.Capabilities(), w: Dial(t, f.Store, a), client: f.Official(t, a)}
	for level := range kv.NumConsistencies {
		if c.can.Reads[level] != "" {
			c.levels = append(c.levels, level)
		}
	}
	return c
}

// run runs a subtest.
func (c *conformer) run(name string, test func()) {
	outer := c.t
	outer.Run(name, func(t *testing.T) {
		c.t = t
		c.w.SetTest(t)
		test()
	})
	c.t = outer
	c.w.SetTest(outer)
}

func (c *conformer) supports(k kv.Kind) bool { return c.can.Operations[k] != "" }

// want runs an operation and fails the test unless it has the given outcome.
func (c *conformer) want(o kv.Outcome, op store.Op) store.Event {
	c.t.Helper()
	e := c.w.Want(o, op)
	if o == kv.OK && (op.Kind == kv.Put || op.Kind == kv.Get) && (c.Members && e.Member == 0 || c.Terms && e.Term == 0) {
		c.t.Fatalf("%v: the member or the term is missing in %+v", op.Kind, e)
	}
	return e
}

// readOfficially reads a key with the official client, and returns the key's value and version.
func (c *conformer) readOfficially(key string) ([]byte, int64) {
	c.t.Helper()
	value, version, err := c.client.Get(key)
	if err != nil {
		c.t.Fatalf("key %.40q: the official client failed: %v", key, err)
	}
	return value, version
}

// checkValue checks that both clients read the given value, at every consistency level, and returns
// the key's version.
func (c *conformer) checkValue(key string, want []byte) int64 {
	c.t.Helper()
	v, version := c.readOfficially(key)
	if version == 0 || !bytes.Equal(v, want) {
		c.t.Fatalf("key %.40q: the official client read %d bytes %.40q at version %d, want %d bytes", key, len(v), v, version, len(want))
	}
	for _, level := range c.levels {
		e := c.want(kv.OK, Get(key, level))
		if !bytes.Equal(e.Value, want) || e.Revision != version || e.Count != 1 || len(e.Key) > 0 && string(e.Key) != key {
			c.t.Fatalf("key %.40q: the %v get returned %d bytes of key %q at version %d, want %d bytes at version %d", key, level, len(e.Value), e.Key, e.Revision, len(want), version)
		}
	}
	return version
}

// checkWritten checks that a write changed the key to the given value, and that the version in the
// write's response, if any, is the key's version. It returns that version.
func (c *conformer) checkWritten(e store.Event, key string, value []byte) int64 {
	c.t.Helper()
	version := c.checkValue(key, value)
	if e.Revision > 0 && e.Revision != version {
		c.t.Fatalf("key %.40q: the put returned version %d, but the key has version %d", key, e.Revision, version)
	}
	return version
}

// checkConflict runs a compare-and-set whose version does not match, and checks that the response
// contains the key's current version or marks it as unknown.
func (c *conformer) checkConflict(key string, value []byte, version int64) {
	c.t.Helper()
	e := c.want(kv.Conflict, CAS(key, value, version))
	if _, now := c.readOfficially(key); e.Revision != UnknownVersion && e.Revision != now {
		c.t.Fatalf("key %.40q: the conflict returned version %d, but the key has version %d", key, e.Revision, now)
	}
}

// agreeOnExistence runs existence checks on a key that the official client writes and deletes. The
// response must not contain the key's value. The server must not confuse the key with a longer key
// that begins with the same characters.
func (c *conformer) agreeOnExistence() {
	const key = "existence"
	if err := c.client.Put(key+"s", []byte("v")); err != nil {
		c.t.Fatal(err)
	}
	for _, level := range c.levels {
		c.want(kv.Miss, Exists(key, level))
		if err := c.client.Put(key, []byte("value")); err != nil {
			c.t.Fatal(err)
		}
		if e := c.want(kv.OK, Exists(key, level)); e.Count != 1 || e.Value != nil {
			c.t.Errorf("%v: Exists for an existing key returned %+v", level, e)
		}
		if err := c.client.Delete(key); err != nil {
			c.t.Fatal(err)
		}
		c.want(kv.Miss, Exists(key, level))
	}
}

// agreeOnKey runs every single-key operation on a key that does not exist.
func (c *conformer) agreeOnKey(key string, value []byte) {
	c.t.Helper()
	for _, level := range c.levels {
		c.want(kv.Miss, Get(key, level))
	}
	old := c.checkWritten(c.want(kv.OK, Put(key, value)), key, value)
	other := differentValue(value)
	if err := c.client.Put(key, other); err != nil {
		c.t.Fatalf("key %.40q: the put by the official client failed: %v", key, err)
	}
	version := c.checkValue(key, other)
	if e := c.want(kv.OK, Put(key, other)); e.ExtraRequests != 0 {
		c.t.Fatalf("key %.40q: a put of an existing key took %d extra requests", key, e.ExtraRequests)
	}
	version = max(version, c.checkValue(key, other))
	if c.supports(kv.Range) {
		if e := c.want(kv.OK, Range(kv.Range, key, "", c.levels[0], store.RangeOp{})); e.Count != 1 {
			c.t.Fatalf("key %.40q: a range that covers only this key returned %d keys", key, e.Count)
		}
	}
	if c.supports(kv.CAS) {
		c.checkConflict(key, value, old)
		c.checkConflict(key, value, 0)
		c.checkWritten(c.want(kv.OK, CAS(key, value, version)), key, value)
		c.checkUnknownVersion(key, other)
	}
	if !c.supports(kv.Delete) {
		c.create(key+"-new", value)
		c.create(key+"-newer", value)
		return
	}
	c.checkDelete(key, 1)
	if _, version := c.readOfficially(key); version != 0 {
		c.t.Fatalf("key %.40q: the official client can read the key after its deletion", key)
	}
	c.checkDelete(key, 0)
	for _, level := range c.levels {
		c.want(kv.Miss, Get(key, level))
	}
	c.create(key, value)
	if err := c.client.Delete(key); err != nil {
		c.t.Fatalf("key %.40q: the delete by the official client failed: %v", key, err)
	}
	c.want(kv.Miss, Get(key, c.levels[0]))
	if c.supports(kv.CAS) {
		c.checkUnknownVersion(key, value)
		c.checkDelete(key, 1)
	}
}

// checkUnknownVersion runs a compare-and-set whose expected version is UnknownVersion. Either the
// codec first reads the key's version, or the response is a conflict that contains the version.
func (c *conformer) checkUnknownVersion(key string, value []byte) {
	c.t.Helper()
	_, now := c.readOfficially(key)
	e := c.w.Do(CAS(key, value, UnknownVersion))
	switch {
	case e.Outcome == kv.Conflict && e.Revision == now:
		e = c.want(kv.OK, CAS(key, value, now))
	// For an existing key, the read must be the only additional request. For a missing key, the
	// codec may send any number of additional requests.
	case e.Outcome != kv.OK || now > 0 && e.ExtraRequests != 1:
		c.t.Fatalf("key %.40q: a compare-and-set that reads first returned %+v", key, e)
	}
	c.checkWritten(e, key, value)
}

// differentValue returns a value that differs from the given value and is not longer, unless the
// given value is empty. If the given value is text, the returned value is text, too.
func differentValue(value []byte) []byte {
	cut := value[:max(0, len(value)-1)]
	for utf8.Valid(value) && !utf8.Valid(cut) {
		cut = cut[:len(cut)-1]
	}
	return append([]byte{'x'}, cut...)
}

// create creates a missing key, through a compare-and-set if the store supports it.
func (c *conformer) create(key string, value []byte) {
	c.t.Helper()
	if !c.supports(kv.CAS) {
		c.want(kv.OK, Put(key, value))
		return
	}
	c.checkConflict(key, value, 1)
	c.checkWritten(c.want(kv.OK, CAS(key, value, 0)), key, value)
	c.checkConflict(key, value, 0)
}

// checkDelete deletes a key and checks the number of deleted keys, if the protocol returns it.
func (c *conformer) checkDelete(key string, count int64) {
	c.t.Helper()
	if e := c.want(kv.OK, Delete(key)); e.Count != count && e.Count != -1 {
		c.t.Fatalf("key %.40q: %d keys were deleted, want %d", key, e.Count, count)
	}
}
