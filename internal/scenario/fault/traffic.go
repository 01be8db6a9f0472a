package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Traffic selects the packets that a network fault affects, and describes the part of the fault's
// effect that Amount does not describe. The zero value means that no such settings are given.
type Traffic struct {
	Partners   Partners
	Direction  Direction
	Share      float64 // fraction of the packets, above 0 and below 1; 0 for kinds that do not use it
	Throughput int     // throughput in bytes per second; 0 for kinds that do not use it
}

// Partners selects the partners with which a member exchanges packets.
type Partners uint8

// Partners of a member.
const (
	DefaultPartners Partners = iota // not given: all, or the partners that the kind implies
	Peers                           // the other members
	Clients                         // the load, and other programs outside the cluster
	AllPartners                     // members and clients
)

// Direction is the direction of packets, seen from the member.
type Direction uint8

// Directions of packets.
const (
	BothDirections Direction = iota
	Inbound                  // to the member
	Outbound                 // from the member
)

// nameList holds the names of the values that a key can have.
type nameList []string

var (
	partnerNames   = nameList{"", "peers", "clients", "all"}
	directionNames = nameList{"", "in", "out"}
)

// PartnerNames returns the names of partners in scenario files.
func PartnerNames() []string { return partnerNames[1:] }

// DirectionNames returns the names of directions in scenario files.
func DirectionNames() []string { return append(slices.Clone(directionNames[1:]), bothDirections) }

// bothDirections is the name of BothDirections in scenario files. This direction is the default.
const bothDirections = "both"

// String returns the name in scenario files, or an empty string for DefaultPartners.
func (e Partners) String() string { return partnerNames.name(int(e)) }

// String returns the name in scenario files, or an empty string for BothDirections.
func (d Direction) String() string { return directionNames.name(int(d)) }

func (n nameList) name(i int) string {
	if i >= len(n) {
		return "unknown"
	}
	return n[i]
}

func (n nameList) parse(what, s string) (int, error) {
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
	if t.Throughput == 0 {
		return ""
	}
	return strings.ReplaceAll(text.FormatSize(t.Throughput), " ", "") + perSecond
}

// networkKind holds additional properties of a network fault's kind.
type networkKind struct {
	// noPartnersReason is the reason why the kind does not allow the key "from": the kind itself
	// determines which packets it affects. noDirectionReason is the reason why the kind does not
	// allow the key "direction". Both complete a sentence, and are empty if the key is allowed.
	noPartnersReason, noDirectionReason string
	// shareHelp describes the key "by", and throughputHelp describes the key "to", for kinds that
	// require these keys.
	shareHelp, throughputHelp string
	members                   int // minimum number of members
}

// needsAmount reports whether the kind requires a key in addition to the member and the times.
func (n *networkKind) needsAmount() bool {
	return n != nil && (n.shareHelp != "" || n.throughputHelp != "")
}

const betweenMembersReason = "separates members from each other, but not from clients; remove the field \"from\", or choose blackhole"

const bothDirectionsReason = "separates members in both directions; remove the field \"direction\", or choose isolate or blackhole"
