package kv

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
