package etcdgateway

import (
	"encoding/base64"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// The requests are messages from etcd's rpc.proto, encoded as JSON. Byte fields are base64
// strings, and 64-bit numbers are decimal strings.

// body starts a request and its JSON body.
func (c *codec) body(m rpc) []byte { return append(c.Head(c.Begin(c.templates[m])), '{') }

// send sends a request whose body is complete.
func (c *codec) send(m rpc, b []byte) {
	c.method = m
	c.Send(b)
}

func appendEnd(b []byte) []byte { return append(b, '}') }

// appendName appends the name of the next member of an object.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(append(b, '"'), name...)
	return append(b, '"', ':')
}

func appendBytes(b []byte, name string, v []byte) []byte {
	b = append(appendName(b, name), '"')
	return append(base64.StdEncoding.AppendEncode(b, v), '"')
}

func appendKey(b, key []byte) []byte { return appendBytes(b, "key", key) }

func appendNumber(b []byte, name string, n int64) []byte {
	b = append(appendName(b, name), '"')
	return append(strconv.AppendInt(b, n, 10), '"')
}

// appendNonZero appends a member with the value n, unless n is 0.
func appendNonZero(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return appendNumber(b, name, n)
}

func appendWord(b []byte, name, word string) []byte {
	b = append(appendName(b, name), '"')
	return append(append(b, word...), '"')
}

// appendFlag appends a member with the value true if the flag is set.
func appendFlag(b []byte, name string, flag bool) []byte {
	if !flag {
		return b
	}
	return append(appendName(b, name), "true"...)
}

func appendLocal(b []byte, local bool) []byte { return appendFlag(b, "serializable", local) }

// appendPut completes a PutRequest. It takes the key and value directly, without a call.Part,
// because most writes of a load are puts and must be fast.
func appendPut(b, key, value []byte) []byte {
	b = appendKey(b, key)
	if len(value) > 0 {
		b = appendBytes(b, "value", value)
	}
	return appendEnd(b)
}

// sendRange sends a Range for an interval.
func (c *codec) sendRange(op *store.Op) {
	p := call.Part{Action: call.Read, Key: op.Key, Limit: op.Range.Limit}
	if len(op.Range.End) > 0 {
		p.Scope, p.End = call.Interval, op.Range.End
	}
	if op.Consistency == kv.Local {
		p.Flags = call.Local
	}
	c.send(rangeRPC, appendRead(c.body(rangeRPC), &p))
}

// sendCAS sends a transaction that compares the key's mod_revision with op.Revision, or with 0 if
// op.Revision is negative (unknown). The mod_revision of a missing key is 0. If the numbers are
// equal, the transaction puts the value. Otherwise it reads the key.
func (c *codec) sendCAS(op *store.Op) {
	b := append(appendName(c.body(txnRPC), "compare"), '[', '{')
	b = appendWord(b, "target", "MOD")
	b = appendEnd(appendNumber(appendKey(b, op.Key), "mod_revision", max(op.Revision, 0)))
	b = append(appendName(append(b, ']'), "success"), `[{"request_put":{`...)
	b = appendPut(b, op.Key, op.Value)
	b = append(appendName(append(b, '}', ']'), "failure"), `[{"request_range":{`...)
	b = appendEnd(appendFlag(appendKey(b, op.Key), "keys_only", true))
	c.send(txnRPC, append(b, '}', ']', '}'))
}

// sendTxn sends a transaction that executes all of the puts or none of them.
func (c *codec) sendTxn(op *store.Op) {
	c.writes = c.writes[:0]
	for i := range op.Pairs {
		p := &op.Pairs[i]
		c.writes = append(c.writes, call.Part{Action: call.Write, Branch: call.Then, Key: p.Key, Value: call.Value{Text: p.Value}})
	}
	c.send(txnRPC, appendTxn(c.body(txnRPC), c.writes))
}

func (c *codec) keepAlive(lease int64) {
	c.lease = lease
	c.send(keepAliveRPC, appendEnd(appendNumber(c.body(keepAliveRPC), "ID", lease)))
}

// replay sends a recorded call.
func (c *codec) replay(r *call.Call) {
	p := &r.Parts[0]
	switch {
	case r.Guarded || p.Branch != call.Always:
		c.send(txnRPC, appendTxn(c.body(txnRPC), r.Parts))
	case p.Action == call.Read:
		c.send(rangeRPC, appendRead(c.body(rangeRPC), p))
	case p.Action == call.Write:
		c.send(putRPC, appendWrite(c.body(putRPC), p))
	case p.Action == call.Remove:
		c.send(deleteRPC, appendRemove(c.body(deleteRPC), p))
	case p.Action == call.Grant:
		c.send(grantRPC, appendEnd(appendNonZero(appendNumber(c.body(grantRPC), "TTL", p.Number), "ID", p.Lease)))
	case p.Action == call.Revoke:
		c.send(revokeRPC, appendEnd(appendNumber(c.body(revokeRPC), "ID", p.Lease)))
	case p.Action == call.Compaction:
		c.send(compactRPC, appendEnd(appendNumber(c.body(compactRPC), "revision", p.Number)))
	case p.Action == call.AskStatus:
		c.send(statusRPC, appendEnd(c.body(statusRPC)))
	default:
		c.keepAlive(p.Lease)
	}
}

// appendTxn completes a TxnRequest that contains all the given parts.
func appendTxn(b []byte, parts []call.Part) []byte {
	for _, of := range [...]struct {
		name   string
		branch call.Branch
		guard  bool
	}{{"compare", call.Always, true}, {"success", call.Then, false}, {"failure", call.Else, false}} {
		n := 0
		for i := range parts {
			p := &parts[i]
			if p.Action == call.Compare != of.guard || !of.guard && p.Branch != of.branch {
				continue
			}
			if n++; n == 1 {
				b = append(appendName(b, of.name), '[')
			} else {
				b = append(b, ',')
			}
			b = appendPart(append(b, '{'), p)
		}
		if n > 0 {
			b = append(b, ']')
		}
	}
	return appendEnd(b)
}

// appendPart appends the fields of a Compare or a RequestOp, and the closing brace.
func appendPart(b []byte, p *call.Part) []byte {
	switch p.Action {
	case call.Compare:
		return appendCompare(b, p)
	case call.Write:
		b = appendWrite(append(appendName(b, "request_put"), '{'), p)
	case call.Remove:
		b = appendRemove(append(appendName(b, "request_delete_range"), '{'), p)
	default:
		b = appendRead(append(appendName(b, "request_range"), '{'), p)
	}
	return appendEnd(b)
}

var relations = [...]string{call.Equal: "EQUAL", call.Greater: "GREATER", call.Less: "LESS", call.NotEqual: "NOT_EQUAL"}

func appendCompare(b []byte, p *call.Part) []byte {
	if p.Relation != call.Equal {
		b = appendWord(b, "result", relations[p.Relation])
	}
	b = appendKeys(b, p)
	switch p.Target {
	case call.Version:
		b = appendNumber(appendWord(b, "target", "VERSION"), "version", p.Number)
	case call.Created:
		b = appendNumber(appendWord(b, "target", "CREATE"), "create_revision", p.Number)
	case call.Modified:
		b = appendNumber(appendWord(b, "target", "MOD"), "mod_revision", p.Number)
	case call.ValueTarget:
		b = appendBytes(appendWord(b, "target", "VALUE"), "value", p.Value.Text)
	default:
		b = appendNumber(appendWord(b, "target", "LEASE"), "lease", p.Lease)
	}
	return appendEnd(b)
}

func appendRead(b []byte, p *call.Part) []byte {
	b = appendNonZero(appendNonZero(appendKeys(b, p), "limit", p.Limit), "revision", p.Number)
	b = appendLocal(b, p.Flags&call.Local != 0)
	if p.Flags&call.Sorted != 0 {
		order, by := "ASCEND", "MOD" // a recording does not contain the sort target
		if p.Flags&call.Descending != 0 {
			order = "DESCEND"
		}
		if p.Target == call.Created {
			by = "CREATE"
		}
		b = appendWord(appendWord(b, "sort_order", order), "sort_target", by)
	}
	b = appendFlag(appendFlag(b, "keys_only", p.Flags&call.KeysOnly != 0), "count_only", p.Flags&call.CountOnly != 0)
	return appendEnd(appendNonZero(b, "max_create_revision", p.MaxCreateRevision))
}

func appendWrite(b []byte, p *call.Part) []byte {
	b = appendKey(b, p.Key)
	if len(p.Value.Text) > 0 {
		b = appendBytes(b, "value", p.Value.Text)
	}
	b = appendFlag(appendNonZero(b, "lease", p.Lease), "prev_kv", p.Flags&call.PreviousValue != 0)
	return appendEnd(appendFlag(appendFlag(b, "ignore_value", p.Flags&call.KeepValue != 0), "ignore_lease", p.Flags&call.KeepLease != 0))
}

func appendRemove(b []byte, p *call.Part) []byte {
	return appendEnd(appendFlag(appendKeys(b, p), "prev_kv", p.Flags&call.PreviousValue != 0))
}

// appendKeys appends the members that select a part's keys: key and, unless the part applies to a
// single key, range_end.
func appendKeys(b []byte, p *call.Part) []byte {
	if len(p.Key) > 0 || p.Scope == call.SingleKey {
		b = appendKey(b, p.Key)
	} else {
		b = appendKey(b, firstKey)
	}
	switch p.Scope {
	case call.SingleKey:
		return b
	case call.Prefix:
		return appendPrefixEnd(b, p.Key)
	case call.LaterPage:
		return appendPrefixEnd(b, p.End)
	case call.FromKey:
		return appendBytes(b, "range_end", firstKey)
	}
	return appendBytes(b, "range_end", p.End)
}

// firstKey is the first possible key. As the end of an interval it means "no end". It must not
// be modified.
var firstKey = []byte{0}

// appendPrefixEnd appends the member range_end for a prefix. Its value is the first key after all
// keys with the prefix.
func appendPrefixEnd(b, prefix []byte) []byte {
	n := len(prefix)
	for n > 0 && prefix[n-1] == 0xff {
		n--
	}
	if n == 0 {
		return appendBytes(b, "range_end", firstKey)
	}
	// Base64 encodes groups of three bytes. The value of range_end differs from the prefix only in
	// the last group, so the last group is encoded separately.
	fullLen, last := (n-1)/3*3, [3]byte{}
	rest := last[:copy(last[:], prefix[fullLen:n])]
	rest[len(rest)-1]++
	b = append(appendName(b, "range_end"), '"')
	b = base64.StdEncoding.AppendEncode(b, prefix[:fullLen])
	return append(base64.StdEncoding.AppendEncode(b, rest), '"')
}
