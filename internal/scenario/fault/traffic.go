package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Traffic is which packets a fault of the network is about, and what becomes of them
// beside the fault's By. Its zero value is a fault's that says nothing of it.
type Traffic struct {
	From      Ends
	Direction Direction
	Share     float64 // of the packets, above 0 and below 1; 0 of kinds without
	To        int     // bytes that pass in a second; 0 of kinds without
}

// Ends are those with whom a member exchanges packets.
type Ends uint8

// The ends.
const (
	Unsaid  Ends = iota // all, or the kind's own
	Peers               // the other members
	Clients             // the load and whoever else is outside of the cluster
	Anybody             // both
)

// Direction is that of packets, as a member sees them.
type Direction uint8

// The directions.
const (
	BothWays Direction = iota
	Inwards            // to the member
	Outwards           // from the member
)

// named are values that a key of faults has by names.
type named []string

var (
	endNames       = named{"", "peers", "clients", "all"}
	directionNames = named{"", "in", "out"}
)

// String returns the ends' name in files; empty for Unsaid.
func (e Ends) String() string { return endNames.of(int(e)) }

// String returns the direction's name in files; empty for BothWays.
func (d Direction) String() string { return directionNames.of(int(d)) }

func (n named) of(i int) string {
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

// perSecond ends a rate.
const perSecond = "/s"

// parseThroughput reads how much passes in a second, as in 1MB/s.
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

// rate is what to says.
func (t *Traffic) rate() string {
	if t.To == 0 {
		return ""
	}
	return strings.ReplaceAll(text.FormatSize(t.To), " ", "") + perSecond
}

// networkKind is what there is to know of a kind that needs members' networks.
type networkKind struct {
	// shape says of a kind that decides itself whose packets it is about why it takes
	// no from, as the end of a sentence; empty for those that take one. twoWays says
	// the same of direction.
	shape, twoWays string
	// share is what by is of a kind that needs one, and to what that is.
	share, to string
	members   int // how many there must be at least
}

// amounts reports whether the kind needs more than a member and a time.
func (n *networkKind) amounts() bool { return n != nil && (n.share != "" || n.to != "") }

const betweenMembers = "cuts members off from one another, and not from clients: drop from, or choose blackhole"

const bothWays = "parts members both ways: drop direction, or choose isolate or blackhole"
