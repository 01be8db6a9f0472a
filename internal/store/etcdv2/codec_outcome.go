package etcdv2

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Error codes of the v2 API that the code refers to by name. The codes are defined in etcd's
// api/v2error.
const (
	keyNotFound   = 100
	compareFailed = 101
	nodeExists    = 105
	unauthorized  = 110
	raftInternal  = 300
	leaderElect   = 301
)

// apiError is an error in the v2 API's JSON, such as {"errorCode":100,"message":"Key not
// found","cause":"/k","index":5}.
type apiError struct {
	code           int64
	message, cause []byte
}

func (c *codec) parseError(body []byte) (a apiError, ok bool) {
	c.buf = c.buf[:0]
	s := httpkv.NewJSONScanner(body)
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			break
		}
		switch string(name) {
		case "errorCode":
			a.code = s.Int()
		case "message":
			a.message, c.buf = s.String(c.buf)
		case "cause":
			a.cause, c.buf = s.String(c.buf)
		default:
			s.Skip()
		}
	}
	return a, s.End() && a.code > 0
}

// setFailure fills in the event if the response's status is not 200 or 201.
func (c *codec) setFailure(r *http1.Response, e *store.Event) {
	a, ok := c.parseError(r.Body)
	if !ok {
		e.Outcome = httpkv.OutcomeOf(r.Status)
		c.text = appendText(c.text[:0], r)
		e.Text = c.text
		return
	}
	switch a.code {
	case keyNotFound:
		c.handleNotFound(e)
		return
	case compareFailed:
		e.Outcome, e.Revision = kv.Conflict, parseCauseRevision(a.cause)
		return
	case nodeExists:
		e.Outcome, e.Revision = kv.Conflict, httpkv.AnyIndex
		return
	}
	e.Outcome = outcomeOf(a.code, string(a.cause))
	c.text = append(append(c.text[:0], a.message...), ": "...)
	c.text = append(c.text, a.cause...)
	e.Text = c.text[:min(len(c.text), httpkv.MaxText)]
}

// handleNotFound fills in the event if the response is the error "Key not found".
func (c *codec) handleNotFound(e *store.Event) {
	switch {
	case c.Purpose == httpkv.Listing, c.Kind == kv.Delete: // no keys were counted or deleted
	case c.Kind == kv.Get:
		e.Outcome = kv.Miss
	case c.Kind == kv.CAS:
		e.Outcome = kv.Conflict
	default:
		e.Outcome, e.Text = kv.BadRequest, []byte("Key not found")
	}
}

// parseCauseRevision returns the key's version from the cause of a failed comparison, such as "[7
// != 9]". It returns AnyIndex if the cause contains no version.
func parseCauseRevision(cause []byte) int64 {
	_, after, ok := bytes.Cut(cause, []byte(" != "))
	if ok {
		if n, err := strconv.ParseInt(string(bytes.TrimSuffix(after, []byte("]"))), 10, 64); err == nil {
			return n
		}
	}
	return httpkv.AnyIndex
}

// outcomeOf maps an error of the v2 API to an outcome (see etcd's api/v2error and
// Documentation/v2/errorcode.md). An error may map to a definite outcome only if it proves that
// the store did not change.
func outcomeOf(code int64, cause string) kv.Outcome {
	switch {
	case code == unauthorized:
		return kv.Denied
	case code == raftInternal:
		return outcomeOfCause(cause)
	case code == leaderElect:
		return kv.LeaderChanged
	case code >= 100 && code < 300: // invalid commands and forms
		return kv.BadRequest
	case code == 400, code == 401: // errors for watches
		return kv.BadRequest
	}
	return kv.StoreError
}

// outcomeOfCause maps the cause of a Raft Internal Error to an outcome. The cause is one of the
// errors in the server's etcdserver/errors.go. With most causes, the server may have proposed the
// request before it returned the error. A cause maps to a definite outcome only if it excludes
// that possibility.
func outcomeOfCause(cause string) kv.Outcome {
	cause = strings.TrimPrefix(cause, "etcdserver: ")
	switch {
	case strings.HasPrefix(cause, "request timed out"), cause == "context deadline exceeded":
		return kv.StoreTimeout
	case cause == "leader changed":
		return kv.LeaderChanged
	case cause == "no leader":
		return kv.NoLeader
	case cause == "not leader", cause == "too many requests":
		return kv.Refused
	case cause == "request is too large", cause == "unknown method":
		return kv.BadRequest
	case cause == "no space":
		return kv.NoSpace
	}
	// The server stopped, or the request was cancelled, possibly after it was proposed.
	return kv.StoreError
}

// noV2API is the error text for a 404 response that is not from the v2 API.
const noV2API = "the server does not offer etcd's v2 API: etcd up to 3.5 offers it only with --enable-v2, and later versions do not offer it"

// appendText appends the text for an error response that is not from the v2 API.
func appendText(b []byte, r *http1.Response) []byte {
	switch {
	case r.Status == 404:
		return append(b, noV2API...)
	case r.Status >= 300 && r.Status < 400:
		return append(append(b, "the server redirects the request to "...), r.Field(fieldLocation)...)
	}
	return httpkv.AppendText(b, r)
}
