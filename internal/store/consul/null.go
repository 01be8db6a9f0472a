package consul

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/httpd"
	"github.com/quorumbench/quorumbench/internal/store/null/keyspace"
)

var _ store.NullServed = (*Store)(nil)

// NullServer implements store.NullServed. Its user's password is the ACL token.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) {
	script, err := null.Parse(o.Script, slices.Sorted(maps.Keys(nullErrors())))
	if err == nil {
		err = script.Members()
	}
	if err != nil {
		return nil, err
	}
	_, token, _ := strings.Cut(o.User, ":")
	if o.User != "" && token == "" {
		return nil, errors.New("null server: the user has no password; write NAME:PASSWORD")
	}
	return &nullServer{options: o, token: token, script: script}, nil
}

type nullServer struct {
	options store.NullOptions
	token   string
	script  *null.Script
}

// Serve implements store.NullServer.
func (s *nullServer) Serve(ctx context.Context, listeners []net.Listener) error {
	memory := keyspace.New[struct{}](1, 1)
	var services []httpd.Service
	for i := range listeners {
		m := &nullMember{number: i, members: listeners, token: s.token, errors: nullErrors()}
		if s.options.Memory {
			m.memory = memory
		} else {
			m.value = bytes.Repeat([]byte("0"), s.options.ValueSize)
			m.canned()
		}
		services = append(services, m)
	}
	return httpd.Serve(ctx, listeners, services, httpd.Options{
		Script: s.script, TLS: s.options.TLS, AuthField: "x-consul-token",
	})
}

// The fields that Consul sends with its answers.
const (
	nullPlain = "Content-Type: text/plain; charset=utf-8\r\n"
	nullJSON  = "Content-Type: application/json\r\n"
	nullMeta  = "Vary: Accept-Encoding\r\nX-Consul-Default-Acl-Policy: allow\r\n"
	nullRead  = nullMeta + "X-Consul-Knownleader: true\r\nX-Consul-Lastcontact: 0\r\n"
)

// nullErrors are the answers that error=NAME in a script asks for: a status and
// a text of Consul's.
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
		"unavailable":    {"503 Service Unavailable", "null server: unavailable, as its script says"},
	}
}

// nullEntry is a key of a null cluster, which locks all of them at once.
type nullEntry = keyspace.Entry[struct{}]

// nullMember is one member of a null cluster.
type nullMember struct {
	number  int
	members []net.Listener
	token   string
	errors  map[string][2]string
	memory  *keyspace.Space[struct{}] // nil: every key is there, with value
	value   []byte
	raw     []byte // the whole answer to a read, without memory
	yes     []byte // the whole answer to a write
}

// canned makes the answers of a member without memory.
func (m *nullMember) canned() {
	m.raw = httpd.AppendAnswer(nil, "200 OK", nullPlain+nullRead+"X-Consul-Index: 2\r\n", string(m.value))
	m.yes = httpd.AppendAnswer(nil, "200 OK", nullJSON+nullMeta, "true")
}

const nullPrefix = "/v1/kv/"

// Operation implements httpd.Service.
func (m *nullMember) Operation(r *httpd.Request) bool {
	return m.admitted(r) && (bytes.HasPrefix(r.Path, []byte(nullPrefix)) || string(r.Path) == "/v1/txn")
}

func (m *nullMember) admitted(r *httpd.Request) bool {
	return m.token == "" || string(r.Auth) == m.token
}

// Error implements httpd.Service.
func (m *nullMember) Error(b []byte, name string) []byte {
	e := m.errors[name]
	return httpd.AppendAnswer(b, e[0], nullPlain+nullMeta, e[1])
}

// Answer implements httpd.Service.
func (m *nullMember) Answer(b []byte, r *httpd.Request, wrong null.Kind) []byte {
	switch {
	case !m.admitted(r):
		return httpd.AppendAnswer(b, "403 Forbidden", nullPlain, "ACL not found")
	case bytes.HasPrefix(r.Path, []byte(nullPrefix)):
		key := r.Path[len(nullPrefix):]
		switch string(r.Method) {
		case "GET":
			return m.get(b, key, r, wrong)
		case "PUT":
			return m.put(b, key, r)
		case "DELETE":
			return m.remove(b, key, r)
		}
		return httpd.AppendAnswer(b, "405 Method Not Allowed", nullPlain, "method not allowed")
	case string(r.Path) == "/v1/txn":
		return m.txn(b, r)
	}
	return m.admin(b, string(r.Path))
}

// admin answers what the official client asks about the cluster.
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
		return httpd.AppendAnswer(b, "404 Not Found", nullPlain, "This is quorumbench's null server: it has keys, transactions and status, and nothing else.\n")
	}
	body, _ := json.Marshal(what) // what it has can be marshalled
	return httpd.AppendAnswer(b, "200 OK", nullJSON+nullRead, string(body))
}

func nullName(i int) string { return fmt.Sprintf("null%d", i+1) }

func nullID(i int) string { return fmt.Sprintf("6e756c6c-0000-%04d-0000-000000000000", i+1) }
