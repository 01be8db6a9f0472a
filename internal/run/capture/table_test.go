package capture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/run/tap"
	"github.com/quorumbench/quorumbench/internal/store"
)

// heard is what was understood of one connection.
type heard struct {
	said  [2][]byte // by the client, by the member
	order []int     // of whom each piece was
	at    []int64
	ended int
}

func (h *heard) Feed(client bool, at int64, b []byte) error {
	side := ofServer
	if client {
		side = ofClient
	}
	h.said[side] = append(h.said[side], b...)
	h.order, h.at = append(h.order, side), append(h.at, at)
	if bytes.Contains(b, []byte("nonsense")) {
		return fmt.Errorf("that is nonsense")
	}
	return nil
}
func (h *heard) End(int64) { h.ended++ }
func (*heard) Open() int   { return 0 }

// all are the connections that were heard, and what is missing.
type all struct {
	conns map[uint32]*heard
	gaps  []recording.Gap
}

func (a *all) Tap(c store.TapConfig) store.Tap {
	a.conns[c.Conn] = &heard{}
	return a.conns[c.Conn]
}
func (*all) Call(*recording.Call)  {}
func (a *all) Gap(g recording.Gap) { a.gaps = append(a.gaps, g) }
func (a *all) why(conn uint32) string {
	for _, g := range a.gaps {
		if g.Conn == conn {
			return g.Why
		}
	}
	return ""
}

const memberPort = 2379

func listening() (*all, *table) {
	a := &all{conns: map[uint32]*heard{}}
	return a, newTable(&tap.Config{Tapped: a, Sink: a}, func(at netip.AddrPort) bool { return at.Port() == memberPort })
}

// party is one end of a connection.
type party struct {
	addr netip.AddrPort
	next uint32
}

// talk makes the packets of one connection.
type talk struct{ client, server party }

func newTalk(client string, from, answer uint32) *talk {
	return &talk{client: party{netip.MustParseAddrPort(client), from}, server: party{netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), memberPort), answer}}
}

// says is a segment of one side, which acknowledges all that the other said.
func (k *talk) says(side int, flags uint8, payload string) *segment {
	own, other := &k.client, &k.server
	if side == ofServer {
		own, other = other, own
	}
	s := &segment{from: own.addr, to: other.addr, seq: own.next, flags: flags, payload: []byte(payload)}
	own.next += uint32(len(payload))
	if flags&(flagSYN|flagFIN) != 0 {
		own.next++
	}
	if flags&flagSYN == 0 || side == ofServer {
		s.flags |= flagACK
		s.ack = other.next
	}
	return s
}

// opens are the packets that open it.
func (k *talk) opens() []*segment {
	return []*segment{k.says(ofClient, flagSYN, ""), k.says(ofServer, flagSYN, ""), k.says(ofClient, 0, "")}
}

// closes are those that close it.
func (k *talk) closes() []*segment {
	return []*segment{k.says(ofClient, flagFIN, ""), k.says(ofServer, flagFIN, ""), k.says(ofClient, 0, "")}
}

func (t *table) hear(at int64, segments ...*segment) {
	for _, s := range segments {
		b := packetOf(s)
		t.packet(b, len(b), at)
	}
}

// TestConnectionsAreHeardInOrder: whatever packets a connection's bytes came in, however
// often and in whatever order, both sides are heard as they spoke, and an answer behind
// what it answers.
func TestConnectionsAreHeardInOrder(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		a, table := listening()
		k := newTalk("10.0.0.1:40000", rng.Uint32(), ^uint32(0)-rng.Uint32N(2000)) // numbers begin anew
		table.hear(1, k.opens()...)
		var said [2][]byte
		at, turns := int64(1), 1+rng.IntN(20)
		var want []int
		for range turns {
			for _, side := range []int{ofClient, ofServer} {
				var packets []*segment
				for range 1 + rng.IntN(4) {
					payload := strings.Repeat(string(rune('a'+rng.IntN(26))), 1+rng.IntN(300))
					said[side] = append(said[side], payload...)
					packets = append(packets, k.says(side, 0, payload))
				}
				// Some come again, some with what is before them.
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
					at += rng.Int64N(10) - 3 // clocks differ by little
					table.hear(at, p)
				}
				want = append(want, side)
			}
		}
		table.hear(at, k.closes()...)
		table.hear(at, k.closes()[2]) // late
		h := a.conns[1]
		if len(a.gaps) > 0 || h.ended != 1 || !bytes.Equal(h.said[ofClient], said[ofClient]) || !bytes.Equal(h.said[ofServer], said[ofServer]) {
			t.Fatalf("seed %d: %d and %d bytes are heard of %d and %d, it ended %d times, the gaps are %v", seed,
				len(h.said[ofClient]), len(h.said[ofServer]), len(said[ofClient]), len(said[ofServer]), h.ended, a.gaps)
		}
		if got := slices.Compact(h.order); !slices.Equal(got, want) {
			t.Fatalf("seed %d: they are heard as %v, not %v", seed, got, want)
		}
		if !slices.IsSorted(h.at) {
			t.Fatalf("seed %d: the clock goes back: %v", seed, h.at)
		}
	}
}

// TestWhatIsMissingIsSaid leaves packets out.
func TestWhatIsMissingIsSaid(t *testing.T) {
	k := func() *talk { return newTalk("10.0.0.1:40000", 100, 200) }
	for name, c := range map[string]struct {
		packets      func(k *talk) []*segment
		client, said string // what is understood
		why          string
		ended        int
	}{
		"a request whose answer is heard": {
			packets: func(k *talk) []*segment {
				p := k.opens()
				k.says(ofClient, 0, "lost")
				return append(p, k.says(ofServer, 0, "answer"), k.says(ofClient, 0, "more"))
			},
			why: notHeard, ended: 1,
		},
		"the middle of a request": {
			packets: func(k *talk) []*segment {
				p := append(k.opens(), k.says(ofClient, 0, "one"))
				k.says(ofClient, 0, "two")
				return append(p, k.says(ofClient, 0, "three"), k.says(ofServer, 0, "answer"))
			},
			client: "one", why: notHeard, ended: 1,
		},
		"an answer, before the end": {
			packets: func(k *talk) []*segment {
				p := append(k.opens(), k.says(ofClient, 0, "one"))
				k.says(ofServer, 0, "lost")
				return append(p, k.says(ofServer, flagFIN, ""), &segment{from: k.client.addr, to: k.server.addr, seq: k.client.next, flags: flagRST})
			},
			client: "one", why: notHeard, ended: 1,
		},
		"the member's consent": {
			packets: func(k *talk) []*segment {
				p := k.opens()
				return []*segment{p[0], p[2], k.says(ofClient, 0, "one"), k.says(ofServer, 0, "two")}
			},
			client: "one", why: notHeard, ended: 1,
		},
		"its beginning": {
			packets: func(k *talk) []*segment {
				k.opens()
				return append([]*segment{k.says(ofClient, 0, "one"), k.says(ofServer, 0, "two")}, k.closes()...)
			},
			why: wasOpen,
		},
		"of TLS": {
			packets: func(k *talk) []*segment { return append(k.opens(), k.says(ofClient, 0, "\x16\x03\x01 hello")) },
			why:     secured, ended: 1,
		},
		"what is not understood": {
			packets: func(k *talk) []*segment {
				return append(k.opens(), k.says(ofClient, 0, "nonsense"), k.says(ofServer, 0, "what?"))
			},
			client: "nonsense", why: "the connection is not understood from here on: that is nonsense", ended: 1,
		},
		"nothing, of a connection that is refused": {
			packets: func(k *talk) []*segment {
				syn := k.says(ofClient, flagSYN, "")
				return []*segment{syn, {from: k.server.addr, to: k.client.addr, ack: k.client.next, flags: flagRST | flagACK}}
			},
			ended: 1,
		},
		"nothing, where a reset of long ago comes": {
			packets: func(k *talk) []*segment {
				return append(k.opens(), &segment{from: k.client.addr, to: k.server.addr, seq: 3, flags: flagRST}, k.says(ofClient, 0, "one"))
			},
			client: "one",
		},
		"nothing, where it is asked for twice": {
			packets: func(k *talk) []*segment {
				p := k.opens()
				return append([]*segment{p[0]}, append(p, k.says(ofClient, 0, "one"))...)
			},
			client: "one",
		},
		"nothing of a connection of another port": {
			packets: func(k *talk) []*segment {
				k.server.addr = netip.MustParseAddrPort("10.0.0.2:2380")
				return append(k.opens(), k.says(ofClient, 0, "one"))
			},
		},
		"a part of a packet": {
			packets: func(k *talk) []*segment {
				p := append(k.opens(), k.says(ofClient, 0, "one"))
				p[3].cut = true
				return p
			},
			client: "on", why: notHeard, ended: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, table := listening()
			for _, s := range c.packets(k()) {
				b := packetOf(s)
				if table.packet(b[:len(b)-boolInt(s.cut)], len(b), 1); s.cut {
					continue
				}
			}
			h := a.conns[1]
			if h == nil {
				h = &heard{}
			}
			if string(h.said[ofClient]) != c.client || string(h.said[ofServer]) != c.said || h.ended != c.ended || a.why(1) != c.why || len(a.gaps) > 1 {
				t.Errorf("%q and %q are heard, it ended %d times, the gaps are %v", h.said[ofClient], h.said[ofServer], h.ended, a.gaps)
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

// TestAPortIsUsedAgain: a client's port is another connection's when that is asked for.
func TestAPortIsUsedAgain(t *testing.T) {
	a, table := listening()
	first := newTalk("10.0.0.1:40000", 100, 200)
	table.hear(1, append(first.opens(), first.says(ofClient, 0, "one"))...)
	second := newTalk("10.0.0.1:40000", 70_000, 90_000)
	table.hear(2, append(second.opens(), second.says(ofClient, 0, "two"))...)
	table.end(3)
	if len(a.conns) != 2 || string(a.conns[1].said[ofClient]) != "one" || string(a.conns[2].said[ofClient]) != "two" || a.conns[1].ended != 1 || a.conns[2].ended != 1 {
		t.Errorf("heard is %+v, %+v", a.conns[1], a.conns[2])
	}
}

// TestTooMuchIsNotKept: of a connection whose bytes wait for one that does not come there
// is a bound on what is kept.
func TestTooMuchIsNotKept(t *testing.T) {
	a, table := listening()
	k := newTalk("10.0.0.1:40000", 100, 200)
	table.hear(1, k.opens()...)
	k.says(ofClient, 0, "lost")
	for range heldOfStream/60_000 + 2 {
		table.hear(1, k.says(ofClient, 0, strings.Repeat("x", 60_000)))
	}
	if a.why(1) != tooEarly || a.conns[1].ended != 1 {
		t.Errorf("it ended %d times, the gaps are %v", a.conns[1].ended, a.gaps)
	}
}

// TestWhatIsOverIsForgotten: memory is that of connections that there are.
func TestWhatIsOverIsForgotten(t *testing.T) {
	_, table := listening()
	for i := range 1000 {
		k := newTalk(fmt.Sprintf("10.0.%d.%d:40000", i/250, i%250), 100, 200)
		table.hear(int64(i)*second, append(k.opens(), k.closes()...)...)
		if i%10 == 0 { // asked for, and never answered
			table.hear(int64(i)*second, newTalk(fmt.Sprintf("10.1.%d.%d:40000", i/250, i%250), 100, 200).opens()[0])
		}
	}
	if n := len(table.conns); n > 100 {
		t.Errorf("%d connections are remembered", n)
	}
}

// BenchmarkTable is what a packet costs beside what it takes to understand its bytes.
func BenchmarkTable(b *testing.B) {
	_, table := listening()
	table.tap.Tapped = silent{}
	k := newTalk("10.0.0.1:40000", 100, 200)
	table.hear(1, k.opens()...)
	ask, answer := packetOf(k.says(ofClient, 0, strings.Repeat("x", 300))), packetOf(k.says(ofServer, 0, strings.Repeat("y", 100)))
	seq, ack := k.client.next-300, k.server.next-100
	b.ReportAllocs()
	for b.Loop() {
		// What was said before is said again with the next numbers.
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
