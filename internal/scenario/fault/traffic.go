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

// nameList holds the names of the values that a key can have. The name of a value that a file cannot
// contain is empty.
type nameList []string

var (
	partnerNames   = nameList{"", "peers", "clients", "all"}
	directionNames = nameList{"both", "in", "out"}
)

// PartnerNames returns the names of partners in scenario files.
func PartnerNames() []string { return partnerNames.names() }

// DirectionNames returns the names of directions in scenario files.
func DirectionNames() []string { return directionNames.names() }

// String returns the name in scenario files, or an empty string for DefaultPartners.
func (p Partners) String() string { return partnerNames.name(int(p)) }

// String returns the name in scenario files, or an empty string for BothDirections, which is the
// default.
func (d Direction) String() string {
	if d == BothDirections {
		return ""
	}
	return directionNames.name(int(d))
}

// names returns the names that files can contain.
func (n nameList) names() []string {
	return slices.DeleteFunc(slices.Clone(n), func(name string) bool { return name == "" })
}

func (n nameList) name(i int) string {
	if i >= len(n) {
		return "unknown"
	}
	return n[i]
}

func (n nameList) parse(key, s string) (int, error) {
	if i := slices.Index(n, s); i >= 0 && s != "" {
		return i, nil
	}
	return 0, fmt.Errorf("the field %q of a fault cannot be %q; choose %s", key, s, strings.Join(n.names(), " or "))
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
