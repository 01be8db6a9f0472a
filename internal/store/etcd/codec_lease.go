package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// keepAlive sends a LeaseKeepAliveRequest on the lease's stream.
func (c *codec) keepAlive(op *store.Op) {
	n := c.keepStreamFor(op.Lease)
	k := &c.keepAlives[n]
	if k.id == 0 {
		k.id = c.conn.OpenStream(c.keepAliveRPC, n, uint8(c.gen<<genShift)|callKeepAlive)
	}
	c.request = message.Append(c.request[:0], &call.Part{Action: call.KeepAlive, Lease: op.Lease})
	c.sendOn(k.id)
	k.sent = append(k.sent, sentKeep{op.Tag, op.Lease})
}

// keepStreamFor returns the index in c.keepAlives of the stream for a lease's keep-alives. Each
// lease has its own stream, unless the connection can open only one more stream. In that case the
// lease shares the open stream of another lease, because otherwise the streams, which stay open,
// would leave no room for any request.
func (c *codec) keepStreamFor(lease int64) uint32 {
	n, ok := c.leases[lease]
	if ok && c.keepAlives[n].id != 0 {
		return n
	}
	if c.leases == nil {
		c.leases = map[int64]uint32{}
	}
	if c.conn.Room() <= 1 {
		for range c.keepAlives {
			c.nextShared = (c.nextShared + 1) % uint32(len(c.keepAlives))
			if c.keepAlives[c.nextShared].id != 0 {
				c.leases[lease] = c.nextShared
				return c.nextShared
			}
		}
	}
	if !ok {
		n = uint32(len(c.keepAlives))
		c.keepAlives = append(c.keepAlives, keepStream{})
		c.leases[lease] = n
	}
	return n
}

// cancelKeepAlive abandons a keep-alive operation, so that its reply will be skipped. It returns
// false if the tag does not belong to a keep-alive operation that waits for a reply.
func (c *codec) cancelKeepAlive(tag uint32) bool {
	for i := range c.keepAlives {
		k := &c.keepAlives[i]
		for j := k.first; j < len(k.sent); j++ {
			if k.sent[j].tag == tag {
				k.sent[j].tag = abandonedTag
				return true
			}
		}
	}
	return false
}

// keepAliveReply handles a LeaseKeepAliveResponse{header: 1, ID: 2, TTL: 3} or the end of the
// stream. A TTL of 0 means that the lease has expired.
func (c *codec) keepAliveReply(r *h2.Reply, events []store.Event) ([]store.Event, error) {
	if r.End != h2.Message {
		return c.keepAliveEnded(r, events), nil
	}
	k := &c.keepAlives[r.Tag]
	if k.first == len(k.sent) {
		return events, nil // a reply without a request is harmless: it only confirms that the lease was renewed
	}
	asked := k.sent[k.first]
	e := store.Event{Tag: asked.tag}
	k.sent, k.first = dropFirst(k.sent, k.first)
	lease := int64(0)
	f := fields{b: r.Body}
	for f.next() {
		switch f.tag {
		case message.HeaderTag:
			f.must(c.parseHeader(f.v, &e))
			e.Revision, e.StoreRevision = c.extra.revision, c.extra.revision
		case message.KeptLeaseTag:
			lease = int64(f.n)
		case message.KeptTTLTag:
			e.Count = int64(f.n)
		}
	}
	if !f.ok() {
		return events, errMalformed
	}
	switch {
	case lease != asked.lease:
		e.Outcome, e.Text = kv.WrongResponse, []byte("the response is for another lease")
	case e.Count <= 0:
		e.Outcome, e.Text = kv.BadRequest, []byte("etcdserver: requested lease not found")
	}
	if e.Tag != abandonedTag {
		events = append(events, e)
	}
	return events, nil
}

// keepAliveEnded fails the operations that wait for a reply on a stream that has ended. The next
// keep-alive opens a new stream.
func (c *codec) keepAliveEnded(r *h2.Reply, events []store.Event) []store.Event {
	k := &c.keepAlives[r.Tag]
	var e store.Event
	c.setFailure(r, &e)
	if r.End == h2.Answered && r.Code == h2.StatusOK {
		e.Outcome, e.Text = kv.StoreError, []byte("the server closed the keep-alive stream of the lease without a response")
	}
	for _, asked := range k.sent[k.first:] {
		if asked.tag != abandonedTag {
			events = append(events, store.Event{Tag: asked.tag, Outcome: e.Outcome, Text: e.Text})
		}
	}
	k.id, k.sent, k.first = 0, k.sent[:0], 0
	return events
}
