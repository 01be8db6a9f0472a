package consul

import (
	"encoding/json"
	"fmt"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// nullOp is an operation of a transaction.
type nullOp struct {
	KV struct {
		Verb, Key string
		Value     []byte
		Index     int64
	}
}

type nullResult struct{ KV *api.KVPair }

// txn answers PUT /v1/txn of sets, checks and gets; other verbs are refused. Without a
// memory each key is there, as a get has it.
func (m *nullMember) txn(b []byte, r *null.HTTPRequest) []byte {
	var ops []nullOp
	if err := json.Unmarshal(r.Body, &ops); err != nil {
		return null.AppendAnswer(b, "400 Bad Request", nullPlain, "Failed to parse body: "+err.Error())
	}
	memory := m.memory
	if memory == nil {
		memory = null.NewSpace[nullLock](1, 1)
	}
	memory.Lock(null.NewOne)
	defer memory.Unlock(null.NewOne)
	var answer struct {
		Results []nullResult
		Errors  []api.TxnError
	}
	writes := false
	for i := range ops {
		var why string
		switch op := &ops[i].KV; op.Verb {
		case "set":
			writes = true
		case "get-or-empty", "check-index", "check-not-exists":
			why = m.checked(memory.Get([]byte(op.Key)), &ops[i])
		default:
			return null.AppendAnswer(b, "400 Bad Request", nullPlain, "a null server's transactions have set, get-or-empty, check-index and check-not-exists alone")
		}
		if why != "" {
			answer.Errors = append(answer.Errors, api.TxnError{OpIndex: i, What: why})
		}
	}
	if len(answer.Errors) > 0 {
		body, _ := json.Marshal(answer)
		return null.AppendAnswer(b, "409 Conflict", nullJSON+nullMeta, string(body))
	}
	index := int64(0)
	if writes {
		index = memory.Next() // all keys of a transaction have its own
	}
	for i := range ops {
		answer.Results = append(answer.Results, m.done(memory, &ops[i], index)...)
	}
	return answerJSON(b, nullJSON+nullMeta, answer)
}

// checked is why an operation that compares does not hold; empty where it does.
func (m *nullMember) checked(e *nullEntry, op *nullOp) string {
	switch {
	case m.memory == nil || op.KV.Verb == "get-or-empty":
	case op.KV.Verb == "check-not-exists" && e != nil:
		return fmt.Sprintf("key %q exists", op.KV.Key)
	case op.KV.Verb == "check-index" && e == nil:
		return fmt.Sprintf("failed to check index, key %q doesn't exist", op.KV.Key)
	case op.KV.Verb == "check-index" && e.Changed != op.KV.Index:
		return fmt.Sprintf("failed index check for key %q, current modify index %d != %d", op.KV.Key, e.Changed, op.KV.Index)
	}
	return ""
}

// done carries an operation out.
func (m *nullMember) done(memory *null.Space[nullLock], op *nullOp, index int64) []nullResult {
	key := []byte(op.KV.Key)
	e := memory.Get(key)
	switch op.KV.Verb {
	case "set":
		e = memory.Entry(key)
		e.Set(op.KV.Value, index)
		m.waits.changed(op.KV.Key)
	case "get-or-empty":
		switch {
		case m.memory == nil:
			return []nullResult{{&api.KVPair{Key: op.KV.Key, Value: m.value, CreateIndex: 2, ModifyIndex: 2}}}
		case e == nil:
			return []nullResult{{&api.KVPair{Key: op.KV.Key}}}
		}
		return []nullResult{{pairOf(e, null.Answer)}}
	}
	if e == nil {
		return nil
	}
	pair := pairOf(e, null.Answer)
	pair.Value = nil
	return []nullResult{{pair}}
}
