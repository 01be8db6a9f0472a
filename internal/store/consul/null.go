package consul

import (
	"bytes"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/null"
)

var _ store.NullServerProvider = (*Store)(nil)

// NullServer implements store.NullServerProvider. The ACL token is the user's password.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) {
	script, err := null.ReadScript(o, slices.Sorted(maps.Keys(nullErrors())), false)
	if err != nil {
		return nil, err
	}
	_, token, _ := strings.Cut(o.User, ":")
	if o.User != "" && token == "" {
		return nil, errors.New("null server: the user has no password; write NAME:PASSWORD")
	}
	memory, value := null.NewSpace[nullLock](1, 1), bytes.Repeat([]byte("0"), o.ValueSize)
	catalog := &nullCatalog{Space: null.NewSpace[nullInstance](1, 1)}
	waits, held := &nullQueries{}, &nullSessionTable{ttl: map[string]string{}}
	return &null.HTTPServer{Script: script, TLS: o.TLS, AuthField: "x-consul-token", Member: func(i int, all []net.Listener) null.HTTPService {
		m := &nullMember{number: i, members: all, token: token, errors: nullErrors(), queries: waits, sessionTable: held}
		if o.Memory {
			m.memory, m.catalog = memory, catalog
			return m
		}
		m.value = value
		m.raw = null.AppendResponse(nil, "200 OK", nullPlain+nullRead+"X-Consul-Index: 2\r\n", string(value))
		m.writeResponse = null.AppendResponse(nil, "200 OK", nullJSON+nullMeta, "true")
		return m
	}}, nil
}

// nullErrors maps each NAME that a script can use in error=NAME to an HTTP status and one of
// Consul's error texts.
func nullErrors() map[string][2]string {
	return map[string][2]string{
		"refused":        {"429 Too Many Requests", "rate limit exceeded, try a different server"},
		"no_leader":      {"500 Internal Server Error", "No cluster leader"},
		"leader_changed": {"500 Internal Server Error", "leadership lost while committing log"},
		"store_timeout":  {"500 Internal Server Error", "rpc error making call: i/o deadline reached"},
		"no_space":       {"500 Internal Server Error", "raft apply failed: no space left on device"},
		"denied":         {"403 Forbidden", "Permission denied: token with AccessorID 'null' lacks permission 'key:write'"},
		"bad_request":    {"413 Request Entity Too Large", "Request body(1048576 bytes) too large, max size: 524288 bytes."},
		"store_error":    {"500 Internal Server Error", "rpc error making call: EOF"},
		"unavailable":    {"503 Service Unavailable", "null server: unavailable, injected by its script"},
	}
}

// Operation implements null.HTTPService.
func (m *nullMember) Operation(r *null.HTTPRequest) bool {
	if isOperation, query := isCatalog(r.Path); isOperation {
		return m.isAdmitted(r) && !query && string(r.Path) != nullNodes
	}
	return m.isAdmitted(r) && blockingIndex(r) == 0 && (bytes.HasPrefix(r.Path, []byte(nullPrefix)) || string(r.Path) == "/v1/txn" || bytes.HasPrefix(r.Path, []byte(nullRenew)))
}

func (m *nullMember) isAdmitted(r *null.HTTPRequest) bool {
	return m.token == "" || string(r.Auth) == m.token
}

// Error implements null.HTTPService.
func (m *nullMember) Error(b []byte, name string) []byte {
	e := m.errors[name]
	return null.AppendResponse(b, e[0], nullPlain+nullMeta, e[1])
}

// Respond implements null.HTTPService.
func (m *nullMember) Respond(b []byte, r *null.HTTPRequest, wrong null.Kind) []byte {
	switch {
	case !m.isAdmitted(r):
		return null.AppendResponse(b, "403 Forbidden", nullPlain, "ACL not found")
	case bytes.HasPrefix(r.Path, []byte(nullPrefix)):
		key := r.Path[len(nullPrefix):]
		switch string(r.Method) {
		case "GET":
			return m.get(b, key, r, wrong)
		case "PUT":
			return m.put(b, key, r, wrong)
		case "DELETE":
			return m.remove(b, key, r, wrong)
		}
		return null.AppendResponse(b, "405 Method Not Allowed", nullPlain, "method not allowed")
	case string(r.Path) == "/v1/txn":
		return m.txn(b, r)
	case bytes.HasPrefix(r.Path, []byte(nullSessions)):
		return m.session(b, r)
	}
	if is, _ := isCatalog(r.Path); is {
		return m.services(b, r, wrong)
	}
	return m.admin(b, string(r.Path))
}

// admin responds to the official client's requests about the cluster.
func (m *nullMember) admin(b []byte, path string) []byte {
	var peers []string
	var members []api.AgentMember
	for i, l := range m.members {
		host, _, _ := net.SplitHostPort(l.Addr().String())
		peers = append(peers, l.Addr().String())
		members = append(members, api.AgentMember{
			Name: nullName(i), Addr: host, Port: 8301, Status: 1, Tags: map[string]string{"role": "consul", "id": nullID(i)},
		})
	}
	var what any
	switch path {
	case "/v1/agent/self":
		state := "Follower"
		if m.number == 0 {
			state = "Leader"
		}
		what = map[string]any{
			"Config": map[string]any{"NodeName": nullName(m.number), "NodeID": nullID(m.number), "Server": true, "Version": "1.22.6-null"},
			"Stats":  map[string]any{"raft": map[string]string{"state": state, "term": "2"}},
		}
	case "/v1/status/leader":
		what = peers[0]
	case "/v1/status/peers":
		what = peers
	case "/v1/agent/members":
		what = members
	default:
		return null.AppendResponse(b, "404 Not Found", nullPlain, "This is quorumbench's null server: it has only keys, transactions, sessions, a service catalog and status.\n")
	}
	return appendJSONResponse(b, nullJSON+nullRead, what)
}

// get responds to GET /v1/kv/KEY. A raw response does not contain the key. So if the script
// requires a response with a wrong key, get sends a wrong value.
func (m *nullMember) get(b, key []byte, r *null.HTTPRequest, wrong null.Kind) []byte {
	_, raw := r.Param("raw")
	if m.memory == nil {
		if raw && wrong == null.CorrectResponse {
			return append(b, m.raw...)
		}
		e := &nullEntry{Key: string(key), Value: m.value, Created: 2, Changed: 2}
		return appendEntries(b, []*nullEntry{e}, 2, raw, wrong)
	}
	m.memory.Lock(null.SingleShard)
	defer m.memory.Unlock(null.SingleShard)
	_, recurse := r.Param("recurse")
	_, names := r.Param("keys")
	if recurse || names {
		list := m.memory.Prefixed(key)
		if names && len(list) > 0 {
			keys := make([]string, len(list))
			for i, e := range list {
				keys[i] = e.Key
			}
			return appendJSONResponse(b, indexFields(nullJSON, m.memory.Revision()), keys)
		}
		return appendEntries(b, list, m.memory.Revision(), false, wrong)
	}
	e := m.memory.Get(key)
	if e == nil || wrong == null.LieAbsent {
		return appendEntries(b, nil, m.memory.Revision(), raw, wrong)
	}
	return appendEntries(b, []*nullEntry{e}, e.Changed, raw, wrong)
}

// write responds to a write. The function do executes the write and reports whether the write took
// effect.
func (m *nullMember) write(b []byte, do func() bool) []byte {
	if m.memory == nil {
		return append(b, m.writeResponse...)
	}
	m.memory.Lock(null.SingleShard)
	defer m.memory.Unlock(null.SingleShard)
	return null.AppendResponse(b, "200 OK", nullJSON+nullMeta, strconv.FormatBool(do()))
}

// put responds to PUT /v1/kv/KEY, which may have the parameter cas, acquire or release.
func (m *nullMember) put(b, key []byte, r *null.HTTPRequest, wrong null.Kind) []byte {
	_, acquires := r.Param("acquire")
	_, releases := r.Param("release")
	return m.write(b, func() bool {
		if acquires || releases {
			return m.lock(key, r, wrong)
		}
		may := wrong == null.LieCAS || m.mayWrite(key, r)
		if may && wrong != null.LieLost {
			m.memory.Put(key, r.Body)
			m.queries.wakeQueries(string(key))
		}
		return may
	})
}

// mayWrite reports whether the key's index equals the request's cas parameter. If the request has
// no such parameter, mayWrite returns true.
func (m *nullMember) mayWrite(key []byte, r *null.HTTPRequest) bool {
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

// remove responds to DELETE /v1/kv/KEY, which may have the parameter `recurse` or `cas`.
func (m *nullMember) remove(b, key []byte, r *null.HTTPRequest, wrong null.Kind) []byte {
	return m.write(b, func() bool {
		if _, recurse := r.Param("recurse"); recurse {
			for _, e := range m.memory.Prefixed(key) {
				m.memory.Delete([]byte(e.Key))
				m.queries.wakeQueries(e.Key)
			}
			return true
		}
		may := m.mayWrite(key, r)
		if may && wrong != null.LieLost {
			m.memory.Delete(key)
			m.queries.wakeQueries(string(key))
		}
		return may
	})
}
