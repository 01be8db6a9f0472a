package consul

import (
	"encoding/base64"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// This file defines the operations in a transaction (PUT /v1/txn). The codec writes them; the
// passive decoder and the null server parse them.

// txnOp is an operation in a received transaction. KV is nil if the operation is not on a key.
type txnOp struct{ KV *txnKV }

type txnKV struct {
	Verb, Key, Session string
	Value              []byte // decoded from base64
	Index              int64
}

// guard is the condition of an operation.
type guard uint8

const (
	unguarded    guard = iota
	guardIndex         // the key must have this index
	guardAbsence       // the key must not exist
	guardHolder        // the session must hold the lock; for the verb "lock", the lock must be free
	guardRelease       // the session that releases the lock with this write must hold the lock
)

// verb describes a kind of operation in a transaction.
type verb struct {
	name   string
	action call.Action
	guard  guard
	scope  call.Scope
	flags  call.Flags // for a read
}

var verbs = [...]verb{
	{name: "set", action: call.Write},
	{name: "cas", action: call.Write, guard: guardIndex},
	{name: "lock", action: call.Write, guard: guardHolder},
	{name: "unlock", action: call.Write, guard: guardRelease},
	{name: "check-index", action: call.Compare, guard: guardIndex},
	{name: "check-not-exists", action: call.Compare, guard: guardAbsence},
	{name: "check-session", action: call.Compare, guard: guardHolder},
	{name: "delete-cas", action: call.Remove, guard: guardIndex},
	{name: "delete", action: call.Remove},
	{name: "delete-tree", action: call.Remove, scope: call.Prefix},
	{name: "get", action: call.Read, flags: call.MustExist}, // fails if the key does not exist
	{name: "get-or-empty", action: call.Read},
	{name: "get-tree", action: call.Read, scope: call.Prefix},
}

// findVerb returns the verb with the given name, or nil if there is none.
func findVerb(name string) *verb {
	for i := range verbs {
		if verbs[i].name == name {
			return &verbs[i]
		}
	}
	return nil
}

// partVerb returns the verb for the part p. compare is the part with the condition of p; it is nil
// if p has no condition, and p itself if p is a condition. If no verb matches, partVerb returns the
// verb "get-or-empty".
func partVerb(compare, p *call.Part) *verb {
	want := verb{action: p.Action, guard: partGuard(compare, p)}
	if want.guard == unguarded && p.Scope == call.Prefix {
		want.scope = call.Prefix
	}
	if p.Action == call.Read && want.scope != call.Prefix {
		want.flags = p.Flags & call.MustExist
	}
	for i := range verbs {
		want.name = verbs[i].name
		if verbs[i] == want {
			return &verbs[i]
		}
	}
	return findVerb("get-or-empty")
}

func partGuard(compare, p *call.Part) guard {
	switch {
	case compare == nil:
		return unguarded
	case p.Action == call.Remove:
		return guardIndex
	case compare.Target == call.LeaseTarget && p.Action == call.Write && p.Lease == 0:
		return guardRelease
	case compare.Target == call.LeaseTarget:
		return guardHolder
	case p.Action == call.Compare && p.Target == call.Created:
		return guardAbsence
	}
	return guardIndex
}

// appendOp appends the operation for the part p. compare is the part with the condition of p; it is
// nil if p has no condition, and p itself if p is a condition.
func appendOp(b []byte, compare, p *call.Part) []byte {
	v := partVerb(compare, p)
	b = appendVerb(b, 0, v.name, httpkv.TrimSlash(p.Key))
	if p.Action == call.Write {
		b = appendValue(b, p.Value.Text)
	}
	session := []byte(nil)
	switch v.guard {
	case guardIndex:
		b = appendIndex(b, compare.Number)
	case guardHolder:
		session = p.Name
	case guardRelease:
		session = compare.Name
	}
	if len(session) > 0 {
		b = appendJSON(append(b, `,"Session":`...), session)
	}
	return append(b, "}}"...)
}

// appendVerb appends the beginning of operation i (counted from 0) in a transaction.
func appendVerb(b []byte, i int, verb string, key []byte) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	b = append(append(append(b, `{"KV":{"Verb":"`...), verb...), `","Key":`...)
	return appendJSON(b, key)
}

func appendValue(b, value []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, `,"Value":"`...), value), '"')
}

func appendIndex(b []byte, index int64) []byte {
	return strconv.AppendInt(append(b, `,"Index":`...), index, 10)
}
