package etcdv2

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/httpd"
	"github.com/quorumbench/quorumbench/internal/store/null/keyspace"
)

var _ store.NullServed = (*Store)(nil)

// NullServer implements store.NullServed.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) {
	script, err := null.Parse(o.Script, slices.Sorted(maps.Keys(nullErrors())))
	if err == nil {
		err = script.Members()
	}
	if err != nil {
		return nil, err
	}
	if o.User != "" && !strings.Contains(o.User, ":") {
		return nil, errors.New("null server: the user has no password; write NAME:PASSWORD")
	}
	return &nullServer{options: o, script: script}, nil
}

type nullServer struct {
	options store.NullOptions
	script  *null.Script
}

// Serve implements store.NullServer.
func (s *nullServer) Serve(ctx context.Context, listeners []net.Listener) error {
	memory := keyspace.New[struct{}](1, 1)
	var services []httpd.Service
	for i := range listeners {
		m := &nullMember{number: i, members: listeners, errors: nullErrors(), scheme: "http://"}
		if s.options.TLS != nil {
			m.scheme = "https://"
		}
		if s.options.User != "" {
			m.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(s.options.User))
		}
		if s.options.Memory {
			m.memory = memory
		} else {
			m.canned(bytes.Repeat([]byte("0"), s.options.ValueSize))
		}
		services = append(services, m)
	}
	return httpd.Serve(ctx, listeners, services, httpd.Options{
		Script: s.script, TLS: s.options.TLS, AuthField: "authorization",
	})
}

// nullTerm and nullFields are in every answer about a key.
const (
	nullTerm   = 2
	nullFields = "Content-Type: application/json\r\nX-Etcd-Cluster-Id: ce6e756c6c000000\r\nX-Raft-Index: 2\r\nX-Raft-Term: 2\r\n"
	nullJSON   = "Content-Type: application/json\r\n"
)

// nullError is an error of the v2 API.
type nullError struct {
	status, message, cause string
	code                   int
}

// nullErrors are those that error=NAME in a script asks for.
func nullErrors() map[string]nullError {
	internal := func(cause string) nullError {
		return nullError{"500 Internal Server Error", "Raft Internal Error", cause, raftInternal}
	}
	return map[string]nullError{
		"refused":        internal("etcdserver: too many requests"),
		"no_leader":      internal("etcdserver: no leader"),
		"leader_changed": internal("etcdserver: leader changed"),
		"store_timeout":  internal("etcdserver: request timed out"),
		"no_space":       internal("etcdserver: no space"),
		"denied":         {"401 Unauthorized", "The request requires user authentication", "Insufficient credentials", unauthorized},
		"bad_request":    {"400 Bad Request", "Invalid field", "as the script says", 209},
		"store_error":    internal("etcdserver: server stopped"),
		"unavailable":    internal("null server: unavailable, as its script says"),
	}
}

func (e nullError) appendTo(b []byte, index int64) []byte {
	body := []byte(fmt.Sprintf(`{"errorCode":%d,"message":"%s","cause":`, e.code, e.message))
	body = httpd.AppendJSON(body, []byte(e.cause))
	body = append(body, fmt.Sprintf(`,"index":%d}`+"\n", index)...)
	return httpd.AppendAnswer(b, e.status, nullJSON+fmt.Sprintf("X-Etcd-Index: %d\r\n", index), string(body))
}

// nullEntry is a key of a null cluster, which locks all of them at once.
type nullEntry = keyspace.Entry[struct{}]

// nullMember is one member of a null cluster.
type nullMember struct {
	number  int
	members []net.Listener
	scheme  string
	auth    string // what Authorization must be; empty for none
	errors  map[string]nullError
	memory  *keyspace.Space[struct{}] // nil: every key is there, with one value
	value   []byte
	before  []byte // of the answer to a read without memory: what precedes its length
	after   []byte // and what follows the key in its body
	yes     []byte // the whole answer to a write
}

const nullPrefix = "/v2/keys"

// Operation implements httpd.Service.
func (m *nullMember) Operation(r *httpd.Request) bool {
	return m.admitted(r) && bytes.HasPrefix(r.Path, []byte(nullPrefix))
}

func (m *nullMember) admitted(r *httpd.Request) bool {
	return m.auth == "" || string(r.Auth) == m.auth
}

// Error implements httpd.Service.
func (m *nullMember) Error(b []byte, name string) []byte {
	return m.errors[name].appendTo(b, 0)
}

// Answer implements httpd.Service.
func (m *nullMember) Answer(b []byte, r *httpd.Request, wrong null.Kind) []byte {
	switch {
	case !m.admitted(r):
		return m.errors["denied"].appendTo(b, 0)
	case bytes.HasPrefix(r.Path, []byte(nullPrefix)):
		key := httpkv.Bare(r.Path[len(nullPrefix):])
		switch string(r.Method) {
		case "GET", "HEAD":
			return m.get(b, key, r, wrong)
		case "PUT":
			return m.put(b, key, r)
		case "DELETE":
			return m.remove(b, key, r)
		}
		return httpd.AppendAnswer(b, "405 Method Not Allowed", "", "Method Not Allowed\n")
	}
	return m.admin(b, string(r.Path))
}

// admin answers what is asked about the cluster.
func (m *nullMember) admin(b []byte, path string) []byte {
	var body string
	switch path {
	case "/version":
		body = `{"etcdserver":"3.5.35-null","etcdcluster":"3.5.0"}`
	case "/health":
		body = `{"health":"true"}`
	case "/v2/stats/self":
		state := "StateFollower"
		if m.number == 0 {
			state = "StateLeader"
		}
		body = fmt.Sprintf(`{"name":"null%d","id":"%s","state":"%s","leaderInfo":{"leader":"%s"}}`,
			m.number+1, nullID(m.number), state, nullID(0))
	case "/v3/maintenance/status":
		body = fmt.Sprintf(`{"version":"3.5.35-null","dbSize":"0","raftTerm":"%d"}`, nullTerm)
	case "/v2/members":
		var list []string
		for i, l := range m.members {
			list = append(list, fmt.Sprintf(`{"id":"%s","name":"null%d","clientURLs":["%s%s"]}`, nullID(i), i+1, m.scheme, l.Addr()))
		}
		body = `{"members":[` + strings.Join(list, ",") + `]}`
	default:
		return httpd.AppendAnswer(b, "404 Not Found", "", "This is quorumbench's null server: it has keys and status, and nothing else.\n")
	}
	return httpd.AppendAnswer(b, "200 OK", nullJSON, body)
}

func nullID(i int) string { return fmt.Sprintf("8e6e756c6c%06x", i+1) }
