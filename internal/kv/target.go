package kv

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxMembers is how many members a cluster can have, whether it is started here
// or is running already: more than any store of this kind is run with.
const MaxMembers = 99

// Mode says which members a load goes to.
type Mode uint8

// The modes.
const (
	Any        Mode = iota // the endpoints as given
	All                    // every member, connection i to member i mod n
	LeaderOnly             // the leader, followed through elections
	Followers              // every member but the leader
	One                    // one member, by its number from 1
)

// Target is a mode and, for One, the member's number from 1.
type Target struct {
	Mode   Mode
	Member int
}

var modeNames = []string{"any", "all", "leader", "followers"}

// String returns the target as flags, files and tables spell it.
func (t Target) String() string {
	if t.Mode == One {
		return "member:" + strconv.Itoa(t.Member)
	}
	return name(modeNames, int(t.Mode))
}

// ParseTarget is the inverse of String.
func ParseTarget(s string) (Target, error) {
	if number, ok := strings.CutPrefix(s, "member:"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return Target{}, fmt.Errorf("target %q names no member; members are numbered from 1, as in member:2", s)
		}
		return Target{Mode: One, Member: n}, nil
	}
	if i := slices.Index(modeNames, s); i >= 0 {
		return Target{Mode: Mode(i)}, nil
	}
	return Target{}, fmt.Errorf("there is no target %q; choose any, all, leader, followers or member:N", s)
}
