package httpkv

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// HeardAPI decodes a store's observed requests and responses into a call.
type HeardAPI interface {
	// Asked decodes a request: the call's method and its parts, at least one.
	Asked(c *call.Call, r *Request)
	// Answered decodes a response. It skips fields that it does not understand.
	Answered(c *call.Call, a *http1.HeardAnswer)
}

// Request is a request with a parsed target.
type Request struct {
	*http1.HeardRequest
	Verb  string // the HTTP method if stores use it; otherwise "other"
	Path  string // decoded
	Query Query
}

// Query holds the raw parameters of a request's target.
type Query string

// Get returns the value of the first parameter with this name, and whether there
// is one.
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

// Has reports whether a parameter was given.
func (q Query) Has(name string) bool {
	_, given := q.Get(name)
	return given
}

// Tap implements store.Tap for one connection to a store with an HTTP/1.1 API.
type Tap struct {
	cfg   store.TapConfig
	api   HeardAPI
	heard *http1.Overhearer
	now   int64
	open  []*call.Call // in request order
	free  []*call.Call
}

// NewTap returns a Tap of a connection, starting at its first byte. The API
// receives responses with the wanted header fields.
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

// verbOf returns an HTTP method, or "other" because a method can be any text.
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
