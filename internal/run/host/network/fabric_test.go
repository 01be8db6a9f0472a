package network

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// simulated is a fabric in simulated time that connects this machine and three members. It records
// the packets that the fabric sent.
type simulated struct {
	*fabric
	now  int64
	sent []delivery
}

type delivery struct {
	at       time.Duration
	from, to int
	number   uint32
}

var subnet = [3]byte{198, 18, 7}

func newSimulated(faults ...numberedFault) *simulated {
	s := &simulated{}
	s.fabric = newFabric(subnet, 3, rand.New(rand.NewPCG(1, 2)), func(to int, p []byte) {
		s.sent = append(s.sent, delivery{time.Duration(s.now), int(p[15]), to, binary.BigEndian.Uint32(p[20:])})
	})
	if err := s.set(faults); err != nil {
		panic(err)
	}
	return s
}

// send sends a packet of size bytes from one end to another at the given simulated time.
func (s *simulated) send(at time.Duration, from, to int, number uint32, size int) {
	s.advance(int64(at))
	last := func(end int) byte {
		if end == 0 {
			return hostByte
		}
		return byte(end)
	}
	p := make([]byte, max(size, 24))
	p[0] = 0x45
	copy(p[12:], []byte{198, 18, 7, byte(from), 198, 18, 7, last(to)})
	binary.BigEndian.PutUint32(p[20:], number)
	s.forward(s.now, from, p)
}

// advance advances the simulated time.
func (s *simulated) advance(now int64) {
	for {
		at, ok := s.next()
		if !ok || at > now {
			break
		}
		s.now = at
		s.release(at)
	}
	s.now = now
}

func linkFault(from, to int, l Link) numberedFault { return numberedFault{from, to, l} }

func TestLinksInOrderForwardAtOnce(t *testing.T) {
	s := newSimulated()
	for i := range uint32(100) {
		s.send(time.Duration(i), int(i%4), int(i+1)%4, i, 100)
	}
	for i, d := range s.sent {
		if d.at != time.Duration(i) || d.number != uint32(i) || d.to != (i+1)%4 {
			t.Errorf("packet %d arrived as %+v", i, d)
		}
	}
	if len(s.sent) != 100 {
		t.Errorf("%d packets arrived", len(s.sent))
	}
}

func TestCutLinksAreOneWay(t *testing.T) {
	s := newSimulated(linkFault(1, 2, Link{Cut: true}))
	s.send(0, 1, 2, 1, 100)
	s.send(1, 2, 1, 2, 100)
	s.send(2, 1, 3, 3, 100)
	if len(s.sent) != 2 || s.sent[0].number != 2 || s.sent[1].number != 3 {
		t.Errorf("the packets %+v arrived", s.sent)
	}
}

// Each packet is delayed by exactly the link's delay, and the packets arrive in the order in which
// they were sent.
func TestDelay(t *testing.T) {
	s := newSimulated(linkFault(1, 2, Link{Delay: 50 * time.Millisecond}))
	for i := range uint32(1000) {
		s.send(time.Duration(i)*time.Millisecond, 1, 2, i, 100)
	}
	s.advance(int64(time.Hour))
	for i, d := range s.sent {
		if d.number != uint32(i) || d.at != time.Duration(i+50)*time.Millisecond {
			t.Fatalf("packet %d arrived as %+v", i, d)
		}
	}
	if len(s.sent) != 1000 {
		t.Errorf("%d packets arrived", len(s.sent))
	}
}

func TestLossTakesItsShare(t *testing.T) {
	const n = 20_000
	s := newSimulated(linkFault(1, 2, Link{Loss: 0.1}))
	for i := range uint32(n) {
		s.send(time.Duration(i), 1, 2, i, 100)
	}
	if lost := n - len(s.sent); lost < n*9/100 || lost > n*11/100 { // each limit is more than 4 standard deviations away from the mean
		t.Errorf("%d of %d packets were lost", lost, n)
	}
	if s = newSimulated(linkFault(1, 2, Link{Loss: 1})); len(s.sent) != 0 {
		t.Error("a link that loses every packet sent a packet")
	}
}

// Some packets are delayed and arrive after packets that were sent later. The other packets are not
// delayed, and no packet is lost.
func TestReorder(t *testing.T) {
	const n = 20_000
	s := newSimulated(linkFault(1, 2, Link{Reorder: 0.05}))
	for i := range uint32(n) {
		s.send(time.Duration(i)*time.Millisecond, 1, 2, i, 100)
	}
	s.advance(int64(time.Hour))
	held, overtaken, highest := 0, 0, uint32(0)
	for _, d := range s.sent {
		if late := d.at - time.Duration(d.number)*time.Millisecond; late == ReorderDelay {
			held++
		} else if late != 0 {
			t.Fatalf("packet %+v arrived with an unexpected delay of %s", d, late)
		}
		if d.number < highest {
			overtaken++
		}
		highest = max(highest, d.number)
	}
	if len(s.sent) != n || held < n*4/100 || held > n*6/100 || overtaken < held*9/10 {
		t.Errorf("%d of %d packets arrived; %d were delayed, and %d of all packets arrived after a later one", len(s.sent), n, held, overtaken)
	}
}

// A link with a rate forwards packets at exactly this rate and in order, and drops packets that do
// not fit in its queue.
func TestRate(t *testing.T) {
	const rate, size = 1_000_000, 1000
	s := newSimulated(linkFault(1, 2, Link{Rate: rate}))
	for i := range uint32(4000) { // for one second, packets are sent at four times the link's rate
		s.send(time.Duration(i)*250*time.Microsecond, 1, 2, i, size)
	}
	inTime := 0
	for _, d := range s.sent {
		if d.at <= time.Second {
			inTime++
		}
	}
	if inTime < rate/size-2 || inTime > rate/size {
		t.Errorf("%d packets of %d bytes arrived in one second, which does not match the link's rate", inTime, size)
	}
	s.advance(int64(time.Hour))
	if !slices.IsSortedFunc(s.sent, func(a, b delivery) int { return int(a.number) - int(b.number) }) {
		t.Error("a link with a rate changed the order of the packets")
	}
	if waited := len(s.sent) - inTime; waited < MaxLinkQueueBytes/size-2 || waited > MaxLinkQueueBytes/size+2 {
		t.Errorf("%d packets waited, but the queue has space for %d", waited, MaxLinkQueueBytes/size)
	}
	// An idle link delays a packet only by the time that the packet's transmission takes.
	s.send(2*time.Hour, 1, 2, 9, size)
	s.advance(int64(3 * time.Hour))
	if last := s.sent[len(s.sent)-1]; last.at != 2*time.Hour+time.Millisecond {
		t.Errorf("the packet arrived as %+v", last)
	}
}

// When a link is healed, its waiting packets are sent in order. When it is cut, they are dropped.
func TestHealingSendsWaitingPackets(t *testing.T) {
	late := Link{Delay: time.Hour}
	s := newSimulated(linkFault(1, 2, late), linkFault(1, 3, late))
	for i := range uint32(10) {
		s.send(time.Duration(i), 1, 2+int(i%2), i, 100)
	}
	if len(s.sent) != 0 {
		t.Fatalf("the packets %+v arrived", s.sent)
	}
	if err := s.set([]numberedFault{linkFault(1, 3, Link{Cut: true})}); err != nil {
		t.Fatal(err)
	}
	if len(s.sent) != 5 {
		t.Fatalf("the packets %+v arrived", s.sent)
	}
	for i, d := range s.sent {
		if d.to != 2 || d.number != uint32(2*i) {
			t.Errorf("packet %d arrived as %+v", i, d)
		}
	}
	if _, ok := s.next(); ok || s.bytes != 0 {
		t.Errorf("%d bytes are still in the queue", s.bytes)
	}
	if s.set([]numberedFault{linkFault(1, 4, late)}) == nil || s.set([]numberedFault{linkFault(-1, 2, late)}) == nil {
		t.Error("a link to an unknown end was accepted")
	}
}

// MaxWaitingBytes limits the total size of waiting packets.
func TestWaitingPacketsAreBounded(t *testing.T) {
	const size = 60_000
	s := newSimulated(linkFault(1, 2, Link{Delay: time.Hour}))
	for i := range uint32(2 * MaxWaitingBytes / size) {
		s.send(time.Duration(i), 1, 2, i, size)
	}
	if s.bytes > MaxWaitingBytes || s.bytes < MaxWaitingBytes-size {
		t.Errorf("%d bytes are in the queue", s.bytes)
	}
}

// For any packet from a member, the fabric does not crash and does not send the packet to a wrong
// end.
func FuzzForward(f *testing.F) {
	whole := make([]byte, 40)
	whole[0] = 0x45
	copy(whole[16:], []byte{198, 18, 7, 2})
	ours := slices.Clone(whole)
	ours[19] = hostByte
	f.Add([]byte{}, uint8(0), int64(0))
	f.Add(whole, uint8(1), int64(5))
	f.Add(ours, uint8(2), int64(1e9))
	f.Add(whole[:19], uint8(3), int64(0))
	f.Add([]byte{0x60, 0, 0, 0}, uint8(1), int64(0))
	f.Fuzz(func(t *testing.T, p []byte, from uint8, now int64) {
		var to []int
		f := newFabric(subnet, 3, rand.New(rand.NewPCG(1, 2)), func(end int, sent []byte) {
			if string(sent) != string(p) {
				t.Errorf("the fabric sent the packet %x instead of %x", sent, p)
			}
			to = append(to, end)
		})
		if err := f.set([]numberedFault{linkFault(1, 2, Link{Delay: time.Second, Rate: 1, Loss: 0.1, Reorder: 0.5})}); err != nil {
			t.Fatal(err)
		}
		now = max(now, 0) % int64(time.Hour)
		f.forward(now, int(from)%4, p)
		f.release(now + int64(24*365*time.Hour))
		if len(to) > 1 || len(to) == 1 && (to[0] < 0 || to[0] > 3 || p[19] != hostByte && int(p[19]) != to[0]) {
			t.Errorf("the packet %x was sent to the ends %v", p, to)
		}
	})
}
