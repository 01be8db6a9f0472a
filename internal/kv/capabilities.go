package kv

import (
	"fmt"
	"strings"
	"time"
)

// Capabilities is what a store can do, and where that is said: scenarios are
// validated against it, and tables and documents are made from it. What a store
// lacks has a sentence where there is more to say than that it is not there,
// such as what a proxy's protocol has and does not work.
type Capabilities struct {
	// Operations maps each operation that the store has to the request that it
	// is there, such as "KV.Put".
	Operations   map[Kind]string
	NoOperations map[Kind]string
	// Reads maps each consistency level of a read to what it really is there.
	Reads   map[Consistency]string
	NoReads map[Consistency]string
	// ShortOf has a sentence for each level of Reads that is less there than its
	// name says: how it reads, and what that is not. Tables carry it as a
	// footnote, without the store's name.
	ShortOf map[Consistency]string
	// Features maps what the store has beside its operations to how it does it.
	Features   map[Feature]string
	NoFeatures map[Feature]string

	// Watches is what its watches are; of a store that has the operation Watch.
	Watches Watches

	// NonVoters is what its members without a vote are and serve.
	NonVoters NonVoters

	// Ascending says that the keys of a Range come in the order of their bytes.
	Ascending bool
	// InFlight is how many operations one connection can have in flight:
	// 1 for HTTP/1.1, 0 for no limit of the protocol.
	InFlight int
	// Ordered says that a connection answers its operations in the order asked,
	// so that clients that share it wait for each other.
	Ordered bool
	// OwnSessions says that each connection has a session of its own, and that this is
	// what a KeepAlive keeps alive: there are no leases to be granted.
	OwnSessions bool
	// ALPN names the application protocols that its TLS connections ask for
	// (RFC 7301).
	ALPN []string
	// Durability says what the store does before it acknowledges a write.
	Durability string
	// Disk is what is asked of the disk below its log; nil: nothing is known.
	Disk *DiskRule
	// Upgrades is what an upgrade from one version to another needs, as a sentence for
	// who asks for one; empty where there is nothing to say.
	Upgrades string
	// SlowAtFirst is why a server is slower when it was just started, as a phrase such as
	// "its code is compiled while it runs"; empty if nothing is known.
	SlowAtFirst string
}

// NonVoters describes the members of a store that have no vote (NonVoter).
type NonVoters struct {
	Name string // what the store calls one, such as learner
	// Forwards reports whether they serve whatever a follower serves: they pass
	// writes and linearizable reads on to the leader.
	Forwards bool
	// Reads reports whether they serve local reads of keys, but no login, where
	// they do not forward.
	Reads bool
}

// DiskRule is what a store's makers, or its own defaults, ask of the time that
// a sync of the disk below the write-ahead log takes.
type DiskRule struct {
	Percentile float64       // 100: the longest
	Limit      time.Duration // it must be below
	Source     string        // a sentence: who says so, and what happens else
}

// Feature is something that a store can have beside its operations.
type Feature uint8

// The features.
const (
	RangeForms       Feature = iota // ranges that count only, leave values out, and come as pages or as a stream
	TLS                             // connections over TLS
	Users                           // authentication
	RoleQuery                       // one member's role, with less work than a status
	Compaction                      // discarding the history, beside a load too
	Defragmentation                 // giving free space back to the file system
	LeaderTransfer                  // moving the leadership to a given member
	PrefixDelete                    // removing all keys with a prefix, by its administration
	Hashes                          // a hash of each member's data
	Leases                          // leases that are granted and revoked by its administration
	Metrics                         // figures that members report about themselves
	LogSignals                      // events read from the members' logs
	NullServer                      // a server of its protocol with no store behind it
	Snapshots                       // a member's snapshot of all data, on request
	Alarms                          // an alarm that is raised and disarmed on request, and stops writes
	SpaceQuota                      // a quota of space, at which writes stop
	AuthSwitch                      // authentication that is switched on and off while it runs
	Replacement                     // a member whose data are gone is replaced by an empty one
	Learners                        // a further member joins without a vote, gets one, and leaves
	Certificates                    // members' certificates are replaced while they run
	Order                           // answers that tell the order of the writes, so that they can be checked
	ApplicationCalls                // calls of applications: guarded transactions, leases, pages of a revision, compaction and watchers, as the application asks for them
	Services                        // a catalog of services, their instances and their health
	SessionNodes                    // keys of an application that end with their session, that the store numbers, and whose end it tells once
	CallWatchers                    // watchers that an application begins and ends one by one, among its other calls
	SessionLocks                    // keys that are held by sessions with a time to live and end with them, as an application asks for them; and queries that wait as long as it asks, and say who holds a key
	NumFeatures
)

// features has each feature's name, and what a store is said to lack without it.
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
	Order:            {"order", "the answers of %s cannot be checked here: it does not tell the order of its writes"},
	SessionNodes:     {"session-nodes", "%s has no keys here that end with their session and that it numbers"},
	CallWatchers:     {"call-watchers", "an application on %s cannot begin and end watchers among its calls here"},
	ApplicationCalls: {"application-calls", "%s is not sent the calls of an application here"},
}

// String returns the feature's name as tables spell it.
func (f Feature) String() string {
	if f < NumFeatures {
		return features[f].name
	}
	return name(nil, int(f))
}

// Operation returns nil if the store has the operation at that level (None for
// what is not a read), or a sentence about the store, which has the given name.
func (c Capabilities) Operation(store string, k Kind, level Consistency) error {
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

// Watching returns nil if the store, which has the given name, has watches of the
// mode, or a sentence that says which it has.
func (c Capabilities) Watching(store string, mode WatchMode) error {
	if err := c.Operation(store, Watch, None); err != nil {
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

// Feature returns nil if the store, which has the given name, has the feature,
// or a sentence that says what it lacks.
func (c Capabilities) Feature(store string, f Feature) error {
	switch why := c.NoFeatures[f]; {
	case c.Has(f):
		return nil
	case why != "":
		return fmt.Errorf("%s", why)
	}
	return fmt.Errorf(features[f].lack, store)
}

// Strongest is the strongest consistency that the store's reads have.
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
