package consul

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// codec is Consul's KV API on one connection, which has one operation in
// flight (https://developer.hashicorp.com/consul/api-docs/kv).
type codec struct {
	httpkv.Codec
	get, put, del, multi *http1.Template

	prefix []byte // Range: what is asked for

	buf  []byte // what answers decode to
	text []byte // of an error
}

// The response fields that are kept.
const fieldIndex = 0

// newCodecs returns the codecs of one event loop. The ACL token is the access's
// password, or its user if there is no password.
func newCodecs(a store.Access) store.Codecs {
	token := tokenOf(a)
	return func(d store.Dialed) store.Codec { return newCodec(d, token) }
}

func tokenOf(a store.Access) string {
	if a.Password != "" {
		return a.Password
	}
	return a.User
}

func newCodec(d store.Dialed, token string) *codec {
	cfg := http1.Config{Host: d.Endpoint, Parts: d.Parts, Wanted: []string{"X-Consul-Index"}}
	if token != "" {
		cfg.Fields = []http1.Field{{Name: "X-Consul-Token", Value: token}}
	}
	c := &codec{}
	c.Init(cfg, c, "is this Consul's HTTP port, and not its gRPC port?")
	c.get = c.Template("GET", "/v1/kv/", false)
	c.put = c.Template("PUT", "/v1/kv/", true)
	c.del = c.Template("DELETE", "/v1/kv/", false)
	c.multi = c.Template("PUT", "/v1/txn", true, http1.Field{Name: "Content-Type", Value: "application/json"})
	return c
}

// Answered implements httpkv.API.
func (c *codec) Answered(r *http1.Response, e *store.Event) (more bool) {
	if c.Doing == httpkv.Reading {
		return c.swap(r, e)
	}
	c.event(r, e)
	return false
}
