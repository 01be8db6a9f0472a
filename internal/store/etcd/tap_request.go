package etcd

import (
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
)

// readRequest parses a request into the parts of a call. A request of an unknown method becomes one
// part with the action call.OtherAction.
func readRequest(r *message.Reader, method string, b []byte) (ok bool) {
	switch method {
	case methodRange, methodRangeStream:
		ok = r.Read(call.Read, b)
	case methodPut:
		ok = r.Read(call.Write, b)
	case methodDelete:
		ok = r.Read(call.Remove, b)
	case methodTxn:
		ok = r.ReadTxn(b)
	case methodWatch:
		ok = r.ReadWatch(b)
	case methodGrant:
		ok = r.Read(call.Grant, b)
	case methodRevoke:
		ok = r.Read(call.Revoke, b)
	case methodKeepAlive:
		ok = r.Read(call.KeepAlive, b)
	case methodCompact:
		ok = r.Read(call.Compaction, b)
	default:
		r.Call.Parts = append(r.Call.Parts, call.Part{Action: call.OtherAction})
		ok = true
	}
	return ok && len(r.Call.Parts) <= call.MaxParts
}

// tapAnswer parses the reply to a call. It skips malformed fields.
type tapAnswer struct{ c *call.Call }

func (a *tapAnswer) read(method string, b []byte) {
	c := a.c
	for f := (fields{b: b}); f.next(); {
		switch tag := f.tag; {
		case tag == message.HeaderTag && method != methodRangeStream:
			c.Revision = headerRevision(f.v)
		case tag == message.DeletedTag && method == methodDelete:
			c.KeyCount = int64(f.n)
		case tag == message.TxnSucceededTag && method == methodTxn:
			c.GuardsHeld = f.n != 0
		case tag == message.TxnResultTag && method == methodTxn:
			c.KeyCount += keysOf(f.v)
		case tag == message.GrantedTag && method == methodGrant:
			c.Lease = int64(f.n)
		case tag == message.RangeCountTag && method == methodRange:
			c.KeyCount = int64(f.n)
		}
	}
	if method == methodPut {
		c.KeyCount = 1
	}
	c.KeyCount = max(c.KeyCount, 0)
}

// keysOf returns the number of keys that one operation of a transaction read, wrote or deleted. b
// is the result of the operation, a ResponseOp.
func keysOf(b []byte) (keys int64) {
	for f := (fields{b: b}); f.next(); {
		switch f.tag {
		case message.RangeResultTag:
			for g := (fields{b: f.v}); g.next(); {
				if g.tag == message.RangeCountTag {
					keys += int64(g.n)
				}
			}
		case message.PutResultTag:
			keys++
		case message.DeleteResultTag:
			for g := (fields{b: f.v}); g.next(); {
				if g.tag == message.DeletedTag {
					keys += int64(g.n)
				}
			}
		}
	}
	return max(keys, 0)
}

// Names of methods in a recording: the request's path without the package name of etcd's API.
const (
	methodRange       = "KV/Range"
	methodRangeStream = "KV/RangeStream"
	methodPut         = "KV/Put"
	methodDelete      = "KV/DeleteRange"
	methodTxn         = "KV/Txn"
	methodCompact     = "KV/Compact"
	methodWatch       = "Watch/Watch"
	methodGrant       = "Lease/LeaseGrant"
	methodRevoke      = "Lease/LeaseRevoke"
	methodKeepAlive   = "Lease/LeaseKeepAlive"
)

// headerRevision returns the revision in a ResponseHeader.
func headerRevision(b []byte) (revision int64) {
	for f := (fields{b: b}); f.next(); {
		if f.tag == message.RevisionTag {
			revision = int64(f.n)
		}
	}
	return max(revision, 0)
}
