package fault

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Kind is a kind of fault.
type Kind uint8

// The kinds of faults. Unless stated otherwise, a comment describes what happens to the fault's
// member. Package internal/run/fault injects them.
const (
	Kill        Kind = iota // killed (SIGKILL), and started again later
	Terminate               // asked to terminate (SIGTERM), and started again later
	Pause                   // stopped (SIGSTOP), and continued later (SIGCONT)
	Restart                 // like Terminate, but started again at once
	PowerLoss               // killed, loses data that it did not sync, and is started again later
	SlowDisk                // each sync takes longer
	FullDisk                // the disk reports that it is full (ENOSPC)
	FailingDisk             // writes and syncs fail (EIO)
	LyingDisk               // syncs report success but do nothing; the fault ends like PowerLoss

	Isolate   // the member and all other members cannot reach each other
	Split     // the members form two groups that cannot reach each other
	Bridge    // the other members form two groups; both reach the member, but not each other
	Blackhole // packets to and from the member are silently dropped
	Delay     // each packet is delayed
	Loss      // some packets are lost
	Reorder   // some packets arrive after later ones
	SlowLink  // the throughput of the link is limited

	MoveLeader // leadership moves to a follower
	Compact    // the history is compacted
	Defragment // a member returns free space to its file system
	Snapshot   // a member writes a snapshot of all data, which is then discarded
	Alarm      // an alarm is raised on a member, and disarmed later
	FillQuota  // the space quota is exceeded, and space is freed later
	EnableAuth // authentication is enabled, and disabled later

	NewCertificate // a member that uses TLS gets a new certificate
	AddLearner     // another member joins as a non-voter, becomes a voter, and later leaves

	Replace        // a member is killed, and a new member with an empty disk replaces it
	RollingRestart // all members are restarted, one at a time
	RollingUpgrade // like RollingRestart, but with another server
	Random         // a random kind from a list, at a random time

	numKinds
)

// kinds holds the properties of each kind.
var kinds = [numKinds]kindProperties{
	Kill:        {name: "kill"},
	Terminate:   {name: "terminate"},
	Pause:       {name: "pause"},
	Restart:     {name: "restart", noDurationReason: "starts the member again at once; remove the field \"for\", or choose terminate"},
	PowerLoss:   {name: "power-loss", needsDisk: true, hasLeadTime: true},
	SlowDisk:    {name: "slow-disk", needsDisk: true, amountHelp: "how much longer each sync takes, for example \"by: 200ms\""},
	FullDisk:    {name: "full-disk", needsDisk: true},
	FailingDisk: {name: "failing-disk", needsDisk: true},
	LyingDisk:   {name: "lying-disk", needsDisk: true},

	Isolate:   {name: "isolate", network: &networkKind{noPartnersReason: betweenMembersReason, members: 2}},
	Split:     {name: "split", network: &networkKind{noPartnersReason: betweenMembersReason, noDirectionReason: bothDirectionsReason, members: 2}},
	Bridge:    {name: "bridge", network: &networkKind{noPartnersReason: betweenMembersReason, noDirectionReason: bothDirectionsReason, members: 3}},
	Blackhole: {name: "blackhole", network: &networkKind{}},
	Delay:     {name: "delay", amountHelp: "how much later each packet arrives, for example \"by: 50ms\"", network: &networkKind{}},
	Loss:      {name: "loss", network: &networkKind{shareHelp: "the percentage of packets that are lost, for example \"by: 10%\""}},
	Reorder:   {name: "reorder", network: &networkKind{shareHelp: "the percentage of packets that are held back, for example \"by: 10%\""}},
	SlowLink:  {name: "slow-link", network: &networkKind{throughputHelp: "the throughput of the link, for example \"to: 1MB/s\""}},

	MoveLeader: {name: "move-leader", noDurationReason: endsWithOperation, scope: followerOnly, feature: featurePtr(kv.LeaderTransfer)},
	Compact:    {name: "compact", noDurationReason: endsWithOperation, scope: wholeCluster, feature: featurePtr(kv.Compaction)},
	Defragment: {name: "defragment", noDurationReason: endsWithOperation, feature: featurePtr(kv.Defragmentation)},
	Snapshot:   {name: "snapshot", noDurationReason: endsWithOperation, feature: featurePtr(kv.Snapshots)},
	Alarm:      {name: "alarm", feature: featurePtr(kv.Alarms)},
	FillQuota:  {name: "fill-quota", scope: wholeCluster, feature: featurePtr(kv.SpaceQuota)},
	EnableAuth: {name: "enable-auth", scope: wholeCluster, feature: featurePtr(kv.AuthSwitch)},

	NewCertificate: {name: "new-certificate", noDurationReason: "ends when the member presents the new certificate; remove the field \"for\"", feature: featurePtr(kv.Certificates)},
	AddLearner:     {name: "add-learner", scope: wholeCluster, feature: featurePtr(kv.Learners), needsSpare: true},

	Replace:        {name: "replace", scope: memberKeepingQuorum, feature: featurePtr(kv.Replacement), changesCluster: true},
	RollingRestart: {name: "rolling-restart", noDurationReason: "ends when all members have been restarted; remove the field \"for\"", scope: wholeCluster},
	RollingUpgrade: {name: "rolling-upgrade", noDurationReason: "ends when all members have been restarted; remove the field \"for\"", scope: wholeCluster, needsServer: true, changesCluster: true},
	Random:         {name: "random"},
}

// endsWithOperation is the reason why the key "for" is not allowed if the store's own operation
// determines how long the fault lasts.
const endsWithOperation = "ends when the store has completed the operation; remove the field \"for\""

// featurePtr returns a pointer to the given feature.
func featurePtr(f kv.Feature) *kv.Feature { return &f }

// scope is the set of members that a kind of fault can affect.
type scope uint8

const (
	anyMember           scope = iota
	followerOnly              // a member that is not the leader
	wholeCluster              // the whole cluster, so that naming a member is optional
	memberKeepingQuorum       // one of at least three members, so that the others have a quorum
)

// kindProperties holds the properties of a kind of fault.
type kindProperties struct {
	name string // name in scenario files
	// noDurationReason is the reason why the kind does not allow the key "for". The text completes
	// a sentence that starts with the fault. It is empty for kinds that require the key.
	noDurationReason string
	// amountHelp describes the key "by", with an example, for kinds that require this key.
	amountHelp string
	// hasLeadTime is set if the key "by" is allowed, and states how long before the fault its
	// preparation starts.
	hasLeadTime bool
	// needsDisk is set if the member's data must be on a disk that fails on request.
	needsDisk bool
	// network is set for kinds that need separate networks for the members.
	network *networkKind
	scope   scope
	// feature is the feature that the store must have, or nil.
	feature *kv.Feature
	// needsSpare is set if the cluster must have room for one more member.
	needsSpare bool
	// needsServer is set if the kind requires the key "to".
	needsServer bool
	// changesCluster is set if the cluster is different after the fault.
	changesCluster bool
}

// properties returns the properties of the kind.
func (k Kind) properties() *kindProperties {
	if k >= numKinds {
		return &kindProperties{name: "unknown"}
	}
	return &kinds[k]
}

// NeedsDisk reports whether the member's data must be on a disk that fails on request.
func (k Kind) NeedsDisk() bool { return k.properties().needsDisk }

// NeedsNetwork reports whether the members must have separate networks.
func (k Kind) NeedsNetwork() bool { return k.properties().network != nil }

// AffectsFollower reports whether the fault can affect only a member that is not the leader.
func (k Kind) AffectsFollower() bool { return k.properties().scope == followerOnly }

// NeedsSpare reports whether the cluster must have room for one more member.
func (k Kind) NeedsSpare() bool { return k.properties().needsSpare }

// NeedsQuorum reports whether the members other than the affected one must form a quorum.
func (k Kind) NeedsQuorum() bool { return k.properties().scope == memberKeepingQuorum }

// RequiredFeature returns the feature that the store must have, or nil.
func (k Kind) RequiredFeature() *kv.Feature { return k.properties().feature }

// AffectsCluster reports whether the fault affects the whole cluster instead of one member.
func (k Kind) AffectsCluster() bool { return k.properties().scope == wholeCluster }

// ChangesCluster reports whether the cluster is different after the fault, so that no other trial
// may use it.
func (k Kind) ChangesCluster() bool { return k.properties().changesCluster }

// withMember returns the names of the kind and of the member that it affects.
func (k Kind) withMember(t kv.Target) string {
	if k.AffectsCluster() && t.Mode == kv.AllMembers {
		return k.String()
	}
	return k.String() + " " + memberText(t)
}

// String returns the kind's name in scenario files.
func (k Kind) String() string { return k.properties().name }

// All returns all kinds except Random, which stands for one of the other kinds.
func All() (all []Kind) {
	for k := range Random {
		all = append(all, k)
	}
	return all
}

// kindWords returns the names of all kinds as a list for a sentence.
func kindWords() string {
	var names []string
	for k := range numKinds {
		names = append(names, k.String())
	}
	return text.OrList(names)
}

// ParseKind is the inverse of String.
func ParseKind(s string) (Kind, error) {
	for k := range numKinds {
		if k.String() == s {
			return k, nil
		}
	}
	return 0, fmt.Errorf("there is no fault %q; choose %s", s, kindWords())
}

// kindsText formats kinds in the form that flags use.
func kindsText(all []Kind) string {
	var names []string
	for _, k := range all {
		names = append(names, k.String())
	}
	return strings.Join(names, KindSeparator)
}

// KindSeparator separates the kinds in the text of a random fault.
const KindSeparator = "/"

func parseKinds(s string) (all []Kind, err error) {
	for name := range strings.SplitSeq(s, KindSeparator) {
		k, err := ParseKind(name)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// memberText returns the name of a fault's member.
func memberText(t kv.Target) string {
	for _, m := range members {
		if m.mode == t.Mode {
			return m.name
		}
	}
	return "m" + strconv.Itoa(t.Member)
}

// members lists the names of members in faults, other than those of single members.
var members = []struct {
	name string
	mode kv.TargetMode
}{{"leader", kv.LeaderOnly}, {"follower", kv.Followers}, {"any", kv.AnyEndpoint}, {"all", kv.AllMembers}}

// MemberNames returns the names of members in faults, other than the names of single members such
// as m1.
func MemberNames() (names []string) {
	for _, m := range members {
		names = append(names, m.name)
	}
	return names
}

func parseMember(s string) (kv.Target, error) {
	for _, m := range members {
		if s == m.name {
			return kv.Target{Mode: m.mode}, nil
		}
	}
	if number, named := strings.CutPrefix(s, "m"); named {
		if n, err := strconv.Atoi(number); err == nil && n > 0 {
			return kv.Target{Mode: kv.SingleMember, Member: n}, nil
		}
	}
	return kv.Target{}, fmt.Errorf("there is no member %q for a fault; choose %s, or a member such as m1 or m2", s, strings.Join(MemberNames(), ", "))
}

// DefaultServer makes a rolling upgrade use the store's default server on this machine.
const DefaultServer = "default"

// parseServer parses the server that a rolling upgrade installs.
func parseServer(s string) (string, error) {
	if strings.ContainsAny(s, " ,\t\r\n") {
		return "", fmt.Errorf("the server %q contains a space or a comma, which faults cannot contain; use a path without them", s)
	}
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("the server %q is not UTF-8 text, which records require; use another path", s)
	}
	return s, nil
}

// ParseServer returns the server that a rolling upgrade installs: the version of an installed
// server, or the path of a server binary. Both are empty for the default server.
func ParseServer(server string) (version, exec string) {
	switch {
	case strings.ContainsRune(server, '/'):
		return "", server
	case server == DefaultServer:
		return "", ""
	}
	return server, ""
}
