package kv

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxMembers is the maximum number of members in a cluster that a run starts or uses. Clusters in
// practice have fewer members.
const MaxMembers = 99

// TargetMode determines to which members a load is sent.
type TargetMode uint8

// The modes.
const (
	AnyEndpoint  TargetMode = iota // any of the given endpoints
	AllMembers                     // every member: connection i connects to member i mod n
	LeaderOnly                     // the leader; the load follows leader changes
	Followers                      // every member except the leader
	SingleMember                   // the member with a given number
)

// Target is a mode and, if the mode is SingleMember, the number of the member. Members are numbered
// from 1.
type Target struct {
	Mode   TargetMode
	Member int
}

// TargetNames returns the names of targets, other than those of single members.
func TargetNames() []string { return slices.Clone(modeNames) }

var modeNames = []string{"any", "all", "leader", "followers"}

// String returns the target's name in flags, files and tables.
func (t Target) String() string {
	if t.Mode == SingleMember {
		return "member:" + strconv.Itoa(t.Member)
	}
	return nameAt(modeNames, int(t.Mode))
}

// ParseTarget is the inverse of String.
func ParseTarget(s string) (Target, error) {
	if number, ok := strings.CutPrefix(s, "member:"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return Target{}, fmt.Errorf("target %q does not contain a valid member number; members are numbered from 1, as in member:2", s)
		}
		return Target{Mode: SingleMember, Member: n}, nil
	}
	if i := slices.Index(modeNames, s); i >= 0 {
		return Target{Mode: TargetMode(i)}, nil
	}
	return Target{}, fmt.Errorf("there is no target %q; choose %s or member:N", s, strings.Join(modeNames, ", "))
}
