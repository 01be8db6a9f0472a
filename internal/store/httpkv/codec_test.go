package httpkv

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// echo is a codec that sends the same request for every operation.
type echo struct {
	Basic
	Codec
	get *http1.Template
}

func newEcho() *echo {
	c := &echo{}
	c.Init(http1.Config{Host: "h:1"}, c, StoreInfo{
		Operations: map[kv.Kind]string{kv.Get: "GET", kv.CAS: "GET", kv.Range: "GET"}, Name: "it", HTTP2: "is it there?",
	})
	c.get = c.Template("GET", "/", false)
	return c
}

func (c *echo) sendGet(key []byte)                { c.Send(c.Head(http1.AppendPath(c.Begin(c.get), key))) }
func (c *echo) Write(key, _ []byte, _ int64)      { c.sendGet(key) }
func (c *echo) Read(key []byte, _ kv.Consistency) { c.sendGet(key) }
func (c *echo) List(kv.Consistency)               { c.sendGet(nil) }
func (c *echo) Remove(key []byte)                 { c.sendGet(key) }
func (c *echo) Transact([]store.Pair)             { c.sendGet(nil) }
func (c *echo) Replay(*call.Call)                 { c.sendGet(nil) }

func (c *echo) HandleResponse(r *http1.Response, e *store.Event) bool {
	switch e.Value = r.Body; r.Status {
	case 200:
	case 404:
		e.Outcome = kv.Miss
	default:
		e.Outcome, e.Text = OutcomeOf(r.Status), AppendText(nil, r)
	}
	return false
}

var _ store.Codec = (*echo)(nil)

func (c *echo) checkRequest(op store.Op) {
	c.Submit(&op)
	c.Wrote(len(c.Out()))
}

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nv"

// TestLost checks a compare-and-set whose connection is lost. If the codec is still waiting for
// the read, the write was certainly not sent, whatever happened to the read. If the write was
// sent, the store may have executed it.
func TestLost(t *testing.T) {
	cas, get := store.Op{Tag: 5, Kind: kv.CAS, Revision: -1}, store.Op{Tag: 6, Kind: kv.Get}
	c := newEcho()
	c.checkRequest(cas)
	if e := c.Lost(nil); len(e) != 1 || e[0].Tag != 5 || e[0].Outcome != kv.NotSent {
		t.Errorf("a connection lost during the read returned the events %+v", e)
	}
	c = newEcho()
	c.checkRequest(cas)
	if e, err := c.Feed([]byte(answer), nil); len(e) != 0 || err != nil {
		t.Errorf("%+v %v", e, err)
	}
	c.Wrote(len(c.Out()))
	if e := c.Lost(nil); len(e) != 1 || e[0].Outcome != kv.ConnectionLost || e[0].ExtraRequests != 1 {
		t.Errorf("a connection lost during the write returned the events %+v", e)
	}
	c = newEcho()
	c.checkRequest(get)
	if e := c.Lost(nil); len(e) != 1 || e[0].Tag != 6 || e[0].Outcome != kv.ConnectionLost {
		t.Errorf("%+v", e)
	}
	c = newEcho()
	c.checkRequest(get)
	if _, err := c.Feed([]byte("HTTP/1.1 200 OK\r\n\r\nval"), nil); err != nil {
		t.Error(err)
	}
	if e := c.Lost(nil); len(e) != 1 || e[0].Outcome != kv.OK || string(e[0].Value) != "val" {
		t.Errorf("a response that ends with the connection returned the events %+v", e)
	}
	c = newEcho()
	c.Submit(&get)
	c.Wrote(5)
	if e := c.Lost(nil); len(e) != 1 || e[0].Outcome != kv.NotSent || !c.Draining() {
		t.Errorf("a connection lost during a request returned the events %+v", e)
	}
	if e := newEcho().Lost(nil); len(e) != 0 {
		t.Errorf("%+v", e)
	}
	// A compare-and-set starts with a read. If that read fails, even with an indefinite error,
	// the write was certainly not sent, so the error of the compare-and-set is definite.
	for status, want := range map[string]kv.Outcome{"500": kv.NotSent, "504": kv.NotSent, "429": kv.Refused} {
		c = newEcho()
		c.checkRequest(cas)
		e, err := c.Feed([]byte("HTTP/1.1 "+status+" X\r\nContent-Length: 0\r\n\r\n"), nil)
		if err != nil || len(e) != 1 || e[0].Outcome != want || len(e[0].Text) == 0 || c.Room() != 1 {
			t.Errorf("a read that failed with status %s returned the events %+v %v", status, e, err)
		}
	}
	c = newEcho()
	c.checkRequest(cas)
	e, err := c.Feed([]byte(strings.Replace(answer, "\r\n", "\r\nConnection: close\r\n", 1)), nil)
	if err != nil || len(e) != 1 || e[0].Outcome != kv.NotSent || len(e[0].Text) == 0 {
		t.Errorf("after the server closed the connection, the events are %+v %v", e, err)
	}
}

// TestRefused checks that the codec does not send an operation that the store does not support,
// and that the error is definite.
func TestRefused(t *testing.T) {
	for k := range kv.NumKinds {
		c := newEcho()
		c.checkRequest(store.Op{Tag: 3, Kind: k, Range: &store.RangeOp{End: []byte("z")}, Revision: 1})
		want := kv.OK
		if k != kv.Get && k != kv.CAS && k != kv.Range {
			want = kv.BadRequest
		}
		if e, err := c.Feed([]byte(answer), nil); err != nil || len(e) != 1 || e[0].Outcome != want || want.Failed() && string(e[0].Text) != "it does not support operations of this kind" {
			t.Errorf("%v: %+v %v", k, e, err)
		}
		if c.checkRequest(store.Op{Kind: k, Range: &store.RangeOp{}, Revision: -1}); want.Failed() {
			if e := c.Lost(nil); len(e) != 1 || e[0].Outcome != kv.NotSent {
				t.Errorf("the lost %v returned the events %+v", k, e)
			}
		}
	}
}

// collector is a store.Keys that stores the keys that it receives.
type collector []string

func (*collector) Begin(uint32) bool { return true }

func (c *collector) Add(_ uint32, key, value []byte, _ int64) {
	*c = append(*c, string(key)+"="+string(value))
}

func TestRangeOfOneKeyIsReturned(t *testing.T) {
	c, keys := newEcho(), &collector{}
	c.checkRequest(store.Op{Kind: kv.Range, Key: []byte("/k"), Range: &store.RangeOp{Keys: keys}})
	if e, err := c.Feed([]byte(answer), nil); err != nil || len(e) != 1 || len(*keys) != 1 || (*keys)[0] != "/k=v" {
		t.Errorf("%+v %v: %q", e, err, *keys)
	}
}

func TestLate(t *testing.T) {
	c := newEcho()
	op := store.Op{Tag: 7, Kind: kv.CAS, Revision: -1}
	c.Submit(&op)
	if !c.Cancel(7) || c.Room() != 1 {
		t.Error("Cancel did not remove an operation that was not written yet")
	}
	c.checkRequest(op)
	if c.Cancel(7) || c.Room() != 0 {
		t.Error("Cancel freed the slot of a written request")
	}
	if e, err := c.Feed([]byte(answer), nil); len(e) != 1 || e[0].Type != store.LateResponse || e[0].Tag != 7 || err != nil || c.Room() != 1 {
		t.Errorf("%+v %v", e, err)
	}
	c.checkRequest(op)
	c.Cancel(7)
	if e := c.Lost(nil); len(e) != 0 {
		t.Errorf("the codec reports the cancelled operation twice: %+v", e)
	}
}

func TestHints(t *testing.T) {
	for in, want := range map[string]string{"HTTP/2 200\r\n": "is it there?", "\x15\x03\x01\x00\x02\x02\x46": "are --cacert, --cert and --key missing?"} {
		c := newEcho()
		c.checkRequest(store.Op{Kind: kv.Get})
		if _, err := c.Feed([]byte(in), nil); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestInterval(t *testing.T) {
	var i Interval
	i.set(&store.Op{Key: []byte("/b"), Range: &store.RangeOp{End: []byte("/d"), Limit: 3}})
	for key, want := range map[string]bool{"a": false, "b": true, "c\xff": true, "d": false, "": false} {
		if i.Contains([]byte(key)) != want {
			t.Errorf("%q: %v", key, !want)
		}
	}
	if i.set(&store.Op{Key: []byte("b"), Range: &store.RangeOp{End: []byte{0}}}); !i.Contains([]byte("\xff\xff")) || i.Contains([]byte("a")) || i.Limit != 0 {
		t.Errorf("%+v", i)
	}
}

// TestOutcomes checks that an outcome is definite only if the store certainly did not change.
func TestOutcomes(t *testing.T) {
	for status, want := range map[int]kv.Outcome{
		301: kv.BadRequest, 400: kv.BadRequest, 401: kv.Denied, 403: kv.Denied, 404: kv.BadRequest, 408: kv.StoreTimeout,
		409: kv.BadRequest, 413: kv.BadRequest, 429: kv.Refused, 500: kv.StoreError, 503: kv.StoreError, 504: kv.StoreTimeout, 600: kv.StoreError,
	} {
		if o := OutcomeOf(status); o != want {
			t.Errorf("%d: %v, want %v", status, o, want)
		}
	}
}

func TestTexts(t *testing.T) {
	for body, want := range map[string]string{"": "HTTP status 500", "\n one \ntwo": "one ", strings.Repeat("x", 999): strings.Repeat("x", MaxText)} {
		if got := AppendText(nil, &http1.Response{Status: 500, Body: []byte(body)}); string(got) != want {
			t.Errorf("%.10q: %q", body, got)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	cause := errors.New("connection refused")
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{ended, cause, "the request was cancelled"},
		{t.Context(), &url.Error{Op: "Get", URL: "http://x", Err: context.DeadlineExceeded}, "no response within the time limit"},
		{t.Context(), &url.Error{Op: "Get", URL: "http://x", Err: cause}, "connection refused"},
		{t.Context(), cause, "connection refused"},
	} {
		if got := Reason(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
