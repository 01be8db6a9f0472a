package fault

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Problem returns what is wrong with the fault itself, or "". The text completes a sentence that
// starts with the fault.
func (f *Fault) Problem() string {
	row := f.row()
	for _, check := range [...]func(*kind) string{f.checkKinds, f.checkTraffic, f.checkTimes, f.checkAmount, f.checkMember, f.checkRepeats} {
		if wrong := check(row); wrong != "" {
			return wrong
		}
	}
	return ""
}

// checkKinds checks the list of kinds, which only a random fault has.
func (f *Fault) checkKinds(*kind) string {
	switch {
	case f.Do == Random && len(f.Of) == 0:
		return "needs of: the kinds of which it is one, as in of: [kill, pause]"
	case f.Do != Random && len(f.Of) > 0:
		return "has of, which are the kinds of a random one; drop it"
	case slices.ContainsFunc(f.Of, func(k Kind) bool { return k >= Random || k.row().to || k.row().network.amounts() }):
		return fmt.Sprintf("cannot be one of %s; which need more than by, or are several themselves", kindsText(f.Of))
	}
	return ""
}

// checkTimes checks the start and duration of the fault.
func (f *Fault) checkTimes(row *kind) string {
	switch {
	case f.At < 0 || f.For < 0 || f.By < 0 || f.Every < 0:
		return "has a time below 0"
	case row.instant != "" && f.For > 0:
		return row.instant
	case row.instant == "" && f.For == 0:
		return "needs for: how long it lasts, as in for: 3s"
	}
	return ""
}

// checkAmount checks the keys by and to.
func (f *Fault) checkAmount(row *kind) string {
	switch {
	case row.by != "" && f.By == 0:
		return "needs by: " + row.by
	case row.by == "" && !row.ahead && f.By != 0:
		return "has by, which is how much longer each sync of a slow disk takes; drop it, or choose slow-disk"
	case row.to && f.Server == "":
		return "needs to: the server that members get, as in to: 3.9.5, to: default or to: /opt/etcd"
	case f.Do == Random && f.Every == 0:
		return "needs every: the time in which one is at a random time, as in every: 20s"
	}
	return ""
}

// checkMember checks which member the fault affects.
func (f *Fault) checkMember(row *kind) string {
	scope := &scopes[row.of]
	switch {
	case !slices.Contains(scope.refuses, f.Member.Mode):
		return ""
	case f.Do == Random && scope.ofRandom != "":
		return scope.ofRandom
	}
	return scope.why
}

// scopes lists, for each scope, the members that are not allowed, and what to do instead.
var scopes = [...]struct {
	refuses       []kv.Mode
	why, ofRandom string
}{
	anyMember: {},
	aFollower: {refuses: []kv.Mode{kv.All, kv.LeaderOnly}, why: "is done to a member that does not lead; choose follower, any, or a member as m1, m2"},
	theCluster: {refuses: []kv.Mode{kv.Any, kv.LeaderOnly, kv.Followers, kv.One}, why: "is done to the whole cluster; drop member",
		ofRandom: "is done to the whole cluster, whichever it is; choose all as its member"},
	oneOfSeveral: {refuses: []kv.Mode{kv.All},
		why: "takes one member at a time, so that the others have a quorum; choose leader, follower, any, or a member as m1, m2"},
}

// checkRepeats checks how often the fault is repeated.
func (f *Fault) checkRepeats(*kind) string {
	switch {
	case f.Every == 0 && f.Repeat > 1:
		return "is repeated and needs every: the time from one to the next, as in every: 20s"
	case f.Every > 0 && f.Every <= f.For:
		return "begins again before it is over; every must be longer than for"
	}
	return ""
}

// checkTraffic checks the keys that select packets.
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
	case n.shape != "" && f.From != DefaultEnds:
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

// partsAll reports whether the fault names all members although it may be of a kind that separates
// the other members from one.
func (f *Fault) partsAll() bool {
	return f.Member.Mode == kv.All && slices.ContainsFunc(f.Kinds(), func(k Kind) bool {
		n := k.row().network
		return n != nil && n.shape != "" && n.twoWays != ""
	})
}

// LeastMembers returns how many members a network fault needs, for any kind that it can be. It
// returns 0 for other faults.
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
