package etcdv2

import (
	"bytes"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// This file replays recorded calls: it converts a call into a request. The file tap.go does the
// inverse.

// CanReplay implements store.Replayer. The codec cannot replay watches, requests that only create
// or remove a folder, and administration.
func (*Store) CanReplay(r *call.Call) bool {
	switch r.Method {
	case methodGet, methodPut, methodPost, methodDelete:
		return !r.Pushed && len(r.Parts) > 0 && r.Parts[0].Action != call.OtherAction
	}
	return false
}

// RequiredKey implements store.Replayer. It returns nil, because etcd creates a key's folders
// itself.
func (*Store) RequiredKey(*call.Part) []byte { return nil }

// Replay implements httpkv.API.
func (c *codec) Replay(r *call.Call) {
	guards, p := r.Parts[:len(r.Parts)-1], &r.Parts[len(r.Parts)-1]
	c.replayedPart = *p
	c.replayedPart.Key, c.replayedPart.End, c.replayedPart.Value, c.replayedPart.Name = nil, nil, call.Value{}, nil // these slices belong to the caller, so do not keep them
	key := httpkv.TrimSlash(p.Key)
	if p.Scope == call.Prefix {
		key = bytes.TrimSuffix(key, []byte{'/'})
	}
	switch p.Action {
	case call.Read:
		b := append(http1.AppendPath(c.Begin(c.get), key), "?sorted=false"...)
		if p.Flags&call.Local == 0 {
			b = append(b, "&quorum=true"...)
		}
		if p.Scope == call.Prefix && p.Flags&call.KeysOnly == 0 {
			b = append(b, "&recursive=true"...)
		}
		c.Send(c.Head(b))
	case call.Remove:
		b := append(http1.AppendPath(c.Begin(c.del), key), '?')
		if p.Scope == call.Prefix {
			b = append(b, "recursive=true"...)
		}
		c.Send(c.Head(appendGuards(b, guards)))
	default:
		c.replayWrite(key, guards, p)
	}
}

func (c *codec) replayWrite(key []byte, guards []call.Part, p *call.Part) {
	t := c.put
	if p.Flags&call.Sequential != 0 {
		t = c.post
	}
	b := append(http1.AppendPath(c.Begin(t), key), '?')
	if t == c.put {
		b = append(b, "noValueOnSuccess=true"...)
	}
	if p.Flags&call.MustExist != 0 {
		b = append(b, "&prevExist=true"...)
	}
	b = c.Head(appendGuards(b, guards))
	if p.Flags&call.KeepValue != 0 {
		b = append(b, "refresh=true"...)
	} else {
		b = http1.AppendForm(append(b, "value="...), p.Value.Text)
	}
	if p.Number > 0 {
		b = strconv.AppendInt(append(b, "&ttl="...), p.Number, 10)
	}
	c.Send(b)
}

func appendGuards(b []byte, guards []call.Part) []byte {
	for i := range guards {
		switch g := &guards[i]; g.Target {
		case call.Modified:
			b = strconv.AppendInt(append(b, "&prevIndex="...), g.Number, 10)
		case call.ValueTarget:
			b = http1.AppendForm(append(b, "&prevValue="...), g.Value.Text)
		default:
			b = append(b, "&prevExist=false"...)
		}
	}
	return b
}

// handleReplayResponse fills in the event of a recorded call from the response.
func (c *codec) handleReplayResponse(r *http1.Response, e *store.Event) {
	e.Term = r.Uint(fieldTerm)
	p := &c.replayedPart
	if r.Status != 200 && r.Status != 201 {
		c.setReplayFailure(r, e)
		return
	}
	e.StoreRevision = int64(r.Uint(fieldIndex)) // #nosec G115 -- an index fits into an int64
	e.Revision = e.StoreRevision
	ok := true
	switch {
	case p.Action == call.Read && p.Scope == call.SingleKey:
		var n node
		if n, ok = c.parseOne(r.Body); ok {
			e.Value, e.Revision, e.Count = n.value, n.modified, 1
		}
	case p.Action == call.Read:
		c.folder, c.Interval = nil, httpkv.Interval{}
		ok = c.parseList(r.Body, e)
	case p.Flags&call.Sequential != 0:
		var n node
		_, n, ok = c.parseEvent(r.Body)
		e.Key, e.Count = httpkv.TrimSlash(n.key), 1
	default:
		e.Count = 1
	}
	if !ok {
		*e = store.Event{Tag: e.Tag, Outcome: kv.StoreError, Text: malformed}
	}
}

func (c *codec) setReplayFailure(r *http1.Response, e *store.Event) {
	a, ok := c.parseError(r.Body)
	if ok && a.code == keyNotFound {
		switch {
		case c.replayedPart.Action == call.Read && c.replayedPart.Scope == call.Prefix:
			return // a missing folder counts as empty: no keys were read
		case c.replayedPart.Action == call.Read:
			e.Outcome = kv.Miss
			return
		case c.replayedPart.Flags&call.MustExist != 0:
			e.Outcome = kv.Conflict
			return
		}
	}
	c.setFailure(r, e)
}
