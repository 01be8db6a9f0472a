package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Traffic selects the packets that a network fault affects, and describes the part of the fault's
// effect that By does not describe. The zero value means that no such settings are given.
type Traffic struct {
	From      Ends
	Direction Direction
	Share     float64 // fraction of the packets, above 0 and below 1; 0 for kinds that do not use it
	To        int     // throughput in bytes per second; 0 for kinds that do not use it
}

// Ends selects the partners with which a member exchanges packets.
type Ends uint8

// Partners of a member.
const (
	DefaultEnds Ends = iota // not given: all, or the partners that the kind implies
	Peers                   // the other members
	Clients                 // the load, and other programs outside the cluster
	AllEnds                 // members and clients
)

// Direction is the direction of packets, seen from the member.
type Direction uint8

// Directions of packets.
const (
	BothWays Direction = iota
	Inwards            // to the member
	Outwards           // from the member
)

// named holds the names of the values that a key can have.
type named []string

var (
	endNames       = named{"", "peers", "clients", "all"}
	directionNames = named{"", "in", "out"}
)

// String returns the name in scenario files, or an empty string for DefaultEnds.
func (e Ends) String() string { return endNames.nameOf(int(e)) }

// String returns the name in scenario files, or an empty string for BothWays.
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

// perSecond is the suffix that a rate must have.
const perSecond = "/s"

// parseThroughput parses a throughput such as 1MB/s.
func parseThroughput(s string) (int, error) {
	size, ok := strings.CutSuffix(s, perSecond)
	if !ok {
		return 0, fmt.Errorf("%q is not a rate; write one as in 100KB/s or 1MB/s", s)
	}
	n, err := text.ParseSize(size)
	if err == nil && n < 1 {
		err = fmt.Errorf("the rate of a link must be above 0, not %s; to block all packets, choose blackhole", s)
	}
	return n, err
}

// rate returns the value of the key "to" for a slow link.
func (t *Traffic) rate() string {
	if t.To == 0 {
		return ""
	}
	return strings.ReplaceAll(text.FormatSize(t.To), " ", "") + perSecond
}

// networkKind holds additional properties of a network fault's kind.
type networkKind struct {
	// shape is the reason why the kind does not allow the key "from": the kind itself determines
	// which packets it affects. twoWays is the reason why the kind does not allow the key
	// "direction". Both complete a sentence, and are empty if the key is allowed.
	shape, twoWays string
	// share describes the key "by", and to describes the key "to", for kinds that require these
	// keys.
	share, to string
	members   int // minimum number of members
}

// amounts reports whether the kind requires a key in addition to the member and the times.
func (n *networkKind) amounts() bool { return n != nil && (n.share != "" || n.to != "") }

const betweenMembers = "separates members from each other, but not from clients; remove the field \"from\", or choose blackhole"

const bothWays = "separates members in both directions; remove the field \"direction\", or choose isolate or blackhole"
