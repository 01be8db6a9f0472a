package kv

import (
	"fmt"
	"strings"
	"time"
)

// Capabilities describes what a store can do. Scenarios are validated against it, and
// tables and documentation are generated from it. A missing capability has a sentence
// where its absence needs an explanation, such as a request that a proxy's protocol
// has and the proxy implements incorrectly.
type Capabilities struct {
	// Operations maps each supported operation to the store's request, such as "KV.Put".
	Operations   map[Kind]string
	NoOperations map[Kind]string
	// Reads maps each supported consistency level of a read to how the store implements it.
	Reads   map[Consistency]string
	NoReads map[Consistency]string
	// ShortOf has a sentence for each level of Reads that is weaker in this store than its
	// name says: how the store reads, and what that does not guarantee. Tables print it as
	// a footnote without the store's name.
	ShortOf map[Consistency]string
	// Features maps each supported feature to how the store provides it.
	Features   map[Feature]string
	NoFeatures map[Feature]string

	// Watches describes the watches of a store that has the operation Watch.
	Watches Watches

	// NonVoters describes members without a vote.
	NonVoters NonVoters

	// Ascending reports whether a Range returns its keys in byte order.
	Ascending bool
	// InFlight limits the operations in flight on one connection: 1 for HTTP/1.1, 0 if
	// the protocol has no limit.
	InFlight int
	// Ordered reports whether a connection returns responses in the order of the requests,
	// so that clients that share it wait for each other.
	Ordered bool
	// OwnSessions reports whether each connection has its own session, which a KeepAlive
	// renews. Such a store grants no leases.
	OwnSessions bool
	// ALPN names the application protocols that TLS connections request (RFC 7301).
	ALPN []string
	// Durability describes what the store does before it acknowledges a write.
	Durability string
	// Disk is the store's requirement on the disk of its log; nil if none is known.
	Disk *DiskRule
	// Upgrades is a sentence about the conditions of a version upgrade; empty for none.
	Upgrades string
	// SlowAtFirst is a phrase that explains why a server is slow after its start, such as
	// "its code is compiled while it runs"; empty if no reason is known.
	SlowAtFirst string
	// Variables maps a flag with which a command reaches a cluster, such as "cacert", to the
	// environment variable in which the store's own client takes it. "password" is the
	// password of the flag "user", or a token, and "tls" is true for TLS.
	Variables map[string]string
}

// NonVoters describes the members of a store that have no vote (NonVoter).
type NonVoters struct {
	Name string // the store's term, such as learner
	// Forwards reports whether they forward writes and linearizable reads to the leader,
	// as followers do.
	Forwards bool
	// Reads reports whether members that do not forward serve local reads of keys. They
	// do not authenticate users.
	Reads bool
}

// DiskRule is a limit on the sync time of the write-ahead log's disk, as recommended by
// the store's developers or implied by its defaults.
type DiskRule struct {
	Percentile float64       // 100: the longest
	Limit      time.Duration // upper bound, exclusive
	Source     string        // a sentence: the source of the limit, and the effect of exceeding it
}

// Feature is a capability of a store other than an operation.
type Feature uint8

// The features.
const (
	RangeForms       Feature = iota // ranges that only count, omit values, or arrive as pages or as a stream
	TLS                             // connections over TLS
	Users                           // authentication
	RoleQuery                       // query of one member's role that is cheaper than a status
	Compaction                      // discards old revisions, also during a load
	Defragmentation                 // returns free space to the file system
	LeaderTransfer                  // moves the leadership to a given member
	PrefixDelete                    // deletes all keys with a prefix in one administrative request
	Hashes                          // hash of each member's data
	Leases                          // administrative grant and revocation of leases
	Metrics                         // metrics that members report about themselves
	LogSignals                      // events parsed from the members' logs
	NullServer                      // a null server for the store's protocol
	Snapshots                       // snapshot of a member's data, on request
	Alarms                          // alarm that stops writes, raised and disarmed on request
	SpaceQuota                      // storage quota, at which writes stop
	AuthSwitch                      // authentication that can be enabled and disabled at run time
	Replacement                     // an empty member replaces one whose data are lost
	Learners                        // a member can join without a vote, be promoted, and leave
	Certificates                    // replacement of members' certificates at run time
	Order                           // responses that carry the order of the writes, so that they can be verified
	ApplicationCalls                // calls of applications: guarded transactions, leases, pages of a revision, compaction, watchers
	Services                        // catalog of services, their instances and their health
	SessionNodes                    // numbered keys that expire with their session, and one watch event for the expiry
	CallWatchers                    // watchers that an application starts and stops individually between other calls
	SessionLocks                    // keys locked by sessions with a time to live, and blocking queries that return the lock holder
	NumFeatures
)

// features has each feature's name and the sentence about a store that lacks it.
var features = [NumFeatures]struct{ name, lack string }{
	RangeForms:       {"range-forms", "%s reads a range whole here: with its values, and in one answer"},
	TLS:              {"tls", "%s has no TLS here"},
	Users:            {"users", "%s has no users here"},
	RoleQuery:        {"role-query", "one member of %s cannot be asked for its role alone here"},
	Compaction:       {"compaction", "%s cannot be compacted here"},
	Defragmentation:  {"defragmentation", "%s cannot be defragmented here"},
	LeaderTransfer:   {"leader-transfer", "%s cannot move its leadership here"},
	PrefixDelete:     {"prefix-delete", "%s removes no prefixes here, but key by key"},
	Hashes:           {"hashes", "the members of %s report no hash of their data here"},
	Leases:           {"leases", "%s has no leases here that could be granted"},
	Metrics:          {"metrics", "the members of %s report no figures here"},
	LogSignals:       {"log-signals", "the logs of %s are not read here"},
	NullServer:       {"null-server", "%s has no null server"},
	Snapshots:        {"snapshots", "%s writes no snapshots on request here"},
	Alarms:           {"alarms", "%s has no alarms here"},
	SpaceQuota:       {"space-quota", "%s has no quota of space here"},
	AuthSwitch:       {"auth-switch", "%s cannot switch authentication on while it runs here"},
	Replacement:      {"replacement", "no member of %s can be replaced by an empty one here"},
	Learners:         {"learners", "no member joins %s as a learner here"},
	Certificates:     {"certificates", "the certificates of %s's members are not replaced while they run here"},
	Services:         {"services", "%s has no catalog of services here"},
	SessionLocks:     {"session-locks", "%s has no sessions here that hold keys"},
	Order:            {"order", "the responses of %s cannot be verified: it does not report the order of its writes"},
	SessionNodes:     {"session-nodes", "%s has no keys here that end with their session and that it numbers"},
	CallWatchers:     {"call-watchers", "an application on %s cannot begin and end watchers among its calls here"},
	ApplicationCalls: {"application-calls", "%s is not sent the calls of an application here"},
}

// String returns the feature's name in tables.
func (f Feature) String() string {
	if f < NumFeatures {
		return features[f].name
	}
	return name(nil, int(f))
}

// CheckOperation returns nil if the named store has the operation at that consistency level
// (None for an operation that is not a read), otherwise a sentence about the missing capability.
func (c Capabilities) CheckOperation(store string, k Kind, level Consistency) error {
	if why, ok := c.NoOperations[k]; ok {
		return fmt.Errorf("%s is refused: %s", k, why)
	}
	if _, ok := c.Operations[k]; !ok {
		return fmt.Errorf("%s has no operation %s here; it has %s", store, k, c.operations())
	}
	if level == None {
		return nil
	}
	if k.Writes() {
		return fmt.Errorf("%s is a write, and consistency %s is about reads; leave it out", k, level)
	}
	if why, ok := c.NoReads[level]; ok {
		return fmt.Errorf("%s reads are refused: %s", level, why)
	}
	if _, ok := c.Reads[level]; !ok {
		return fmt.Errorf("%s has no %s reads; it has %s", store, level, c.reads())
	}
	return nil
}

// CheckWatch returns nil if the named store has watches of the mode, otherwise a sentence
// that lists the modes it has.
func (c Capabilities) CheckWatch(store string, mode WatchMode) error {
	if err := c.CheckOperation(store, Watch, None); err != nil {
		return err
	}
	if _, ok := c.Watches.Modes[c.Watches.Mode(mode)]; ok {
		return nil
	}
	var has []string
	for m := range NumWatchModes {
		if what, ok := c.Watches.Modes[m]; ok {
			has = append(has, fmt.Sprintf("%s (%s)", m, what))
		}
	}
	return fmt.Errorf("%s has no watches of mode %s; it has %s", store, mode, strings.Join(has, " and "))
}

// Has reports whether the store has a feature.
func (c Capabilities) Has(f Feature) bool { return c.Features[f] != "" }

// CheckFeature returns nil if the named store has the feature, otherwise a sentence about
// the missing capability.
func (c Capabilities) CheckFeature(store string, f Feature) error {
	switch why := c.NoFeatures[f]; {
	case c.Has(f):
		return nil
	case why != "":
		return fmt.Errorf("%s", why)
	}
	return fmt.Errorf(features[f].lack, store)
}

// Strongest returns the strongest consistency level of the store's reads.
func (c Capabilities) Strongest() Consistency {
	for _, level := range []Consistency{Linearizable, Lease, Local} {
		if _, ok := c.Reads[level]; ok {
			return level
		}
	}
	return None
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
