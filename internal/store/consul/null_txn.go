package consul

import (
	"encoding/json"
	"fmt"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

type nullResult struct{ KV *api.KVPair }

// txn responds to PUT /v1/txn. It supports sets, checks and gets, and refuses other verbs. If the
// member has no memory, every key exists.
func (m *nullMember) txn(b []byte, r *null.HTTPRequest) []byte {
	var ops []txnOp
	if err := json.Unmarshal(r.Body, &ops); err != nil {
		return null.AppendResponse(b, "400 Bad Request", nullPlain, "Failed to parse body: "+err.Error())
	}
	memory := m.memory
	if memory == nil {
		memory = null.NewSpace[nullLock](1, 1)
	}
	memory.Lock(null.SingleShard)
	defer memory.Unlock(null.SingleShard)
	var answer struct {
		Results []nullResult
		Errors  []api.TxnError
	}
	writes := false
	for i := range ops {
		var why string
		op := ops[i].KV
		if op == nil {
			op = &txnKV{}
		}
		switch op.Verb {
		case "set":
			writes = true
		case "get-or-empty", "check-index", "check-not-exists":
			why = m.failedCondition(memory.Get([]byte(op.Key)), op)
		default:
			return null.AppendResponse(b, "400 Bad Request", nullPlain, "a null server's transactions support only set, get-or-empty, check-index and check-not-exists")
		}
		if why != "" {
			answer.Errors = append(answer.Errors, api.TxnError{OpIndex: i, What: why})
		}
	}
	if len(answer.Errors) > 0 {
		body, _ := json.Marshal(answer)
		return null.AppendResponse(b, "409 Conflict", nullJSON+nullMeta, string(body))
	}
	index := int64(0)
	if writes {
		index = memory.NextRevision() // all keys in a transaction get the transaction's index
	}
	for i := range ops {
		answer.Results = append(answer.Results, m.execute(memory, ops[i].KV, index)...)
	}
	return appendJSONResponse(b, nullJSON+nullMeta, answer)
}

// failedCondition returns the reason why the condition of an operation does not hold, or "" if it
// holds.
func (m *nullMember) failedCondition(e *nullEntry, op *txnKV) string {
	switch {
	case m.memory == nil || op.Verb == "get-or-empty":
	case op.Verb == "check-not-exists" && e != nil:
		return fmt.Sprintf("key %q exists", op.Key)
	case op.Verb == "check-index" && e == nil:
		return fmt.Sprintf("failed to check index, key %q doesn't exist", op.Key)
	case op.Verb == "check-index" && e.Changed != op.Index:
		return fmt.Sprintf("failed index check for key %q, current modify index %d != %d", op.Key, e.Changed, op.Index)
	}
	return ""
}

// execute executes one operation of a transaction and returns its result.
func (m *nullMember) execute(memory *null.Space[nullLock], op *txnKV, index int64) []nullResult {
	key := []byte(op.Key)
	e := memory.Get(key)
	switch op.Verb {
	case "set":
		e = memory.Entry(key)
		e.Set(op.Value, index)
		m.queries.wakeQueries(op.Key)
	case "get-or-empty":
		switch {
		case m.memory == nil:
			return []nullResult{{&api.KVPair{Key: op.Key, Value: m.value, CreateIndex: 2, ModifyIndex: 2}}}
		case e == nil:
			return []nullResult{{&api.KVPair{Key: op.Key}}}
		}
		return []nullResult{{toKVPair(e, null.CorrectResponse)}}
	}
	if e == nil {
		return nil
	}
	pair := toKVPair(e, null.CorrectResponse)
	pair.Value = nil
	return []nullResult{{pair}}
}
