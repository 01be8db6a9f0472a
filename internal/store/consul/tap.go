package consul

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// The method names in a recording. A blocking query (GET kv?index) waits until the index exceeds
// the index in the request.
const (
	methodGet      = "GET kv"
	methodBlocking = "GET kv?index"
	methodPut      = "PUT kv"
	methodDelete   = "DELETE kv"
	methodTxn      = "PUT txn"
	methodCreate   = "PUT session/create"
	methodRenew    = "PUT session/renew"
	methodDestroy  = "PUT session/destroy"
)

// Tap implements store.TapProvider.
func (st *Store) Tap(cfg store.TapConfig) store.Tap { return st.dialect().Tap(cfg) }

// Tap returns a passive decoder for a connection to a server with this dialect.
func (d *Dialect) Tap(cfg store.TapConfig) store.Tap {
	return httpkv.NewTap(cfg, &tap{redactor: cfg.Redactor, emptyCountsAsSet: !d.AlwaysJSON}, "X-Consul-Index")
}

// DecodeRequest implements httpkv.TrafficDecoder.
func (t *tap) DecodeRequest(c *call.Call, r *httpkv.Request) {
	key, isKV := strings.CutPrefix(r.Path, "/v1/kv/")
	id, isSession := strings.CutPrefix(r.Path, "/v1/session/")
	switch {
	case isKV && r.Verb == "GET":
		t.read(c, r, key)
	case isKV && r.Verb == "PUT":
		t.write(c, r, key)
	case isKV && r.Verb == "DELETE":
		t.remove(c, r, key)
	case r.Path == "/v1/txn" && r.Verb == "PUT":
		c.Method = methodTxn
		t.txn(c, r)
	case isSession && r.Verb == "PUT":
		t.session(c, r, id)
	}
	if len(c.Parts) == 0 {
		c.Parts = append(c.Parts, call.Part{Action: call.OtherAction})
	}
	if c.Method == "" {
		c.Method = r.Verb + " " + endpointOf(r.Path)
	}
}

// hasParameter reports whether a parameter is set in a request. A parameter without a value counts
// as set only if emptyCountsAsSet is set.
func (t *tap) hasParameter(r *httpkv.Request, name string) bool {
	value, given := r.Query.Get(name)
	return given && (t.emptyCountsAsSet || value != "")
}

// setKeys sets the keys of a part: the given key or, if prefix is set, all keys with this prefix.
func (t *tap) setKeys(p *call.Part, key string, prefix bool) {
	p.Key = t.redactor.RedactKey([]byte(key))
	if !prefix {
		return
	}
	if p.Scope = call.Prefix; key != "" && !strings.HasSuffix(key, "/") {
		p.Flags |= call.PartialSegment
	}
}

func (t *tap) level(r *httpkv.Request) call.Flags {
	switch {
	case t.hasParameter(r, "consistent"):
		return 0
	case !t.emptyCountsAsSet || t.hasParameter(r, "stale"): // cetcd's default is a read that may be stale
		return call.Local
	}
	return call.LeaderLeaseRead
}

func (t *tap) read(c *call.Call, r *httpkv.Request, key string) {
	c.Method = methodGet
	p := c.AddPart(call.Read, call.Always)
	p.Flags = t.level(r)
	if t.hasParameter(r, "keys") {
		p.Flags |= call.KeysOnly
	}
	if index, given := r.Query.Get("index"); given {
		if n, err := strconv.ParseInt(index, 10, 64); err == nil && n > 0 {
			c.Method, p.Action, p.Number, p.Flags = methodBlocking, call.Watch, n, p.Flags&call.KeysOnly
		}
	}
	t.setKeys(p, key, t.hasParameter(r, "recurse") || p.Flags&call.KeysOnly != 0)
}

// index returns the version in the given parameter, or -1 if the parameter is missing or invalid.
func index(r *httpkv.Request, name string) int64 {
	text, given := r.Query.Get(name)
	n, err := strconv.ParseInt(text, 10, 64)
	if !given || err != nil || n < 0 {
		return -1
	}
	return n
}

// guard appends the condition that the key's ModifyIndex equals modIndex or, if modIndex is 0, that
// the key does not exist.
func (t *tap) guard(c *call.Call, key string, modIndex int64) {
	c.Guarded = true
	p := c.AddPart(call.Compare, call.Always)
	if p.Target, p.Number = call.Modified, modIndex; modIndex == 0 {
		p.Target = call.Created
	}
	t.setKeys(p, key, false)
}

// lock appends the condition that the lock on a key is held by the session whose number is given in
// the parameter `holder`. If `holder` is 0, the condition is that the lock is free.
func (t *tap) lock(c *call.Call, key string, holder int64) {
	c.Guarded = true
	p := c.AddPart(call.Compare, call.Always)
	p.Target, p.Lease = call.LeaseTarget, holder
	t.setKeys(p, key, false)
}

func (t *tap) write(c *call.Call, r *httpkv.Request, key string) {
	c.Method = methodPut
	branch, owner := call.Always, int64(0)
	acquire, gets := r.Query.Get("acquire")
	release, gives := r.Query.Get("release")
	switch at := index(r, "cas"); {
	case at >= 0:
		t.guard(c, key, at)
	case gets:
		t.lock(c, key, 0)
		owner = t.number(acquire)
	case gives:
		t.lock(c, key, t.number(release))
	}
	if c.Guarded {
		branch = call.Then
	}
	p := c.AddPart(call.Write, branch)
	t.setKeys(p, key, false)
	p.Lease = owner
	if p.Value = t.redactor.RedactValue(r.Body); !r.IsComplete() {
		p.Value = call.Value{Size: r.Size}
	}
}

func (t *tap) remove(c *call.Call, r *httpkv.Request, key string) {
	c.Method = methodDelete
	branch := call.Always
	if at := index(r, "cas"); at >= 0 {
		t.guard(c, key, at)
		branch = call.Then
	}
	t.setKeys(c.AddPart(call.Remove, branch), key, t.hasParameter(r, "recurse"))
}

// number returns a session's number in a recording. It is a hash of the session's name, which is a
// UUID.
func (t *tap) number(session string) int64 {
	if session == "" {
		return 0
	}
	return int64(t.redactor.RedactValue([]byte(session)).Hash>>2) + 1
}

// session parses a request about a session. pathEnd is the end of its path, such as create or
// renew/ID.
func (t *tap) session(c *call.Call, r *httpkv.Request, pathEnd string) {
	verb, id, _ := strings.Cut(pathEnd, "/")
	switch verb {
	case "create":
		c.Method = methodCreate
		var asked struct {
			TTL, LockDelay, Behavior string
			Checks, NodeChecks       *[]string // nil means Consul's default checks
		}
		if !r.IsComplete() || len(r.Body) > 0 && json.Unmarshal(r.Body, &asked) != nil {
			return
		}
		p := c.AddPart(call.Grant, call.Always)
		if ttl, err := time.ParseDuration(asked.TTL); err == nil {
			p.Number = int64((ttl + time.Second - 1) / time.Second)
		}
		if delay, err := time.ParseDuration(asked.LockDelay); err == nil {
			p.Limit = delay.Milliseconds() + 1
		}
		if asked.Behavior == "delete" {
			p.Flags |= call.Ephemeral
		}
		if isEmptyList(asked.Checks) || isEmptyList(asked.NodeChecks) {
			p.Flags |= call.NoHealthChecks
		}
	case "renew":
		c.Method = methodRenew
		c.AddPart(call.KeepAlive, call.Always).Lease = t.number(id)
	case "destroy":
		c.Method = methodDestroy
		c.AddPart(call.Revoke, call.Always).Lease = t.number(id)
	}
}

// isEmptyList reports whether a list is present but empty.
func isEmptyList(checks *[]string) bool { return checks != nil && len(*checks) == 0 }

// endpoints lists the other endpoints of Consul's API by the names that a recording contains. A
// path that is not listed is recorded as "other", because a path can contain private data.
var endpoints = []string{
	"agent/self", "agent/members", "agent/metrics", "agent/services", "agent/service/register", "agent/service/deregister",
	"agent/check/register", "agent/check/deregister", "agent/check/pass", "agent/check/warn", "agent/check/fail", "agent/check/update",
	"agent/service", "agent/checks", "agent/health/service", "catalog/register", "catalog/deregister", "catalog/datacenters", "catalog/nodes",
	"catalog/services", "catalog/service", "catalog/node", "health/node", "health/checks", "health/service", "health/connect", "health/state",
	"session/info", "session/node", "session/list", "status/leader", "status/peers", "operator/raft", "operator/autopilot", "event/fire",
	"event/list", "coordinate/nodes", "acl/token", "acl/policy", "acl/login", "query", "config", "snapshot", "kv", "txn", "session",
}

func endpointOf(path string) string {
	rest := strings.TrimPrefix(path, "/v1/")
	if i := slices.IndexFunc(endpoints, func(e string) bool { return rest == e || strings.HasPrefix(rest, e+"/") }); i >= 0 {
		return endpoints[i]
	}
	return "other"
}
