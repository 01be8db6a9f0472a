package storetest

import (
	"cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// agreeOnOrder writes and reads a key. It checks that responses contain the ordering information
// that the store guarantees.
func (c *conformer) agreeOnOrder() {
	const key = "order"
	guarantees, last := c.Store.Guarantees(), int64(0)
	if c.can.Reads[guarantees.MemberReadLevel] == "" || len(guarantees.Sources) == 0 {
		c.t.Errorf("the store does not support the level at which members are read, or the guarantees have no sources: %+v", guarantees)
	}
	if guarantees.NoWriteRevisions {
		for range 2 {
			c.want(kv.OK, Put(key, []byte("v")))
			c.want(kv.OK, Put(key, []byte("w")))
			e := c.want(kv.OK, Get(key, guarantees.MemberReadLevel))
			if e.Revision <= last {
				c.t.Errorf("after a write, the key has revision %d, which is not higher than its earlier revision %d", e.Revision, last)
			}
			last = e.Revision
		}
		c.checkAppliedRevision(last)
		return
	}
	goesOn := func(what string, e store.Event) {
		if e.StoreRevision <= last {
			c.t.Errorf("a %s has the store revision %d, but an earlier operation had %d", what, e.StoreRevision, last)
		}
		last = e.StoreRevision
	}
	goesOn("put", c.want(kv.OK, Put(key, []byte("v"))))
	wrote := c.want(kv.OK, Put(key, []byte("w")))
	goesOn("put", wrote)
	for _, level := range c.levels {
		e := c.want(kv.OK, Get(key, level))
		if e.StoreRevision < last || cmp.Or(e.ModRevision, e.Revision) != wrote.StoreRevision {
			c.t.Errorf("a %v get at store revision %d returned the revision %d and the modification revision %d, but the key was written at %d", level, e.StoreRevision, e.Revision, e.ModRevision, wrote.StoreRevision)
		}
	}
	c.checkAppliedRevision(last)
	if c.supports(kv.CAS) {
		version := wrote.Revision
		goesOn("compare-and-set", c.want(kv.OK, CAS(key, []byte("x"), version)))
		if e := c.want(kv.Conflict, CAS(key, []byte("y"), version)); e.StoreRevision < last || guarantees.ConflictVersions && e.Revision != last {
			c.t.Errorf("the key has revision %d, but a conflict has the store revision %d and the revision %d", last, e.StoreRevision, e.Revision)
		}
	}
	if c.supports(kv.Delete) {
		goesOn("delete", c.want(kv.OK, Delete(key)))
		for _, level := range c.levels {
			if e := c.want(kv.Miss, Get(key, level)); e.StoreRevision < last {
				c.t.Errorf("a %v get of the deleted key returned store revision %d, but the key was deleted at %d", level, e.StoreRevision, last)
			}
		}
		if e := c.want(kv.OK, Delete(key)); e.StoreRevision < last {
			c.t.Errorf("a delete of a missing key has the store revision %d, but an earlier operation had %d", e.StoreRevision, last)
		}
	}
}

// checkAppliedRevision checks the revision that a member reports as applied. This revision must
// not be lower than the given revision, which an earlier response contained.
func (c *conformer) checkAppliedRevision(revision int64) {
	admin, err := c.Store.Admin(c.access)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = admin.Close() }() // nothing can be lost, because admin only sent requests
	if a, ok := admin.(store.Applier); ok {
		if got, err := a.Applied(c.t.Context(), 0); err != nil || got < revision {
			c.t.Errorf("Applied returned %d (%v), but the member has already returned revision %d", got, err, revision)
		}
		if got, err := a.Newest(c.t.Context()); err != nil || got < revision {
			c.t.Errorf("Newest returned %d (%v), but a member has already returned revision %d", got, err, revision)
		}
	}
}
