package scenario

import (
	"fmt"
	"strings"
)

// FaultKind is what is done to a member.
type FaultKind uint8

// The faults. What each does is in package fault.
const (
	Kill        FaultKind = iota // its processes are killed (SIGKILL), and started again
	Terminate                    // its processes are asked to end (SIGTERM), and started again
	Pause                        // its processes stand still (SIGSTOP), and go on (SIGCONT)
	Restart                      // as Terminate, and started again at once
	PowerLoss                    // killed, what was not synced is gone, and started again
	SlowDisk                     // each sync takes longer
	FullDisk                     // there is no more room on the disk (ENOSPC)
	FailingDisk                  // writes and syncs fail (EIO)

	Isolate   // it and the other members do not reach each other
	Split     // the members are two parts that do not reach each other
	Bridge    // the others are two parts that both reach it, and not each other
	Blackhole // packets from it and to it vanish, without a word
	Delay     // each packet comes later
	Loss      // some packets vanish
	Reorder   // some packets come after later ones
	SlowLink  // little passes in a second

	numFaultKinds
)

// faultKinds is what there is to know of each kind before it is done.
var faultKinds = [numFaultKinds]faultKind{
	Kill:        {name: "kill"},
	Terminate:   {name: "terminate"},
	Pause:       {name: "pause"},
	Restart:     {name: "restart", instant: "begins again at once: drop for, or choose terminate"},
	PowerLoss:   {name: "power-loss", disk: true},
	SlowDisk:    {name: "slow-disk", disk: true, by: "how much longer each sync takes, as in by: 200ms"},
	FullDisk:    {name: "full-disk", disk: true},
	FailingDisk: {name: "failing-disk", disk: true},

	Isolate:   {name: "isolate", network: &networkKind{shape: betweenMembers, members: 2}},
	Split:     {name: "split", network: &networkKind{shape: betweenMembers, twoWays: bothWays, members: 2}},
	Bridge:    {name: "bridge", network: &networkKind{shape: betweenMembers, twoWays: bothWays, members: 3}},
	Blackhole: {name: "blackhole", network: &networkKind{}},
	Delay:     {name: "delay", by: "how much later each packet comes, as in by: 50ms", network: &networkKind{}},
	Loss:      {name: "loss", network: &networkKind{share: "the share of packets that vanish, as in by: 10%"}},
	Reorder:   {name: "reorder", network: &networkKind{share: "the share of packets that are held back, as in by: 10%"}},
	SlowLink:  {name: "slow-link", network: &networkKind{to: "how much passes in a second, as in to: 1MB/s"}},
}

// faultKind is a row of faultKinds.
type faultKind struct {
	name string // in files
	// instant says of a kind that takes no for why, as the end of a sentence about a
	// fault with one; empty for those that need it.
	instant string
	// by is what the key by is of a kind that needs it, with an example.
	by string
	// disk says that the member's data must be on a disk that fails on request.
	disk bool
	// network is of kinds that need members' networks; nil for others.
	network *networkKind
}

// row is what there is to know of the kind.
func (k FaultKind) row() *faultKind {
	if k >= numFaultKinds {
		return &faultKind{name: "unknown"}
	}
	return &faultKinds[k]
}

// NeedsDisk reports whether the member's data must be on a disk that fails on
// request.
func (k FaultKind) NeedsDisk() bool { return k.row().disk }

// String returns the fault's name in files.
func (k FaultKind) String() string { return k.row().name }

// FaultKinds lists all of them.
func FaultKinds() (all []FaultKind) {
	for k := range numFaultKinds {
		all = append(all, k)
	}
	return all
}

// faultWords are the faults for a sentence.
func faultWords() string {
	var names []string
	for _, k := range FaultKinds() {
		names = append(names, k.String())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// ParseFaultKind is the inverse of String.
func ParseFaultKind(s string) (FaultKind, error) {
	for _, k := range FaultKinds() {
		if k.String() == s {
			return k, nil
		}
	}
	return 0, fmt.Errorf("there is no fault %q; choose %s", s, faultWords())
}
