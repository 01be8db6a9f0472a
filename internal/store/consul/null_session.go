package consul

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

const (
	nullSessions = "/v1/session/"
	nullRenew    = nullSessions + "renew/"
)

// lock executes PUT /v1/kv/KEY?acquire=ID or ?release=ID.
func (m *nullMember) lock(key []byte, r *null.HTTPRequest, wrong null.Kind) bool {
	e := m.memory.Get(key)
	if id, ok := r.Param("release"); ok {
		if e == nil || e.Data.session != string(id) {
			return false
		}
		if wrong != null.LieLost {
			m.memory.Put(key, r.Body).Data.session = ""
			m.waits.changed(string(key))
		}
		return true
	}
	id, _ := r.Param("acquire")
	m.held.mu.Lock()
	_, lives := m.held.ttl[string(id)]
	m.held.mu.Unlock()
	taken := e != nil && e.Data.session != "" && e.Data.session != string(id)
	switch {
	case !lives || taken && wrong != null.LieCAS:
		return false
	case wrong == null.LieLost:
		return true
	}
	if e = m.memory.Put(key, r.Body); e.Data.session != string(id) {
		e.Data.index++
	}
	e.Data.session = string(id)
	m.waits.changed(string(key))
	return true
}

// session responds to a request that creates, renews or destroys a session.
func (m *nullMember) session(b []byte, r *null.HTTPRequest) []byte {
	h := m.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if string(r.Method) != "PUT" {
		return null.AppendAnswer(b, "405 Method Not Allowed", nullPlain, "method not allowed")
	}
	what, id, _ := bytes.Cut(r.Path[len(nullSessions):], []byte("/"))
	switch string(what) {
	case "create":
		var asked struct{ TTL string }
		if err := json.Unmarshal(r.Body, &asked); err != nil && len(r.Body) > 0 {
			return null.AppendAnswer(b, "400 Bad Request", nullPlain, "Request decode failed: "+err.Error())
		}
		h.last++
		made := fmt.Sprintf("%08x-6e75-6c6c-0000-000000000000", h.last)
		h.ttl[made] = asked.TTL
		return answerJSON(b, nullJSON+nullMeta, map[string]string{"ID": made})
	case "renew":
		ttl, ok := h.ttl[string(id)]
		if !ok {
			return null.AppendAnswer(b, "404 Not Found", nullPlain, fmt.Sprintf("Session id '%s' not found", id))
		}
		return answerJSON(b, nullJSON+nullMeta, []api.SessionEntry{{ID: string(id), TTL: ttl, Behavior: api.SessionBehaviorRelease}})
	case "destroy":
		delete(h.ttl, string(id))
		return null.AppendAnswer(b, "200 OK", nullJSON+nullMeta, "true")
	}
	return null.AppendAnswer(b, "404 Not Found", nullPlain, "a null server's sessions can only be created, renewed and destroyed")
}
