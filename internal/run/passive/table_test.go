package passive

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// tableConn contains what was decoded from one connection.
type tableConn struct {
	received [2][]byte // bytes from the client and from the member
	order    []int     // sender of each piece
	times    []int64
	endCount int
}

func (h *tableConn) Feed(client bool, at int64, b []byte) error {
	side := serverSide
	if client {
		side = clientSide
	}
	h.received[side] = append(h.received[side], b...)
	h.order, h.times = append(h.order, side), append(h.times, at)
	if bytes.Contains(b, []byte("nonsense")) {
		return fmt.Errorf("that is nonsense")
	}
	return nil
}
func (h *tableConn) End(int64) { h.endCount++ }
func (*tableConn) Open() int   { return 0 }

// tableRecorder contains the decoded connections and the gaps.
type tableRecorder struct {
	conns               map[uint32]*tableConn
	gaps                []call.Gap
	firstFed, firstLost chan struct{} // closed when the first connection begins and when the first connection is lost
}

func newTableRecorder() *tableRecorder {
	return &tableRecorder{conns: map[uint32]*tableConn{}, firstFed: make(chan struct{}), firstLost: make(chan struct{})}
}

// closeOnce closes a channel if it is not closed yet.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

func (a *tableRecorder) Tap(c store.TapConfig) store.Tap {
	closeOnce(a.firstFed)
	a.conns[c.Conn] = &tableConn{}
	return a.conns[c.Conn]
}
func (*tableRecorder) Call(*call.Call) {}
func (a *tableRecorder) Gap(g call.Gap) {
	a.gaps = append(a.gaps, g)
	if g.Conn != 0 {
		closeOnce(a.firstLost)
	}
}
func (a *tableRecorder) endReason(conn uint32) string {
	for _, g := range a.gaps {
		if g.Conn == conn {
			return g.Reason
		}
	}
	return ""
}

const memberPort = 2379

var member = netip.MustParseAddr("10.0.0.2")

func listening() (*tableRecorder, *table) {
	a := newTableRecorder()
	return a, newTable(&TapConfig{Provider: a, Sink: a}, memberPort, func(at netip.Addr) bool { return at == member })
}

// endpoint is one end of a connection.
type endpoint struct {
	addr netip.AddrPort
	next uint32
}

// connection creates the packets of one connection.
type connection struct{ client, server endpoint }

func newConnection(client string, from, answer uint32) *connection {
	return &connection{client: endpoint{netip.MustParseAddrPort(client), from}, server: endpoint{netip.AddrPortFrom(member, memberPort), answer}}
}

// send returns a segment that one side sends. The segment acknowledges everything from the other
// side.
func (k *connection) send(side int, flags uint8, payload string) *segment {
	own, other := &k.client, &k.server
	if side == serverSide {
		own, other = other, own
	}
	s := &segment{from: own.addr, to: other.addr, seq: own.next, flags: flags, payload: []byte(payload)}
	own.next += uint32(len(payload))
	if flags&(flagSYN|flagFIN) != 0 {
		own.next++
	}
	if flags&flagSYN == 0 || side == serverSide {
		s.flags |= flagACK
		s.ack = other.next
	}
	return s
}

// opens returns the packets that open the connection.
func (k *connection) opens() []*segment {
	return []*segment{k.send(clientSide, flagSYN, ""), k.send(serverSide, flagSYN, ""), k.send(clientSide, 0, "")}
}

// closes returns the packets that close the connection.
func (k *connection) closes() []*segment {
	return []*segment{k.send(clientSide, flagFIN, ""), k.send(serverSide, flagFIN, ""), k.send(clientSide, 0, "")}
}

func (t *table) receive(at int64, segments ...*segment) {
	for _, s := range segments {
		b := packetOf(s)
		t.packet(b, len(b), at)
	}
}

// Both sides of a connection are decoded in order, and each reply is decoded after its request, no
// matter how the connection's bytes are split, repeated and reordered.
func TestSegmentsAreReordered(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		a, table := listening()
		k := newConnection("10.0.0.1:40000", rng.Uint32(), ^uint32(0)-rng.Uint32N(2000)) // sequence numbers wrap around
		table.receive(1, k.opens()...)
		var said [2][]byte
		at, turns := int64(1), 1+rng.IntN(20)
		var want []int
		for range turns {
			for _, side := range []int{clientSide, serverSide} {
				var packets []*segment
				for range 1 + rng.IntN(4) {
					payload := strings.Repeat(string(rune('a'+rng.IntN(26))), 1+rng.IntN(300))
					said[side] = append(said[side], payload...)
					packets = append(packets, k.send(side, 0, payload))
				}
				// Some packets are repeated. Some of the repeated packets also contain the bytes of
				// the previous packet.
				for i := range packets {
					switch p := packets[i]; rng.IntN(4) {
					case 0:
						packets = append(packets, p)
					case 1:
						if i > 0 && packets[i-1].seq+uint32(len(packets[i-1].payload)) == p.seq {
							joined := *packets[i-1]
							joined.payload = append(slices.Clone(joined.payload), p.payload...)
							packets = append(packets, &joined)
						}
					}
				}
				rng.Shuffle(len(packets), func(i, j int) { packets[i], packets[j] = packets[j], packets[i] })
				for _, p := range packets {
					at += rng.Int64N(10) - 3 // the processors' clocks differ slightly
					table.receive(at, p)
				}
				want = append(want, side)
			}
		}
		table.receive(at, k.closes()...)
		table.receive(at, k.closes()[2]) // late
		h := a.conns[1]
		if len(a.gaps) > 0 || h.endCount != 1 || !bytes.Equal(h.received[clientSide], said[clientSide]) || !bytes.Equal(h.received[serverSide], said[serverSide]) {
			t.Fatalf("seed %d: %d and %d bytes were decoded, want %d and %d; the connection ended %d times, and the gaps are %v", seed,
				len(h.received[clientSide]), len(h.received[serverSide]), len(said[clientSide]), len(said[serverSide]), h.endCount, a.gaps)
		}
		if got := slices.Compact(h.order); !slices.Equal(got, want) {
			t.Fatalf("seed %d: the order of the senders is %v, want %v", seed, got, want)
		}
		if !slices.IsSorted(h.times) {
			t.Fatalf("seed %d: the times are not in ascending order: %v", seed, h.times)
		}
	}
}

// Missing packets cause gaps.
func TestGapsAreReported(t *testing.T) {
	k := func() *connection { return newConnection("10.0.0.1:40000", 100, 200) }
	for name, c := range map[string]struct {
		packets          func(k *connection) []*segment
		client, received string // decoded bytes
		why              string
		ended            int
	}{
		"a request whose answer is heard": {
			packets: func(k *connection) []*segment {
				p := k.opens()
				k.send(clientSide, 0, "lost")
				return append(p, k.send(serverSide, 0, "answer"), k.send(clientSide, 0, "more"))
			},
			why: reasonPacketMissing, ended: 1,
		},
		"the middle of a request": {
			packets: func(k *connection) []*segment {
				p := append(k.opens(), k.send(clientSide, 0, "one"))
				k.send(clientSide, 0, "two")
				return append(p, k.send(clientSide, 0, "three"), k.send(serverSide, 0, "answer"))
			},
			client: "one", why: reasonPacketMissing, ended: 1,
		},
		"an answer, before the end": {
			packets: func(k *connection) []*segment {
				p := append(k.opens(), k.send(clientSide, 0, "one"))
				k.send(serverSide, 0, "lost")
				return append(p, k.send(serverSide, flagFIN, ""), &segment{from: k.client.addr, to: k.server.addr, seq: k.client.next, flags: flagRST})
			},
			client: "one", why: reasonPacketMissing, ended: 1,
		},
		"the member's consent": {
			packets: func(k *connection) []*segment {
				p := k.opens()
				return []*segment{p[0], k.send(clientSide, 0, "one"), k.send(serverSide, 0, "two")}
			},
			why: reasonPacketMissing, ended: 1,
		},
		"all that the member says": {
			packets: func(k *connection) []*segment {
				p := k.opens()
				return []*segment{p[0], k.send(clientSide, 0, "one"), k.send(clientSide, 0, "two")}
			},
			why: reasonPacketMissing, ended: 1,
		},
		"an answer and a request, before a reset": {
			packets: func(k *connection) []*segment {
				p := append(k.opens(), k.send(clientSide, 0, "one"))
				k.send(serverSide, 0, "lost")
				k.send(clientSide, 0, "lost")
				return append(p, k.send(clientSide, flagRST, ""))
			},
			client: "one", why: reasonPacketMissing, ended: 1,
		},
		"the end, before the port is another's": {
			packets: func(k *connection) []*segment {
				p := append(k.opens(), k.send(clientSide, 0, "one"))
				return append(p, newConnection("10.0.0.1:40000", 70_000, 90_000).opens()...)
			},
			client: "one", why: reasonEndMissing, ended: 1,
		},
		"nothing, where a reset comes behind an end that crossed a request": {
			packets: func(k *connection) []*segment {
				p := append(k.opens(), k.send(clientSide, 0, "one"), k.send(serverSide, flagFIN, ""))
				return append(p, &segment{from: k.server.addr, to: k.client.addr, seq: k.server.next - 1, flags: flagRST})
			},
			client: "one", ended: 1,
		},
		"nothing, where the member agrees again with another number": {
			packets: func(k *connection) []*segment {
				p := k.opens()
				again := *p[1]
				again.seq += 5000
				k.server.next += 5000
				return []*segment{p[0], p[1], &again, k.send(clientSide, 0, "one"), k.send(serverSide, 0, "two")}
			},
			client: "one", received: "two",
		},
		"its beginning": {
			packets: func(k *connection) []*segment {
				k.opens()
				return append([]*segment{k.send(clientSide, 0, "one"), k.send(serverSide, 0, "two")}, k.closes()...)
			},
			why: reasonAlreadyOpen,
		},
		"of TLS": {
			packets: func(k *connection) []*segment { return append(k.opens(), k.send(clientSide, 0, "\x16\x03\x01 hello")) },
			why:     reasonTLS, ended: 1,
		},
		"nonsense": {
			packets: func(k *connection) []*segment {
				return append(k.opens(), k.send(clientSide, 0, "nonsense"), k.send(serverSide, 0, "what?"))
			},
			client: "nonsense", why: "the rest of the connection cannot be decoded: that is nonsense", ended: 1,
		},
		"nothing, of a connection that is refused": {
			packets: func(k *connection) []*segment {
				syn := k.send(clientSide, flagSYN, "")
				return []*segment{syn, {from: k.server.addr, to: k.client.addr, ack: k.client.next, flags: flagRST | flagACK}}
			},
		},
		"nothing, where a reset of long ago comes": {
			packets: func(k *connection) []*segment {
				return append(k.opens(), &segment{from: k.client.addr, to: k.server.addr, seq: 3, flags: flagRST}, k.send(clientSide, 0, "one"))
			},
			client: "one",
		},
		"nothing, where it is asked for twice": {
			packets: func(k *connection) []*segment {
				p := k.opens()
				return append([]*segment{p[0]}, append(p, k.send(clientSide, 0, "one"), p[0])...)
			},
			client: "one",
		},
		"nothing of a connection of another port": {
			packets: func(k *connection) []*segment {
				k.server.addr = netip.MustParseAddrPort("10.0.0.2:2380")
				return append(k.opens(), k.send(clientSide, 0, "one"))
			},
		},
		"a part of a packet": {
			packets: func(k *connection) []*segment {
				p := append(k.opens(), k.send(clientSide, 0, "one"))
				p[3].truncated = true
				return p
			},
			client: "on", why: reasonPacketMissing, ended: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, table := listening()
			for _, s := range c.packets(k()) {
				b := packetOf(s)
				if table.packet(b[:len(b)-boolInt(s.truncated)], len(b), 1); s.truncated {
					continue
				}
			}
			h := a.conns[1]
			if h == nil {
				h = &tableConn{}
			}
			if string(h.received[clientSide]) != c.client || string(h.received[serverSide]) != c.received || h.endCount != c.ended || a.endReason(1) != c.why || len(a.gaps) > 1 {
				t.Errorf("%q and %q were decoded, the connection ended %d times, and the gaps are %v", h.received[clientSide], h.received[serverSide], h.endCount, a.gaps)
			}
		})
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A new SYN from the same client port begins another connection.
func TestPortIsReused(t *testing.T) {
	a, table := listening()
	closeOnce := newConnection("10.0.0.1:40000", 100, 200)
	table.receive(1, append(closeOnce.opens(), closeOnce.send(clientSide, 0, "one"))...)
	second := newConnection("10.0.0.1:40000", 70_000, 90_000)
	table.receive(2, append(second.opens(), second.send(clientSide, 0, "two"))...)
	table.finish(3)
	if len(a.gaps) != 1 || a.endReason(1) != reasonEndMissing {
		t.Errorf("the gaps are %v", a.gaps)
	}
	if len(a.conns) != 2 || string(a.conns[1].received[clientSide]) != "one" || string(a.conns[2].received[clientSide]) != "two" || a.conns[1].endCount != 1 || a.conns[2].endCount != 1 {
		t.Errorf("decoded: %+v, %+v", a.conns[1], a.conns[2])
	}
}

// The memory for bytes that follow a hole is limited.
func TestHeldSegmentsAreLimited(t *testing.T) {
	a, table := listening()
	k := newConnection("10.0.0.1:40000", 100, 200)
	table.receive(1, k.opens()...)
	k.send(clientSide, 0, "lost")
	for range maxHeldPerStream/60_000 + 2 {
		table.receive(1, k.send(clientSide, 0, strings.Repeat("x", 60_000)))
	}
	if a.endReason(1) != reasonHoleTooLarge || a.conns[1].endCount != 1 {
		t.Errorf("the connection ended %d times, and the gaps are %v", a.conns[1].endCount, a.gaps)
	}
}

// Ended connections are forgotten, so that only existing connections use memory.
func TestEndedConnectionsAreRemoved(t *testing.T) {
	_, table := listening()
	for i := range 1000 {
		k := newConnection(fmt.Sprintf("10.0.%d.%d:40000", i/250, i%250), 100, 200)
		table.receive(int64(i)*second, append(k.opens(), k.closes()...)...)
		if i%10 == 0 { // some requests are never answered
			table.receive(int64(i)*second, newConnection(fmt.Sprintf("10.1.%d.%d:40000", i/250, i%250), 100, 200).opens()[0])
		}
	}
	if n := len(table.conns); n > 100 {
		t.Errorf("the table holds %d connections", n)
	}
}

// A packet that is captured both before and after address translation is decoded only once.
func TestTranslatedAddressesAreOneConnection(t *testing.T) {
	a, table := listening()
	for i := range uint32(20) {
		inner := newConnection(fmt.Sprintf("172.17.0.%d:%d", i+2, 40000+i), 100*i, 7000*i)
		outer := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.9"), uint16(50000+i))
		packets := inner.opens()
		for n := range 10 {
			packets = append(packets, inner.send(clientSide, 0, fmt.Sprint(i, " asks ", n)), inner.send(serverSide, 0, fmt.Sprint(i, " is answered ", n)))
		}
		for _, p := range append(packets, inner.closes()...) {
			translated := *p
			if p.from == inner.client.addr {
				translated.from = outer
				table.receive(1, p, &translated)
			} else {
				translated.to = outer
				table.receive(1, &translated, p)
			}
		}
		// Another connection has the same initial sequence number on the client's side, but not on
		// the member's side.
		other := newConnection(fmt.Sprintf("172.18.0.%d:40000", i+2), 100*i, 9000*i+1)
		table.receive(1, append(other.opens(), other.send(clientSide, 0, "another"))...)
	}
	table.finish(2)
	whole, others := 0, 0
	for _, h := range a.conns {
		switch {
		case string(h.received[clientSide]) == "another":
			others++
		case strings.Count(string(h.received[clientSide]), "asks") == 10 && strings.Count(string(h.received[serverSide]), "answered") == 10 && h.endCount == 1:
			whole++
		}
	}
	if table.number != 40 || len(a.conns) != 40 || whole != 20 || others != 20 || len(a.gaps) > 0 {
		t.Errorf("%d connections were found; %d were decoded completely, and %d are the others; the gaps are %v", table.number, whole, others, a.gaps)
	}
}

// A gap begins at the time of the first missing bytes, even if the table notices the gap later. In
// this test, some of the member's bytes were not captured, and the client of a watch sends nothing.
func TestGapBeginsAtTheFirstMissingByte(t *testing.T) {
	a, table := listening()
	k := newConnection("10.0.0.1:40000", 100, 200)
	table.receive(1, append(k.opens(), k.send(clientSide, 0, "watch"), k.send(serverSide, 0, "one"))...)
	k.send(serverSide, 0, "lost")
	for at := int64(10); at < 60; at++ {
		table.receive(at*second, k.send(serverSide, 0, "event"))
	}
	if h := a.conns[1]; h.endCount != 1 || a.endReason(1) != reasonPacketMissing || a.gaps[0].At != 10*second || string(h.received[serverSide]) != "one" {
		t.Errorf("decoded: %q, gaps: %v", h.received, a.gaps)
	}
}

// Decoded bytes have the times of their packets, even if earlier packets were lost.
func TestTimesAreThoseOfPackets(t *testing.T) {
	a, table := listening()
	k := newConnection("10.0.0.1:40000", 100, 200)
	table.receive(second, k.opens()...)
	table.drop(1)
	table.receive(2*second, k.send(clientSide, 0, "one"))
	table.receive(3*second, k.send(serverSide, 0, "two"))
	if h := a.conns[1]; !slices.Equal(h.times, []int64{2 * second, 3 * second}) || a.gaps[0].At != second || !strings.HasPrefix(a.gaps[0].Reason, "1 packet could not be read") {
		t.Errorf("decoded at %v, gaps: %v", h.times, a.gaps)
	}
	// After packets were lost, a new connection is not reported as having been open before the
	// capture.
	late := newConnection("10.0.0.1:40001", 100, 200)
	late.opens()
	table.receive(4*second, late.send(clientSide, 0, "three"))
	if a.endReason(2) != reasonStartMissing || table.alreadyOpen != 0 {
		t.Errorf("the gaps are %v", a.gaps)
	}
}

// Late retransmissions are attributed to the ended connection.
func TestRepeatedSegmentsOfEndedConnections(t *testing.T) {
	a, table := listening()
	k := newConnection("10.0.0.1:40000", 100, 200)
	table.receive(1, append(k.opens(), k.send(clientSide, 0, "one"))...)
	again := k.send(serverSide, 0, "two")
	table.receive(1, again, &segment{from: k.client.addr, to: k.server.addr, seq: k.client.next, flags: flagRST})
	for at := int64(1); at < 1000; at += 50 {
		table.receive(at*second, again)
	}
	if table.number != 1 || len(a.gaps) > 0 {
		t.Errorf("%d connections, gaps: %v", table.number, a.gaps)
	}
}

// Memory is limited even if many connection requests are answered and their clients then send
// nothing more.
func TestManySilentConnections(t *testing.T) {
	a, table := listening()
	table.crowdedAt = 1000
	for i := range uint32(100_000) {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), uint16(i>>24)+40000)
		s := segment{from: at, to: netip.AddrPortFrom(member, memberPort), seq: i, flags: flagSYN}
		table.lastPacketTime = int64(i) * second / 50
		table.segment(&s)
		table.segment(&segment{from: s.to, to: at, seq: i, ack: i + 1, flags: flagSYN | flagACK})
		if table.lastPacketTime-table.lastSweep >= sweepInterval || len(table.conns) > 2*table.crowdedAt {
			table.sweep()
		}
	}
	if n := len(table.conns); n > 2*table.crowdedAt+1 || len(table.connsByISN) > table.crowdedAt || len(a.conns) > 0 {
		t.Errorf("the table holds %d connections and %d sequence numbers, and %d connections were decoded", n, len(table.connsByISN), len(a.conns))
	}
}

// For any selection of a connection's packets, in any order and with repetitions, the decoded bytes
// from each side are the beginning of the side's data, without repetitions.
func FuzzTable(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	f.Add([]byte{0, 1, 2, 5, 4, 3, 3, 7, 6, 20, 30, 8})
	f.Fuzz(func(t *testing.T, order []byte) {
		a, table := listening()
		k := newConnection("10.0.0.1:40000", ^uint32(0)-20, ^uint32(0)-5)
		packets := k.opens()
		var truth [2]string
		for i := range 8 {
			for _, side := range []int{clientSide, serverSide} {
				text := strings.Repeat(string(rune('a'+i)), 1+i*3)
				truth[side] += text
				packets = append(packets, k.send(side, 0, text))
			}
		}
		joined := *packets[3]
		joined.payload = append(slices.Clone(joined.payload), packets[5].payload...)
		packets = append(packets, &joined)
		packets = append(packets, k.closes()...)
		packets = append(packets, &segment{from: k.client.addr, to: k.server.addr, seq: k.client.next, ack: k.server.next, flags: flagRST | flagACK})
		for i, o := range order {
			table.receive(int64(i)*second/10, packets[int(o)%len(packets)])
		}
		table.finish(int64(len(order)) * second)
		for n, h := range a.conns {
			if h.endCount != 1 {
				t.Errorf("connection %d ended %d times", n, h.endCount)
			}
			for side := range h.received {
				if !strings.HasPrefix(truth[side], string(h.received[side])) {
					t.Errorf("connection %d: the bytes of side %d were decoded as %q", n, side, h.received[side])
				}
			}
		}
		if table.held != 0 {
			t.Errorf("the table still holds %d bytes", table.held)
		}
	})
}

// BenchmarkTable measures the cost of handling a packet, without the cost of decoding its bytes.
func BenchmarkTable(b *testing.B) {
	_, table := listening()
	table.tap.Provider = silent{}
	k := newConnection("10.0.0.1:40000", 100, 200)
	table.receive(1, k.opens()...)
	ask, answer := packetOf(k.send(clientSide, 0, strings.Repeat("x", 300))), packetOf(k.send(serverSide, 0, strings.Repeat("y", 100)))
	seq, ack := k.client.next-300, k.server.next-100
	b.ReportAllocs()
	for b.Loop() {
		// The same data is sent again with higher sequence numbers.
		put := func(p []byte, seq, ack uint32) {
			p[24], p[25], p[26], p[27] = byte(seq>>24), byte(seq>>16), byte(seq>>8), byte(seq)
			p[28], p[29], p[30], p[31] = byte(ack>>24), byte(ack>>16), byte(ack>>8), byte(ack)
			table.packet(p, len(p), 1)
		}
		put(ask, seq, ack)
		seq += 300
		put(answer, ack, seq)
		ack += 100
	}
}

type silent struct{}

func (silent) Tap(store.TapConfig) store.Tap  { return silent{} }
func (silent) Feed(bool, int64, []byte) error { return nil }
func (silent) End(int64)                      {}
func (silent) Open() int                      { return 0 }
