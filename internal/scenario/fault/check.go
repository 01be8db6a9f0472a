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
		return "needs of: the kinds from which one is chosen, for example of: [kill, pause]"
	case f.Do != Random && len(f.Of) > 0:
		return "has of, which applies only to a random fault; remove the field of"
	case slices.ContainsFunc(f.Of, func(k Kind) bool { return k >= Random || k.row().to || k.row().network.amounts() }):
		return fmt.Sprintf("cannot choose from %s: a kind must need no field other than by, and must not be random itself; use other kinds", kindsText(f.Of))
	}
	return ""
}

// checkTimes checks the start and duration of the fault.
func (f *Fault) checkTimes(row *kind) string {
	switch {
	case f.At < 0 || f.For < 0 || f.By < 0 || f.Every < 0:
		return "has a negative time; use times of at least 0"
	case row.instant != "" && f.For > 0:
		return row.instant
	case row.instant == "" && f.For == 0:
		return "needs for: how long the fault lasts, for example for: 3s"
	}
	return ""
}

// checkAmount checks the keys by and to.
func (f *Fault) checkAmount(row *kind) string {
	switch {
	case row.by != "" && f.By == 0:
		return "needs by: " + row.by
	case row.by == "" && !row.ahead && f.By != 0:
		return "has by, which applies only to slow-disk (how much longer each sync takes); remove the field by, or choose slow-disk"
	case row.to && f.Server == "":
		return "needs to: the server with which members are restarted, for example to: 3.9.5, to: default or to: /opt/etcd"
	case f.Do == Random && f.Every == 0:
		return "needs every: the period in which one fault starts at a random time, for example every: 20s"
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
	aFollower: {refuses: []kv.Mode{kv.All, kv.LeaderOnly}, why: "applies only to a member that is not the leader; choose follower, any, or a member such as m1 or m2"},
	theCluster: {refuses: []kv.Mode{kv.Any, kv.LeaderOnly, kv.Followers, kv.One}, why: "applies to the whole cluster; remove the member field",
		ofRandom: "applies to the whole cluster, whichever kind is chosen; use member: all"},
	oneOfSeveral: {refuses: []kv.Mode{kv.All},
		why: "applies to one member at a time, so that the others keep a quorum; choose leader, follower, any, or a member such as m1 or m2"},
}

// checkRepeats checks how often the fault is repeated.
func (f *Fault) checkRepeats(*kind) string {
	switch {
	case f.Every == 0 && f.Repeat > 1:
		return "is repeated, so it needs every: the time from one start to the next, for example every: 20s"
	case f.Every > 0 && f.Every <= f.For:
		return "would start again before it has ended; make every longer than for"
	}
	return ""
}

// checkTraffic checks the keys that select packets.
func (f *Fault) checkTraffic(*kind) string {
	row := f.Do.row()
	n := row.network
	switch {
	case n == nil && f.Traffic != (Traffic{}):
		return "is not a network fault, and only network faults can have from, direction, to and by with a percentage; remove them"
	case f.partsAll():
		return "applies to one member and not to all; name a single member"
	case n == nil:
		return ""
	case n.shape != "" && f.From != DefaultEnds:
		return n.shape
	case n.twoWays != "" && f.Direction != BothWays:
		return n.twoWays
	case n.share != "" && f.Share == 0:
		return "needs by: " + n.share
	case n.share == "" && f.Share > 0:
		return "has by with a percentage of packets, which applies only to loss and reorder; remove it, or choose one of these"
	case n.to != "" && f.To == 0:
		return "needs to: " + n.to
	case n.to == "" && f.To > 0:
		return "has to, which applies only to slow-link (the throughput of the link); remove the field to, or choose slow-link"
	case row.by == "" && f.By > 0:
		return "has by with a duration, which applies only to delay (how much later each packet arrives); remove it, or choose delay"
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
