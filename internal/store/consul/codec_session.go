package consul

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

var _ httpkv.API = (*codec)(nil)

// KeepAlive implements httpkv.API. It sends PUT /v1/session/renew/ID.
func (c *codec) KeepAlive(op *store.Op) {
	c.session = append(c.session[:0], op.LeaseName...)
	c.Send(c.Head(http1.AppendPath(c.Begin(c.renew), op.LeaseName)))
}

// parseRenewed parses the response to a session's renewal: a list with one session.
func (c *codec) parseRenewed(body []byte, e *store.Event) {
	c.buf = c.buf[:0]
	s, sessions := httpkv.NewJSONScanner(body), 0
	var id, ttl []byte
	if s.Array() {
		for ; s.Element(); sessions++ {
			id, ttl = c.parseSession(&s)
		}
	}
	seconds, ok := parseTTL(ttl)
	switch {
	case !s.End() || sessions != 1 || !ok:
		c.setMalformed(e)
	case string(id) != string(c.session):
		*e = store.Event{Tag: e.Tag, Outcome: kv.WrongResponse, Text: fmt.Appendf(nil, "the response is for another session, %.40q", id)}
	default:
		e.Count = seconds
	}
}

// parseSession parses a session's ID and TTL.
func (c *codec) parseSession(s *httpkv.JSONScanner) (id, ttl []byte) {
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			break
		}
		switch string(name) {
		case "ID":
			id, c.buf = s.String(c.buf)
		case "TTL":
			ttl, c.buf = s.String(c.buf)
		default:
			s.Skip()
		}
	}
	return id, ttl
}

// parseTTL converts a TTL such as 100s to whole seconds.
func parseTTL(ttl []byte) (seconds int64, ok bool) {
	n := len(ttl) - 1
	simple := n >= 1 && n <= 9 && ttl[n] == 's' // so far, the TTL is a number of seconds
	for i := 0; simple && i < n; i++ {
		simple = ttl[i] >= '0' && ttl[i] <= '9'
		seconds = seconds*10 + int64(ttl[i]-'0')
	}
	if simple {
		return seconds, true
	}
	d, err := time.ParseDuration(string(ttl))
	return int64(d / time.Second), err == nil && d >= 0
}
