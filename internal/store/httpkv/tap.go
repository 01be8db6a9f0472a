package httpkv

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// HeardAPI decodes a store's observed requests and responses into calls.
type HeardAPI interface {
	// Asked decodes a request. It sets the call's method and adds at least one part.
	Asked(c *call.Call, r *Request)
	// Answered decodes a response. It skips fields that it does not know.
	Answered(c *call.Call, a *http1.HeardAnswer)
}

// Request is a request whose target has been parsed.
type Request struct {
	*http1.HeardRequest
	Verb  string // the HTTP method, or "other" if no store uses that method
	Path  string // the decoded path
	Query Query
}

// Query holds the parameters in a request's target, still encoded.
type Query string

// Get returns the decoded value of the first parameter with the given name. The result `given` is
// false if the query has no such parameter or its value is invalid.
func (q Query) Get(name string) (value string, given bool) {
	for rest := string(q); rest != ""; {
		var one string
		one, rest, _ = strings.Cut(rest, "&")
		key, value, _ := strings.Cut(one, "=")
		if key, err := url.QueryUnescape(key); err != nil || key != name {
			continue
		}
		value, err := url.QueryUnescape(value)
		return value, err == nil
	}
	return "", false
}

// Has reports whether the query has a valid parameter with the given name.
func (q Query) Has(name string) bool {
	_, given := q.Get(name)
	return given
}

// Tap implements store.Tap for one connection to a store whose API uses HTTP/1.1.
type Tap struct {
	cfg   store.TapConfig
	api   HeardAPI
	heard *http1.Overhearer
	now   int64
	open  []*call.Call // calls without a response, in the order of the requests
	free  []*call.Call
}

// NewTap returns a Tap for a connection. The Tap must receive the connection's bytes from the
// start. The parameter `wanted` lists the response header fields that the API needs.
func NewTap(cfg store.TapConfig, api HeardAPI, wanted ...string) *Tap {
	t := &Tap{cfg: cfg, api: api}
	t.heard = http1.NewOverhearer(t, wanted...)
	return t
}

// Feed implements store.Tap.
func (t *Tap) Feed(ofClient bool, at int64, b []byte) error {
	t.now = at
	return t.heard.Feed(ofClient, b)
}

// Open implements store.Tap.
func (t *Tap) Open() int { return len(t.open) }

// End implements store.Tap.
func (t *Tap) End(at int64) {
	t.now = at
	t.heard.End()
	for _, c := range t.open {
		t.emit(c)
	}
	t.open = nil
}

// Asked implements http1.Heard.
func (t *Tap) Asked(r *http1.HeardRequest) {
	c := &call.Call{}
	if n := len(t.free); n > 0 {
		c, t.free = t.free[n-1], t.free[:n-1]
		*c = call.Call{Parts: c.Parts[:0]}
	}
	c.At, c.Took, c.Conn, c.Sent = t.now, -1, t.cfg.Conn, len(r.Target)+r.Size
	path, query, _ := bytes.Cut(r.Target, []byte{'?'})
	decoded, err := url.PathUnescape(string(path))
	if err != nil {
		decoded = string(path)
	}
	t.api.Asked(c, &Request{HeardRequest: r, Verb: verbOf(r.Method), Path: decoded, Query: Query(query)})
	if len(c.Parts) > call.MaxParts {
		t.cfg.Gap(call.Gap{At: t.now, Conn: t.cfg.Conn, Calls: 1, Why: "requests of " + c.Method + " have more parts than a record can hold"})
		c.Parts = append(c.Parts[:0], call.Part{Action: call.Other})
	}
	t.open = append(t.open, c)
}

// verbOf returns an HTTP method, or "other" for any method that stores do not use. An unknown
// method is not recorded, because it can be any text.
func verbOf(method []byte) string {
	switch v := string(method); v {
	case "GET", "PUT", "POST", "DELETE", "HEAD":
		return v
	}
	return "other"
}

// Answered implements http1.Heard.
func (t *Tap) Answered(a *http1.HeardAnswer) {
	c := t.open[0]
	t.open = t.open[:copy(t.open, t.open[1:])]
	c.Took, c.Got = t.now-c.At, a.Size
	t.api.Answered(c, a)
	t.emit(c)
}

func (t *Tap) emit(c *call.Call) {
	t.cfg.Call(c)
	if len(t.free) < 256 {
		t.free = append(t.free, c)
	}
}
