package consul

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Dialect is what a server that speaks Consul's KV API does in its own way.
type Dialect struct {
	// About has the server's name for sentences about it, and its operations.
	httpkv.About
	// JSON says that a read of one key is answered with a list of JSON, which is
	// empty where there is no such key, and not as ?raw; and that a parameter
	// counts only where it has a value.
	JSON bool
	// Wait is how long a blocking query waits; 0 for the server's default.
	Wait time.Duration
	// Failed is what an answer that is not 200 means.
	Failed func(r *http1.Response) (kv.Outcome, []byte)
}

// codec is Consul's KV API on one connection, which has one operation in
// flight (https://developer.hashicorp.com/consul/api-docs/kv).
type codec struct {
	grants *store.Grants // takes what operations were granted; nil for nobody
	httpkv.Codec
	*Dialect
	get, put, del, multi                                   *http1.Template
	create, renew, destroy                                 *http1.Template // sessions
	register, deregister, nodeServices, nodeChecks, health *http1.Template

	prefix []byte // Range: what is asked for

	again   again // the recorded call in flight, and whether it has guards
	guarded bool

	buf []byte // what answers decode to

	session []byte // KeepAlive: whose

	instances []instance // of the answer about a service
	ofChecks  bool       // a Range about an instance asks for its checks

	stm    stm
	edited []byte // what STMOp.Edit made

	watch  watched
	ticked int64  // when Tick was called last
	atTick uint64 // how many queries of the watcher there were then
	dead   bool   // the last one is overdue
}

// The response fields that are kept.
const fieldIndex = 0

func tokenOf(a store.Access) string {
	if a.Password != "" {
		return a.Password
	}
	return a.User
}

// Codecs are those of one event loop for a server that speaks the dialect. The
// ACL token is the access's password, or its user if there is no password.
func (d *Dialect) Codecs(a store.Access) store.Codecs {
	token := tokenOf(a)
	return func(dialed store.Dialed) store.Codec {
		c := newCodec(dialed, token, d)
		c.grants = a.Grants
		return c
	}
}

func newCodec(d store.Dialed, token string, dialect *Dialect) *codec {
	cfg := http1.Config{Host: d.Endpoint, Parts: d.Parts, Wanted: []string{"X-Consul-Index"}}
	if token != "" {
		cfg.Fields = []http1.Field{{Name: "X-Consul-Token", Value: token}}
	}
	c := &codec{Dialect: dialect}
	c.Init(cfg, c, dialect.About)
	c.get = c.Template("GET", "/v1/kv/", false)
	c.put = c.Template("PUT", "/v1/kv/", true)
	c.del = c.Template("DELETE", "/v1/kv/", false)
	json := http1.Field{Name: "Content-Type", Value: "application/json"}
	c.register = c.Template("PUT", "/v1/catalog/register", true, json)
	c.deregister = c.Template("PUT", "/v1/catalog/deregister", true, json)
	c.nodeServices = c.Template("GET", "/v1/catalog/node-services/", false)
	c.nodeChecks = c.Template("GET", "/v1/health/node/", false)
	c.health = c.Template("GET", "/v1/health/service/", false)
	c.create = c.Template("PUT", "/v1/session/create", true)
	c.renew = c.Template("PUT", "/v1/session/renew/", true)
	c.destroy = c.Template("PUT", "/v1/session/destroy/", true)
	c.multi = c.Template("PUT", "/v1/txn", true, json)
	c.takeOver(d.Previous)
	return c
}
