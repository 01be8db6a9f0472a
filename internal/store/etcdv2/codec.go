package etcdv2

import (
	"encoding/base64"
	"errors"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Indexes into Config.KeepFields, which lists the response header fields that the codec reads.
const (
	fieldIndex = iota
	fieldTerm
	fieldLocation
)

// newCodecs returns a function that creates the codecs for one event loop. If the access has a
// user, each request contains a header field for basic authentication (RFC 7617).
func newCodecs(a store.Access) store.Codecs {
	return func(d store.ConnectionInfo) store.Codec { return newCodec(d, a.User, a.Password) }
}

func newCodec(d store.ConnectionInfo, user, password string) *codec {
	cfg := http1.Config{Host: d.Endpoint, BufferBudget: d.BufferBudget, KeepFields: []string{"X-Etcd-Index", "X-Raft-Term", "Location"}}
	if user != "" {
		credentials := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
		cfg.Fields = []http1.Field{{Name: "Authorization", Value: "Basic " + credentials}}
	}
	c := &codec{}
	c.Init(cfg, c, httpkv.StoreInfo{
		Operations: New().Capabilities().Operations, Name: "etcd's v2 API", HTTP2: "does this etcd endpoint serve HTTP, or only gRPC?",
	})
	c.get = c.Template("GET", "/v2/keys/", false)
	c.del = c.Template("DELETE", "/v2/keys/", false)
	c.put = c.Template("PUT", "/v2/keys/", true,
		http1.Field{Name: "Content-Type", Value: "application/x-www-form-urlencoded"})
	c.post = c.Template("POST", "/v2/keys/", true,
		http1.Field{Name: "Content-Type", Value: "application/x-www-form-urlencoded"})
	return c
}

// HandleResponse implements httpkv.API.
func (c *codec) HandleResponse(r *http1.Response, e *store.Event) (pending bool) {
	if r.Status == 307 || r.Status == 308 {
		return c.redirect(r, e)
	}
	if c.Purpose == httpkv.ReplayedCall {
		c.handleReplayResponse(r, e)
		return false
	}
	c.event(r, e)
	return false
}

// redirect follows a redirect to another path on the same member, but only once per operation.
// It cannot follow a redirect to another member, because the connection is to this member.
func (c *codec) redirect(r *http1.Response, e *store.Event) bool {
	err := errors.New("the server redirects the request repeatedly")
	if !c.redirected {
		err = c.Redirect(r.Field(fieldLocation))
	}
	if err != nil {
		c.text = append(c.text[:0], err.Error()...)
		e.Outcome, e.Text = kv.Refused, c.text
		return false
	}
	c.redirected = true
	c.ExtraRequests++
	return true
}
