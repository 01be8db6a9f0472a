package kv

// Isolation is the isolation level of an optimistic transaction (STM). The levels and their letters
// are the same as in etcd's client library (package concurrency).
type Isolation uint8

// The levels, from the weakest to the strongest.
const (
	// ReadCommitted reads committed values. It compares nothing when it commits, so updates can be
	// lost.
	ReadCommitted Isolation = iota
	// RepeatableReads commits only if none of the keys that were read has changed since then.
	RepeatableReads
	// Serializable gives the guarantee of RepeatableReads. In addition, it reads all keys at the
	// same revision.
	Serializable
	// SerializableSnapshot gives the guarantees of Serializable. In addition, it commits only if
	// none of the keys to be written has changed.
	SerializableSnapshot
	NumIsolations
)

var isolationNames = [NumIsolations]string{"c", "r", "s", "ss"}

// String returns the level's letters as used in flags and files: c, r, s or ss.
func (i Isolation) String() string { return nameAt(isolationNames[:], int(i)) }

// ParseIsolation is the inverse of String.
func ParseIsolation(s string) (Isolation, error) {
	i, err := parse("isolation", isolationNames[:], s)
	return Isolation(i), err
}

// Locker is the kind of lock that serializes optimistic transactions. Even with a lock, a
// transaction makes its comparisons when it commits. The names are the same as in etcd's benchmark.
type Locker uint8

// The lockers.
const (
	LockNone   Locker = iota // no lock
	LockClient               // a mutex that the client builds from keys and watches
	LockRPC                  // the store's own lock service
	NumLockers
)

var lockerNames = [NumLockers]string{"stm", "lock-client", "lock-rpc"}

// String returns the locker's name in flags.
func (l Locker) String() string { return nameAt(lockerNames[:], int(l)) }

// ParseLocker is the inverse of String.
func ParseLocker(s string) (Locker, error) {
	i, err := parse("locker", lockerNames[:], s)
	return Locker(i), err
}
