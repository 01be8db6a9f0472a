package kv

// Isolation is how far concurrent optimistic transactions (STM) may see each
// other. The levels and their letters are those of etcd's client library
// (package concurrency).
type Isolation uint8

// The levels, the weakest first.
const (
	// ReadCommitted reads what is committed and writes whatever was written
	// since: nothing is compared, so updates can be lost.
	ReadCommitted Isolation = iota
	// RepeatableReads commits only if no key that it read has changed since.
	RepeatableReads
	// Serializable does so too, and all of its reads are of one revision.
	Serializable
	// SerializableSnapshot compares the keys that it writes as well.
	SerializableSnapshot
	NumIsolations
)

var isolationNames = [NumIsolations]string{"c", "r", "s", "ss"}

// String returns the level as flags and files spell it: c, r, s or ss.
func (i Isolation) String() string { return name(isolationNames[:], int(i)) }

// ParseIsolation is the inverse of String.
func ParseIsolation(s string) (Isolation, error) {
	i, err := parse("isolation", isolationNames[:], s)
	return Isolation(i), err
}

// Locker is what keeps an STM's transactions apart beside their comparisons.
// The names are those of etcd's benchmark.
type Locker uint8

// The lockers.
const (
	LockNone   Locker = iota // nothing
	LockClient               // a mutex made by the client of keys and watches
	LockRPC                  // the store's own lock service
	NumLockers
)

var lockerNames = [NumLockers]string{"stm", "lock-client", "lock-rpc"}

// String returns the locker as flags spell it.
func (l Locker) String() string { return name(lockerNames[:], int(l)) }

// ParseLocker is the inverse of String.
func ParseLocker(s string) (Locker, error) {
	i, err := parse("locker", lockerNames[:], s)
	return Locker(i), err
}
