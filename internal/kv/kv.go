// Package kv is the vocabulary that every other package shares: what an
// operation is, how consistent a read is, how an operation ended, and which
// role served it. It imports nothing of ours.
package kv

import (
	"fmt"
	"slices"
	"strings"
)

// Kind says what an operation does.
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
	STM                   // optimistic transaction: read keys, write some if none changed, else again
	KeepAlive             // keep a session or lease alive
	Watch                 // begin to watch a key or an interval
	Exists                // ask whether one key is there, without its value
	Ephemeral             // make one key that is not there, and that ends with the session that made it
	NumKinds
)

// traits are what the program needs to know of a kind, said once: what it does
// with an operation follows from them, but for the few kinds that are special. A
// new kind of one request and one key is an entry here, in the codecs and
// capabilities of the stores that have it, and a line for its command of bench.
type traits struct {
	name   string
	writes bool // can change the store
	reads  bool // asks for keys, at a level of consistency
	oneKey bool // is of one key, which is chosen for each operation
	value  bool // carries a value
	brief  bool // is one request and its answer
}

var kinds = [NumKinds]traits{
	Put:       {name: "put", writes: true, oneKey: true, value: true, brief: true},
	Get:       {name: "get", reads: true, oneKey: true, brief: true},
	Range:     {name: "range", reads: true, brief: true},
	Delete:    {name: "delete", writes: true, oneKey: true, brief: true},
	CAS:       {name: "cas", writes: true, oneKey: true, value: true, brief: true},
	Txn:       {name: "txn", writes: true, brief: true},
	TxnGet:    {name: "txn-get", reads: true},
	STM:       {name: "stm", writes: true},
	KeepAlive: {name: "keepalive"},
	Watch:     {name: "watch"},
	Exists:    {name: "exists", reads: true, oneKey: true, brief: true},
	Ephemeral: {name: "ephemeral", writes: true, oneKey: true, value: true, brief: true},
}

var kindNames = func() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}()

// String returns the operation's name as flags, files and tables spell it.
func (k Kind) String() string { return name(kindNames, int(k)) }

// Writes reports whether the operation can change the store, so that a failure
// that is not definite may have happened.
func (k Kind) Writes() bool { return k < NumKinds && kinds[k].writes }

// Reads reports whether what the operation asks for is keys, which it does at a
// level of consistency.
func (k Kind) Reads() bool { return k < NumKinds && kinds[k].reads }

// OneKey reports whether the operation is of one key, which is chosen for it.
func (k Kind) OneKey() bool { return k < NumKinds && kinds[k].oneKey }

// HasValue reports whether the operation carries a value.
func (k Kind) HasValue() bool { return k < NumKinds && kinds[k].value }

// Brief reports whether the operation is one request and its answer.
func (k Kind) Brief() bool { return k < NumKinds && kinds[k].brief }

// ParseKind is the inverse of String.
func ParseKind(s string) (Kind, error) {
	i, err := parse("operation", kindNames, s)
	return Kind(i), err
}

// Consistency is what a read promises.
type Consistency uint8

// The levels a read may ask for. What each one really means in a store is in
// that store's Capabilities.
const (
	None         Consistency = iota // not a read
	Linearizable                    // sees every write acknowledged before it began
	Local                           // what the contacted member has, perhaps stale
	Lease                           // what a leader holding its lease has
	NumConsistencies
)

var consistencyNames = [NumConsistencies]string{"", "linearizable", "local", "lease"}

// String returns the level's name; None is the empty string.
func (c Consistency) String() string { return name(consistencyNames[:], int(c)) }

// ParseConsistency is the inverse of String; etcd's l and s are accepted.
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

// Role is that of the member that was contacted.
type Role uint8

// The roles; what cannot be resolved is Unknown.
const (
	Unknown Role = iota
	Leader
	Follower
	NonVoter // belongs to no quorum: see NonVoters
	NumRoles
)

var roleNames = [NumRoles]string{"unknown", "leader", "follower", "non-voter"}

// String returns the role's name.
func (r Role) String() string { return name(roleNames[:], int(r)) }

func name(names []string, i int) string {
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
