package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// handleReply handles one reply: it appends the operation's event, or sends the operation's next
// request.
func (c *codec) handleReply(r *jute.Reply, events []store.Event) ([]store.Event, error) {
	before := c.recordZxid(r)
	switch r.Sub { // replies that do not complete an operation
	case callIgnored:
		return events, nil
	case callClose:
		return append(events, closedEvent(r, before)), nil
	case callRearm, callRearmExists:
		return c.handleRearm(r, events)
	case callProgress:
		if r.Code == jute.OK && r.Zxid > 0 {
			events = c.appendProgress(r.Zxid, events)
		}
		return events, nil
	case callSync:
		c.keepSync(r)
		return events, nil
	}
	data := c.takeSideData(r)
	events = append(events, store.Event{Tag: r.Tag, ExtraRequests: uint32(r.Extra)})
	e := &events[len(events)-1]
	if r.Zxid > 0 {
		e.Term = jute.Epoch(r.Zxid)
	}
	if r.Canceled {
		delete(c.watches.creating, r.Tag)
		c.watches.handlePlainSet(r.Tag, false)
		e.Type = store.LateResponse
		return events, nil
	}
	done, ok := c.finish(r, e, &data)
	switch r.Sub {
	case callPing:
		return events, nil
	case callWatchRead, callWatchExists, callAddWatch:
		if done && ok {
			return events, nil
		}
	}
	if r.Sub < callReplayed && ok && done && !e.Outcome.Failed() {
		e.StoreRevision = r.Zxid
		setWrongResponse(e, c.checkZxid(r, e, before))
	}
	if !ok {
		*e = store.Event{Tag: r.Tag, Outcome: kv.StoreError, Text: []byte(jute.ErrMalformed.Error())}
		return events, jute.ErrMalformed
	}
	if !done {
		events = events[:len(events)-1]
	}
	return events, nil
}

// keepSync stores the result of a sync for the read that follows the sync. A proxy implements
// sync as a read of the node, so it returns NoNode if the node does not exist.
func (c *codec) keepSync(r *jute.Reply) {
	c.syncCode, c.syncProblem = r.Code, nil
	switch r.Code {
	case jute.NoNode:
		c.syncCode = jute.OK
	case jute.OK:
		c.syncProblem = checkPath(r, wrongSyncNode)
	}
}

// sideData holds the data that the codec keeps for an operation until the reply arrives.
type sideData struct {
	value, key, end []byte
	limit           int64
	reason          string
}

// takeSideData removes and returns the data that the codec kept for the operation to which a reply
// belongs.
func (c *codec) takeSideData(r *jute.Reply) (data sideData) {
	switch r.Sub {
	case callRefused:
		data.reason, c.reasons = c.reasons[0], withoutFirst(c.reasons)
	case callCASRead:
		data.value = c.values.pop()
	case callRange:
		data.key, data.end = c.ranges.pop(), c.ranges.pop()
		data.limit, c.limits = c.limits[0], withoutFirst(c.limits)
	}
	return data
}

// finish fills in an operation's event. If the operation needs another request, finish sends this
// request and returns done = false. The result `ok` is false if the reply is malformed.
func (c *codec) finish(r *jute.Reply, e *store.Event, data *sideData) (done, ok bool) {
	done, ok = true, true
	switch r.Sub {
	case callRefused:
		e.Outcome, e.Text = kv.BadRequest, []byte(data.reason)
	case callPut:
		done, ok = c.putDone(r, e)
	case callPutCreate, callPutRetry:
		done = c.createDone(r, e)
	case callGet, callExists:
		ok = c.getDone(r, e)
	case callRange:
		if ok = c.rangeDone(r, e, data.key, data.end); data.limit > 0 {
			e.Count = min(e.Count, data.limit)
		}
	case callDelete:
		c.deleteDone(r, e)
	case callCAS:
		ok = c.casDone(r, e)
	case callCASRead:
		done, ok = c.casRead(r, e, data.value)
	case callCASCreate, callCASRetry:
		done = c.casCreateDone(r, e)
	case callTxn:
		done, ok = c.txnDone(r, e)
	case callEphemeral, callEphemeralRetry:
		done = c.ephemeralDone(r, e)
	case callPing:
		c.pingDone(r, e)
	case callWatchRead, callWatchExists, callAddWatch:
		done, ok = c.watchDone(r, e)
	}
	if r.Sub >= callReplayed {
		ok = c.handleReplayReply(r, e)
	}
	return done, ok
}

// putDone handles the reply to a put's setData. If the node does not exist, putDone sends a
// create.
func (c *codec) putDone(r *jute.Reply, e *store.Event) (done, ok bool) {
	switch r.Code {
	case jute.OK:
		return true, parseWriteStat(r, e)
	case jute.NoNode:
		if hasTooManyRequests(r, e) {
			return true, true
		}
		path, data := writtenData(r)
		c.conn.Create(nextCall(r, callPutCreate, 1), jute.NewNode{Path: path, Data: data, ACL: c.acl})
		return false, true
	}
	setFailure(e, r.Code)
	return true, true
}

// createDone handles the response to a put's create.
func (c *codec) createDone(r *jute.Reply, e *store.Event) (done bool) {
	switch {
	case r.Code == jute.OK:
		checkCreatedPath(r, e)
	case r.Code == jute.NodeExists && !hasTooManyRequests(r, e): // another client has created the node in the meantime
		path, data := writtenData(r)
		c.conn.SetData(nextCall(r, callPut, 1), path, data, jute.AnyVersion)
		return false
	case r.Code == jute.NoNode && r.Sub == callPutCreate:
		c.createWithParents(r, callPutRetry)
		return false
	case e.Outcome == kv.OK:
		setFailure(e, r.Code)
	}
	return true
}

// createWithParents sends requests that create the parents of a node and then the node.
func (c *codec) createWithParents(r *jute.Reply, sub uint8) {
	path, data := writtenData(r)
	n := c.createParents(r, path.Rest)
	c.conn.Create(nextCall(r, sub, n+1), jute.NewNode{Path: path, Data: data, ACL: c.acl})
}

// parseWriteStat reads and checks the Stat in the reply to a setData.
func parseWriteStat(r *jute.Reply, e *store.Event) bool {
	answer, request := jute.NewReader(r.Body), jute.NewReader(r.Request)
	s := answer.Stat()
	request.Buffer()
	length, asked := len(request.Buffer()), request.Int()
	e.Revision = int64(s.Version) + 1
	if setWrongResponse(e, checkWrite(&s, r.Zxid, length)); e.Outcome == kv.OK && !isNextVersion(s.Version, asked) {
		setWrongResponse(e, wrongVersion)
	}
	return answer.OK()
}

// checkCreatedPath checks that a create returned the requested path.
func checkCreatedPath(r *jute.Reply, e *store.Event) {
	e.Revision = 1
	setWrongResponse(e, checkPath(r, wrongNode))
}

// getDone handles the reply to a get or to an exists request. The reply to an exists request
// contains no data. A linearizable read fails if the sync before it failed.
func (c *codec) getDone(r *jute.Reply, e *store.Event) bool {
	code := r.Code
	if r.Extra > 0 && c.syncCode != jute.OK {
		code = c.syncCode
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
		e.Revision, e.ModRevision, e.Count = int64(s.Version)+1, s.Mzxid, 1
		if setWrongResponse(e, checkRead(&s, r.Zxid, length)); r.Extra > 0 {
			setWrongResponse(e, c.syncProblem)
		}
		setWrongResponse(e, c.checkEventOrder(r, s.Mzxid))
		return b.OK()
	case code == jute.NoNode && r.Code == jute.NoNode:
		e.Outcome = kv.Miss
	default:
		setFailure(e, code)
	}
	return true
}

func (c *codec) deleteDone(r *jute.Reply, e *store.Event) {
	switch r.Code {
	case jute.OK:
		e.Count = 1
	case jute.NoNode: // nothing to delete; a success, as in the other stores
	case jute.NotEmpty:
		setFailure(e, r.Code)
		e.Text = []byte("ZooKeeper does not delete a node that has children (NotEmpty)")
	default:
		setFailure(e, r.Code)
	}
}

// casDone handles the reply to a setData with a version. After a conflict it sets Revision to -1,
// because the node's version is unknown.
func (c *codec) casDone(r *jute.Reply, e *store.Event) bool {
	switch r.Code {
	case jute.OK:
		return parseWriteStat(r, e)
	case jute.BadVersion:
		e.Outcome, e.Revision = kv.Conflict, -1
	case jute.NoNode:
		e.Outcome = kv.Conflict
	default:
		setFailure(e, r.Code)
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
		c.conn.SetData(nextCall(r, callCAS, 0), path, value, version)
		return false, true
	case jute.NoNode:
		c.conn.Create(nextCall(r, callCASCreate, 0), jute.NewNode{Path: path, Data: value, ACL: c.acl})
		return false, true
	}
	setFailure(e, r.Code)
	return true, true
}

// ephemeralDone handles the reply to a request that creates an ephemeral node.
func (c *codec) ephemeralDone(r *jute.Reply, e *store.Event) (done bool) {
	switch {
	case r.Code == jute.OK:
		checkCreatedPath(r, e)
	case r.Code == jute.NodeExists:
		e.Outcome, e.Revision = kv.Conflict, -1
	case r.Code == jute.NoNode && r.Sub == callEphemeral:
		path, data := writtenData(r)
		n := c.createParents(r, path.Rest)
		c.conn.Create(nextCall(r, callEphemeralRetry, n+1), jute.NewNode{Path: path, Data: data, ACL: c.acl, Mode: jute.Ephemeral})
		return false
	default:
		setFailure(e, r.Code)
	}
	return true
}

// casCreateDone handles the reply to the create of a compare-and-set that requires the node not to
// exist.
func (c *codec) casCreateDone(r *jute.Reply, e *store.Event) (done bool) {
	switch {
	case r.Code == jute.OK:
		checkCreatedPath(r, e)
	case r.Code == jute.NodeExists:
		e.Outcome, e.Revision = kv.Conflict, -1
	case r.Code == jute.NoNode && r.Sub == callCASCreate:
		c.createWithParents(r, callCASRetry)
		return false
	default:
		setFailure(e, r.Code)
	}
	return true
}
