package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
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

// setTraffic sets a field of the fault that is about packets. known is false for others.
func (f *Fault) setTraffic(key, value string) (known bool, err error) {
	var i int
	switch key {
	case "from":
		i, err = endNames.parse("end", value)
		f.From = Ends(i)
	case "direction":
		if value != "both" {
			i, err = directionNames.parse("direction", value)
		}
		f.Direction = Direction(i)
	case "to":
		f.To, err = parseThroughput(value)
	default:
		return false, nil
	}
	return true, err
}

// setBy reads how much: a share of the packets, or a time.
func (f *Fault) setBy(value string) (err error) {
	if strings.HasSuffix(value, "%") {
		f.Share, err = text.ParseShare(value)
	} else {
		f.By, err = text.ParseDuration(value)
	}
	return err
}

// amount is what by says of a fault; empty for nothing.
func (f *Fault) amount() string {
	switch {
	case f.Share > 0:
		return text.FormatShare(f.Share)
	case f.By != 0:
		return text.FormatDuration(f.By)
	}
	return ""
}

// rate is what to says.
func (t *Traffic) rate() string {
	if t.To == 0 {
		return ""
	}
	return strings.ReplaceAll(text.FormatSize(t.To), " ", "") + perSecond
}

// how are the words of a fault on what is done, with a space before each.
func (f *Fault) how() (words string) {
	for _, one := range [...]struct{ key, value string }{
		{"by", f.amount()}, {"to", f.rate()}, {"to", f.Server}, {"from", f.From.String()}, {"direction", f.Direction.String()},
	} {
		if one.value != "" {
			words += " " + one.key + " " + one.value
		}
	}
	return words
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

// NeedsNetwork reports whether the members must have networks of their own.
func (k Kind) NeedsNetwork() bool { return k.row().network != nil }

// Among reports whether the fault is about packets between the member and the others,
// and between the member and clients.
func (h *Happening) Among() (peers, clients bool) {
	if h.Do.NeedsNetwork() && h.Do.row().network.shape != "" {
		return true, false
	}
	return h.From != Clients, h.From != Peers
}

// checkTraffic says what is wrong with what a fault says of packets; empty for nothing.
func (f *Fault) checkTraffic(*kind) string {
	row := f.Do.row()
	n := row.network
	switch {
	case n == nil && f.Traffic != (Traffic{}):
		return "is none of the network, and only those have from, direction, to and shares; drop them"
	case f.partsAll():
		return "is of one member, and not of all"
	case n == nil:
		return ""
	case n.shape != "" && f.From != Unsaid:
		return n.shape
	case n.twoWays != "" && f.Direction != BothWays:
		return n.twoWays
	case n.share != "" && f.Share == 0:
		return "needs by: " + n.share
	case n.share == "" && f.Share > 0:
		return "has by, which is a share of packets; drop it, or choose loss or reorder"
	case n.to != "" && f.To == 0:
		return "needs to: " + n.to
	case n.to == "" && f.To > 0:
		return "has to, which is what passes a slow link in a second; drop it, or choose slow-link"
	case row.by == "" && f.By > 0:
		return "has by with a time, which is how much later each packet comes; drop it, or choose delay"
	}
	return ""
}

// partsAll reports whether it may be of a kind that parts the members around one,
// and names all.
func (f *Fault) partsAll() bool {
	return f.Member.Mode == kv.All && slices.ContainsFunc(f.Kinds(), func(k Kind) bool {
		n := k.row().network
		return n != nil && n.shape != "" && n.twoWays != ""
	})
}

// LeastMembers is how many members a fault of the network needs, whichever of its kinds
// it is; 0 for others.
func (f *Fault) LeastMembers() (least int) {
	for _, k := range f.Kinds() {
		if n := k.row().network; n != nil {
			least = max(least, n.members)
		}
	}
	if f.From == Peers {
		least = max(least, 2)
	}
	return least
}
