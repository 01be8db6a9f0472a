package consul

import (
	"encoding/json"

	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// txn parses a transaction.
func (t *tap) txn(c *call.Call, r *httpkv.Request) {
	var ops []txnOp
	if json.Unmarshal(r.Body, &ops) != nil {
		return
	}
	flags := t.level(r)
	for i := range ops {
		if t.op(c, &ops[i], flags); len(c.Parts) > call.MaxParts {
			return
		}
	}
}

func (t *tap) op(c *call.Call, op *txnOp, level call.Flags) {
	kv := op.KV
	var v *verb
	if kv != nil {
		v = findVerb(kv.Verb)
	}
	if v == nil {
		c.AddPart(call.OtherAction, call.Then)
		return
	}
	lease := int64(0) // session that acquires the lock
	switch v.guard {
	case guardIndex:
		at := kv.Index
		if v.action != call.Write {
			at = max(at, 1) // no key has the index 0
		}
		t.guard(c, kv.Key, at)
	case guardAbsence:
		t.guard(c, kv.Key, 0)
	case guardHolder:
		by := t.number(kv.Session)
		if v.action == call.Write {
			by, lease = 0, by
		}
		t.lock(c, kv.Key, by)
	case guardRelease:
		t.lock(c, kv.Key, t.number(kv.Session))
	}
	if v.action == call.Compare {
		return
	}
	p := c.AddPart(v.action, call.Then)
	t.setKeys(p, kv.Key, v.scope == call.Prefix)
	switch v.action {
	case call.Write:
		p.Value, p.Lease = t.redactor.RedactValue(kv.Value), lease
	case call.Read:
		p.Flags |= level | v.flags
	}
}

// tap implements httpkv.TrafficDecoder for one connection between a client and an agent.
type tap struct {
	redactor *call.Redactor
	// emptyCountsAsSet is set if a parameter without a value counts as set, as in Consul. cetcd
	// ignores such a parameter.
	emptyCountsAsSet bool
	buf              []byte
}
