package etcdv2

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/httpd"
	"github.com/quorumbench/quorumbench/internal/store/null/keyspace"
)

// canned makes the parts of the answers of a member without memory.
func (m *nullMember) canned(value []byte) {
	m.value = value
	m.before = []byte("HTTP/1.1 200 OK\r\n" + nullFields + "X-Etcd-Index: 2\r\nContent-Length: ")
	m.after = httpd.AppendJSON([]byte(`,"value":`), value)
	m.after = append(m.after, `,"modifiedIndex":2,"createdIndex":2}}`+"\n"...)
	m.yes = httpd.AppendAnswer(nil, "200 OK", nullFields+"X-Etcd-Index: 2\r\n", `{"action":"set"}`+"\n")
}

const nullBeforeKey = `{"action":"get","node":{"key":`

// getCanned answers a read with the one value that there is. Keys that are
// plain text, as a load's are, cost no more than being copied.
func (m *nullMember) getCanned(b, key []byte) []byte {
	var room [128]byte
	text := httpd.AppendJSON(room[:0], key)
	b = append(b, m.before...)
	b = strconv.AppendInt(b, int64(len(nullBeforeKey)+len(text)+1+len(m.after)), 10)
	b = append(b, "\r\n\r\n"+nullBeforeKey+`"/`...)
	b = append(b, text[1:]...)
	return append(b, m.after...)
}

// get answers GET /v2/keys/KEY, with recursive=true or without.
func (m *nullMember) get(b, key []byte, r *httpd.Request, wrong null.Kind) []byte {
	if m.memory == nil {
		if wrong == null.Answer {
			return m.getCanned(b, key)
		}
		e := &nullEntry{Key: string(key), Value: m.value, Created: 2, Changed: 2}
		return answerNode(b, "200 OK", "get", appendEntry(nil, e, wrong), 2)
	}
	m.memory.Lock(keyspace.One)
	defer m.memory.Unlock(keyspace.One)
	if e := m.memory.Get(key); e != nil {
		return answerNode(b, "200 OK", "get", appendEntry(nil, e, wrong), m.memory.Revision())
	}
	folder := bytes.TrimSuffix(key, []byte("/"))
	prefix := append(bytes.Clone(folder), '/')
	if len(folder) == 0 {
		prefix = nil
	}
	list := m.memory.Prefixed(prefix)
	if len(list) == 0 && len(folder) > 0 {
		return nullError{"404 Not Found", "Key not found", "/" + string(key), keyNotFound}.appendTo(b, m.memory.Revision())
	}
	recursive, _ := r.Param("recursive")
	return answerNode(b, "200 OK", "get", appendFolder(nil, folder, prefix, list, string(recursive) == "true", wrong), m.memory.Revision())
}

// appendFolder appends a folder's node with those below it. Without recursive a
// folder in it is named alone.
func appendFolder(b, folder, prefix []byte, list []*nullEntry, recursive bool, wrong null.Kind) []byte {
	b = httpd.AppendJSON(append(b, `{"key":`...), append([]byte{'/'}, folder...))
	b = append(b, `,"dir":true,"nodes":[`...)
	first := true
	for len(list) > 0 {
		if !first {
			b = append(b, ',')
		}
		first = false
		rest := list[0].Key[len(prefix):]
		slash := bytes.IndexByte([]byte(rest), '/')
		if slash < 0 {
			b = appendEntry(b, list[0], wrong)
			list = list[1:]
			continue
		}
		sub := list[0].Key[:len(prefix)+slash]
		n := 0
		for n < len(list) && bytes.HasPrefix([]byte(list[n].Key), []byte(sub+"/")) {
			n++
		}
		inside := list[:n]
		if !recursive {
			inside = nil
		}
		b = appendFolder(b, []byte(sub), []byte(sub+"/"), inside, recursive, wrong)
		list = list[n:]
	}
	return append(b, "]}"...)
}

func appendEntry(b []byte, e *nullEntry, wrong null.Kind) []byte {
	key, value := []byte("/"+e.Key), e.Value
	switch wrong {
	case null.WrongKey:
		key = append(key, '!')
	case null.WrongValue:
		value = httpd.Damaged(nil, value)
	}
	b = httpd.AppendJSON(append(b, `{"key":`...), key)
	b = httpd.AppendJSON(append(b, `,"value":`...), value)
	return fmt.Appendf(b, `,"modifiedIndex":%d,"createdIndex":%d}`, e.Changed, e.Created)
}

// answerNode appends an answer about a node; nil for one that is not wanted.
func answerNode(b []byte, status, action string, node []byte, index int64) []byte {
	body := fmt.Appendf(nil, `{"action":%q`, action)
	if node != nil {
		body = append(append(body, `,"node":`...), node...)
	}
	body = append(body, "}\n"...)
	b = httpd.AppendHead(b, status, nullFields+"X-Etcd-Index: "+strconv.FormatInt(index, 10)+"\r\n", len(body))
	return append(b, body...)
}

// put answers PUT /v2/keys/KEY with the form value=VALUE, and with prevIndex,
// prevExist and noValueOnSuccess or without.
func (m *nullMember) put(b, key []byte, r *httpd.Request) []byte {
	if m.memory == nil {
		return append(b, m.yes...)
	}
	value, ok := r.Form(nil, "value")
	if !ok && len(r.Body) > 0 {
		return nullError{"400 Bad Request", "Invalid POST form", "no value", 210}.appendTo(b, 0)
	}
	m.memory.Lock(keyspace.One)
	defer m.memory.Unlock(keyspace.One)
	e := m.memory.Get(key)
	action := "set"
	if prev, ok := r.Param("prevIndex"); ok {
		action = "compareAndSwap"
		if e == nil {
			return nullError{"404 Not Found", "Key not found", "/" + string(key), keyNotFound}.appendTo(b, m.memory.Revision())
		}
		if want, _ := strconv.ParseInt(string(prev), 10, 64); want != e.Changed {
			cause := fmt.Sprintf("[%d != %d]", want, e.Changed)
			return nullError{"412 Precondition Failed", "Compare failed", cause, testFailed}.appendTo(b, m.memory.Revision())
		}
	}
	if exist, _ := r.Param("prevExist"); string(exist) == "false" {
		action = "create"
		if e != nil {
			return nullError{"412 Precondition Failed", "Key already exists", "/" + string(key), nodeExists}.appendTo(b, m.memory.Revision())
		}
	}
	status := "200 OK"
	if e == nil {
		status = "201 Created"
	}
	e = m.memory.Put(key, value)
	var node []byte
	if quiet, _ := r.Param("noValueOnSuccess"); string(quiet) != "true" {
		node = appendEntry(nil, e, null.Answer)
	}
	return answerNode(b, status, action, node, m.memory.Revision())
}

// remove answers DELETE /v2/keys/KEY, with recursive=true or without.
func (m *nullMember) remove(b, key []byte, r *httpd.Request) []byte {
	if m.memory == nil {
		return append(b, m.yes...)
	}
	m.memory.Lock(keyspace.One)
	defer m.memory.Unlock(keyspace.One)
	removed := m.memory.Delete(key)
	if recursive, _ := r.Param("recursive"); string(recursive) == "true" {
		for _, e := range m.memory.Prefixed(append(bytes.Clone(key), '/')) {
			removed = m.memory.Delete([]byte(e.Key)) || removed
		}
	}
	if !removed {
		return nullError{"404 Not Found", "Key not found", "/" + string(key), keyNotFound}.appendTo(b, m.memory.Revision())
	}
	node := httpd.AppendJSON([]byte(`{"key":`), append([]byte{'/'}, key...))
	node = fmt.Appendf(node, `,"modifiedIndex":%d}`, m.memory.Revision())
	return answerNode(b, "200 OK", "delete", node, m.memory.Revision())
}
