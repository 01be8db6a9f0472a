package consul

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/httpd"
	"github.com/quorumbench/quorumbench/internal/store/null/keyspace"
)

// get answers GET /v1/kv/KEY. A raw answer does not name its key, so a wrong
// key shows as another value.
func (m *nullMember) get(b, key []byte, r *httpd.Request, wrong null.Kind) []byte {
	_, raw := r.Param("raw")
	if m.memory == nil {
		if raw && wrong == null.Answer {
			return append(b, m.raw...)
		}
		e := &nullEntry{Key: string(key), Value: m.value, Created: 2, Changed: 2}
		return answerEntries(b, []*nullEntry{e}, 2, raw, wrong)
	}
	m.memory.Lock(keyspace.One)
	defer m.memory.Unlock(keyspace.One)
	_, recurse := r.Param("recurse")
	_, names := r.Param("keys")
	if recurse || names {
		list := m.memory.Prefixed(key)
		if names && len(list) > 0 {
			return answerNames(b, list, m.memory.Revision())
		}
		return answerEntries(b, list, m.memory.Revision(), false, wrong)
	}
	e := m.memory.Get(key)
	if e == nil {
		return answerEntries(b, nil, m.memory.Revision(), raw, wrong)
	}
	return answerEntries(b, []*nullEntry{e}, e.Changed, raw, wrong)
}

func indexFields(kind string, index int64) string {
	return kind + nullRead + "X-Consul-Index: " + strconv.FormatInt(index, 10) + "\r\n"
}

func answerEntries(b []byte, list []*nullEntry, index int64, raw bool, wrong null.Kind) []byte {
	if len(list) == 0 {
		return httpd.AppendHead(b, "404 Not Found", indexFields("", index), 0)
	}
	if raw {
		e := list[0]
		b = httpd.AppendHead(b, "200 OK", indexFields(nullPlain, index), len(e.Value))
		if wrong != null.Answer {
			return httpd.Damaged(b, e.Value)
		}
		return append(b, e.Value...)
	}
	body := []byte{'['}
	for i, e := range list {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendEntry(body, e, wrong)
	}
	return httpd.AppendAnswer(b, "200 OK", indexFields(nullJSON, index), string(append(body, ']')))
}

func appendEntry(b []byte, e *nullEntry, wrong null.Kind) []byte {
	key, value := []byte(e.Key), e.Value
	switch wrong {
	case null.WrongKey:
		key = append(key, '!')
	case null.WrongValue:
		value = httpd.Damaged(nil, value)
	}
	b = httpd.AppendJSON(append(b, `{"LockIndex":0,"Key":`...), key)
	b = append(b, `,"Flags":0,"Value":`...)
	if len(value) == 0 {
		b = append(b, "null"...)
	} else {
		b = append(base64.StdEncoding.AppendEncode(append(b, '"'), value), '"')
	}
	b = strconv.AppendInt(append(b, `,"CreateIndex":`...), e.Created, 10)
	b = strconv.AppendInt(append(b, `,"ModifyIndex":`...), e.Changed, 10)
	return append(b, '}')
}

func answerNames(b []byte, list []*nullEntry, index int64) []byte {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Key
	}
	body, _ := json.Marshal(names) // strings can be marshalled
	return httpd.AppendAnswer(b, "200 OK", indexFields(nullJSON, index), string(body))
}

// put answers PUT /v1/kv/KEY, with ?cas=INDEX or without.
func (m *nullMember) put(b, key []byte, r *httpd.Request) []byte {
	if m.memory == nil {
		return append(b, m.yes...)
	}
	m.memory.Lock(keyspace.One)
	defer m.memory.Unlock(keyspace.One)
	done := "true"
	if m.mayWrite(key, r) {
		m.memory.Put(key, r.Body)
	} else {
		done = "false"
	}
	return httpd.AppendAnswer(b, "200 OK", nullJSON+nullMeta, done)
}

// mayWrite reports whether a key is at the index that cas asks for, if it does.
func (m *nullMember) mayWrite(key []byte, r *httpd.Request) bool {
	cas, ok := r.Param("cas")
	if !ok {
		return true
	}
	have := int64(0)
	if e := m.memory.Get(key); e != nil {
		have = e.Changed
	}
	want, err := strconv.ParseInt(string(cas), 10, 64)
	return err == nil && want == have
}

// remove answers DELETE /v1/kv/KEY, with ?recurse or ?cas=INDEX or without.
func (m *nullMember) remove(b, key []byte, r *httpd.Request) []byte {
	if m.memory == nil {
		return append(b, m.yes...)
	}
	m.memory.Lock(keyspace.One)
	defer m.memory.Unlock(keyspace.One)
	done := "true"
	if _, recurse := r.Param("recurse"); recurse {
		for _, e := range m.memory.Prefixed(key) {
			m.memory.Delete([]byte(e.Key))
		}
	} else if m.mayWrite(key, r) {
		m.memory.Delete(key)
	} else {
		done = "false"
	}
	return httpd.AppendAnswer(b, "200 OK", nullJSON+nullMeta, done)
}

// txn answers PUT /v1/txn of sets; other verbs are refused.
func (m *nullMember) txn(b []byte, r *httpd.Request) []byte {
	var ops []struct {
		KV struct {
			Verb, Key string
			Value     []byte
		}
	}
	if err := json.Unmarshal(r.Body, &ops); err != nil {
		return httpd.AppendAnswer(b, "400 Bad Request", nullPlain, "Failed to parse body: "+err.Error())
	}
	memory := m.memory
	if memory == nil {
		memory = keyspace.New[struct{}](1, 1)
	}
	memory.Lock(keyspace.One)
	defer memory.Unlock(keyspace.One)
	index := memory.Next() // all keys of a transaction have its own
	body := []byte(`{"Results":[`)
	for i, op := range ops {
		if op.KV.Verb != "set" {
			return httpd.AppendAnswer(b, "400 Bad Request", nullPlain, "a null server's transactions have sets alone")
		}
		e := memory.Entry([]byte(op.KV.Key))
		e.Set(op.KV.Value, index)
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"KV":`...)
		body = append(appendEntry(body, &nullEntry{Key: e.Key, Created: e.Created, Changed: e.Changed}, null.Answer), '}')
	}
	body = append(body, `],"Errors":null}`...)
	return httpd.AppendAnswer(b, "200 OK", nullJSON+nullMeta, string(body))
}
