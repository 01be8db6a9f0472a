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
			m.queries.wakeQueries(string(key))
		}
		return true
	}
	id, _ := r.Param("acquire")
	m.sessionTable.mu.Lock()
	_, lives := m.sessionTable.ttl[string(id)]
	m.sessionTable.mu.Unlock()
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
	m.queries.wakeQueries(string(key))
	return true
}

// session responds to a request that creates, renews or destroys a session.
func (m *nullMember) session(b []byte, r *null.HTTPRequest) []byte {
	h := m.sessionTable
	h.mu.Lock()
	defer h.mu.Unlock()
	if string(r.Method) != "PUT" {
		return null.AppendResponse(b, "405 Method Not Allowed", nullPlain, "method not allowed")
	}
	what, id, _ := bytes.Cut(r.Path[len(nullSessions):], []byte("/"))
	switch string(what) {
	case "create":
		var asked struct{ TTL string }
		if err := json.Unmarshal(r.Body, &asked); err != nil && len(r.Body) > 0 {
			return null.AppendResponse(b, "400 Bad Request", nullPlain, "Request decode failed: "+err.Error())
		}
		h.lastID++
		made := fmt.Sprintf("%08x-6e75-6c6c-0000-000000000000", h.lastID)
		h.ttl[made] = asked.TTL
		return appendJSONResponse(b, nullJSON+nullMeta, map[string]string{"ID": made})
	case "renew":
		ttl, ok := h.ttl[string(id)]
		if !ok {
			return null.AppendResponse(b, "404 Not Found", nullPlain, fmt.Sprintf("Session id '%s' not found", id))
		}
		return appendJSONResponse(b, nullJSON+nullMeta, []api.SessionEntry{{ID: string(id), TTL: ttl, Behavior: api.SessionBehaviorRelease}})
	case "destroy":
		delete(h.ttl, string(id))
		return null.AppendResponse(b, "200 OK", nullJSON+nullMeta, "true")
	}
	return null.AppendResponse(b, "404 Not Found", nullPlain, "a null server's sessions can only be created, renewed and destroyed")
}
