package network

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
)

// fabric decides for each packet whether to drop it, and otherwise when to send it. It uses no
// devices and no clock: callers pass the current time, in nanoseconds, from any monotonic clock. A
// fabric is not safe for concurrent use.
type fabric struct {
	subnet   [3]byte
	endCount int            // number of ends: this machine and the members
	links    []directedLink // links between all ends; the link from end i to end j has the index i*endCount+j
	random   *rand.Rand
	send     func(to int, packet []byte)

	waiting     queue
	bytes       int // total size of the waiting packets in bytes
	packetCount uint64
	freePackets []*packet
}

// directedLink is one direction of a link between two ends.
type directedLink struct {
	Link
	freeAt int64 // for a link with a Rate: the time at which the link will have transmitted its last packet
}

// packet is a waiting packet.
type packet struct {
	sendTime int64  // the time at which the packet must be sent
	number   uint64 // sequence number, in order of arrival
	from, to int
	bytes    []byte
}

// newFabric returns a fabric that connects this machine and the given number of members by links
// without faults.
func newFabric(subnet [3]byte, members int, random *rand.Rand, send func(to int, packet []byte)) *fabric {
	ends := members + 1
	return &fabric{subnet: subnet, endCount: ends, links: make([]directedLink, ends*ends), random: random, send: send}
}

// hostByte is the last byte of this machine's address in the subnet. The last byte of a member's
// address is the member's number. Members are numbered from 1.
const hostByte = 254

// destination returns the end to which an IPv4 packet is addressed.
func (f *fabric) destination(p []byte) (to int, ok bool) {
	const header, address = 20, 16
	if len(p) < header || p[0]>>4 != 4 || [3]byte(p[address:]) != f.subnet {
		return 0, false
	}
	switch to = int(p[address+3]); to {
	case hostByte:
		return 0, true
	case 0:
		return 0, false
	}
	return to, to < f.endCount
}

// forward sends, delays or drops a packet p that arrived from one of the ends. It does not retain p
// after it returns.
func (f *fabric) forward(now int64, from int, p []byte) {
	to, ok := f.destination(p)
	if !ok {
		return
	}
	at, ok := f.scheduleSend(now, &f.links[from*f.endCount+to], len(p))
	switch {
	case !ok:
	case at <= now:
		f.send(to, p)
	case f.bytes+len(p) <= MaxWaitingBytes:
		f.wait(at, from, to, p)
	}
}

// scheduleSend returns the time at which a packet of the given size must be sent. ok is false if
// the packet must be dropped.
func (f *fabric) scheduleSend(now int64, w *directedLink, size int) (at int64, ok bool) {
	at = now
	switch {
	case w.Link == Link{}:
		return at, true
	case w.Cut, w.Loss > 0 && f.random.Float64() < w.Loss:
		return 0, false
	}
	if w.Rate > 0 {
		at = max(now, w.freeAt)
		if float64(at-now)*float64(w.Rate)/1e9 > MaxLinkQueueBytes {
			return 0, false
		}
		at += int64(float64(size) * 1e9 / float64(w.Rate))
		w.freeAt = at
	}
	at += int64(w.Delay)
	if w.Reorder > 0 && f.random.Float64() < w.Reorder {
		at += int64(ReorderDelay)
	}
	return at, true
}

func (f *fabric) wait(at int64, from, to int, p []byte) {
	one := &packet{}
	if last := len(f.freePackets) - 1; last >= 0 {
		one, f.freePackets = f.freePackets[last], f.freePackets[:last]
	}
	f.packetCount++
	*one = packet{sendTime: at, number: f.packetCount, from: from, to: to, bytes: append(one.bytes[:0], p...)}
	f.bytes += len(p)
	heap.Push(&f.waiting, one)
}

// next returns the time at which the next waiting packet must be sent.
func (f *fabric) next() (at int64, ok bool) {
	if len(f.waiting) == 0 {
		return 0, false
	}
	return f.waiting[0].sendTime, true
}

// maxFreePackets is the maximum number of packet structures that are kept for reuse.
const maxFreePackets = 1024

// release sends the waiting packets that are due.
func (f *fabric) release(now int64) {
	for len(f.waiting) > 0 && f.waiting[0].sendTime <= now {
		one := heap.Pop(&f.waiting).(*packet)
		f.bytes -= len(one.bytes)
		f.send(one.to, one.bytes)
		if len(f.freePackets) < maxFreePackets {
			f.freePackets = append(f.freePackets, one)
		}
	}
}

// set injects the given faults on the links. They replace all faults that were set before. Waiting
// packets are sent immediately, in the order in which they were due, except on links that are cut
// now.
func (f *fabric) set(all []numberedFault) error {
	ways := make([]directedLink, len(f.links))
	for _, one := range all {
		if min(one.From, one.To) < 0 || max(one.From, one.To) >= f.endCount {
			return fmt.Errorf("no link exists from end %d to end %d", one.From, one.To)
		}
		ways[one.From*f.endCount+one.To].Link = one.Link
	}
	f.links = ways
	for len(f.waiting) > 0 {
		one := heap.Pop(&f.waiting).(*packet)
		if !ways[one.from*f.endCount+one.to].Cut {
			f.send(one.to, one.bytes)
		}
	}
	f.bytes = 0
	return nil
}

// queue is a heap of packets, ordered by the time at which they are sent.
type queue []*packet

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	return q[i].sendTime < q[j].sendTime || q[i].sendTime == q[j].sendTime && q[i].number < q[j].number
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(*packet)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	one := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return one
}
