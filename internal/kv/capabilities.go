package kv

import (
	"fmt"
	"strings"
	"time"
)

// Capabilities describes what a store can do. Scenarios are validated against it, and tables
// and documentation are generated from it. The maps whose names start with No contain sentences
// that explain why the store lacks a capability. They are set only where an explanation is
// needed, for example if a proxy's protocol has a request but the proxy implements it
// incorrectly.
type Capabilities struct {
	// Operations maps each supported operation to the store's request, such as "KV.Put".
	Operations   map[Kind]string
	NoOperations map[Kind]string
	// Reads maps each supported consistency level of reads to how the store implements the level.
	Reads   map[Consistency]string
	NoReads map[Consistency]string
	// ShortOf has a sentence for each level in Reads that is weaker in this store than the level's
	// name suggests. The sentence says how the store reads and what that does not guarantee. Tables
	// print it as a footnote, so it does not mention the store's name.
	ShortOf map[Consistency]string
	// Features maps each supported feature to how the store provides it.
	Features   map[Feature]string
	NoFeatures map[Feature]string

	// Watches describes the watches, if the store has the operation Watch.
	Watches Watches

	// NonVoters describes the members without a vote.
	NonVoters NonVoters

	// Ascending is set if a Range returns its keys in byte order.
	Ascending bool
	// InFlight limits the operations in flight on one connection: 1 for HTTP/1.1, or 0 if the
	// protocol has no limit.
	InFlight int
	// Ordered is set if a connection returns responses in the order of the requests. Clients that
	// share such a connection wait for each other.
	Ordered bool
	// OwnSessions is set if each connection has its own session, which a KeepAlive renews. Such a
	// store grants no leases.
	OwnSessions bool
	// ALPN lists the application protocols that TLS connections request (RFC 7301).
	ALPN []string
	// Durability describes how the store makes a write durable before it acknowledges the write.
	Durability string
	// Disk is the store's requirement for the disk that holds its log; nil if none is known.
	Disk *DiskRule
	// Upgrades is a sentence about the conditions for a version upgrade; empty if there are none.
	Upgrades string
	// SlowAtFirst is a phrase that explains why a server is slow at first after it was started,
	// such as "its code is compiled while it runs"; empty if no reason is known.
	SlowAtFirst string
	// Variables maps connection flags, such as "cacert", to the environment variables that the
	// store's own client uses for the same purpose. The entry "password" is for the password that
	// belongs to the flag "user", or for a token. The entry "tls" is for a variable that is true if
	// TLS is used.
	Variables map[string]string
}

// NonVoters describes the members of a store that have no vote (NonVoter).
type NonVoters struct {
	Name string // the store's term for such a member, such as learner
	// Forwards is set if these members forward writes and linearizable reads to the leader, as
	// followers do.
	Forwards bool
	// Reads is set if these members serve local reads of keys although they do not forward
	// requests. They do not authenticate users.
	Reads bool
}

// DiskRule is a limit for the sync time of the disk that holds the write-ahead log. The store's
// developers recommend the limit, or the store's default settings imply it.
type DiskRule struct {
	Percentile float64       // of the sync times; 100 means the longest sync time
	Limit      time.Duration // the sync time must be below this limit
	Source     string        // sentences: the source of the limit, and the effect of exceeding it
}

// Feature is a capability of a store that is not an operation.
type Feature uint8

// The features.
const (
	RangeForms       Feature = iota // ranges that only count, omit values, or arrive as pages or as a stream
	TLS                             // connections over TLS
	Users                           // authentication
	RoleQuery                       // a request for a member's role, cheaper than a status
	Compaction                      // discards old revisions, even while a load runs
	Defragmentation                 // returns free space to the file system
	LeaderTransfer                  // moves the leadership to a given member
	PrefixDelete                    // deletes all keys with a prefix in one administrative request
	Hashes                          // a hash of each member's data
	Leases                          // leases that an administrator can grant and revoke
	Metrics                         // metrics that members report
	LogSignals                      // events that are parsed from the members' logs
	NullServer                      // a null server for the store's protocol
	Snapshots                       // a snapshot of a member's data on request
	Alarms                          // an alarm that stops writes; can be raised and disarmed
	SpaceQuota                      // a storage quota; writes stop when it is reached
	AuthSwitch                      // authentication that can be enabled and disabled at run time
	Replacement                     // an empty member can replace a member whose data were lost
	Learners                        // a member can join without a vote, be promoted, and leave
	Certificates                    // members' certificates can be replaced while the members run
	Order                           // responses contain the order of the writes, so that responses can be verified
	ApplicationCalls                // calls that applications send: guarded transactions, leases, pages at one revision, compaction, watchers
	Services                        // a catalog of services, their instances and their health
	SessionNodes                    // numbered keys that are deleted when their session expires, which causes one watch event
	CallWatchers                    // an application can start and stop single watchers between its other calls
	SessionLocks                    // keys that sessions with a time to live can lock, and blocking queries that return the lock holder
	NumFeatures
)

// features has each feature's name, and the format of the sentence about a store without it.
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

// CheckOperation returns nil if the named store has the operation at the given consistency
// level. The level is None for an operation that is not a read. Otherwise the error is a
// sentence about the missing capability.
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

// CheckWatch returns nil if the named store has watches of the given mode. Otherwise the error
// is a sentence that lists the modes that the store has.
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

// Has reports whether the store has the feature.
func (c Capabilities) Has(f Feature) bool { return c.Features[f] != "" }

// CheckFeature returns nil if the named store has the feature. Otherwise the error is a
// sentence about the missing capability.
func (c Capabilities) CheckFeature(store string, f Feature) error {
	switch why := c.NoFeatures[f]; {
	case c.Has(f):
		return nil
	case why != "":
		return fmt.Errorf("%s", why)
	}
	return fmt.Errorf(features[f].lack, store)
}

// Strongest returns the strongest consistency level at which the store can read, or None.
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
