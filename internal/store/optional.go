package store

import "context"

// Embedded is what a Store also is when its server is built into our own
// binary: Launch then starts Self with the arguments `member NAME --config
// FILE`, and that command calls RunMember.
type Embedded interface {
	// RunMember runs one member in this process until ctx ends, the process is
	// told to terminate, the member fails, or the process that started it is
	// gone. configFile is one that Launch wrote.
	RunMember(ctx context.Context, configFile string) error
}

// ParentEnv is the environment variable that tells an embedded member, when it
// is set to ParentStdin, that its standard input is a pipe whose other end the
// starting process holds: the end of that pipe is the end of the parent.
const (
	ParentEnv   = "QUORUMBENCH_PARENT"
	ParentStdin = "stdin"
)

// Maintainer is what an Admin also is when the store can be maintained.
type Maintainer interface {
	// Compact discards the history before the present revision and returns
	// that revision. It returns when the space inside the database is free.
	Compact(ctx context.Context) (revision int64, err error)
	// Defragment gives the free space of every endpoint back to the file
	// system, one endpoint after the other.
	Defragment(ctx context.Context) error
	// MoveLeader hands the leadership to the member with the given id.
	MoveLeader(ctx context.Context, member uint64) error
	// DeletePrefix removes every key that begins with prefix, which must not
	// be empty, and returns how many there were.
	DeletePrefix(ctx context.Context, prefix []byte) (deleted int64, err error)
}

// Installable is what a Store also is when a real server of it can be obtained
// and built on this machine. What install does with a ServerSource is the same
// for every store; see package install.
type Installable interface {
	// Server says how the server of the given version, such as 3.9.5, is
	// obtained; the empty version is the default one. The error says which
	// versions there are (PickVersion).
	Server(version string) (ServerSource, error)
}

// BuiltIn is what an Embedded store also is when it can say which version of
// its server is in our own binary.
type BuiltIn interface {
	// BuiltInVersion is such as 3.7.3.
	BuiltInVersion() string
}
