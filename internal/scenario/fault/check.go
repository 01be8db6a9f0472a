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
		return "needs the field \"of\": the kinds from which one is chosen, for example of: [kill, pause]"
	case f.Do != Random && len(f.Of) > 0:
		return "has the field \"of\", which applies only to a random fault; remove the field"
	case slices.ContainsFunc(f.Of, func(k Kind) bool { return k >= Random || k.row().to || k.row().network.amounts() }):
		return fmt.Sprintf("cannot choose from %s: a random fault allows only kinds that need no field other than \"by\", and not the kind random; use other kinds", kindsText(f.Of))
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
		return "needs the field \"for\": how long the fault lasts, for example for: 3s"
	}
	return ""
}

// checkAmount checks the keys "by" and "to", and the key "every" of a random fault.
func (f *Fault) checkAmount(row *kind) string {
	switch {
	case row.by != "" && f.By == 0:
		return "needs the field \"by\": " + row.by
	case row.by == "" && !row.ahead && f.By != 0:
		return "has the field \"by\", which applies only to slow-disk (how much longer each sync takes); remove the field, or choose slow-disk"
	case row.to && f.Server == "":
		return "needs the field \"to\": the server with which members are restarted, for example to: 3.9.5, to: default or to: /opt/etcd"
	case f.Do == Random && f.Every == 0:
		return "needs the field \"every\": the period in which one fault starts at a random time, for example every: 20s"
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

// scopes lists, for each scope, the members that are not allowed, and the messages about them.
var scopes = [...]struct {
	refuses       []kv.Mode
	why, ofRandom string
}{
	anyMember: {},
	aFollower: {refuses: []kv.Mode{kv.All, kv.LeaderOnly}, why: "applies only to a member that is not the leader; choose follower, any, or a member such as m1 or m2"},
	theCluster: {refuses: []kv.Mode{kv.Any, kv.LeaderOnly, kv.Followers, kv.One}, why: "applies to the whole cluster; remove the field \"member\"",
		ofRandom: "applies to the whole cluster, whichever kind is chosen; use member: all"},
	oneOfSeveral: {refuses: []kv.Mode{kv.All},
		why: "applies to one member at a time, so that the others keep a quorum; choose leader, follower, any, or a member such as m1 or m2"},
}

// checkRepeats checks how often the fault is repeated.
func (f *Fault) checkRepeats(*kind) string {
	switch {
	case f.Every == 0 && f.Repeat > 1:
		return "is repeated, so it needs the field \"every\": the time from one start to the next, for example every: 20s"
	case f.Every > 0 && f.Every <= f.For:
		return "would start again before it has ended; make \"every\" longer than \"for\""
	}
	return ""
}

// checkTraffic checks the keys that select packets.
func (f *Fault) checkTraffic(*kind) string {
	row := f.Do.row()
	n := row.network
	switch {
	case n == nil && f.Traffic != (Traffic{}):
		return "is not a network fault, but only network faults can have the fields \"from\", \"direction\", \"to\" and a percentage in \"by\"; remove them"
	case f.partsAll():
		return "applies to one member and not to all; name a single member"
	case n == nil:
		return ""
	case n.shape != "" && f.From != DefaultEnds:
		return n.shape
	case n.twoWays != "" && f.Direction != BothWays:
		return n.twoWays
	case n.share != "" && f.Share == 0:
		return "needs the field \"by\": " + n.share
	case n.share == "" && f.Share > 0:
		return "has a percentage of packets in the field \"by\", which applies only to loss and reorder; remove the field, or choose one of these kinds"
	case n.to != "" && f.To == 0:
		return "needs the field \"to\": " + n.to
	case n.to == "" && f.To > 0:
		return "has the field \"to\", which applies only to slow-link (the throughput of the link); remove the field, or choose slow-link"
	case row.by == "" && f.By > 0:
		return "has a duration in the field \"by\", which applies only to delay (how much later each packet arrives); remove the field, or choose delay"
	}
	return ""
}

// partsAll reports whether the fault names all members, although it may be of a kind that needs a
// single member because it divides the cluster around that member.
func (f *Fault) partsAll() bool {
	return f.Member.Mode == kv.All && slices.ContainsFunc(f.Kinds(), func(k Kind) bool {
		n := k.row().network
		return n != nil && n.shape != "" && n.twoWays != ""
	})
}

// LeastMembers returns the number of members that the cluster must have for a network fault,
// whichever of its possible kinds is chosen. It returns 0 for other faults.
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
