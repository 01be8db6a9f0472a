package kv

// Isolation is the isolation level of an optimistic transaction (STM). The levels and
// their letters are those of etcd's client library (package concurrency).
type Isolation uint8

// The levels, the weakest first.
const (
	// ReadCommitted reads committed values and compares nothing at commit, so updates can
	// be lost.
	ReadCommitted Isolation = iota
	// RepeatableReads commits only if none of the keys it read has changed since.
	RepeatableReads
	// Serializable additionally reads all keys at one revision.
	Serializable
	// SerializableSnapshot additionally compares the keys it writes.
	SerializableSnapshot
	NumIsolations
)

var isolationNames = [NumIsolations]string{"c", "r", "s", "ss"}

// String returns the level's letters in flags and files: c, r, s or ss.
func (i Isolation) String() string { return name(isolationNames[:], int(i)) }

// ParseIsolation is the inverse of String.
func ParseIsolation(s string) (Isolation, error) {
	i, err := parse("isolation", isolationNames[:], s)
	return Isolation(i), err
}

// Locker serializes transactions of an STM in addition to their comparisons. The names
// are those of etcd's benchmark.
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
func (l Locker) String() string { return name(lockerNames[:], int(l)) }

// ParseLocker is the inverse of String.
func ParseLocker(s string) (Locker, error) {
	i, err := parse("locker", lockerNames[:], s)
	return Locker(i), err
}
