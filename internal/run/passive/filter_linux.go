package passive

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// filterLine is a filter instruction whose jump targets are labels instead of distances.
type filterLine struct {
	label string
	bpf.Instruction
	ifTrue, ifFalse string // labels to which a JumpIf jumps if its condition is true or false; "" means the next line
}

// wholePacket is the maximum number of bytes to capture from a packet. It exceeds the size of any
// packet.
const wholePacket = 1 << 30

// filter returns a filter for packets that start with the network header. The filter accepts the
// TCP segments that are sent from or to a port, except pure acknowledgments. A loopback interface
// delivers each packet twice: once when it is sent and once when it arrives. The filter accepts
// only the second delivery.
func filter(port uint16) ([]unix.SockFilter, error) {
	equal := func(value uint32) bpf.JumpIf { return bpf.JumpIf{Cond: bpf.JumpEqual, Val: value} }
	set := func(bits uint32) bpf.JumpIf { return bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: bits} }
	return assemble([]filterLine{
		{Instruction: bpf.LoadExtension{Num: bpf.ExtType}},
		{Instruction: equal(unix.PACKET_OUTGOING), ifFalse: "protocol"},
		{Instruction: bpf.LoadExtension{Num: bpf.ExtLinkLayerType}},
		{Instruction: equal(unix.ARPHRD_LOOPBACK), ifTrue: "no"},
		{label: "protocol", Instruction: bpf.LoadExtension{Num: bpf.ExtProto}},
		{Instruction: equal(unix.ETH_P_IP), ifTrue: "ipv4"},
		{Instruction: equal(unix.ETH_P_IPV6), ifTrue: "ipv6", ifFalse: "no"},

		{label: "ipv4", Instruction: bpf.LoadAbsolute{Off: 9, Size: 1}},
		{Instruction: equal(protocolTCP), ifFalse: "no"},
		{Instruction: bpf.LoadAbsolute{Off: 6, Size: 2}},
		{Instruction: set(0x1fff), ifTrue: "no"}, // not the first fragment
		{Instruction: bpf.LoadMemShift{Off: 0}},
		{Instruction: bpf.Jump{}, ifTrue: "tcp"},

		{label: "ipv6", Instruction: bpf.LoadConstant{Dst: bpf.RegX, Val: ipv6HeaderSize}},
		{Instruction: bpf.LoadAbsolute{Off: 6, Size: 1}},
		{Instruction: equal(protocolTCP), ifTrue: "tcp"},
		{Instruction: equal(protocolHopByHop), ifFalse: "no"},
		{Instruction: bpf.LoadConstant{Dst: bpf.RegX, Val: ipv6HeaderSize + jumboOptionSize}},
		{Instruction: bpf.LoadAbsolute{Off: ipv6HeaderSize, Size: 2}},
		{Instruction: equal(protocolTCP << 8), ifFalse: "no"}, // the next header must be TCP, and the options header must be as long as a single jumbogram option

		// X is the offset of the TCP header.
		{label: "tcp", Instruction: bpf.LoadIndirect{Off: 0, Size: 2}},
		{Instruction: equal(uint32(port)), ifTrue: "port"},
		{Instruction: bpf.LoadIndirect{Off: 2, Size: 2}},
		{Instruction: equal(uint32(port)), ifFalse: "no"},
		{label: "port", Instruction: bpf.LoadIndirect{Off: 13, Size: 1}},
		{Instruction: set(flagFIN | flagSYN | flagRST), ifTrue: "yes"},
		{Instruction: bpf.LoadIndirect{Off: 12, Size: 1}},
		{Instruction: bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf0}},
		{Instruction: bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 2}},
		{Instruction: bpf.ALUOpX{Op: bpf.ALUOpAdd}},
		{Instruction: bpf.TAX{}}, // X is the offset of the payload
		{Instruction: bpf.LoadExtension{Num: bpf.ExtLen}},
		{Instruction: bpf.JumpIfX{Cond: bpf.JumpGreaterThan}, ifFalse: "no"},
		{label: "yes", Instruction: bpf.RetConstant{Val: wholePacket}},
		{label: "no", Instruction: bpf.RetConstant{Val: 0}},
	})
}

// assemble replaces the labels in jump instructions with distances.
func assemble(lines []filterLine) ([]unix.SockFilter, error) {
	at := map[string]int{}
	for i, l := range lines {
		at[l.label] = i
	}
	program := make([]bpf.Instruction, len(lines))
	var unknown error
	for i, l := range lines {
		skip := func(label string) uint8 {
			if label == "" {
				return 0
			}
			n := at[label] - i - 1
			if n < 0 || n > math.MaxUint8 {
				unknown = fmt.Errorf("the packet filter cannot jump to %q", label)
			}
			return uint8(n)
		}
		switch jump := l.Instruction.(type) {
		case bpf.JumpIf:
			jump.SkipTrue, jump.SkipFalse = skip(l.ifTrue), skip(l.ifFalse)
			program[i] = jump
		case bpf.JumpIfX:
			jump.SkipTrue, jump.SkipFalse = skip(l.ifTrue), skip(l.ifFalse)
			program[i] = jump
		case bpf.Jump:
			program[i] = bpf.Jump{Skip: uint32(skip(l.ifTrue))}
		default:
			program[i] = jump
		}
	}
	raw, err := bpf.Assemble(program)
	if err = errors.Join(unknown, err); err != nil {
		return nil, err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return filter, nil
}
