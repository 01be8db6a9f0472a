package consul

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// This file replays recorded calls; it is the inverse of tap.go. The parts of a call determine the
// request to send. There is one exception: for a transaction with a single operation, the recorded
// method is also needed.

// CanReplay implements store.Replayer. It returns false for blocking queries, services and
// administration.
func (*Store) CanReplay(r *call.Call) bool { return CanReplay(r) }

// RequiredKey implements store.Replayer. It returns nil because no key depends on another key.
func (*Store) RequiredKey(*call.Part) []byte { return nil }

// CanReplay reports whether a Dialect's codecs can replay a recorded call.
func CanReplay(r *call.Call) bool {
	switch r.Method {
	case methodGet, methodPut, methodDelete, methodTxn, methodCreate, methodRenew, methodDestroy:
	default:
		return false
	}
	for i := range r.Parts {
		switch r.Parts[i].Action {
		case call.OtherAction, call.Watch, call.Unwatch:
			return false
		}
	}
	return !r.Pushed && len(r.Parts) > 0
}

// CanReplayKeys reports whether a recorded call can be replayed, reads or writes only keys, and
// uses no lock.
func CanReplayKeys(r *call.Call) bool {
	locks := slices.ContainsFunc(r.Parts, func(p call.Part) bool { return p.Target == call.LeaseTarget })
	return (r.Method == methodGet || r.Method == methodPut) && !locks && CanReplay(r)
}

// Replay implements httpkv.API.
func (c *codec) Replay(r *call.Call) {
	p := &r.Parts[0]
	c.guarded = r.Guarded
	switch {
	case r.Method == methodTxn || p.Branch != call.Always || len(r.Parts) > 1 && r.Parts[1].Action == call.Compare:
		c.replayed = replayedTxn
		c.replayTransaction(r)
	case p.Action == call.Read:
		c.replayRead(p)
	case p.Action == call.Write:
		c.replayed = replayedWrite
		b := c.Head(http1.AppendPath(c.Begin(c.put), httpkv.TrimSlash(p.Key)))
		c.Send(append(b, p.Value.Text...))
	case p.Action == call.Remove:
		c.replayed = replayedWrite
		b := http1.AppendPath(c.Begin(c.del), httpkv.TrimSlash(p.Key))
		if p.Scope == call.Prefix {
			b = append(b, "?recurse=true"...)
		}
		c.Send(c.Head(b))
	case p.Action == call.Compare && len(r.Parts) > 1:
		c.replayed = replayedWrite
		c.replayConditional(p, &r.Parts[1])
	case p.Action == call.Grant:
		c.replayed = replayedGrant
		c.Send(appendSession(c.Head(c.Begin(c.create)), p))
	case p.Action == call.Revoke:
		c.replayed = replayedLease
		c.Send(c.Head(http1.AppendPath(c.Begin(c.destroy), p.Name)))
	default:
		c.replayed = replayedLease
		c.Send(c.Head(http1.AppendPath(c.Begin(c.renew), p.Name)))
	}
}

func (c *codec) replayRead(p *call.Part) {
	c.replayed = replayedRead
	b := append(http1.AppendPath(c.Begin(c.get), httpkv.TrimSlash(p.Key)), '?')
	switch {
	case p.Flags&call.KeysOnly != 0:
		c.replayed, b = replayedNames, append(b, "keys=true"...)
	case p.Scope == call.Prefix:
		c.replayed, b = replayedList, append(b, "recurse=true"...)
	}
	c.Send(c.Head(appendMode(b, p.Flags)))
}

// appendMode appends the URL parameter for the consistency mode in flags. b must end with a
// question mark or with another parameter.
func appendMode(b []byte, flags call.Flags) []byte {
	word := ""
	switch {
	case flags&call.Local != 0:
		word = "stale=true"
	case flags&call.LeaderLeaseRead == 0:
		word = "consistent=true"
	}
	if word != "" && b[len(b)-1] != '?' {
		b = append(b, '&')
	}
	return append(b, word...)
}

// replayConditional sends the write or removal p. The part guard contains the condition of p.
func (c *codec) replayConditional(guard, p *call.Part) {
	key := httpkv.TrimSlash(p.Key)
	if p.Action == call.Remove {
		b := append(http1.AppendPath(c.Begin(c.del), key), "?cas="...)
		c.Send(c.Head(strconv.AppendInt(b, guard.Number, 10)))
		return
	}
	b := http1.AppendPath(c.Begin(c.put), key)
	switch {
	case guard.Target != call.LeaseTarget:
		b = strconv.AppendInt(append(b, "?cas="...), guard.Number, 10)
	case p.Lease != 0:
		b = http1.AppendForm(append(b, "?acquire="...), p.Name)
	default:
		b = http1.AppendForm(append(b, "?release="...), guard.Name)
	}
	c.Send(append(c.Head(b), p.Value.Text...))
}

// appendSession appends the body of a request that creates a session.
func appendSession(b []byte, p *call.Part) []byte {
	b = append(b, `{"Behavior":"release"`...)
	if p.Flags&call.Ephemeral != 0 {
		b = append(b[:len(b)-len(`release"`)], `delete"`...)
	}
	if p.Flags&call.NoHealthChecks != 0 {
		b = append(b, `,"Checks":[]`...)
	}
	if p.Number > 0 {
		b = append(strconv.AppendInt(append(b, `,"TTL":"`...), p.Number, 10), `s"`...)
	}
	if p.Limit > 0 {
		b = append(strconv.AppendInt(append(b, `,"LockDelay":"`...), p.Limit-1, 10), `ms"`...)
	}
	return append(b, '}')
}

// replayTransaction sends a recorded transaction.
func (c *codec) replayTransaction(r *call.Call) {
	b := c.Begin(c.multi)
	if p := &r.Parts[0]; p.Action == call.Read {
		b = appendMode(append(b, '?'), p.Flags)
	}
	b = append(c.Head(b), '[')
	for i := 0; i < len(r.Parts); i++ {
		p := &r.Parts[i]
		if p.Action == call.ListedKey {
			continue
		}
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		guard := p
		if p.Action != call.Compare {
			guard = nil
		} else if i+1 < len(r.Parts) {
			if next := &r.Parts[i+1]; (next.Action == call.Write || next.Action == call.Remove) && bytes.Equal(next.Key, p.Key) {
				p = next
				i++
			}
		}
		b = appendOp(b, guard, p)
	}
	c.Send(append(b, ']'))
}

// handleReplayResponse handles the response to a recorded call.
func (c *codec) handleReplayResponse(r *http1.Response, e *store.Event) {
	reads := c.replayed <= replayedNames
	switch {
	case reads && r.Status == 404 && len(r.Body) == 0:
		if c.replayed == replayedRead {
			e.Outcome = kv.Miss
		}
	case c.replayed == replayedTxn && r.Status == 409 && c.guarded:
		e.Outcome = kv.Conflict
	case r.Status != 200:
		e.Outcome, e.Text = c.FailureOutcome(r)
	case c.replayed == replayedRead:
		c.parseOne(r.Body, e)
	case reads:
		c.parseReplayedList(r.Body, e)
	case c.replayed == replayedWrite:
		c.parseWritten(r.Body, e)
	case c.replayed == replayedTxn:
		c.parseReplayedResults(r.Body, e)
	case c.replayed == replayedGrant:
		c.parseGrant(r.Body, e)
	}
}

// parseReplayedList counts the keys in a list. It passes each key with its version to the
// operation's store.Keys.
func (c *codec) parseReplayedList(body []byte, e *store.Event) {
	names := c.replayed == replayedNames
	if !names {
		c.BeginList()
	}
	s := httpkv.NewJSONScanner(body)
	for more := s.Array(); more && s.Element(); {
		e.Count++
		if names {
			s.Skip()
			continue
		}
		c.parseReplayedEntry(&s)
	}
	if !s.End() {
		c.setMalformed(e)
	}
}

// parseReplayedEntry parses an entry and passes it to the store.Keys of the operation, if the
// operation has one.
func (c *codec) parseReplayedEntry(s *httpkv.JSONScanner) {
	var k entry
	c.buf = c.buf[:0]
	if c.parseEntry(s, &k); !c.Listed || !s.OK() {
		return
	}
	value, ok := []byte(nil), true
	if c.Values {
		value, ok = c.decode(k.value)
	}
	if !ok {
		s.Fail()
		return
	}
	c.PassKeyVersion(k.key, value, k.index)
}

// parseReplayedResults parses the response to a recorded transaction.
func (c *codec) parseReplayedResults(body []byte, e *store.Event) {
	c.BeginList()
	s := httpkv.NewJSONScanner(body)
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			break
		}
		if string(name) != "Results" || s.Null() {
			if string(name) != "Results" {
				s.Skip()
			}
			continue
		}
		for more := s.Array(); more && s.Element(); {
			e.Count++
			c.parseReplayedResult(&s)
		}
	}
	if !s.End() {
		c.setMalformed(e)
	}
}

func (c *codec) parseReplayedResult(s *httpkv.JSONScanner) {
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			return
		}
		if string(name) == "KV" {
			c.parseReplayedEntry(s)
		} else {
			s.Skip()
		}
	}
}

// parseGrant parses the response to a request that creates a session. It sets the event's value to
// the session's name.
func (c *codec) parseGrant(body []byte, e *store.Event) {
	c.buf = c.buf[:0]
	s := httpkv.NewJSONScanner(body)
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			break
		}
		if string(name) == "ID" {
			e.Value, c.buf = s.String(c.buf)
		} else {
			s.Skip()
		}
	}
	switch {
	case !s.End() || len(e.Value) == 0:
		c.setMalformed(e)
	case c.grants != nil:
		c.grants.Add(string(e.Value))
	}
}
