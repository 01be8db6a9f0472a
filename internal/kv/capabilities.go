package kv

import (
	"fmt"
	"strings"
	"time"
)

// Capabilities describes what a store can do. Scenarios are validated against it, and tables and
// documentation are generated from it. The maps whose names start with No contain sentences that
// explain why the store lacks a capability. Such a map has an entry only where an explanation is
// needed, for example if a proxy's protocol has a request but the proxy implements it incorrectly.
type Capabilities struct {
	// Operations maps each supported operation to the store's request, such as "KV.Put".
	Operations   map[Kind]string
	NoOperations map[Kind]string
	// Reads maps each supported consistency level of reads to how the store implements the level.
	Reads   map[Consistency]string
	NoReads map[Consistency]string
	// WeakerReads contains a sentence for each level in Reads whose guarantee in this store is
	// weaker than the level's name suggests. The sentence explains how the store reads and what
	// such reads do not guarantee. Tables print the sentence as a footnote, so it does not mention
	// the store's name.
	WeakerReads map[Consistency]string
	// Features maps each supported feature to how the store provides it.
	Features   map[Feature]string
	NoFeatures map[Feature]string

	// Watches describes the watches, if the store has the operation Watch.
	Watches Watches

	// NonVoters describes the members without a vote.
	NonVoters NonVoters

	// Ascending is set if a Range returns its keys in byte order.
	Ascending bool
	// MaxInFlight is the maximum number of operations in flight on one connection, such as 1 for
	// HTTP/1.1. It is 0 if the protocol has no limit.
	MaxInFlight int
	// OrderedResponses is set if a connection returns responses in the order of the requests.
	// Clients that share such a connection wait for each other.
	OrderedResponses bool
	// SessionPerConnection is set if each connection has its own session, which a KeepAlive renews.
	// Such a store grants no leases.
	SessionPerConnection bool
	// ALPN lists the application protocols that TLS connections request (RFC 7301).
	ALPN []string
	// Durability describes how the store makes a write durable before it acknowledges the write.
	Durability string
	// Disk is the store's requirement for the disk that holds its log, or nil if no requirement is
	// known.
	Disk *DiskRule
	// Hosts contains the store's requirements for its members' machines, or nil if the requirements
	// are unknown or are the same as those of another store.
	Hosts *HostRules
	// UpgradeConditions is a sentence about the conditions for a version upgrade. It is empty if
	// the store has no conditions.
	UpgradeConditions string
	// SlowStartReason is a phrase that explains why a server is slow for some time after its start,
	// such as "its code is compiled while it runs". It is empty if no reason is known.
	SlowStartReason string
	// EnvironmentVariables maps connection flags, such as "cacert", to the environment variables
	// that the store's own client uses for the same purpose. The entry "password" maps to the
	// variable with the password for the flag "user", or with a token. The entry "tls" maps to a
	// variable that is true if the client uses TLS.
	EnvironmentVariables map[string]string
}

// NonVoters describes the members of a store that have no vote (see NonVoter).
type NonVoters struct {
	Name string // the store's term for such a member, such as learner
	// ForwardsRequests is set if these members forward writes and linearizable reads to the leader,
	// as followers do.
	ForwardsRequests bool
	// ServesLocalReads is set if these members do not forward requests but serve local reads of
	// keys. They do not authenticate users.
	ServesLocalReads bool
}

// DiskRule is a limit for the sync time of the disk that holds the write-ahead log. The store's
// developers recommend the limit, or the store's default settings imply it.
type DiskRule struct {
	Percentile float64       // percentile of the sync times; 100 means the longest sync time
	Limit      time.Duration // the sync time must be below this limit
	Source     string        // sentences: the source of the limit, and the effect of exceeding it
}

// Feature is a capability of a store that is not an operation.
type Feature uint8

// The features.
const (
	RangeForms       Feature = iota // ranges that only count keys, omit values, or arrive in pages or as a stream
	TLS                             // connections over TLS
	Users                           // authentication
	RoleQuery                       // a request for a member's role, cheaper than a status
	Compaction                      // can discard old revisions, even while a load runs
	Defragmentation                 // can return free space to the file system
	LeaderTransfer                  // can move the leadership to a given member
	PrefixDelete                    // can delete all keys with a prefix in one administrative request
	Hashes                          // a hash of each member's data
	Leases                          // leases that an administrator can grant and revoke
	Metrics                         // metrics that members report
	LogSignals                      // events that are parsed from the members' logs
	NullServer                      // a null server for the store's protocol
	Snapshots                       // a snapshot of a member's data on request
	Alarms                          // an alarm that stops writes, and that can be raised and disarmed
	SpaceQuota                      // a storage quota; writes stop when it is reached
	AuthSwitch                      // authentication that can be enabled and disabled at run time
	Replacement                     // an empty member can replace a member whose data were lost
	Learners                        // a member can join without a vote, be promoted, and leave
	Certificates                    // members' certificates can be replaced while the members run
	WriteOrder                      // responses contain the order of the writes, which verification needs
	ApplicationCalls                // calls that applications send: guarded transactions, leases, pages at one revision, compaction, watchers
	Services                        // a catalog of services, their instances and their health
	SessionNodes                    // numbered keys that are deleted when their session expires, which causes one watch event
	CallWatchers                    // an application can start and stop single watchers between its other calls
	SessionLocks                    // keys that a session with a time to live can lock, and blocking queries that return the lock holder
	NumFeatures
)

// features contains the name of each feature, and the format of a sentence about a store that lacks
// the feature.
var features = [NumFeatures]struct{ name, lackFormat string }{
	RangeForms:       {"range-forms", "quorumbench can read a range in %s only as a whole: all keys with their values, in one response"},
	TLS:              {"tls", "quorumbench cannot connect to %s over TLS"},
	Users:            {"users", "quorumbench cannot authenticate users in %s"},
	RoleQuery:        {"role-query", "quorumbench cannot request only the role of a member of %s"},
	Compaction:       {"compaction", "quorumbench cannot compact %s"},
	Defragmentation:  {"defragmentation", "quorumbench cannot defragment the members of %s"},
	LeaderTransfer:   {"leader-transfer", "quorumbench cannot move the leadership of %s to another member"},
	PrefixDelete:     {"prefix-delete", "quorumbench cannot delete all keys with a prefix from %s in one request"},
	Hashes:           {"hashes", "quorumbench cannot get a hash of the data from the members of %s"},
	Leases:           {"leases", "quorumbench cannot grant leases in %s"},
	Metrics:          {"metrics", "quorumbench cannot read metrics from the members of %s"},
	LogSignals:       {"log-signals", "quorumbench cannot read the logs of %s"},
	NullServer:       {"null-server", "quorumbench has no null server for %s"},
	Snapshots:        {"snapshots", "quorumbench cannot request a snapshot from the members of %s"},
	Alarms:           {"alarms", "quorumbench cannot raise an alarm in %s"},
	SpaceQuota:       {"space-quota", "quorumbench cannot fill a storage quota in %s"},
	AuthSwitch:       {"auth-switch", "quorumbench cannot enable authentication in a running cluster of %s"},
	Replacement:      {"replacement", "quorumbench cannot replace a member of %s with an empty member"},
	Learners:         {"learners", "quorumbench cannot add a learner to a cluster of %s"},
	Certificates:     {"certificates", "quorumbench cannot replace the certificates of running members of %s"},
	Services:         {"services", "quorumbench does not support a service catalog in %s"},
	SessionLocks:     {"session-locks", "quorumbench cannot lock keys with sessions in %s"},
	WriteOrder:       {"order", "the responses of %s cannot be verified, because they do not contain the order of the writes"},
	SessionNodes:     {"session-nodes", "quorumbench cannot create numbered keys in %s that are deleted when their session ends"},
	CallWatchers:     {"call-watchers", "an application on %s cannot start and stop watchers between its other calls"},
	ApplicationCalls: {"application-calls", "quorumbench cannot send application calls, such as guarded transactions and lease grants, to %s"},
}

// String returns the feature's name in tables.
func (f Feature) String() string {
	if f < NumFeatures {
		return features[f].name
	}
	return nameAt(nil, int(f))
}

// CheckOperation returns nil if the named store supports the operation at the given consistency
// level. If not, it returns an error that is a sentence about the missing capability. The level is
// NoConsistency for an operation that is not a read.
func (c Capabilities) CheckOperation(store string, k Kind, level Consistency) error {
	if reason, ok := c.NoOperations[k]; ok {
		return fmt.Errorf("the operation %s is refused: %s", k, reason)
	}
	if _, ok := c.Operations[k]; !ok {
		return fmt.Errorf("%s has no operation %s; its operations are %s", store, k, c.operations())
	}
	if level == NoConsistency {
		return nil
	}
	if k.Writes() {
		return fmt.Errorf("%s is a write, but the consistency %s applies only to reads; remove the consistency", k, level)
	}
	if why, ok := c.NoReads[level]; ok {
		return fmt.Errorf("%s reads are refused: %s", level, why)
	}
	if _, ok := c.Reads[level]; !ok {
		return fmt.Errorf("%s has no %s reads; it supports %s", store, level, c.reads())
	}
	return nil
}

// CheckWatch returns nil if the named store supports watches of the given mode. If not, it returns
// an error that is a sentence with the supported modes.
func (c Capabilities) CheckWatch(store string, mode WatchMode) error {
	if err := c.CheckOperation(store, Watch, NoConsistency); err != nil {
		return err
	}
	if _, ok := c.Watches.Modes[c.Watches.ResolveMode(mode)]; ok {
		return nil
	}
	var supported []string
	for m := range NumWatchModes {
		if what, ok := c.Watches.Modes[m]; ok {
			supported = append(supported, fmt.Sprintf("%s (%s)", m, what))
		}
	}
	return fmt.Errorf("%s does not support the watch mode %q; it supports %s", store, mode, strings.Join(supported, " and "))
}

// Has reports whether the store has the feature.
func (c Capabilities) Has(f Feature) bool { return c.Features[f] != "" }

// CheckFeature returns nil if the named store has the feature. If not, it returns an error that is
// a sentence about the missing capability.
func (c Capabilities) CheckFeature(store string, f Feature) error {
	switch reason := c.NoFeatures[f]; {
	case c.Has(f):
		return nil
	case reason != "":
		return fmt.Errorf("%s", reason)
	}
	return fmt.Errorf(features[f].lackFormat, store)
}

// Strongest returns the strongest consistency level at which the store can read, or NoConsistency.
func (c Capabilities) Strongest() Consistency {
	for _, level := range []Consistency{Linearizable, LeaderLease, Local} {
		if _, ok := c.Reads[level]; ok {
			return level
		}
	}
	return NoConsistency
}

func (c Capabilities) operations() string {
	var out []string
	for k := range NumKinds {
		if _, ok := c.Operations[k]; ok {
			out = append(out, k.String())
		}
	}
	return strings.Join(out, ", ")
}

func (c Capabilities) reads() string {
	var out []string
	for level := range NumConsistencies {
		if what, ok := c.Reads[level]; ok {
			out = append(out, fmt.Sprintf("%s (%s)", level, what))
		}
	}
	return strings.Join(out, " and ")
}
