package passive

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
)

// packetOf encodes a segment as a packet.
func packetOf(s *segment) []byte {
	t := make([]byte, minTCPHeader, minTCPHeader+len(s.payload))
	binary.BigEndian.PutUint16(t, s.from.Port())
	binary.BigEndian.PutUint16(t[2:], s.to.Port())
	binary.BigEndian.PutUint32(t[4:], s.seq)
	binary.BigEndian.PutUint32(t[8:], s.ack)
	t[12], t[13] = minTCPHeader/4<<4, s.flags
	t = append(t, s.payload...)
	if s.from.Addr().Is4() {
		b := make([]byte, minIPv4Header)
		b[0], b[9] = 0x45, protocolTCP
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)+len(t)))
		copy(b[12:], s.from.Addr().AsSlice())
		copy(b[16:], s.to.Addr().AsSlice())
		return append(b, t...)
	}
	b := make([]byte, ipv6HeaderSize)
	b[0], b[6] = 0x60, protocolTCP
	binary.BigEndian.PutUint16(b[4:], uint16(len(t)))
	copy(b[8:], s.from.Addr().AsSlice())
	copy(b[24:], s.to.Addr().AsSlice())
	return append(b, t...)
}

func TestPackets(t *testing.T) {
	four := &segment{from: netip.MustParseAddrPort("10.0.0.1:40000"), to: netip.MustParseAddrPort("10.0.0.2:2379"), seq: 0xfffffff0, ack: 7, flags: flagACK, payload: []byte("hello")}
	six := &segment{from: netip.MustParseAddrPort("[fe80::1]:40000"), to: netip.MustParseAddrPort("[fe80::2]:2379"), seq: 1, flags: flagSYN, payload: []byte{}}
	with := func(s *segment, change func(b []byte) []byte) []byte { return change(packetOf(s)) }
	for name, c := range map[string]struct {
		b      []byte
		length int // 0 for the whole packet
		want   *segment
	}{
		"IPv4":                                {b: packetOf(four), want: four},
		"IPv6":                                {b: packetOf(six), want: six},
		"filled up to a frame's least length": {b: append(packetOf(four), 0, 0, 0), want: four},
		"options": {b: with(four, func(b []byte) []byte {
			b[0], b[20+12] = 0x46, 6<<4
			b = bytes.Join([][]byte{b[:20], {1, 1, 1, 1}, b[20:40], {1, 1, 1, 1}, b[40:]}, nil)
			binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
			return b
		}), want: four},
		"longer than the field can say": {b: with(four, func(b []byte) []byte { b[2], b[3] = 0, 0; return b }), want: four},
		"cut":                           {b: packetOf(four)[:42], length: 45, want: &segment{from: four.from, to: four.to, seq: four.seq, ack: four.ack, flags: four.flags, payload: []byte("he"), truncated: true}},
		"UDP":                           {b: with(four, func(b []byte) []byte { b[9] = 17; return b })},
		"a fragment":                    {b: with(four, func(b []byte) []byte { b[7] = 1; return b })},
		"the first of some":             {b: with(four, func(b []byte) []byte { b[6] = 0x20; return b })},
		"of no version":                 {b: with(four, func(b []byte) []byte { b[0] = 0x15; return b })},
		"nothing":                       {},
		"a short header":                {b: packetOf(four)[:39]},
		"a header that is longer than the packet": {b: with(four, func(b []byte) []byte { b[20+12] = 0xf0; return b })},
	} {
		t.Run(name, func(t *testing.T) {
			length := c.length
			if length == 0 {
				length = len(c.b)
			}
			var got segment
			if ok := parse(c.b, length, &got); ok != (c.want != nil) {
				t.Fatalf("the packet was parsed: %v", ok)
			}
			if c.want == nil {
				return
			}
			if !bytes.Equal(got.payload, c.want.payload) {
				t.Errorf("the payload is %q, want %q", got.payload, c.want.payload)
			}
			got.payload = c.want.payload
			if got.from != c.want.from || got.to != c.want.to || got.seq != c.want.seq || got.ack != c.want.ack || got.flags != c.want.flags || got.truncated != c.want.truncated {
				t.Errorf("the segment is %+v, want %+v", got, c.want)
			}
		})
	}
}

// Any input is either parsed or rejected.
func FuzzPackets(f *testing.F) {
	f.Add(packetOf(&segment{from: netip.MustParseAddrPort("10.0.0.1:40000"), to: netip.MustParseAddrPort("10.0.0.2:2379"), flags: flagACK, payload: []byte("hello")}), 0)
	f.Add(packetOf(&segment{from: netip.MustParseAddrPort("[fe80::1]:40000"), to: netip.MustParseAddrPort("[fe80::2]:2379"), flags: flagSYN}), 100)
	f.Fuzz(func(t *testing.T, b []byte, more int) {
		var s segment
		if parse(b, len(b)+max(more, 0)%1000, &s) && len(s.payload) > len(b) {
			t.Errorf("the payload has %d bytes, but the packet has only %d", len(s.payload), len(b))
		}
	})
}
