package consul

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// recorded returns one call of each kind that can be replayed.
func recorded() (calls []call.Call) {
	key, text := []byte("b"), call.Value{Text: []byte("v")}
	part := func(a call.Action, b call.Branch) call.Part {
		return call.Part{Action: a, Branch: b, Key: key, Value: text, Name: []byte("s"), Lease: 3, Number: 5, Target: call.Modified}
	}
	prefix, names, lock, owner := part(call.Read, call.Always), part(call.Read, call.Always), part(call.Compare, call.Always), part(call.Write, call.Then)
	prefix.Scope, names.Flags, lock.Target, owner.Lease = call.Prefix, call.KeysOnly, call.LeaseTarget, 0
	for _, c := range []call.Call{
		{Method: methodGet, Parts: []call.Part{part(call.Read, call.Always)}},
		{Method: methodGet, Parts: []call.Part{prefix}},
		{Method: methodGet, Parts: []call.Part{names}},
		{Method: methodPut, Parts: []call.Part{part(call.Write, call.Always)}},
		{Method: methodDelete, Parts: []call.Part{part(call.Remove, call.Always)}},
		{Method: methodPut, Parts: []call.Part{part(call.Compare, call.Always), part(call.Write, call.Then)}},
		{Method: methodPut, Parts: []call.Part{lock, part(call.Write, call.Then)}},
		{Method: methodPut, Parts: []call.Part{lock, owner}},
		{Method: methodTxn, Parts: []call.Part{lock, part(call.Write, call.Then), lock, owner, part(call.Read, call.Then)}},
		{Method: methodCreate, Parts: []call.Part{part(call.Grant, call.Always)}},
		{Method: methodRenew, Parts: []call.Part{part(call.KeepAlive, call.Always)}},
		{Method: methodDestroy, Parts: []call.Part{part(call.Revoke, call.Always)}},
	} {
		c.Guarded = len(c.Parts) > 1
		calls = append(calls, c)
	}
	return calls
}

// replayedRequest returns a codec that has replayed a recorded call, and the bytes that the codec
// sent.
func replayedRequest(request *call.Call) (*codec, string) {
	op := store.Op{Tag: 9, Kind: kv.KeepAlive, Call: request, Range: &store.RangeOp{Keys: discardKeys{}}}
	if kind, _, ok := request.Kind(); ok {
		op.Kind = kind
	}
	c := newCodec(store.ConnectionInfo{Endpoint: "h:1"}, "", New().dialect())
	c.Submit(&op)
	sent := string(c.Out())
	c.Wrote(len(sent))
	return c, sent
}

// discardKeys is a store.Keys that discards all keys.
type discardKeys struct{}

func (discardKeys) Begin(uint32) bool                 { return true }
func (discardKeys) Add(uint32, []byte, []byte, int64) {}

// TestSessionNamesAreEscaped checks that a session's name, which the server chooses, cannot change
// a request.
func TestSessionNamesAreEscaped(t *testing.T) {
	name := []byte("a\"} HTTP/1.1\r\n\r\nDELETE /v1/kv/b&c")
	for i, call := range recorded() {
		for k := range call.Parts {
			call.Parts[k].Name = name
		}
		_, sent := replayedRequest(&call)
		_, body, _ := strings.Cut(sent, "\r\n\r\n")
		if strings.Count(sent, "HTTP/1.1\r\n") != 1 || strings.Contains(sent, "\r\nDELETE") || call.Method == methodTxn && !json.Valid([]byte(body)) {
			t.Errorf("%d: %q", i, sent)
		}
	}
}

// TestSessionsWithoutChecks checks that recording and replay preserve whether a session has health
// checks.
func TestSessionsWithoutChecks(t *testing.T) {
	for flags, want := range map[call.Flags]string{
		call.Ephemeral | call.NoHealthChecks: `{"Behavior":"delete","Checks":[],"TTL":"15s","LockDelay":"1ms"}`,
		0:                                    `{"Behavior":"release","TTL":"15s","LockDelay":"1ms"}`,
	} {
		request := call.Call{Parts: []call.Part{{Action: call.Grant, Number: 15, Limit: 2, Flags: flags}}}
		_, sent := replayedRequest(&request)
		if _, body, _ := strings.Cut(sent, "\r\n\r\n"); body != want {
			t.Errorf("%s, want %s", body, want)
		}
		var heard []call.Part
		tap := New().Tap(store.TapConfig{
			Redactor: &call.Redactor{}, Gap: func(g call.Gap) { t.Error(g) },
			Call: func(c *call.Call) { heard = append(heard, c.Parts...) },
		})
		if err := tap.Feed(true, 1, []byte(sent)); err != nil {
			t.Fatal(err)
		}
		tap.End(2)
		if len(heard) != 1 || heard[0].Flags != flags || heard[0].Number != 15 || heard[0].Limit != 2 {
			t.Errorf("the tap recorded the parts %+v", heard)
		}
	}
}

// FuzzAgain checks that any response to any recorded call leads to exactly one event, and that the
// connection then accepts another operation.
func FuzzAgain(f *testing.F) {
	calls := recorded()
	for i, in := range []string{
		answer("200 OK", two), answer("200 OK", two), answer("200 OK", `["b","c"]`), answer("200 OK", "true"), answer("200 OK", "true"),
		answer("200 OK", "false"), answer("200 OK", "true"), answer("500 X", "No cluster leader"),
		answer("200 OK", `{"Results":[{"KV":{"Key":"b","Value":"dg==","ModifyIndex":9}}],"Errors":null}`),
		answer("200 OK", `{"ID":"\u0061dd"}`), answer("200 OK", `[{"ID":"s","TTL":"15s"}]`), answer("200 OK", "true"),
	} {
		f.Add(byte(i), in)
	}
	f.Fuzz(func(t *testing.T, which byte, in string) {
		c, _ := replayedRequest(&calls[int(which)%len(calls)])
		events, err := c.Feed([]byte(in), nil)
		answered := err == nil && len(events) > 0
		if !answered {
			events = c.Lost(events)
		}
		if len(events) != 1 || events[0].Tag != 9 || events[0].Type != store.OperationDone {
			t.Fatalf("%d events %+v, %v", len(events), events, err)
		}
		if !answered || c.Room() == 0 {
			return
		}
		c.Submit(&store.Op{Tag: 10, Kind: kv.KeepAlive, LeaseName: []byte("s")})
		c.Wrote(len(c.Out()))
		events, err = c.Feed([]byte(answer("200 OK", `[{"ID":"s","TTL":"15s"}]`)), nil)
		if err != nil || len(events) != 1 || events[0].Tag != 10 || events[0].Outcome != kv.OK || events[0].Count != 15 {
			t.Fatalf("the later renewal of the session returned the events %+v, %v", events, err)
		}
	})
}
