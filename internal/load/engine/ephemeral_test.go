package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// nodes is a Source whose operations create keys that are bound to the session. If `call` is set,
// each operation is that call instead.
type nodes struct {
	puts
	call *call.Call
}

func (s *nodes) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	if *op = (store.Op{Kind: kv.Ephemeral}); s.call != nil {
		*op = store.Op{Kind: kv.Put, Call: s.call}
	}
	return n
}

func (*nodes) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) {
	return kv.Ephemeral, kv.NoConsistency
}

// endingCodec is a codec with a session whose close request gets a reply. The revision in that
// reply is 1,000. The revision in other replies is 10 plus the tag.
type endingCodec struct {
	*simCodec
	session int64
	step    int64 // each call of Session adds this to the session's number
}

func (c *endingCodec) Session() int64 {
	c.session += c.step
	return c.session
}

func (c *endingCodec) CheckAlive() error { return nil }

func (c *endingCodec) Close() { c.out = append(c.out, closeTag, closeTag, closeTag, closeTag, 0) }

func (c *endingCodec) Feed(in []byte, to []store.Event) ([]store.Event, error) {
	if in[0] == closeTag {
		return append(to, store.Event{Type: store.SessionClosed, Outcome: kv.Outcome(in[4]), StoreRevision: 1000}), nil
	}
	to, err := c.simCodec.Feed(in, to)
	for k := range to {
		to[k].StoreRevision = 10 + int64(to[k].Tag)
	}
	return to, err
}

// ends is a History that counts the reported ends of sessions.
type ends struct {
	HistoryBase
	may    int
	events []history.Op
	refs   []uint64
}

func (*ends) OperationEnded(*Completion) {}

func (e *ends) KeyMayBeDeleted(uint64, uint32, int64, int64) { e.may++ }

func (e *ends) SessionEnded(ref uint64, o *history.Op) {
	e.events, e.refs = append(e.events, *o), append(e.refs, ref)
}

// At the end of a load, the loop waits a limited time for the replies that confirm that its
// sessions have ended. Such a reply contains the revision at which the session's keys were deleted.
// The loop reports this revision only for keys that this session is known to have created.
func TestAwaitsTheEndOfSessions(t *testing.T) {
	write := func(flags call.Flags) *call.Call {
		return &call.Call{Guarded: true, Parts: []call.Part{{Action: call.Compare}, {Action: call.Write, Branch: call.Then, Flags: flags}}}
	}
	for name, c := range map[string]struct {
		made, ended kv.Outcome // outcomes of the replies to operations and to close requests; NumOutcomes: no reply
		another     bool       // at the end, the connection has a different session
		cut         bool       // the server closes the connection without a reply
		call        *call.Call
		sets        bool // the call sets existing keys and creates no keys
		want        int
	}{
		"answered":          {want: 2},
		"refused":           {ended: kv.StoreError},
		"never answered":    {ended: kv.NumOutcomes},
		"cut off":           {ended: kv.NumOutcomes, cut: true},
		"of another":        {another: true},
		"not known if made": {made: kv.StoreTimeout},
		"made by calls":     {call: write(call.Ephemeral), want: 2},
		"set by calls":      {call: write(call.MustExist), sets: true},
	} {
		b := newBench(2, 2, Phase{Kind: measure.Measured, Total: 2})
		h, n := &ends{}, int64(0)
		b.cfg.Source, b.cfg.History = &nodes{call: c.call}, h
		b.cfg.Codecs = func(store.ConnectionInfo) store.Codec {
			n++
			return &endingCodec{newSimCodec(1), n, int64(countTrue(c.another))}
		}
		b.serve = func(s *sim, conn int, request []byte) {
			switch {
			case request[0] != closeTag:
				s.reply(conn, 2*millisecond, reply(request, c.made))
			case c.cut:
				s.cut(conn)
			case c.ended < kv.NumOutcomes:
				s.reply(conn, 2*millisecond, reply(request, c.ended))
			}
		}
		closed := b.now
		b.run(t)
		if len(h.events) != c.want || h.may != 2*countTrue(!c.sets) {
			t.Errorf("%s: %d keys may be gone, and the recorded ends are %+v", name, h.may, h.events)
		}
		for i := range h.events {
			o := &h.events[i]
			want := history.Op{Kind: kv.Ephemeral, Session: o.Session, Member: 7, Invoked: o.Invoked, Done: o.Invoked + 2*millisecond + b.wire, Revision: 1000, ModRevision: 10 + int64(o.Session)}
			if d := cmp.Diff(want, *o); d != "" || o.Session > 1 || o.Invoked < closed {
				t.Errorf("%s (-want +got): %s", name, d)
			}
		}
		if took := b.now - b.res.WindowEnd; c.ended == kv.NumOutcomes && !c.cut && (took < maxEndWait || took > 2*maxEndWait) || took > 2*maxEndWait {
			t.Errorf("%s: the loop ended %d ns after the window", name, took)
		}
	}
}
