package kv

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxMembers limits the number of members of a cluster that a run starts or uses. It is
// larger than any cluster in practice.
const MaxMembers = 99

// Mode selects the members that a load is sent to.
type Mode uint8

// The modes.
const (
	Any        Mode = iota // the given endpoints
	All                    // every member: connection i goes to member i mod n
	LeaderOnly             // the leader; the load follows leader changes
	Followers              // every member except the leader
	One                    // one member by its number, which starts at 1
)

// Target is a mode and, for One, the number of a member, which starts at 1.
type Target struct {
	Mode   Mode
	Member int
}

var modeNames = []string{"any", "all", "leader", "followers"}

// String returns the target's name in flags, files and tables.
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
