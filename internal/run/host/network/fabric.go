package network

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
)

// fabric decides when each packet is sent, or that it is dropped. It uses no devices and no clock:
// callers pass the current time, in nanoseconds, from any monotonic clock. A fabric is not safe for
// concurrent use.
type fabric struct {
	subnet [3]byte
	ends   int   // number of ends: this machine and the members
	ways   []way // links between all ends; the link from end i to end j has the index i*ends+j
	random *rand.Rand
	send   func(to int, packet []byte)

	waiting queue
	bytes   int // total size of the waiting packets in bytes
	taken   uint64
	spare   []*packet
}

// way is one direction of a link between two ends.
type way struct {
	Link
	free int64 // for a link with a Rate: the time at which the link will have transmitted its last packet
}

// packet is a waiting packet.
type packet struct {
	at       int64  // the time at which the packet must be sent
	number   uint64 // sequence number, in order of arrival
	from, to int
	bytes    []byte
}

// newFabric returns a fabric that connects this machine and the given number of members by links
// without faults.
func newFabric(subnet [3]byte, members int, random *rand.Rand, send func(to int, packet []byte)) *fabric {
	ends := members + 1
	return &fabric{subnet: subnet, ends: ends, ways: make([]way, ends*ends), random: random, send: send}
}

// ourPlace is the last byte of this machine's address in the subnet. The last byte of a member's
// address is the member's number. Members are numbered from 1.
const ourPlace = 254

// destination returns the end to which an IPv4 packet is addressed.
func (f *fabric) destination(p []byte) (to int, ok bool) {
	const header, address = 20, 16
	if len(p) < header || p[0]>>4 != 4 || [3]byte(p[address:]) != f.subnet {
		return 0, false
	}
	switch to = int(p[address+3]); to {
	case ourPlace:
		return 0, true
	case 0:
		return 0, false
	}
	return to, to < f.ends
}

// forward sends, delays or drops a packet p that arrived from one of the ends. It does not retain p
// after it returns.
func (f *fabric) forward(now int64, from int, p []byte) {
	to, ok := f.destination(p)
	if !ok {
		return
	}
	at, ok := f.decide(now, &f.ways[from*f.ends+to], len(p))
	switch {
	case !ok:
	case at <= now:
		f.send(to, p)
	case f.bytes+len(p) <= MostWaiting:
		f.wait(at, from, to, p)
	}
}

// decide returns the time at which a packet of the given size must be sent. ok is false if the
// packet must be dropped.
func (f *fabric) decide(now int64, w *way, size int) (at int64, ok bool) {
	at = now
	switch {
	case w.Link == Link{}:
		return at, true
	case w.Cut, w.Loss > 0 && f.random.Float64() < w.Loss:
		return 0, false
	}
	if w.Rate > 0 {
		at = max(now, w.free)
		if float64(at-now)*float64(w.Rate)/1e9 > Queue {
			return 0, false
		}
		at += int64(float64(size) * 1e9 / float64(w.Rate))
		w.free = at
	}
	at += int64(w.Delay)
	if w.Reorder > 0 && f.random.Float64() < w.Reorder {
		at += int64(HeldBack)
	}
	return at, true
}

func (f *fabric) wait(at int64, from, to int, p []byte) {
	one := &packet{}
	if last := len(f.spare) - 1; last >= 0 {
		one, f.spare = f.spare[last], f.spare[:last]
	}
	f.taken++
	*one = packet{at: at, number: f.taken, from: from, to: to, bytes: append(one.bytes[:0], p...)}
	f.bytes += len(p)
	heap.Push(&f.waiting, one)
}

// next returns the time at which the next waiting packet must be sent.
func (f *fabric) next() (at int64, ok bool) {
	if len(f.waiting) == 0 {
		return 0, false
	}
	return f.waiting[0].at, true
}

// maxSpare is the maximum number of packet structures that are kept for reuse.
const maxSpare = 1024

// release sends the waiting packets that are due.
func (f *fabric) release(now int64) {
	for len(f.waiting) > 0 && f.waiting[0].at <= now {
		one := heap.Pop(&f.waiting).(*packet)
		f.bytes -= len(one.bytes)
		f.send(one.to, one.bytes)
		if len(f.spare) < maxSpare {
			f.spare = append(f.spare, one)
		}
	}
}

// set injects the given faults on the links. They replace all faults that were set before. Waiting
// packets are sent immediately, in the order in which they were due, except on links that are cut
// now.
func (f *fabric) set(all []faultAt) error {
	ways := make([]way, len(f.ways))
	for _, one := range all {
		if min(one.From, one.To) < 0 || max(one.From, one.To) >= f.ends {
			return fmt.Errorf("no link exists from end %d to end %d", one.From, one.To)
		}
		ways[one.From*f.ends+one.To].Link = one.Link
	}
	f.ways = ways
	for len(f.waiting) > 0 {
		one := heap.Pop(&f.waiting).(*packet)
		if !ways[one.from*f.ends+one.to].Cut {
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
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].number < q[j].number
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
