package zookeeper

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// tapRequest decodes a request into the parts of a call. It records a create as a write that is
// guarded by version 0, because the node must not exist. A recorded version is the node's version
// plus 1, as in Event.Revision. A recorded key is the path without its first slash.
type tapRequest struct {
	t *tap
	c *call.Call
}

// key converts a path to a recorded key.
func (t *tap) key(path []byte) []byte {
	return t.cfg.Redactor.RedactKey(bytes.TrimPrefix(path, []byte{'/'}))
}

// read decodes the record of a request. It returns false if the record is malformed.
func (q *tapRequest) read(op jute.Op, r *jute.Reader) bool {
	switch op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL, jute.OpDelete, jute.OpSetData:
		var m jute.MultiOp
		jute.ReadChange(op, r, &m)
		q.change(&m, false)
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		q.get(op, r)
	case jute.OpSync:
		p := q.c.AddPart(call.Read, call.Always)
		p.Key, p.Flags = q.t.key(r.Buffer()), call.KeysOnly
	case jute.OpAddWatch:
		p := q.c.AddPart(call.Watch, call.Always)
		if p.Key = q.t.key(r.Buffer()); jute.WatchMode(r.Int()) == jute.WatchPersistentRecursive {
			p.Scope = call.Prefix
		}
	case jute.OpMulti:
		return q.transaction(r.Rest())
	case jute.OpCloseSession:
		q.c.AddPart(call.Revoke, call.Always)
	case jute.OpPing:
		q.c.AddPart(call.KeepAlive, call.Always)
	default:
		q.c.AddPart(call.OtherAction, call.Always)
	}
	return r.OK()
}

// get decodes a read and the watch that the read sets, if any.
func (q *tapRequest) get(op jute.Op, r *jute.Reader) {
	p := q.c.AddPart(call.Read, call.Always)
	p.Key, p.Flags = q.t.key(r.Buffer()), call.Local
	switch op {
	case jute.OpExists:
		p.Flags |= call.KeysOnly
	case jute.OpGetChildren, jute.OpGetChildren2:
		p.Flags |= call.KeysOnly
		if p.Scope = call.Prefix; len(p.Key) > 0 {
			p.Key = append(p.Key, '/')
		}
	}
	if key, scope := p.Key, p.Scope; r.Bool() {
		p = q.c.AddPart(call.Watch, call.Always)
		p.Key, p.Scope = key, scope
	}
}

// guard appends the condition that the node has the given version. The version is in recorded
// form (the node's version plus 1).
func (q *tapRequest) guard(path []byte, version int64) {
	q.c.Guarded = true
	p := q.c.AddPart(call.Compare, call.Always)
	p.Target, p.Number, p.Key = call.Version, version, q.t.key(path)
}

// versioned appends a write or a removal. It first appends a guard, unless the request accepts any
// version.
func (q *tapRequest) versioned(m *jute.MultiOp, action call.Action, inMulti bool) {
	branch := call.Always
	if m.Version != jute.AnyVersion {
		q.guard(m.Path.Rest, int64(m.Version)+1)
		branch = call.Then
	}
	if inMulti {
		branch = call.Then
	}
	p := q.c.AddPart(action, branch)
	p.Key = q.t.key(m.Path.Rest)
	if action == call.Write {
		p.Flags, p.Value = call.MustExist, q.t.cfg.Redactor.RedactValue(m.Data)
	}
}

// create appends a create.
func (q *tapRequest) create(m *jute.MultiOp, inMulti bool) {
	branch, flags := call.Then, call.Flags(0)
	switch m.Mode {
	case jute.PersistentSequential, jute.EphemeralSequential, jute.PersistentSequentialTTL:
		flags = call.Sequential
		if !inMulti {
			branch = call.Always
		}
	default:
		q.guard(m.Path.Rest, 0)
	}
	if m.Mode == jute.Ephemeral || m.Mode == jute.EphemeralSequential {
		flags |= call.Ephemeral
	}
	p := q.c.AddPart(call.Write, branch)
	p.Key, p.Flags, p.Value = q.t.key(m.Path.Rest), flags, q.t.cfg.Redactor.RedactValue(m.Data)
}

// change appends the parts for a request that changes or checks a node.
func (q *tapRequest) change(m *jute.MultiOp, inMulti bool) {
	switch m.Op {
	case jute.OpDelete:
		q.versioned(m, call.Remove, inMulti)
	case jute.OpSetData:
		q.versioned(m, call.Write, inMulti)
	case jute.OpCheck:
		if m.Version == jute.AnyVersion { // the check requires only that the node exists
			q.c.AddPart(call.OtherAction, call.Then)
		} else {
			q.guard(m.Path.Rest, int64(m.Version)+1)
		}
	default:
		q.create(m, inMulti)
	}
}

// transaction decodes a multi.
func (q *tapRequest) transaction(b []byte) (ok bool) {
	t := q.t
	if t.multi, ok = jute.ReadMulti(b, t.multi[:0]); !ok {
		return false
	}
	for i := range t.multi {
		q.change(&t.multi[i], true)
		if len(q.c.Parts) > call.MaxParts {
			return false
		}
	}
	if len(t.multi) == 0 {
		q.c.AddPart(call.OtherAction, call.Always)
	}
	return true
}

// tapAnswer decodes a reply and adds the results to the call. It skips malformed fields.
type tapAnswer struct {
	t *tap
	c *call.Call
	r jute.Reader
}

func (a *tapAnswer) read(op jute.Op, code jute.Code) {
	c := a.c
	if code != jute.OK {
		c.Code = uint16(-max(min(code, -1), -1000)) // #nosec G115 -- from 1 to 1000
		reads := op == jute.OpExists || op == jute.OpGetData || op == jute.OpSync
		if c.Guarded && guardFailed(op, code) || reads && code == jute.NoNode {
			c.Code = 0
		}
		return
	}
	c.GuardsHeld = c.Guarded
	last := &c.Parts[len(c.Parts)-1]
	switch op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		c.KeyCount = 1
		a.setCreatedVersion(last, a.r.Buffer())
	case jute.OpSetData:
		c.KeyCount, last.Version = 1, int64(a.r.Stat().Version)+1
	case jute.OpDelete, jute.OpSync:
		c.KeyCount = 1
	case jute.OpGetData:
		p := &c.Parts[0]
		c.KeyCount, p.Value.Size = 1, len(a.r.Buffer())
		p.Version = int64(a.r.Stat().Version) + 1
	case jute.OpExists:
		c.KeyCount, c.Parts[0].Version = 1, int64(a.r.Stat().Version)+1
	case jute.OpGetChildren, jute.OpGetChildren2:
		c.KeyCount = int64(a.r.Count(4))
	case jute.OpMulti:
		a.decodeResults()
	}
}

// setFailure marks a multi as failed. The reply header of a failed multi may still report success.
func (a *tapAnswer) setFailure(code jute.Code) {
	c := a.c
	c.GuardsHeld, c.KeyCount, c.Code = false, 0, uint16(-max(min(code, -1), -1000)) // #nosec G115 -- from 1 to 1000
	if c.Guarded && guardFailed(jute.OpMulti, code) {
		c.Code = 0
	}
}

// guardFailed reports whether an error code means that a guard did not hold: the node has another
// version, already exists, or does not exist. A proxy reports only that a transaction failed
// (APIError), so guardFailed accepts that code for a multi.
func guardFailed(op jute.Op, code jute.Code) bool {
	switch code {
	case jute.NodeExists, jute.BadVersion:
		return true
	case jute.NoNode:
		return op == jute.OpSetData || op == jute.OpDelete || op == jute.OpMulti
	}
	return op == jute.OpMulti && code == jute.APIError
}

// setCreatedVersion stores the version of a node that was created. For a sequential node it also
// stores the path.
func (a *tapAnswer) setCreatedVersion(p *call.Part, path []byte) {
	if p.Version = 1; p.Flags&call.Sequential != 0 && len(path) > 0 {
		p.End = a.t.key(path)
	}
}

// decodeResults decodes the results in the reply to a multi, one per operation.
func (a *tapAnswer) decodeResults() {
	parts := a.c.Parts
	var result jute.MultiResult
	for i := 0; i < len(parts) && jute.ReadMultiResults(&a.r, &result); i++ {
		if result.Op == jute.OpError { // only one of the error results contains the reason
			if result.Code != jute.OK && result.Code != jute.RuntimeInconsistency {
				a.setFailure(result.Code)
				return
			}
			continue
		}
		if parts[i].Action == call.Compare && result.Op != jute.OpCheck && i+1 < len(parts) {
			i++
		}
		switch p := &parts[i]; {
		case p.Action != call.Write:
		case result.Op == jute.OpSetData:
			p.Version = int64(result.Stat.Version) + 1
		default:
			a.setCreatedVersion(p, result.Path)
		}
		a.c.KeyCount++
	}
}

// tap implements store.Tap. It is the passive decoder for one client connection to a member. It
// does not record the session's password or authentication data.
type tap struct {
	cfg        store.TapConfig
	decoder    *jute.PassiveDecoder
	now        int64
	unanswered []observedRequest // requests without a reply, in the order in which they were sent
	free       []*call.Call
	multi      []jute.MultiOp
}

// observedRequest is a request without a reply.
type observedRequest struct {
	xid     int32
	op      jute.Op
	request *call.Call
}
