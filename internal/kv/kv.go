// Package kv defines the vocabulary that every other package shares: operations,
// consistency levels, outcomes, member roles and capabilities. It imports no package of
// this module.
package kv

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is the kind of an operation.
type Kind uint8

// The operations a store may have.
const (
	Put       Kind = iota // write one key
	Get                   // read one key
	Range                 // read an interval of keys
	Delete                // remove one key
	CAS                   // compare-and-set of one key
	Txn                   // transaction that writes several keys
	TxnGet                // transaction that reads an interval of keys
	STM                   // optimistic transaction: reads keys and writes some of them if none has changed; otherwise retries
	KeepAlive             // renew a session or lease
	Watch                 // start to watch a key or an interval
	Exists                // test whether one key exists, without reading its value
	Ephemeral             // create one key that expires with the session that created it
	NumKinds
)

// traits are the properties of an operation kind. To add a kind with one request and one key, add
// an entry to `kinds`, support the kind in the codecs and capabilities of the stores that offer it,
// and add a line for its bench command.
type traits struct {
	name          string
	writes        bool // can change the store's data
	reads         bool // reads keys, at a given consistency level
	oneKey        bool // applies to one key, which is chosen for each operation
	value         bool // carries a value
	singleRequest bool // consists of one request and one response
}

var kinds = [NumKinds]traits{
	Put:       {name: "put", writes: true, oneKey: true, value: true, singleRequest: true},
	Get:       {name: "get", reads: true, oneKey: true, singleRequest: true},
	Range:     {name: "range", reads: true, singleRequest: true},
	Delete:    {name: "delete", writes: true, oneKey: true, singleRequest: true},
	CAS:       {name: "cas", writes: true, oneKey: true, value: true, singleRequest: true},
	Txn:       {name: "txn", writes: true, singleRequest: true},
	TxnGet:    {name: "txn-get", reads: true},
	STM:       {name: "stm", writes: true},
	KeepAlive: {name: "keepalive"},
	Watch:     {name: "watch"},
	Exists:    {name: "exists", reads: true, oneKey: true, singleRequest: true},
	Ephemeral: {name: "ephemeral", writes: true, oneKey: true, value: true, singleRequest: true},
}

var kindNames = func() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}()

// String returns the operation's name in flags, files and tables.
func (k Kind) String() string { return nameAt(kindNames, int(k)) }

// Writes reports whether the operation can change the store's data. After an indefinite error, it
// is unknown whether such an operation changed the data.
func (k Kind) Writes() bool { return k < NumKinds && kinds[k].writes }

// Reads reports whether the operation reads keys, at a given consistency level.
func (k Kind) Reads() bool { return k < NumKinds && kinds[k].reads }

// HasOneKey reports whether the operation applies to one key, which is chosen for each
// operation.
func (k Kind) HasOneKey() bool { return k < NumKinds && kinds[k].oneKey }

// HasValue reports whether the operation carries a value.
func (k Kind) HasValue() bool { return k < NumKinds && kinds[k].value }

// SingleRequest reports whether the operation consists of one request and one response.
func (k Kind) SingleRequest() bool { return k < NumKinds && kinds[k].singleRequest }

// ParseKind is the inverse of String.
func ParseKind(s string) (Kind, error) {
	i, err := parse("operation", kindNames, s)
	return Kind(i), err
}

// Consistency is the guarantee of a read.
type Consistency uint8

// The consistency levels. Capabilities.Reads describes how a store implements each one.
const (
	NoConsistency Consistency = iota // not a read
	Linearizable                     // sees every write acknowledged before the read began
	Local                            // returns the contacted member's data, which may be stale
	LeaderLease                      // returns the data of a leader with a valid lease
	NumConsistencies
)

var consistencyNames = [NumConsistencies]string{"", "linearizable", "local", "lease"}

// String returns the level's name, or the empty string for NoConsistency.
func (c Consistency) String() string { return nameAt(consistencyNames[:], int(c)) }

// ParseConsistency is the inverse of String. It also accepts etcd's letters: l for
// linearizable, and s (serializable) for local.
func ParseConsistency(s string) (Consistency, error) {
	switch s {
	case "l":
		return Linearizable, nil
	case "s":
		return Local, nil
	}
	i, err := parse("consistency", consistencyNames[1:], s)
	return Consistency(i + 1), err
}

// Role is the role of the member that was contacted.
type Role uint8

// The roles. UnknownRole means that the role could not be determined.
const (
	UnknownRole Role = iota
	Leader
	Follower
	NonVoter // has no vote: see NonVoters
	NumRoles
)

var roleNames = [NumRoles]string{"unknown", "leader", "follower", "non-voter"}

// String returns the role's name.
func (r Role) String() string { return nameAt(roleNames[:], int(r)) }

func nameAt(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown(%d)", i)
}

func parse(what string, names []string, s string) (int, error) {
	if i := slices.Index(names, s); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("there is no %s %q; choose one of %s", what, s, list(names))
}

func list(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
