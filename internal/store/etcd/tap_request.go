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
		switch f.tag {
		case 1<<3 | pbBytes:
			if method != methodRangeStream {
				c.Revision = headerRevision(f.v)
			}
		case 2<<3 | pbVarint:
			switch method {
			case methodDelete:
				c.KeyCount = int64(f.n)
			case methodTxn:
				c.GuardsHeld = f.n != 0
			case methodGrant:
				c.Lease = int64(f.n)
			}
		case 3<<3 | pbBytes:
			if method == methodTxn {
				c.KeyCount += keysOf(f.v)
			}
		case 4<<3 | pbVarint:
			if method == methodRange {
				c.KeyCount = int64(f.n)
			}
		}
	}
	if method == methodPut {
		c.KeyCount = 1
	}
	c.KeyCount = max(c.KeyCount, 0)
}

// keysOf returns the number of keys that one operation of a transaction read, wrote or deleted. b
// is the result of the operation, a ResponseOp{response_range: 1, response_put: 2,
// response_delete_range: 3}.
func keysOf(b []byte) (keys int64) {
	for f := (fields{b: b}); f.next(); {
		switch f.tag {
		case 1<<3 | pbBytes: // RangeResponse{count: 4}
			for g := (fields{b: f.v}); g.next(); {
				if g.tag == 4<<3|pbVarint {
					keys += int64(g.n)
				}
			}
		case 2<<3 | pbBytes:
			keys++
		case 3<<3 | pbBytes: // DeleteRangeResponse{deleted: 2}
			for g := (fields{b: f.v}); g.next(); {
				if g.tag == 2<<3|pbVarint {
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

// headerRevision returns the revision in a ResponseHeader{revision: 3}.
func headerRevision(b []byte) (revision int64) {
	for f := (fields{b: b}); f.next(); {
		if f.tag == 3<<3|pbVarint {
			revision = int64(f.n)
		}
	}
	return max(revision, 0)
}
