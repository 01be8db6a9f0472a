package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Traffic selects the packets that a network fault affects, and the effect in addition to
// the fault's By. The zero value is for faults without such settings.
type Traffic struct {
	From      Ends
	Direction Direction
	Share     float64 // of the packets, above 0 and below 1; 0 for kinds without it
	To        int     // throughput in bytes per second; 0 for kinds without it
}

// Ends are the partners with which a member exchanges packets.
type Ends uint8

// The ends.
const (
	Unsaid  Ends = iota // all, or the kind's own
	Peers               // the other members
	Clients             // the load, and other programs outside the cluster
	Anybody             // both
)

// Direction is the direction of packets from the member's point of view.
type Direction uint8

// The directions.
const (
	BothWays Direction = iota
	Inwards            // to the member
	Outwards           // from the member
)

// named holds the names of a key's values.
type named []string

var (
	endNames       = named{"", "peers", "clients", "all"}
	directionNames = named{"", "in", "out"}
)

// String returns the ends' name in files; empty for Unsaid.
func (e Ends) String() string { return endNames.nameOf(int(e)) }

// String returns the direction's name in files; empty for BothWays.
func (d Direction) String() string { return directionNames.nameOf(int(d)) }

func (n named) nameOf(i int) string {
	if i >= len(n) {
		return "unknown"
	}
	return n[i]
}

func (n named) parse(what, s string) (int, error) {
	if i := slices.Index(n, s); i > 0 {
		return i, nil
	}
	return 0, fmt.Errorf("there is no %s %q for a fault; choose %s", what, s, strings.Join(n[1:], " or "))
}

// perSecond is the suffix of a rate.
const perSecond = "/s"

// parseThroughput parses a throughput such as 1MB/s.
func parseThroughput(s string) (int, error) {
	size, ok := strings.CutSuffix(s, perSecond)
	if !ok {
		return 0, fmt.Errorf("%q is no rate; write one as in 100KB/s or 1MB/s", s)
	}
	n, err := text.ParseSize(size)
	if err == nil && n < 1 {
		err = fmt.Errorf("a link has a rate above 0, and not %s; choose blackhole for one that passes nothing", s)
	}
	return n, err
}

// rate returns the value of the key to.
func (t *Traffic) rate() string {
	if t.To == 0 {
		return ""
	}
	return strings.ReplaceAll(text.FormatSize(t.To), " ", "") + perSecond
}

// networkKind holds the properties of a kind of network fault.
type networkKind struct {
	// shape is why the kind does not take the key from, because it selects the packets
	// itself, as the end of a sentence; empty for kinds that take it. twoWays is the same
	// for the key direction.
	shape, twoWays string
	// share describes the key by and to the key to, for kinds that need them.
	share, to string
	members   int // lowest number of members
}

// amounts reports whether the kind needs more than a member and a time.
func (n *networkKind) amounts() bool { return n != nil && (n.share != "" || n.to != "") }

const betweenMembers = "cuts members off from one another, and not from clients: drop from, or choose blackhole"

const bothWays = "parts members both ways: drop direction, or choose isolate or blackhole"
