package consul

import (
	"encoding/json"

	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// heardOp is an operation of a transaction. Others than those of keys have no KV.
type heardOp struct {
	KV *struct {
		Verb, Key, Session string
		Value              []byte // of base64
		Index              int64
	}
}

// txn reads a transaction: all of it happens, or none.
func (t *tap) txn(c *call.Call, r *httpkv.Request) {
	var ops []heardOp
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

func (t *tap) op(c *call.Call, op *heardOp, level call.Flags) {
	kv := op.KV
	if kv == nil {
		part(c, call.Other, call.Then)
		return
	}
	write := func(lease int64) {
		p := part(c, call.Write, call.Then)
		t.of(p, kv.Key, false)
		p.Value, p.Lease = t.redactor.RedactValue(kv.Value), lease
	}
	switch kv.Verb {
	case "set":
		write(0)
	case "cas":
		t.guard(c, kv.Key, kv.Index)
		write(0)
	case "lock":
		t.lock(c, kv.Key, 0)
		write(t.number(kv.Session))
	case "unlock":
		t.lock(c, kv.Key, t.number(kv.Session))
		write(0)
	case "check-index":
		t.guard(c, kv.Key, max(kv.Index, 1)) // 0 is none that a key can have
	case "check-not-exists":
		t.guard(c, kv.Key, 0)
	case "check-session":
		t.lock(c, kv.Key, t.number(kv.Session))
	case "delete-cas":
		t.guard(c, kv.Key, max(kv.Index, 1))
		t.of(part(c, call.Remove, call.Then), kv.Key, false)
	case "delete", "delete-tree":
		t.of(part(c, call.Remove, call.Then), kv.Key, kv.Verb == "delete-tree")
	case "get", "get-or-empty", "get-tree":
		p := part(c, call.Read, call.Then)
		p.Flags = level
		t.of(p, kv.Key, kv.Verb == "get-tree")
		if kv.Verb == "get" { // which fails where there is none
			p.Flags |= call.Existing
		}
	default:
		part(c, call.Other, call.Then)
	}
}

// tap understands one connection of clients to an agent (store.Tap).
type tap struct {
	redactor *call.Redactor
	// emptyCounts says that a parameter counts also where it has no value, which is so
	// of Consul and not of cetcd.
	emptyCounts bool
	buf         []byte
}

// part adds a part; the pointer is good until the next.
func part(c *call.Call, a call.Action, b call.Branch) *call.Part {
	c.Parts = append(c.Parts, call.Part{Action: a, Branch: b})
	return &c.Parts[len(c.Parts)-1]
}
