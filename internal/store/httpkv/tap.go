package httpkv

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// TrafficDecoder decodes a store's observed requests and responses into calls.
type TrafficDecoder interface {
	// DecodeRequest decodes a request. It sets the call's method and adds at least one part.
	DecodeRequest(c *call.Call, r *Request)
	// DecodeResponse decodes a response. It skips fields that it does not know. If the response is
	// not complete, its body is empty.
	DecodeResponse(c *call.Call, a *http1.ObservedResponse)
}

// Request is a request whose target has been parsed.
type Request struct {
	*http1.ObservedRequest
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
	cfg        store.TapConfig
	api        TrafficDecoder
	decoder    *http1.PassiveDecoder
	now        int64
	unanswered []*call.Call // calls without a response, in the order of the requests
	free       []*call.Call
}

// NewTap returns a Tap for a connection. The Tap must receive the connection's bytes from the
// start. The parameter `fieldNames` lists the response header fields that the API needs.
func NewTap(cfg store.TapConfig, api TrafficDecoder, fieldNames ...string) *Tap {
	t := &Tap{cfg: cfg, api: api}
	t.decoder = http1.NewPassiveDecoder(t, fieldNames...)
	return t
}

// Feed implements store.Tap.
func (t *Tap) Feed(fromClient bool, at int64, b []byte) error {
	t.now = at
	return t.decoder.Feed(fromClient, b)
}

// Open implements store.Tap.
func (t *Tap) Open() int { return len(t.unanswered) }

// End implements store.Tap.
func (t *Tap) End(at int64) {
	t.now = at
	t.decoder.End()
	for _, c := range t.unanswered {
		t.emit(c)
	}
	t.unanswered = nil
}

// OnRequest implements http1.MessageObserver.
func (t *Tap) OnRequest(r *http1.ObservedRequest) {
	c := &call.Call{}
	if n := len(t.free); n > 0 {
		c, t.free = t.free[n-1], t.free[:n-1]
		*c = call.Call{Parts: c.Parts[:0]}
	}
	c.At, c.Duration, c.Conn, c.RequestSize = t.now, -1, t.cfg.Conn, len(r.Target)+r.Size
	path, query, _ := bytes.Cut(r.Target, []byte{'?'})
	decoded, err := url.PathUnescape(string(path))
	if err != nil {
		decoded = string(path)
	}
	t.api.DecodeRequest(c, &Request{ObservedRequest: r, Verb: knownMethod(r.Method), Path: decoded, Query: Query(query)})
	switch {
	case len(c.Parts) > call.MaxParts:
		t.gap("requests of " + c.Method + " have more parts than a record can hold")
		c.Parts = append(c.Parts[:0], call.Part{Action: call.OtherAction})
	case !r.IsComplete() && c.Parts[0].Action == call.OtherAction:
		t.gap("requests of " + c.Method + " are compressed or too large, so these calls are recorded without their contents")
	}
	t.unanswered = append(t.unanswered, c)
}

func (t *Tap) gap(reason string) {
	t.cfg.Gap(call.Gap{At: t.now, Conn: t.cfg.Conn, MissingCalls: 1, Reason: reason})
}

// knownMethod returns an HTTP method, or "other" for any method that stores do not use. An unknown
// method is not recorded, because it can be any text.
func knownMethod(method []byte) string {
	switch v := string(method); v {
	case "GET", "PUT", "POST", "DELETE", "HEAD":
		return v
	}
	return "other"
}

// OnResponse implements http1.MessageObserver.
func (t *Tap) OnResponse(a *http1.ObservedResponse) {
	c := t.unanswered[0]
	t.unanswered = t.unanswered[:copy(t.unanswered, t.unanswered[1:])]
	c.Duration, c.ReplySize = t.now-c.At, a.Size
	t.api.DecodeResponse(c, a)
	if !a.IsComplete() && c.Parts[0].Action != call.OtherAction {
		t.gap("responses to " + c.Method + " are compressed or too large, so these calls are recorded without their results")
	}
	t.emit(c)
}

func (t *Tap) emit(c *call.Call) {
	t.cfg.Call(c)
	if len(t.free) < 256 {
		t.free = append(t.free, c)
	}
}
