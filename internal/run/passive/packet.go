package passive

import (
	"encoding/binary"
	"net/netip"
)

// TCP flags (RFC 9293, section 3.1).
const (
	flagFIN = 1 << iota
	flagSYN
	flagRST
	_ // PSH
	flagACK
)

const (
	protocolTCP = 6
	// protocolHopByHop is the number of IPv6's hop-by-hop options header. Only the jumbogram option
	// is supported (RFC 2675), because the kernel may merge packets into jumbograms.
	protocolHopByHop = 0

	minIPv4Header   = 20 // length of a header without options, in bytes
	ipv6HeaderSize  = 40
	jumboOptionSize = 8
	minTCPHeader    = 20
)

// segment is a parsed TCP segment. Its payload refers to the packet's memory.
type segment struct {
	from, to  netip.AddrPort
	seq, ack  uint32
	flags     uint8
	payload   []byte
	truncated bool // set if only a part of the payload was captured
}

// parse parses a packet that starts with the network header (RFC 791, RFC 8200, RFC 9293) into s. b
// is the captured part of the packet, and length is the length of the whole packet. parse returns
// false if the packet is not a TCP segment or if the captured part lacks some of the headers. It
// supports neither fragments nor IPv6 extension headers other than a jumbogram option.
func parse(b []byte, length int, s *segment) bool {
	if len(b) == 0 {
		return false
	}
	var from, to netip.Addr
	header, total := 0, 0
	switch b[0] >> 4 {
	case 4:
		if len(b) < minIPv4Header || b[9] != protocolTCP || binary.BigEndian.Uint16(b[6:])&0x3fff != 0 {
			return false // the last condition is true for every fragment of a packet
		}
		header, total = int(b[0]&0xf)*4, int(binary.BigEndian.Uint16(b[2:]))
		from, to = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
		if header < minIPv4Header {
			return false
		}
	case 6:
		switch {
		case len(b) >= ipv6HeaderSize && b[6] == protocolTCP:
			header = ipv6HeaderSize
		case len(b) >= ipv6HeaderSize+jumboOptionSize && b[6] == protocolHopByHop && b[ipv6HeaderSize] == protocolTCP && b[ipv6HeaderSize+1] == 0:
			header = ipv6HeaderSize + jumboOptionSize
		default:
			return false
		}
		if n := int(binary.BigEndian.Uint16(b[4:])); n > 0 {
			total = ipv6HeaderSize + n
		}
		from, to = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	default:
		return false
	}
	if total == 0 {
		total = length // the kernel merged packets, and the total length does not fit in the length field
	}
	if len(b) > total {
		b = b[:total] // the rest is padding in the frame
	}
	if len(b) < header+minTCPHeader {
		return false
	}
	t := b[header:]
	data := int(t[12]>>4) * 4
	if data < minTCPHeader || total < header+data {
		return false
	}
	s.from = netip.AddrPortFrom(from, binary.BigEndian.Uint16(t))
	s.to = netip.AddrPortFrom(to, binary.BigEndian.Uint16(t[2:]))
	s.seq, s.ack, s.flags = binary.BigEndian.Uint32(t[4:]), binary.BigEndian.Uint32(t[8:]), t[13]
	s.payload = t[min(data, len(t)):]
	s.truncated = len(s.payload) < total-header-data
	return true
}
