package fault

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/kv"
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
var kinds = [numKinds]kind{
	Kill:        {name: "kill"},
	Terminate:   {name: "terminate"},
	Pause:       {name: "pause"},
	Restart:     {name: "restart", instant: "starts the member again at once; remove the field \"for\", or choose terminate"},
	PowerLoss:   {name: "power-loss", disk: true, ahead: true},
	SlowDisk:    {name: "slow-disk", disk: true, by: "how much longer each sync takes, for example by: 200ms"},
	FullDisk:    {name: "full-disk", disk: true},
	FailingDisk: {name: "failing-disk", disk: true},
	LyingDisk:   {name: "lying-disk", disk: true},

	Isolate:   {name: "isolate", network: &networkKind{shape: betweenMembers, members: 2}},
	Split:     {name: "split", network: &networkKind{shape: betweenMembers, twoWays: bothWays, members: 2}},
	Bridge:    {name: "bridge", network: &networkKind{shape: betweenMembers, twoWays: bothWays, members: 3}},
	Blackhole: {name: "blackhole", network: &networkKind{}},
	Delay:     {name: "delay", by: "how much later each packet arrives, for example by: 50ms", network: &networkKind{}},
	Loss:      {name: "loss", network: &networkKind{share: "the percentage of packets that are lost, for example by: 10%"}},
	Reorder:   {name: "reorder", network: &networkKind{share: "the percentage of packets that are held back, for example by: 10%"}},
	SlowLink:  {name: "slow-link", network: &networkKind{to: "the throughput of the link, for example to: 1MB/s"}},

	MoveLeader: {name: "move-leader", instant: ownTime, of: aFollower, needs: featured(kv.LeaderTransfer)},
	Compact:    {name: "compact", instant: ownTime, of: theCluster, needs: featured(kv.Compaction)},
	Defragment: {name: "defragment", instant: ownTime, needs: featured(kv.Defragmentation)},
	Snapshot:   {name: "snapshot", instant: ownTime, needs: featured(kv.Snapshots)},
	Alarm:      {name: "alarm", needs: featured(kv.Alarms)},
	FillQuota:  {name: "fill-quota", of: theCluster, needs: featured(kv.SpaceQuota)},
	EnableAuth: {name: "enable-auth", of: theCluster, needs: featured(kv.AuthSwitch)},

	NewCertificate: {name: "new-certificate", instant: "ends when the member presents the new certificate; remove the field \"for\"", needs: featured(kv.Certificates)},
	AddLearner:     {name: "add-learner", of: theCluster, needs: featured(kv.Learners), spare: true},

	Replace:        {name: "replace", of: oneOfSeveral, needs: featured(kv.Replacement), changes: true},
	RollingRestart: {name: "rolling-restart", instant: "ends when all members have been restarted; remove the field \"for\"", of: theCluster},
	RollingUpgrade: {name: "rolling-upgrade", instant: "ends when all members have been restarted; remove the field \"for\"", of: theCluster, to: true, changes: true},
	Random:         {name: "random"},
}

// ownTime is the reason why the key "for" is not allowed if the store's own operation determines
// how long the fault lasts.
const ownTime = "ends when the store has completed the operation; remove the field \"for\""

// featured returns a pointer to the given feature.
func featured(f kv.Feature) *kv.Feature { return &f }

// scope is the set of members that a kind of fault can affect.
type scope uint8

const (
	anyMember    scope = iota
	aFollower          // a member that is not the leader
	theCluster         // the whole cluster, so that naming a member is optional
	oneOfSeveral       // one of at least three members, so that the others have a quorum
)

// kind holds the properties of a kind of fault.
type kind struct {
	name string // name in scenario files
	// instant is the reason why the kind does not allow the key "for". The text completes a
	// sentence that starts with the fault. It is empty for kinds that require the key.
	instant string
	// by describes the key "by", with an example, for kinds that require this key.
	by string
	// ahead is set if the key "by" is allowed, and states how long before the fault its preparation
	// starts.
	ahead bool
	// disk is set if the member's data must be on a disk that fails on request.
	disk bool
	// network is set for kinds that need separate networks for the members.
	network *networkKind
	of      scope
	// needs is the feature that the store must have, or nil.
	needs *kv.Feature
	// spare is set if the cluster must have room for one more member.
	spare bool
	// to is set if the kind requires the key "to".
	to bool
	// changes is set if the cluster is different after the fault.
	changes bool
}

// row returns the properties of the kind.
func (k Kind) row() *kind {
	if k >= numKinds {
		return &kind{name: "unknown"}
	}
	return &kinds[k]
}

// NeedsDisk reports whether the member's data must be on a disk that fails on request.
func (k Kind) NeedsDisk() bool { return k.row().disk }

// NeedsNetwork reports whether the members must have separate networks.
func (k Kind) NeedsNetwork() bool { return k.row().network != nil }

// AffectsFollower reports whether the fault can affect only a member that is not the leader.
func (k Kind) AffectsFollower() bool { return k.row().of == aFollower }

// NeedsSpare reports whether the cluster must have room for one more member.
func (k Kind) NeedsSpare() bool { return k.row().spare }

// NeedsQuorum reports whether the members other than the affected one must form a quorum.
func (k Kind) NeedsQuorum() bool { return k.row().of == oneOfSeveral }

// Needs returns the feature that the store must have, or nil.
func (k Kind) Needs() *kv.Feature { return k.row().needs }

// AffectsCluster reports whether the fault affects the whole cluster instead of one member.
func (k Kind) AffectsCluster() bool { return k.row().of == theCluster }

// Changes reports whether the cluster is different after the fault, so that no other trial may use
// it.
func (k Kind) Changes() bool { return k.row().changes }

// withMember returns the names of the kind and of the member that it affects.
func (k Kind) withMember(t kv.Target) string {
	if k.AffectsCluster() && t.Mode == kv.All {
		return k.String()
	}
	return k.String() + " " + memberText(t)
}

// String returns the kind's name in scenario files.
func (k Kind) String() string { return k.row().name }

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
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
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
	return strings.Join(names, KindsBetween)
}

// KindsBetween separates the kinds in the text of a random fault.
const KindsBetween = "/"

func parseKinds(s string) (all []Kind, err error) {
	for name := range strings.SplitSeq(s, KindsBetween) {
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
	switch t.Mode {
	case kv.Followers:
		return "follower"
	case kv.One:
		return "m" + strconv.Itoa(t.Member)
	}
	return t.String()
}

// allMembers is the name that stands for all members at once.
const allMembers = "all"

func parseMember(s string) (kv.Target, error) {
	switch number, named := strings.CutPrefix(s, "m"); {
	case s == "leader":
		return kv.Target{Mode: kv.LeaderOnly}, nil
	case s == allMembers:
		return kv.Target{Mode: kv.All}, nil
	case s == "any":
		return kv.Target{Mode: kv.Any}, nil
	case s == "follower":
		return kv.Target{Mode: kv.Followers}, nil
	case named:
		if n, err := strconv.Atoi(number); err == nil && n > 0 {
			return kv.Target{Mode: kv.One, Member: n}, nil
		}
	}
	return kv.Target{}, fmt.Errorf("there is no member %q for a fault; choose leader, follower, any, all, or a member such as m1 or m2", s)
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
func ParseServer(to string) (version, exec string) {
	switch {
	case strings.ContainsRune(to, '/'):
		return "", to
	case to == DefaultServer:
		return "", ""
	}
	return to, ""
}
