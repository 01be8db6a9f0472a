package etcd

import (
	"bytes"

	"google.golang.org/grpc/codes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// interval sends a Range in the requested form: as a single request, in pages, or streamed.
func (c *codec) interval(op *store.Op, gen uint8) {
	switch r := op.Range; {
	case r.Streamed, r.PageSize > 0 && !r.CountOnly:
		c.beginScan(op, gen)
	case r.CountOnly:
		c.scan(op, gen|callCount)
	case len(r.End) == 0 && !r.KeysOnly:
		c.get(op, gen|callGet)
	default:
		c.scan(op, gen|callRange)
	}
}

func (c *codec) beginScan(op *store.Op, gen uint8) {
	if len(c.scans.unused) == 0 {
		c.scans.unused = append(c.scans.unused, uint32(len(c.scans.table)))
		c.scans.table = append(c.scans.table, scan{})
	}
	last := len(c.scans.unused) - 1
	place := c.scans.unused[last]
	c.scans.unused = c.scans.unused[:last]
	c.scans.open++
	s := &c.scans.table[place]
	*s = scan{
		tag: op.Tag, busy: true, memory: s.memory, first: s.first[:0],
		found: store.Event{Tag: op.Tag},
	}
	s.wantsKeys = c.keys != nil
	s.wantsValues = s.wantsKeys && c.keys.Begin(op.Tag)
	r := op.Range
	if r.Streamed {
		s.op.CountOnly = r.CountOnly
		s.stream = c.conn.OpenStream(c.streamRPC, scanTag|place, gen|callStream)
		p := readOf(op)
		c.request = message.Append(c.request[:0], &p)
		c.sendOn(s.stream)
		c.conn.CloseSend(s.stream)
		return
	}
	s.op, s.level = store.RangeOp{Limit: r.Limit, KeysOnly: r.KeysOnly, PageSize: r.PageSize}, op.Consistency
	s.memory = append(append(s.memory[:0], r.End...), op.Key...)
	s.setSlices(len(r.End))
	c.nextPage(place)
}

// setSlices makes s.op.End and s.key refer to s.memory, which contains the interval's end followed
// by the key. The interval's end has endLen bytes.
func (s *scan) setSlices(endLen int) { s.op.End, s.key = s.memory[:endLen:endLen], s.memory[endLen:] }

// nextPage requests the next page. The caller must have checked that Room is not 0.
func (c *codec) nextPage(slot uint32) {
	s := &c.scans.table[slot]
	p := readOf(&store.Op{Key: s.key, Consistency: s.level, Range: &s.op})
	p.Number = s.revision
	if p.Limit == 0 || p.Limit > s.op.PageSize {
		p.Limit = s.op.PageSize
	}
	s.pages++
	c.send(c.rangeRPC, scanTag|slot, uint8(c.gen<<genShift)|callPage, &p)
}

// scanReply handles a page, a part of a stream, or a stream's end. It skips replies that belong
// to a range that has already ended.
func (c *codec) scanReply(r *h2.Reply, events []store.Event) ([]store.Event, error) {
	place := r.Tag &^ scanTag
	if place >= uint32(len(c.scans.table)) || !c.scans.table[place].busy {
		return events, nil
	}
	s := &c.scans.table[place]
	streamed := r.Sub&callMask == callStream
	switch {
	case r.End == h2.Message:
		if !c.parseStreamed(r.Body, s) {
			return events, errMalformed
		}
		return events, nil
	case r.End != h2.Answered || r.Code != h2.StatusOK:
		e := store.Event{Tag: s.tag}
		c.setFailure(r, &e)
		if streamed && r.End == h2.Answered && codes.Code(r.Code) == codes.Unimplemented {
			e.Outcome, e.Text = kv.StoreError, []byte("the server does not support streamed ranges (KV.RangeStream, etcd 3.7 or later); use a plain or paged range")
		}
		return c.endScan(place, &e, events), nil
	case streamed:
		return c.streamEnded(place, events), nil
	}
	before := s.found.Count
	c.extra = replyExtras{}
	if !c.parsePage(r.Body, s) {
		return events, errMalformed
	}
	if why := c.impossiblePage(s, s.found.Count-before); why != nil {
		return c.failScan(place, string(why), events), nil
	}
	return c.pageRead(place, s.found.Count-before, events), nil
}

// streamEnded ends a streamed range. It first checks that the range is complete.
func (c *codec) streamEnded(slot uint32, events []store.Event) []store.Event {
	s := &c.scans.table[slot]
	switch {
	case !s.finished:
		return c.failScan(slot, "the stream ended before the last part of the range arrived", events)
	case s.revision <= 0 && s.found.Member == 0:
		return c.failScan(slot, string(noHeader), events)
	case s.op.CountOnly:
		s.found.Count = s.counted
	case s.found.Count > s.counted, s.found.Count < s.counted && !s.more:
		return c.failScan(slot, "the number of keys in the stream differs from the stream's count field", events)
	}
	return c.endScan(slot, &s.found, events)
}

// pageRead is called when a page with n keys has been parsed. It requests the next page, or ends
// the range if there is none.
func (c *codec) pageRead(slot uint32, n int64, events []store.Event) []store.Event {
	s := &c.scans.table[slot]
	if s.op.Limit > 0 {
		if s.op.Limit -= n; s.op.Limit <= 0 {
			s.more = false
		}
	}
	if !s.more {
		return c.endScan(slot, &s.found, events)
	}
	var last store.Event
	if !parseKV(s.last, &last) || len(last.Key) == 0 || bytes.Compare(last.Key, s.key) < 0 { // without this check, the scan might never end
		return c.failScan(slot, "the server reports more keys, but the page contains no key after the last key of the previous page", events)
	}
	end := len(s.op.End)
	s.memory = append(append(s.memory[:end], last.Key...), 0)
	s.setSlices(end)
	return c.advanceScan(slot, events)
}

func (c *codec) advanceScan(slot uint32, events []store.Event) []store.Event {
	s := &c.scans.table[slot]
	switch {
	case c.conn.Room() > 0:
		c.nextPage(slot)
	case c.conn.Draining():
		e := store.Event{Tag: s.tag, Outcome: kv.ConnectionLost, Text: []byte("the connection accepts no more requests, but some pages of the range are still missing")}
		return c.endScan(slot, &e, events)
	case !s.stalled:
		s.stalled = true
		c.scans.stalled = append(c.scans.stalled, slot)
	}
	return events
}

// resumeScans continues the ranges that waited until the connection could take another request.
func (c *codec) resumeScans(events []store.Event) []store.Event {
	waiting := len(c.scans.stalled)
	for i := 0; i < waiting; i++ {
		place := c.scans.stalled[i]
		if s := &c.scans.table[place]; s.stalled {
			s.stalled = false
			events = c.advanceScan(place, events)
		}
	}
	c.scans.stalled = c.scans.stalled[:copy(c.scans.stalled, c.scans.stalled[waiting:])]
	return events
}

// failScan ends a range with the outcome WrongResponse and the given error text.
func (c *codec) failScan(slot uint32, reason string, events []store.Event) []store.Event {
	e := store.Event{Tag: c.scans.table[slot].tag, Outcome: kv.WrongResponse, Text: []byte(reason)}
	return c.endScan(slot, &e, events)
}

// endScan ends a range and frees its slot in the table. The event refers to s.first, which stays
// valid until a reply for the slot's next range arrives.
func (c *codec) endScan(slot uint32, e *store.Event, events []store.Event) []store.Event {
	s := &c.scans.table[slot]
	e.ExtraRequests = max(s.pages, 1) - 1
	events = append(events, *e)
	c.freeScan(slot)
	return events
}

func (c *codec) freeScan(slot uint32) {
	s := &c.scans.table[slot]
	s.busy, s.stalled = false, false
	c.scans.open--
	c.scans.unused = append(c.scans.unused, slot)
}

// cancelScan cancels the operation if it is a paged or streamed range. Otherwise it returns false.
func (c *codec) cancelScan(tag uint32) bool {
	if c.scans.open == 0 {
		return false
	}
	for place := range c.scans.table {
		s := &c.scans.table[place]
		if !s.busy || s.tag != tag {
			continue
		}
		if s.stream != 0 {
			c.conn.ResetStream(s.stream)
		} else {
			c.conn.Cancel(scanTag | uint32(place))
		}
		c.freeScan(uint32(place))
		return true
	}
	return false
}

// lostScans fails all ranges, because the connection was lost.
func (c *codec) lostScans(events []store.Event) []store.Event {
	for place := range c.scans.table {
		if s := &c.scans.table[place]; s.busy {
			events = c.endScan(uint32(place), &store.Event{Tag: s.tag, Outcome: kv.ConnectionLost}, events)
		}
	}
	return events
}

// parseStreamed parses a RangeStreamResponse, which contains a part of a range.
func (c *codec) parseStreamed(b []byte, s *scan) bool {
	f := fields{b: b}
	for f.next() {
		if f.tag == message.StreamRangeTag {
			f.must(c.parsePage(f.v, s))
		}
	}
	return f.ok()
}

// parsePage parses a RangeResponse that contains a part of a range.
func (c *codec) parsePage(b []byte, s *scan) bool {
	s.more, s.last = false, nil
	f := fields{b: b}
	for f.next() {
		switch f.tag {
		case message.HeaderTag:
			f.must(c.parseHeader(f.v, &s.found))
			if s.finished = true; s.revision == 0 {
				s.revision = c.extra.revision
			}
			s.found.StoreRevision = s.revision
		case message.RangeKVTag:
			s.last = f.v
			if s.found.Count++; s.found.Count == 1 {
				f.must(s.keepFirst(s.last))
			}
			if s.wantsKeys {
				f.must(c.passKey(s.tag, s.last, s.wantsValues))
			}
		case message.RangeMoreTag:
			s.more = f.n != 0
		case message.RangeCountTag:
			s.counted = int64(f.n)
		}
	}
	return f.ok()
}

// keepFirst copies the first key and value, because the buffer that contains the reply is reused
// before the range ends.
func (s *scan) keepFirst(b []byte) bool {
	if !parseKV(b, &s.found) {
		return false
	}
	s.found.Version = 0 // the event's Version is set only for watches
	n := len(s.found.Key)
	s.first = append(append(s.first[:0], s.found.Key...), s.found.Value...)
	s.found.Key, s.found.Value = s.first[:n:n], s.first[n:]
	return true
}
