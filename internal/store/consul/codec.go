package consul

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

func accessToken(a store.Access) string {
	if a.Password != "" {
		return a.Password
	}
	return a.User
}

// Codecs returns the codecs of one event loop for a server with this dialect. The ACL token is the
// password in the access or, if there is none, the user.
func (d *Dialect) Codecs(a store.Access) store.Codecs {
	token := accessToken(a)
	return func(dialed store.ConnectionInfo) store.Codec {
		c := newCodec(dialed, token, d)
		c.grants = a.Grants
		return c
	}
}

func newCodec(d store.ConnectionInfo, token string, dialect *Dialect) *codec {
	cfg := http1.Config{Host: d.Endpoint, BufferBudget: d.BufferBudget, KeepFields: []string{"X-Consul-Index"}}
	if token != "" {
		cfg.Fields = []http1.Field{{Name: "X-Consul-Token", Value: token}}
	}
	c := &codec{Dialect: dialect}
	c.Init(cfg, c, dialect.StoreInfo)
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

// HandleResponse implements httpkv.API.
func (c *codec) HandleResponse(r *http1.Response, e *store.Event) (pending bool) {
	if c.Purpose == httpkv.ReplayedCall {
		c.handleReplayResponse(r, e)
		return false
	}
	if c.Purpose == httpkv.Listing {
		c.BeginList()
	}
	switch {
	case c.ForService:
		c.handleRegistered(r, e)
	case r.Status == 404 && len(r.Body) == 0 && !c.AlwaysJSON:
		c.handleNotFound(e)
	case r.Status != 200:
		e.Outcome, e.Text = c.FailureOutcome(r)
	case c.Purpose == httpkv.Listing:
		c.parseList(r.Body, e)
	case c.Kind == kv.Get && c.AlwaysJSON:
		c.parseOne(r.Body, e)
	case c.Kind == kv.Get:
		// A response about one existing key has the key's ModifyIndex as its index.
		if e.Value, e.Count, e.Revision = r.Body, 1, int64(r.Uint(fieldIndex)); e.Revision <= 0 {
			c.setWrongResponse(e, noIndex)
		}
	case c.Kind == kv.Txn:
		c.parseTxn(r.Body, e)
	case c.Kind == kv.KeepAlive:
		c.parseRenewed(r.Body, e)
	default:
		c.parseWritten(r.Body, e)
	}
	return false
}
