package zookeeper

import (
	"bytes"
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// This file replays recorded calls; it is the inverse of tap_request.go. The parts of a call
// determine the request to send. A session and its ephemeral nodes belong to one connection.

// CanReplay implements store.Replayer.
func (*Store) CanReplay(r *call.Call) bool { return CanReplay(r) }

// RequiredKey implements store.Replayer.
func (*Store) RequiredKey(p *call.Part) []byte { return RequiredKey(p) }

// CanReplay reports whether a codec can replay a recorded call. A codec does not replay watches
// that were not set by a read, changes of access rights, or administration. It does not replay
// pings and logins either, because it sends its own.
func CanReplay(r *call.Call) bool {
	if r.Pushed || len(r.Parts) == 0 || r.Method == methodConnect {
		return false
	}
	for i := range r.Parts {
		switch r.Parts[i].Action {
		case call.Read, call.Write, call.Remove, call.Compare, call.Revoke:
		case call.Watch: // allowed only after the read that sets the watch
			if i == 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// RequiredKey returns the node that must exist before a part can be executed. If the part sets a
// node's data or lists its children, the required node is that node. If the part creates a node,
// the required node is the new node's parent.
func RequiredKey(p *call.Part) []byte {
	switch {
	case p.Action == call.Read && p.Scope == call.Prefix:
		return bytes.TrimSuffix(p.Key, []byte{'/'})
	case p.Action == call.Write && p.Flags&call.MustExist != 0:
		return p.Key
	case p.Action == call.Write:
		if i := bytes.LastIndexByte(p.Key, '/'); i > 0 {
			return p.Key[:i]
		}
	}
	return nil
}

// keyPath returns the path for a recorded key. A prefix key ends with a slash, which keyPath
// removes.
func keyPath(p *call.Part) (jute.Path, string) {
	key := p.Key
	if p.Scope == call.Prefix {
		key = bytes.TrimSuffix(key, []byte{'/'})
	}
	if len(key) == 0 {
		return jute.Path{Prefix: "/"}, ""
	}
	path, wrong := pathOf(key)
	if p.Flags&call.Sequential != 0 {
		wrong = "" // ZooKeeper appends a number to the last name, so that name may be empty here
	}
	return path, wrong
}

// versionOf returns the node version that a guard requires, clamped to the range of int32.
func versionOf(guard *call.Part) int32 {
	if guard == nil {
		return jute.AnyVersion
	}
	return int32(max(min(guard.Number-1, math.MaxInt32), math.MinInt32)) // clamped to int32
}

// replay sends the request for a recorded call.
func (c *codec) replay(request jute.Call, op *store.Op) {
	r := op.Call
	p := &r.Parts[0]
	var guard *call.Part
	if p.Action == call.Compare && len(r.Parts) == 2 && r.Parts[1].Branch == call.Then && r.Parts[1].Action != call.Compare && r.Method != methodMulti {
		guard, p = p, &r.Parts[1]
	}
	if op.Range != nil {
		c.keys = op.Range.Keys
	}
	path, wrong := keyPath(p)
	request.Sub = callReplayed
	switch {
	case wrong != "":
		c.refuse(request, wrong)
	case guard == nil && (p.Branch != call.Always || p.Action == call.Compare):
		request.Sub = callReplayedMulti
		c.submitMulti(request, r.Parts)
	case p.Action == call.Revoke:
		c.conn.CloseSession(request)
		c.closed = true
	case p.Action == call.Remove:
		c.conn.Delete(request, path, versionOf(guard))
	case p.Action == call.Write && (p.Flags&call.Sequential != 0 || guard != nil && guard.Number == 0):
		request.Sub = callReplayedCreate
		c.conn.Create(request, jute.NewNode{Path: path, Data: p.Value.Text, ACL: c.acl, Mode: createMode(p)})
	case p.Action == call.Write && guard == nil && p.Flags&call.MustExist == 0: // may create the node
		request.Sub = callPut
		c.conn.SetData(request, path, p.Value.Text, jute.AnyVersion)
	case p.Action == call.Write:
		request.Sub = callReplayedSet
		c.conn.SetData(request, path, p.Value.Text, versionOf(guard))
	default:
		watch := op.Watch != nil && guard == nil && len(r.Parts) == 2 && r.Parts[1].Action == call.Watch
		if op.Range != nil && op.Range.KeysOnly {
			request.Sub = callReplayedNames
		}
		c.replayGet(request, path, p, watch)
		if watch {
			c.watches.addPlain(op.Tag, op.Watch.Watcher, path)
		}
	}
}

// replayGet sends a recorded read. The request sets a watch only if `watch` is true and the read
// is a local read of one node.
func (c *codec) replayGet(request jute.Call, path jute.Path, p *call.Part, watch bool) {
	switch {
	case p.Scope == call.Prefix:
		if request.Sub != callReplayedNames {
			request.Sub = callReplayedList
		}
		c.conn.GetChildren(request, path, false)
	case p.Flags&call.Local == 0:
		request.Sub = callReplayedSync
		c.conn.Sync(request, path)
	case p.Flags&call.KeysOnly != 0:
		request.Sub = callReplayedExists
		c.conn.Exists(request, path, watch)
	default:
		request.Sub = callReplayedGet
		c.conn.GetData(request, path, watch)
	}
}

// createMode returns the mode in which to create a node. Nodes with a time to live are created as
// persistent nodes.
func createMode(p *call.Part) jute.Mode {
	switch p.Flags & (call.Sequential | call.Ephemeral) {
	case call.Sequential:
		return jute.PersistentSequential
	case call.Ephemeral:
		return jute.Ephemeral
	case call.Sequential | call.Ephemeral:
		return jute.EphemeralSequential
	}
	return jute.Persistent
}

// submitMulti sends a recorded transaction.
func (c *codec) submitMulti(request jute.Call, parts []call.Part) {
	c.multi = c.multi[:0]
	for i := 0; i < len(parts); i++ {
		p := &parts[i]
		var guard *call.Part
		if p.Action == call.Compare {
			guard = p
			if i+1 < len(parts) && parts[i+1].Action != call.Compare && bytes.Equal(parts[i+1].Key, p.Key) {
				i++
				p = &parts[i]
			}
		}
		path, wrong := keyPath(p)
		if wrong != "" {
			c.refuse(request, wrong)
			return
		}
		m := jute.MultiOp{Op: jute.OpSetData, Path: path, Data: p.Value.Text, Version: versionOf(guard)}
		switch {
		case p.Action == call.Compare:
			m.Op = jute.OpCheck
		case p.Action == call.Remove:
			m.Op = jute.OpDelete
		case p.Flags&call.Sequential != 0 || guard != nil && guard.Number == 0:
			m.Op, m.ACL, m.Mode = jute.OpCreate, c.acl, createMode(p)
		}
		c.multi = append(c.multi, m)
	}
	c.conn.Multi(request, c.multi)
}

// handleReplayReply handles the response to a recorded call.
func (c *codec) handleReplayReply(r *jute.Reply, e *store.Event) (ok bool) {
	e.StoreRevision = r.Zxid
	c.watches.handlePlainSet(r.Tag, r.Code == jute.OK || r.Code == jute.NoNode && r.Sub == callReplayedExists)
	switch r.Code {
	case jute.OK:
	case jute.NoNode:
		if e.Outcome = kv.Conflict; r.Sub == callReplayedGet || r.Sub == callReplayedExists || r.Sub == callReplayedList || r.Sub == callReplayedNames || r.Sub == callReplayedSync {
			e.Outcome = kv.Miss
		}
		return true
	case jute.NodeExists, jute.BadVersion, jute.NotEmpty:
		e.Outcome = kv.Conflict
		return true
	case jute.APIError:
		if r.Sub == callReplayedMulti { // a proxy does not report which guard failed
			e.Outcome = kv.Conflict
			return true
		}
		fallthrough
	default:
		setFailure(e, r.Code)
		return true
	}
	b := jute.NewReader(r.Body)
	switch r.Sub {
	case callReplayedGet:
		e.Value, e.Count = b.Buffer(), 1
		s := b.Stat()
		e.Revision, e.ModRevision = int64(s.Version)+1, s.Mzxid
	case callReplayedExists, callReplayedSet:
		s := b.Stat()
		e.Count, e.Revision, e.ModRevision = 1, int64(s.Version)+1, s.Mzxid
	case callReplayedList:
		e.Count = int64(b.Count(4))
	case callReplayedNames:
		c.parseReplayedChildren(r, &b, e)
	case callReplayedCreate:
		e.Key, e.Count, e.Revision = b.Buffer(), 1, 1
	case callReplayedMulti:
		return c.parseReplayedMulti(r, &b, e)
	default:
		e.Count = 1
	}
	return b.OK()
}

// parseReplayedChildren counts the names of a node's children and passes them to c.keys.
func (c *codec) parseReplayedChildren(r *jute.Reply, b *jute.Reader, e *store.Event) {
	n := b.Count(4)
	e.Count = int64(n)
	if c.keys == nil {
		return
	}
	c.keys.Begin(r.Tag)
	for range n {
		if name := b.Buffer(); b.OK() {
			c.keys.Add(r.Tag, name, nil, 0)
		}
	}
}

// parseReplayedMulti parses the results in the reply to a recorded transaction. It passes the
// nodes' new versions to c.keys.
func (c *codec) parseReplayedMulti(r *jute.Reply, b *jute.Reader, e *store.Event) (ok bool) {
	if c.multi, ok = jute.ReadMulti(r.Request, c.multi[:0]); !ok {
		return false
	}
	if c.keys != nil {
		c.keys.Begin(r.Tag)
	}
	var result jute.MultiResult
	for i := 0; jute.ReadMultiResults(b, &result); i++ {
		if i >= len(c.multi) {
			return false
		}
		switch e.Count++; {
		case result.Op == jute.OpError:
			setMultiFailure(e, result.Code)
		case c.keys == nil:
		case result.Op == jute.OpSetData:
			c.keys.Add(r.Tag, c.multi[i].Path.Rest, nil, int64(result.Stat.Version)+1)
		case result.Op == jute.OpCreate:
			e.Key = result.Path
			c.keys.Add(r.Tag, result.Path, nil, 1)
		}
	}
	return b.OK()
}

// setMultiFailure sets the outcome of a failed transaction from the error code of one of its
// operations. The code RuntimeInconsistency means only that another operation of the transaction
// failed.
func setMultiFailure(e *store.Event, code jute.Code) {
	switch {
	case code != jute.OK && code != jute.RuntimeInconsistency && !guardFailed(jute.OpMulti, code):
		setFailure(e, code)
	case !e.Outcome.Failed():
		e.Outcome = kv.Conflict
	}
}
