package etcdv2

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/store/null"
)

var _ store.NullServerProvider = (*Store)(nil)

// NullServer implements store.NullServerProvider.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) {
	script, err := null.ReadScript(o, slices.Sorted(maps.Keys(nullErrors())), false)
	if err != nil {
		return nil, err
	}
	memory, value := null.NewSpace[struct{}](1, 1), bytes.Repeat([]byte("0"), o.ValueSize)
	return &null.HTTPServer{Script: script, TLS: o.TLS, AuthField: "authorization", Member: func(i int, all []net.Listener) null.HTTPService {
		m := &nullMember{number: i, members: all, errors: nullErrors(), scheme: "http://"}
		if o.TLS != nil {
			m.scheme = "https://"
		}
		if o.User != "" {
			m.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(o.User))
		}
		if o.Memory {
			m.memory = memory
		} else {
			m.prepareResponses(value)
		}
		return m
	}}, nil
}

// nullTerm is the Raft term. nullFields contains the header fields of every response about a key.
const (
	nullTerm   = 2
	nullFields = "Content-Type: application/json\r\nX-Etcd-Cluster-Id: ce6e756c6c000000\r\nX-Raft-Index: 2\r\nX-Raft-Term: 2\r\n"
	nullJSON   = "Content-Type: application/json\r\n"
)

// nullError is an error response of the v2 API.
type nullError struct {
	status, message, cause string
	code                   int
}

// nullErrors maps each NAME that a script's error=NAME can contain to an error.
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
		"bad_request":    {"400 Bad Request", "Invalid field", "injected by the null server's script", 209},
		"store_error":    internal("etcdserver: server stopped"),
		"unavailable":    internal("null server: unavailable, injected by its script"),
	}
}

func (e nullError) appendResponse(b []byte, index int64) []byte {
	return appendJSONResponse(b, e.status, nullJSON+fmt.Sprintf("X-Etcd-Index: %d\r\n", index), struct {
		ErrorCode int    `json:"errorCode"`
		Message   string `json:"message"`
		Cause     string `json:"cause"`
		Index     int64  `json:"index"`
	}{e.code, e.message, e.cause, index})
}

// appendJSONResponse appends a response whose body is the given value, encoded as JSON.
func appendJSONResponse(b []byte, status, fields string, content any) []byte {
	body, _ := json.Marshal(content)
	return null.AppendResponse(b, status, fields, string(body)+"\n")
}

// nullEntry is a key in a null cluster. All keys are protected by a single lock.
type nullEntry = null.Entry[struct{}]

// nullMember is one member of a null cluster.
type nullMember struct {
	null.NeverWaits
	number        int
	members       []net.Listener
	scheme        string
	auth          string // required value of a request's Authorization field; empty if authentication is off
	errors        map[string]nullError
	memory        *null.Space[struct{}] // nil if the server stores nothing; then every key exists and has the same value
	value         []byte
	responseStart []byte // if memory is nil: start of the response to a read, up to Content-Length
	responseEnd   []byte // if memory is nil: end of the response to a read, after the key
	writeResponse []byte // if memory is nil: the whole response to a write
}

const nullPrefix = "/v2/keys"

// Operation implements null.HTTPService.
func (m *nullMember) Operation(r *null.HTTPRequest) bool {
	return m.isAdmitted(r) && bytes.HasPrefix(r.Path, []byte(nullPrefix))
}

func (m *nullMember) isAdmitted(r *null.HTTPRequest) bool {
	return m.auth == "" || string(r.Auth) == m.auth
}

// Error implements null.HTTPService.
func (m *nullMember) Error(b []byte, name string) []byte {
	return m.errors[name].appendResponse(b, 0)
}

// Respond implements null.HTTPService.
func (m *nullMember) Respond(b []byte, r *null.HTTPRequest, wrong null.Kind) []byte {
	switch {
	case !m.isAdmitted(r):
		return m.errors["denied"].appendResponse(b, 0)
	case bytes.HasPrefix(r.Path, []byte(nullPrefix)):
		key := httpkv.TrimSlash(r.Path[len(nullPrefix):])
		switch string(r.Method) {
		case "GET", "HEAD":
			return m.get(b, key, r, wrong)
		case "PUT":
			return m.put(b, key, r, wrong)
		case "DELETE":
			return m.remove(b, key, r, wrong)
		}
		return null.AppendResponse(b, "405 Method Not Allowed", "", "Method Not Allowed\n")
	}
	return m.admin(b, string(r.Path))
}

// admin responds to requests that are not about keys.
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
		return null.AppendResponse(b, "404 Not Found", "", "This is quorumbench's null server, which supports only requests for keys and status.\n")
	}
	return null.AppendResponse(b, "200 OK", nullJSON, body)
}

func nullID(i int) string { return fmt.Sprintf("8e6e756c6c%06x", i+1) }

// prepareResponses prepares the constant parts of the responses of a member that stores nothing.
func (m *nullMember) prepareResponses(value []byte) {
	m.value = value
	m.responseStart = []byte("HTTP/1.1 200 OK\r\n" + nullFields + "X-Etcd-Index: 2\r\nContent-Length: ")
	m.responseEnd = null.AppendJSON([]byte(`,"value":`), value)
	m.responseEnd = append(m.responseEnd, `,"modifiedIndex":2,"createdIndex":2}}`+"\n"...)
	m.writeResponse = null.AppendResponse(nil, "200 OK", nullFields+"X-Etcd-Index: 2\r\n", `{"action":"set"}`+"\n")
}

const nullBeforeKey = `{"action":"get","node":{"key":`

// getCanned responds to a read on a member that stores nothing. If the key is plain ASCII, as in
// most loads, getCanned only copies it.
func (m *nullMember) getCanned(b, key []byte) []byte {
	var room [128]byte
	text := null.AppendJSON(room[:0], key)
	b = append(b, m.responseStart...)
	b = strconv.AppendInt(b, int64(len(nullBeforeKey)+len(text)+1+len(m.responseEnd)), 10)
	b = append(b, "\r\n\r\n"+nullBeforeKey+`"/`...)
	b = append(b, text[1:]...)
	return append(b, m.responseEnd...)
}

// get responds to GET /v2/keys/KEY. The query may contain recursive=true.
func (m *nullMember) get(b, key []byte, r *null.HTTPRequest, wrong null.Kind) []byte {
	if m.memory == nil {
		if wrong == null.CorrectResponse {
			return m.getCanned(b, key)
		}
		e := &nullEntry{Key: string(key), Value: m.value, Created: 2, Changed: 2}
		return appendNodeResponse(b, "200 OK", "get", toNode(e, wrong), 2)
	}
	m.memory.Lock(null.SingleShard)
	defer m.memory.Unlock(null.SingleShard)
	switch e := m.memory.Get(key); {
	case wrong == null.LieAbsent:
		return m.notFound(b, key)
	case e != nil:
		return appendNodeResponse(b, "200 OK", "get", toNode(e, wrong), null.ResponseRevision(m.memory.Revision(), wrong))
	}
	folder := bytes.TrimSuffix(key, []byte("/"))
	prefix := append(bytes.Clone(folder), '/')
	if len(folder) == 0 {
		prefix = nil
	}
	list := m.memory.Prefixed(prefix)
	if len(list) == 0 && len(folder) > 0 {
		return m.notFound(b, key)
	}
	recursive, _ := r.Param("recursive")
	return appendNodeResponse(b, "200 OK", "get", folderNode(string(folder), string(prefix), list, string(recursive) == "true", wrong), m.memory.Revision())
}

func (m *nullMember) notFound(b, key []byte) []byte {
	return nullError{"404 Not Found", "Key not found", "/" + string(key), keyNotFound}.appendResponse(b, m.memory.Revision())
}

// nullNode is a key or a folder in etcd's JSON.
type nullNode struct {
	Key      string      `json:"key"`
	Value    *string     `json:"value,omitempty"`
	Dir      bool        `json:"dir,omitempty"`
	Nodes    []*nullNode `json:"nodes,omitempty"`
	Modified int64       `json:"modifiedIndex,omitempty"`
	Created  int64       `json:"createdIndex,omitempty"`
}

// folderNode returns the node for a folder and its contents. If `recursive` is not set, the nodes
// of its subfolders contain only their names.
func folderNode(folder, prefix string, list []*nullEntry, recursive bool, wrong null.Kind) *nullNode {
	n := &nullNode{Key: "/" + folder, Dir: true}
	for len(list) > 0 {
		name, _, below := strings.Cut(list[0].Key[len(prefix):], "/")
		if !below {
			n.Nodes = append(n.Nodes, toNode(list[0], wrong))
			list = list[1:]
			continue
		}
		sub := prefix + name
		end := slices.IndexFunc(list, func(e *nullEntry) bool { return !strings.HasPrefix(e.Key, sub+"/") })
		if end < 0 {
			end = len(list)
		}
		inside := list[:end]
		if !recursive {
			inside = nil
		}
		n.Nodes = append(n.Nodes, folderNode(sub, sub+"/", inside, recursive, wrong))
		list = list[end:]
	}
	return n
}

func toNode(e *nullEntry, wrong null.Kind) *nullNode {
	value := string(e.Value)
	n := &nullNode{Key: "/" + e.Key, Value: &value, Modified: e.Changed, Created: e.Created}
	switch wrong {
	case null.WrongKey:
		n.Key += "!"
	case null.WrongValue:
		value = string(null.AppendDamaged(nil, e.Value))
	}
	return n
}

// appendNodeResponse appends a response that contains the given node, or no node if `node` is nil.
func appendNodeResponse(b []byte, status, action string, node *nullNode, index int64) []byte {
	return appendJSONResponse(b, status, nullFields+"X-Etcd-Index: "+strconv.FormatInt(index, 10)+"\r\n", struct {
		Action string    `json:"action"`
		Node   *nullNode `json:"node,omitempty"`
	}{action, node})
}

// put responds to PUT /v2/keys/KEY with the form value=VALUE. The request may also contain
// prevIndex, prevExist and noValueOnSuccess.
func (m *nullMember) put(b, key []byte, r *null.HTTPRequest, wrong null.Kind) []byte {
	if m.memory == nil {
		return append(b, m.writeResponse...)
	}
	value, ok := r.Form("value")
	if !ok && len(r.Body) > 0 {
		return nullError{"400 Bad Request", "Invalid POST form", "no value", 210}.appendResponse(b, 0)
	}
	m.memory.Lock(null.SingleShard)
	defer m.memory.Unlock(null.SingleShard)
	e := m.memory.Get(key)
	action := "set"
	if prev, ok := r.Param("prevIndex"); ok {
		action = "compareAndSwap"
		if e == nil {
			return m.notFound(b, key)
		}
		if want, _ := strconv.ParseInt(string(prev), 10, 64); want != e.Changed && wrong != null.LieCAS {
			cause := fmt.Sprintf("[%d != %d]", want, e.Changed)
			return nullError{"412 Precondition Failed", "Compare failed", cause, compareFailed}.appendResponse(b, m.memory.Revision())
		}
	}
	if exist, _ := r.Param("prevExist"); string(exist) == "false" {
		action = "create"
		if e != nil {
			return nullError{"412 Precondition Failed", "Key already exists", "/" + string(key), nodeExists}.appendResponse(b, m.memory.Revision())
		}
	}
	status := "200 OK"
	if e == nil {
		status = "201 Created"
	}
	revision, node := int64(0), (*nullNode)(nil)
	if wrong == null.LieLost {
		revision = m.memory.NextRevision()
	} else {
		e = m.memory.Put(key, []byte(value))
		if revision = e.Changed; wrong == null.LieTwice {
			m.memory.Put(key, []byte(value))
		}
		if quiet, _ := r.Param("noValueOnSuccess"); string(quiet) != "true" {
			node = toNode(e, null.CorrectResponse)
		}
	}
	return appendNodeResponse(b, status, action, node, null.ResponseRevision(revision, wrong))
}

// remove responds to DELETE /v2/keys/KEY. The query may contain recursive=true.
func (m *nullMember) remove(b, key []byte, r *null.HTTPRequest, wrong null.Kind) []byte {
	if m.memory == nil {
		return append(b, m.writeResponse...)
	}
	m.memory.Lock(null.SingleShard)
	defer m.memory.Unlock(null.SingleShard)
	if wrong == null.LieLost && m.memory.Get(key) != nil {
		revision := m.memory.NextRevision()
		return appendNodeResponse(b, "200 OK", "delete", &nullNode{Key: "/" + string(key), Modified: revision}, revision)
	}
	removed := m.memory.Delete(key)
	if recursive, _ := r.Param("recursive"); string(recursive) == "true" {
		for _, e := range m.memory.Prefixed(append(bytes.Clone(key), '/')) {
			removed = m.memory.Delete([]byte(e.Key)) || removed
		}
	}
	if !removed {
		return m.notFound(b, key)
	}
	node := &nullNode{Key: "/" + string(key), Modified: m.memory.Revision()}
	return appendNodeResponse(b, "200 OK", "delete", node, m.memory.Revision())
}
