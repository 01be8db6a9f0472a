package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// answer handles one reply: it appends the operation's event, or sends the operation's next
// request.
func (c *codec) answer(r *jute.Reply, to []store.Event) ([]store.Event, error) {
	before := c.advance(r)
	switch r.Sub { // replies that do not complete an operation
	case callIgnored:
		return to, nil
	case callClose:
		return append(to, closed(r, before)), nil
	case callSetAgain, callExistsAgain:
		return c.parseReplayedSet(r, to)
	case callProgress:
		if r.Code == jute.OK && r.Zxid > 0 {
			to = c.reached(r.Zxid, to)
		}
		return to, nil
	case callSync:
		c.keepSync(r)
		return to, nil
	}
	kept := c.takeAside(r)
	to = append(to, store.Event{Tag: r.Tag, Extra: uint32(r.Extra)})
	e := &to[len(to)-1]
	if r.Zxid > 0 {
		e.Term = jute.Epoch(r.Zxid)
	}
	if r.Canceled {
		delete(c.watches.creating, r.Tag)
		c.watches.bareDone(r.Tag, false)
		e.What = store.Late
		return to, nil
	}
	done, ok := c.finish(r, e, &kept)
	switch r.Sub {
	case callPing:
		return to, nil
	case callWatchRead, callWatchExists, callAddWatch:
		if done && ok {
			return to, nil
		}
	}
	if r.Sub < callAgain && ok && done && !e.Outcome.Failed() {
		e.At = r.Zxid
		wrong(e, c.wrongZxid(r, e, before))
	}
	if !ok {
		*e = store.Event{Tag: r.Tag, Outcome: kv.StoreError, Text: []byte(jute.ErrMalformed.Error())}
		return to, jute.ErrMalformed
	}
	if !done {
		to = to[:len(to)-1]
	}
	return to, nil
}

// keepSync stores the result of a sync for the read that follows the sync. A proxy implements
// sync as a read of the node, so it returns NoNode if the node does not exist.
func (c *codec) keepSync(r *jute.Reply) {
	c.synced, c.syncWhy = r.Code, nil
	switch r.Code {
	case jute.NoNode:
		c.synced = jute.OK
	case jute.OK:
		c.syncWhy = wrongPath(r, otherSync)
	}
}

// aside holds the data that the codec keeps for an operation until the reply arrives.
type aside struct {
	value, key, end []byte
	limit           int64
	reason          string
}

// takeAside removes and returns the data that the codec kept for the operation to which a reply
// belongs.
func (c *codec) takeAside(r *jute.Reply) (kept aside) {
	switch r.Sub {
	case callRefused:
		kept.reason, c.reasons = c.reasons[0], shifted(c.reasons)
	case callCASRead:
		kept.value = c.values.pop()
	case callRange:
		kept.key, kept.end = c.ranges.pop(), c.ranges.pop()
		kept.limit, c.limits = c.limits[0], shifted(c.limits)
	}
	return kept
}

// finish fills in an operation's event. If the operation needs another request, finish sends this
// request and returns done = false. The result `ok` is false if the reply is malformed.
func (c *codec) finish(r *jute.Reply, e *store.Event, kept *aside) (done, ok bool) {
	done, ok = true, true
	switch r.Sub {
	case callRefused:
		e.Outcome, e.Text = kv.BadRequest, []byte(kept.reason)
	case callPut:
		done, ok = c.putDone(r, e)
	case callPutCreate, callPutAgain:
		done = c.createDone(r, e)
	case callGet, callExists:
		ok = c.getDone(r, e)
	case callRange:
		if ok = c.rangeDone(r, e, kept.key, kept.end); kept.limit > 0 {
			e.Count = min(e.Count, kept.limit)
		}
	case callDelete:
		c.deleteDone(r, e)
	case callCAS:
		ok = c.casDone(r, e)
	case callCASRead:
		done, ok = c.casRead(r, e, kept.value)
	case callCASCreate, callCASAgain:
		done = c.casCreateDone(r, e)
	case callTxn:
		done, ok = c.txnDone(r, e)
	case callEphemeral, callEphemeralAgain:
		done = c.ephemeralDone(r, e)
	case callPing:
		c.pingDone(r, e)
	case callWatchRead, callWatchExists, callAddWatch:
		done, ok = c.watchDone(r, e)
	}
	if r.Sub >= callAgain {
		ok = c.againDone(r, e)
	}
	return done, ok
}

// putDone handles the reply to a put's setData. If the node does not exist, putDone sends a
// create.
func (c *codec) putDone(r *jute.Reply, e *store.Event) (done, ok bool) {
	switch r.Code {
	case jute.OK:
		return true, wrote(r, e)
	case jute.NoNode:
		if exhausted(r, e) {
			return true, true
		}
		path, data := written(r)
		c.conn.Create(next(r, callPutCreate, 1), jute.NewNode{Path: path, Data: data, ACL: c.acl})
		return false, true
	}
	failed(e, r.Code)
	return true, true
}

// createDone handles the response to a put's create.
func (c *codec) createDone(r *jute.Reply, e *store.Event) (done bool) {
	switch {
	case r.Code == jute.OK:
		created(r, e)
	case r.Code == jute.NodeExists && !exhausted(r, e): // another client has created the node in the meantime
		path, data := written(r)
		c.conn.SetData(next(r, callPut, 1), path, data, jute.AnyVersion)
		return false
	case r.Code == jute.NoNode && r.Sub == callPutCreate:
		c.parseReplayedCreate(r, callPutAgain)
		return false
	case e.Outcome == kv.OK:
		failed(e, r.Code)
	}
	return true
}

// parseReplayedCreate sends requests that create the parents of a node and then the node.
func (c *codec) parseReplayedCreate(r *jute.Reply, sub uint8) {
	path, data := written(r)
	n := c.createParents(r, path.Rest)
	c.conn.Create(next(r, sub, n+1), jute.NewNode{Path: path, Data: data, ACL: c.acl})
}

// wrote reads and checks the Stat in the reply to a setData.
func wrote(r *jute.Reply, e *store.Event) bool {
	answer, request := jute.NewReader(r.Body), jute.NewReader(r.Request)
	s := answer.Stat()
	request.Buffer()
	length, asked := len(request.Buffer()), request.Int()
	e.Revision = int64(s.Version) + 1
	if wrong(e, wrongWrite(&s, r.Zxid, length)); e.Outcome == kv.OK && !follows(s.Version, asked) {
		wrong(e, otherVersion)
	}
	return answer.OK()
}

// created checks that a create returned the requested path.
func created(r *jute.Reply, e *store.Event) {
	e.Revision = 1
	wrong(e, wrongPath(r, otherNode))
}

// getDone handles the reply to a get or an exists. The reply to an exists contains no data. A
// linearizable read fails if the sync before it failed.
func (c *codec) getDone(r *jute.Reply, e *store.Event) bool {
	code := r.Code
	if r.Extra > 0 && c.synced != jute.OK {
		code = c.synced
	}
	switch {
	case code == jute.OK:
		b := jute.NewReader(r.Body)
		if r.Sub == callGet {
			e.Value = b.Buffer()
		}
		s := b.Stat()
		length := len(e.Value)
		if r.Sub == callExists {
			length = int(s.DataLength) // the response has no data to compare
		}
		e.Revision, e.Mod, e.Count = int64(s.Version)+1, s.Mzxid, 1
		if wrong(e, wrongRead(&s, r.Zxid, length)); r.Extra > 0 {
			wrong(e, c.syncWhy)
		}
		wrong(e, c.beforeItsEvent(r, s.Mzxid))
		return b.OK()
	case code == jute.NoNode && r.Code == jute.NoNode:
		e.Outcome = kv.Miss
	default:
		failed(e, code)
	}
	return true
}

func (c *codec) deleteDone(r *jute.Reply, e *store.Event) {
	switch r.Code {
	case jute.OK:
		e.Count = 1
	case jute.NoNode: // nothing to delete; a success, as in the other stores
	case jute.NotEmpty:
		failed(e, r.Code)
		e.Text = []byte("ZooKeeper does not delete a node that has children (NotEmpty)")
	default:
		failed(e, r.Code)
	}
}

// casDone handles the reply to a setData with a version. After a conflict it sets Revision to -1,
// because the node's version is unknown.
func (c *codec) casDone(r *jute.Reply, e *store.Event) bool {
	switch r.Code {
	case jute.OK:
		return wrote(r, e)
	case jute.BadVersion:
		e.Outcome, e.Revision = kv.Conflict, -1
	case jute.NoNode:
		e.Outcome = kv.Conflict
	default:
		failed(e, r.Code)
	}
	return true
}

// casRead handles the reply to the read of the node's current version. It then sends the
// compare-and-set with that version.
func (c *codec) casRead(r *jute.Reply, e *store.Event, value []byte) (done, ok bool) {
	b := jute.NewReader(r.Request)
	path := jute.Path{Rest: b.Buffer()}
	switch r.Code {
	case jute.OK:
		b = jute.NewReader(r.Body)
		version := b.Stat().Version
		if !b.OK() {
			return true, false
		}
		c.conn.SetData(next(r, callCAS, 0), path, value, version)
		return false, true
	case jute.NoNode:
		c.conn.Create(next(r, callCASCreate, 0), jute.NewNode{Path: path, Data: value, ACL: c.acl})
		return false, true
	}
	failed(e, r.Code)
	return true, true
}

// ephemeralDone handles the reply to a request that creates an ephemeral node.
func (c *codec) ephemeralDone(r *jute.Reply, e *store.Event) (done bool) {
	switch {
	case r.Code == jute.OK:
		created(r, e)
	case r.Code == jute.NodeExists:
		e.Outcome, e.Revision = kv.Conflict, -1
	case r.Code == jute.NoNode && r.Sub == callEphemeral:
		path, data := written(r)
		n := c.createParents(r, path.Rest)
		c.conn.Create(next(r, callEphemeralAgain, n+1), jute.NewNode{Path: path, Data: data, ACL: c.acl, Mode: jute.Ephemeral})
		return false
	default:
		failed(e, r.Code)
	}
	return true
}

// casCreateDone handles the reply to the create of a compare-and-set that requires the node not to
// exist.
func (c *codec) casCreateDone(r *jute.Reply, e *store.Event) (done bool) {
	switch {
	case r.Code == jute.OK:
		created(r, e)
	case r.Code == jute.NodeExists:
		e.Outcome, e.Revision = kv.Conflict, -1
	case r.Code == jute.NoNode && r.Sub == callCASCreate:
		c.parseReplayedCreate(r, callCASAgain)
		return false
	default:
		failed(e, r.Code)
	}
	return true
}
