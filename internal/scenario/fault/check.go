package fault

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Problem returns the reason why the fault itself is invalid, or "" if it is valid. The text
// completes a sentence that starts with the fault.
func (f *Fault) Problem() string {
	row := f.properties()
	for _, check := range [...]func(*kindProperties) string{f.checkKinds, f.checkTraffic, f.checkTimes, f.checkAmount, f.checkMember, f.checkRepeats} {
		if wrong := check(row); wrong != "" {
			return wrong
		}
	}
	return ""
}

// checkKinds checks the list of kinds, which only a random fault has.
func (f *Fault) checkKinds(*kindProperties) string {
	switch {
	case f.Kind == Random && len(f.Kinds) == 0:
		return "needs the field \"of\": a list of kinds to choose from, for example of: [kill, pause]"
	case f.Kind != Random && len(f.Kinds) > 0:
		return "has the field \"of\", which applies only to a random fault; remove the field"
	case slices.ContainsFunc(f.Kinds, func(k Kind) bool {
		return k >= Random || k.properties().needsServer || k.properties().network.needsAmount()
	}):
		return fmt.Sprintf("cannot choose from %s: a random fault can choose only kinds that require no field except \"by\", and not the kind random; use other kinds", kindsText(f.Kinds))
	}
	return ""
}

// checkTimes checks the start and duration of the fault.
func (f *Fault) checkTimes(row *kindProperties) string {
	switch {
	case f.At < 0 || f.Duration < 0 || f.Amount < 0 || f.Every < 0:
		return "has a negative time; use times of at least 0"
	case row.noDurationReason != "" && f.Duration > 0:
		return row.noDurationReason
	case row.noDurationReason == "" && f.Duration == 0:
		return "needs the field \"for\": how long the fault lasts, for example \"for: 3s\""
	}
	return ""
}

// noAmountReason is the reason why a kind does not allow a duration in the key "by".
const noAmountReason = "has a duration in the field \"by\", which applies only to slow-disk, power-loss and delay; remove the field, or choose one of these kinds"

// checkAmount checks the keys "by" and "to", and the key "every" of a random fault.
func (f *Fault) checkAmount(row *kindProperties) string {
	switch {
	case row.amountHelp != "" && f.Amount == 0:
		return "needs the field \"by\": " + row.amountHelp
	case row.amountHelp == "" && !row.hasLeadTime && f.Amount != 0:
		return noAmountReason
	case row.needsServer && f.Server == "":
		return "needs the field \"to\": the server with which members are restarted, for example \"to: 3.9.5\", \"to: default\" or \"to: /opt/etcd\""
	case f.Kind == Random && f.Every == 0:
		return "needs the field \"every\": the length of the periods, each with one fault at a random time, for example \"every: 20s\""
	}
	return ""
}

// checkMember checks which member the fault affects.
func (f *Fault) checkMember(row *kindProperties) string {
	rules := &scopes[row.scope]
	switch {
	case !slices.Contains(rules.refusedModes, f.Member.Mode):
		return ""
	case f.Kind == Random && rules.randomReason != "":
		return rules.randomReason
	}
	return rules.reason
}

// scopes lists, for each scope, the members that are not allowed, and the messages about them.
var scopes = [...]struct {
	refusedModes         []kv.TargetMode
	reason, randomReason string
}{
	anyMember:    {},
	followerOnly: {refusedModes: []kv.TargetMode{kv.AllMembers, kv.LeaderOnly}, reason: "applies only to a member that is not the leader; choose follower, any, or a member such as m1 or m2"},
	wholeCluster: {refusedModes: []kv.TargetMode{kv.AnyEndpoint, kv.LeaderOnly, kv.Followers, kv.SingleMember}, reason: "applies to the whole cluster; remove the field \"member\"",
		randomReason: "applies to the whole cluster, whichever kind is chosen; use member: all"},
	memberKeepingQuorum: {refusedModes: []kv.TargetMode{kv.AllMembers},
		reason: "applies to one member at a time, so that the others keep a quorum; choose leader, follower, any, or a member such as m1 or m2"},
}

// checkRepeats checks how often the fault is repeated.
func (f *Fault) checkRepeats(*kindProperties) string {
	switch {
	case f.Every == 0 && f.Repeat > 1:
		return "is repeated, so it needs the field \"every\": the time from one start to the next, for example \"every: 20s\""
	case f.Every > 0 && f.Every <= f.Duration:
		return "would start again before it has ended; make \"every\" longer than \"for\""
	}
	return ""
}

// checkTraffic checks the keys that select packets.
func (f *Fault) checkTraffic(*kindProperties) string {
	row := f.Kind.properties()
	n := row.network
	switch {
	case n == nil && f.Traffic != (Traffic{}):
		return "is not a network fault, but only network faults can have the fields \"from\", \"direction\", \"to\" and a percentage in \"by\"; remove them"
	case f.dividesAllMembers():
		return "applies to one member and not to all; name a single member"
	case n == nil:
		return ""
	case n.noPartnersReason != "" && f.Partners != DefaultPartners:
		return n.noPartnersReason
	case n.noDirectionReason != "" && f.Direction != BothDirections:
		return n.noDirectionReason
	case n.shareHelp != "" && f.Share == 0:
		return "needs the field \"by\": " + n.shareHelp
	case n.shareHelp == "" && f.Share > 0:
		return "has a percentage of packets in the field \"by\", which applies only to loss and reorder; remove the field, or choose one of these kinds"
	case n.throughputHelp != "" && f.Throughput == 0:
		return "needs the field \"to\": " + n.throughputHelp
	case n.throughputHelp == "" && f.Throughput > 0:
		return "has the field \"to\", which applies only to slow-link (the throughput of the link); remove the field, or choose slow-link"
	case row.amountHelp == "" && f.Amount > 0:
		return noAmountReason
	}
	return ""
}

// dividesAllMembers reports whether the fault names all members although one of its possible kinds
// divides the cluster around a single member.
func (f *Fault) dividesAllMembers() bool {
	return f.Member.Mode == kv.AllMembers && slices.ContainsFunc(f.PossibleKinds(), func(k Kind) bool {
		n := k.properties().network
		return n != nil && n.noPartnersReason != "" && n.noDirectionReason != ""
	})
}

// MinMembers returns the number of members that the cluster must have for a network fault,
// whichever of its possible kinds is chosen. It returns 0 for other faults.
func (f *Fault) MinMembers() (members int) {
	for _, k := range f.PossibleKinds() {
		if n := k.properties().network; n != nil {
			members = max(members, n.members)
		}
	}
	if f.Partners == Peers {
		members = max(members, 2)
	}
	return members
}
