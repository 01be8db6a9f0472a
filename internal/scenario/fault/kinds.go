package fault

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Kind is what is done to a member.
type Kind uint8

// The faults. What each does is in package fault.
const (
	Kill        Kind = iota // its processes are killed (SIGKILL), and started again
	Terminate               // its processes are asked to end (SIGTERM), and started again
	Pause                   // its processes stand still (SIGSTOP), and go on (SIGCONT)
	Restart                 // as Terminate, and started again at once
	PowerLoss               // killed, what was not synced is gone, and started again
	SlowDisk                // each sync takes longer
	FullDisk                // there is no more room on the disk (ENOSPC)
	FailingDisk             // writes and syncs fail (EIO)
	LyingDisk               // syncs succeed and do nothing, then as PowerLoss

	Isolate   // it and the other members do not reach each other
	Split     // the members are two parts that do not reach each other
	Bridge    // the others are two parts that both reach it, and not each other
	Blackhole // packets from it and to it vanish, without a word
	Delay     // each packet comes later
	Loss      // some packets vanish
	Reorder   // some packets come after later ones
	SlowLink  // little passes in a second

	MoveLeader // a follower is handed the leadership
	Compact    // the history is discarded
	Defragment // a member gives free space back to its file system
	Snapshot   // a member writes a snapshot of all data, which is thrown away
	Alarm      // a member's alarm is raised, and disarmed
	FillQuota  // the quota of space is reached, and room made again
	EnableAuth // authentication is switched on, and off

	NewCertificate // a member that speaks TLS gets another certificate
	AddLearner     // a further member joins without a vote, gets one, and leaves

	Replace        // killed, and a new member with an empty disk takes its place
	RollingRestart // all members are restarted, one after the other
	RollingUpgrade // as RollingRestart, with another server
	Random         // one of several kinds, at a random time

	numKinds
)

// kinds is what there is to know of each kind before it is done.
var kinds = [numKinds]kind{
	Kill:        {name: "kill"},
	Terminate:   {name: "terminate"},
	Pause:       {name: "pause"},
	Restart:     {name: "restart", instant: "begins again at once: drop for, or choose terminate"},
	PowerLoss:   {name: "power-loss", disk: true, ahead: true},
	SlowDisk:    {name: "slow-disk", disk: true, by: "how much longer each sync takes, as in by: 200ms"},
	FullDisk:    {name: "full-disk", disk: true},
	FailingDisk: {name: "failing-disk", disk: true},
	LyingDisk:   {name: "lying-disk", disk: true},

	Isolate:   {name: "isolate", network: &networkKind{shape: betweenMembers, members: 2}},
	Split:     {name: "split", network: &networkKind{shape: betweenMembers, twoWays: bothWays, members: 2}},
	Bridge:    {name: "bridge", network: &networkKind{shape: betweenMembers, twoWays: bothWays, members: 3}},
	Blackhole: {name: "blackhole", network: &networkKind{}},
	Delay:     {name: "delay", by: "how much later each packet comes, as in by: 50ms", network: &networkKind{}},
	Loss:      {name: "loss", network: &networkKind{share: "the share of packets that vanish, as in by: 10%"}},
	Reorder:   {name: "reorder", network: &networkKind{share: "the share of packets that are held back, as in by: 10%"}},
	SlowLink:  {name: "slow-link", network: &networkKind{to: "how much passes in a second, as in to: 1MB/s"}},

	MoveLeader: {name: "move-leader", instant: ownTime, of: aFollower, needs: featured(kv.LeaderTransfer)},
	Compact:    {name: "compact", instant: ownTime, of: theCluster, needs: featured(kv.Compaction)},
	Defragment: {name: "defragment", instant: ownTime, needs: featured(kv.Defragmentation)},
	Snapshot:   {name: "snapshot", instant: ownTime, needs: featured(kv.Snapshots)},
	Alarm:      {name: "alarm", needs: featured(kv.Alarms)},
	FillQuota:  {name: "fill-quota", of: theCluster, needs: featured(kv.SpaceQuota)},
	EnableAuth: {name: "enable-auth", of: theCluster, needs: featured(kv.AuthSwitch)},

	NewCertificate: {name: "new-certificate", instant: "is over when the member shows it: drop for", needs: featured(kv.Certificates)},
	AddLearner:     {name: "add-learner", of: theCluster, needs: featured(kv.Learners), spare: true},

	Replace:        {name: "replace", of: oneOfSeveral, needs: featured(kv.Replacement), changes: true},
	RollingRestart: {name: "rolling-restart", instant: "is over when each member was restarted: drop for", of: theCluster},
	RollingUpgrade: {name: "rolling-upgrade", instant: "is over when each member was restarted: drop for", of: theCluster, to: true, changes: true},
	Random:         {name: "random"},
}

// ownTime is why the store's own work takes no for.
const ownTime = "is over when the store has done it: drop for"

// featured is what a store must have.
func featured(f kv.Feature) *kv.Feature { return &f }

// scope says whom a kind of fault can be done to.
type scope uint8

const (
	anyMember    scope = iota
	aFollower          // one that does not lead
	theCluster         // all at once, so that no member need be named
	oneOfSeveral       // one member of three or more, so that the others have a quorum
)

// kind is a row of kinds.
type kind struct {
	name string // in files
	// instant says of a kind that takes no for why, as the end of a sentence about a
	// fault with one; empty for those that need it.
	instant string
	// by is what the key by is of a kind that needs it, with an example.
	by string
	// ahead says that the kind may have the key by: how long before it something is done.
	ahead bool
	// disk says that the member's data must be on a disk that fails on request.
	disk bool
	// network is of kinds that need members' networks; nil for others.
	network *networkKind
	of      scope
	// needs is what the store must have; nil for nothing.
	needs *kv.Feature
	// spare says that there must be a place for a further member.
	spare bool
	// to says that it needs the key to.
	to bool
	// changes says that the cluster is another one afterwards.
	changes bool
}

// row is what there is to know of the kind.
func (k Kind) row() *kind {
	if k >= numKinds {
		return &kind{name: "unknown"}
	}
	return &kinds[k]
}

// NeedsDisk reports whether the member's data must be on a disk that fails on
// request.
func (k Kind) NeedsDisk() bool { return k.row().disk }

// NeedsNetwork reports whether the members must have networks of their own.
func (k Kind) NeedsNetwork() bool { return k.row().network != nil }

// OfFollower reports whether it is done to a member that does not lead.
func (k Kind) OfFollower() bool { return k.row().of == aFollower }

// NeedsSpare reports whether there must be a place for a further member.
func (k Kind) NeedsSpare() bool { return k.row().spare }

// NeedsQuorum reports whether the other members must have a quorum without the one that
// it is done to.
func (k Kind) NeedsQuorum() bool { return k.row().of == oneOfSeveral }

// Needs returns what the store must have; nil for nothing.
func (k Kind) Needs() *kv.Feature { return k.row().needs }

// OfCluster reports whether it is done to the whole cluster, and not to members.
func (k Kind) OfCluster() bool { return k.row().of == theCluster }

// Changes reports whether the cluster is another one afterwards, which no other
// trial may use.
func (k Kind) Changes() bool { return k.row().changes }

// on is the kind with the member that it is done to.
func (k Kind) on(t kv.Target) string {
	if k.OfCluster() && t.Mode == kv.All {
		return k.String()
	}
	return k.String() + " " + memberText(t)
}

// String returns the fault's name in files.
func (k Kind) String() string { return k.row().name }

// All lists all that can be done: Random is one of the others then.
func All() (all []Kind) {
	for k := range Random {
		all = append(all, k)
	}
	return all
}

// kindWords are the faults for a sentence.
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

// kindsText is how flags list kinds.
func kindsText(all []Kind) string {
	var names []string
	for _, k := range all {
		names = append(names, k.String())
	}
	return strings.Join(names, KindsBetween)
}

// KindsBetween stands between kinds in the text of a random fault.
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

// memberText names the member of a fault.
func memberText(t kv.Target) string {
	switch t.Mode {
	case kv.Followers:
		return "follower"
	case kv.One:
		return "m" + strconv.Itoa(t.Member)
	}
	return t.String()
}

// allMembers is how faults name all members at once.
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
	return kv.Target{}, fmt.Errorf("there is no member %q for a fault; choose leader, follower, any, all, or a member as m1, m2", s)
}

// DefaultServer is, for a rolling upgrade, the store's own server here.
const DefaultServer = "default"

// parseServer reads what a rolling upgrade is to.
func parseServer(s string) (string, error) {
	if strings.ContainsAny(s, " ,\t\r\n") {
		return "", fmt.Errorf("the server %q has a space or a comma, with which a fault cannot be written", s)
	}
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("the server %q is no text in UTF-8, as which a fault is recorded", s)
	}
	return s, nil
}

// ServerOf is the server that a rolling upgrade is to: the version of an installed
// one, or the path of another; both are empty for the store's own.
func ServerOf(to string) (version, exec string) {
	switch {
	case strings.ContainsRune(to, '/'):
		return "", to
	case to == DefaultServer:
		return "", ""
	}
	return to, ""
}
