package store

import (
	"context"
	"errors"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Embedded is an optional interface of a Store: its server is built into our own
// binary (BuiltIn). Launch then starts Self with the arguments `member NAME
// --config FILE`, and that command calls RunMember.
type Embedded interface {
	// RunMember runs one member in this process until ctx ends, the process is
	// asked to terminate, the member fails, or the process that started it is
	// gone. configFile is one that Launch wrote.
	RunMember(ctx context.Context, configFile string) error
}

// JustStarted is an optional interface of a Store that is not at once what it is after
// some work.
type JustStarted interface {
	// SlowAtFirst says why, as a phrase such as "its code is compiled while it runs".
	SlowAtFirst() string
}

// ParentEnv is the environment variable that says to an embedded member, when it
// is set to ParentStdin, that its standard input is a pipe whose other end the
// starting process holds: the end of that pipe is the end of the parent.
const (
	ParentEnv   = "QUORUMBENCH_PARENT"
	ParentStdin = "stdin"
)

// RoleAsker is an optional interface of an Admin (kv.RoleQuery): one member can
// be asked for its role with less work than a Status makes, many times a second
// beside a load. Several goroutines may ask, each its own endpoint.
type RoleAsker interface {
	// Role asks the i-th of the Admin's endpoints, from 0, and no other, within
	// the context's time. The result has ID, Role, Term and Leader as far as
	// the member says them, and Err and Gone as in a Status.
	Role(ctx context.Context, i int) Member
}

// Applier is an optional interface of an Admin whose members, read at
// Promises.Own, may not have all that was acknowledged before.
type Applier interface {
	// Newest is a revision not below that of any write that was acknowledged before,
	// as far as the Admin's endpoints know.
	Newest(ctx context.Context) (int64, error)
	// Applied is the revision of the newest write that the i-th of the Admin's
	// endpoints, from 0, has applied, in the numbers of Event.Revision or Event.At.
	Applied(ctx context.Context, i int) (int64, error)
}

// Maintainer is an optional interface of an Admin whose store keeps a history
// and a file that need maintenance (kv.Compaction, kv.Defragmentation).
type Maintainer interface {
	// CheckRights returns an error when the user lacks the right to kv.Compaction or
	// kv.Defragmentation, and nil where that cannot be told. It changes nothing.
	CheckRights(ctx context.Context, what kv.Feature) error
	// Compact discards the history before the present revision and returns
	// that revision. It returns when the space inside the database is free.
	Compact(ctx context.Context) (revision int64, err error)
	// CompactBehind discards the history older than behind revisions before the
	// present one and returns the revision compacted to; 0 if there is nothing
	// so old. It does not wait until the space is free: a load runs beside it.
	CompactBehind(ctx context.Context, behind int64) (revision int64, err error)
	// Defragment gives the free space of every endpoint back to the file
	// system, one endpoint after the other.
	Defragment(ctx context.Context) error
}

// LeaderMover is an optional interface of an Admin (kv.LeaderTransfer).
type LeaderMover interface {
	// MoveLeader hands the leadership to the member with the given id.
	MoveLeader(ctx context.Context, member uint64) error
}

// OwnWorker is an optional interface of an Admin whose store does work of its own,
// or comes into a state of its own, when it is asked to (kv.Snapshots, kv.Alarms,
// kv.SpaceQuota, kv.AuthSwitch).
type OwnWorker interface {
	// Work has a member do what a feature stands for, and returns when it has been
	// done. undo is not nil where something is to be undone, also beside an error; it
	// is called with the Admin still open.
	Work(ctx context.Context, what kv.Feature, member Member) (undo func(context.Context) error, err error)
}

// Replacer is an optional interface of an Admin whose store must be told when a
// member comes back without its data (kv.Replacement).
type Replacer interface {
	// Replace has the cluster forget the member, which does not run, and expect an
	// empty one in its place (LaunchSpec.Joining). The Admin is of the others.
	Replace(ctx context.Context, gone Member) error
}

// Enlarger is an optional interface of an Admin whose store takes in a further member
// while it runs, without a vote at first (kv.Learners). Members are named by their
// places.
type Enlarger interface {
	// AddLearner has the cluster expect a member, which is started afterwards
	// (LaunchSpec.Joining) and does not vote.
	AddLearner(ctx context.Context, at MemberPlace) error
	// Promote has it vote. It returns when the member has caught up so far that it
	// may, and does.
	Promote(ctx context.Context, at MemberPlace) error
	// Dismiss has the cluster forget it, whether it votes or not. One that is not known
	// is no error.
	Dismiss(ctx context.Context, at MemberPlace) error
}

// CertificateFiles is an optional interface of a Store whose members take new
// certificates while they run (kv.Certificates).
type CertificateFiles interface {
	// CertificateFiles are those in which a member has its credentials, and from which it
	// takes new ones.
	CertificateFiles(at MemberPlace) (certificate, key string)
}

// PrefixDeleter is an optional interface of an Admin (kv.PrefixDelete).
type PrefixDeleter interface {
	// DeletePrefix removes every key that begins with prefix, which must not
	// be empty, and returns how many there were.
	DeletePrefix(ctx context.Context, prefix []byte) (deleted int64, err error)
}

// KeyLister is an optional interface of an Admin with DeletePrefix that tells which keys
// that would remove.
type KeyLister interface {
	// KeysOf returns the names of at most so many keys that begin with a prefix, as the
	// prefix is spelt, and whether there are more. A store that keeps keys in folders names
	// the folder that holds them where it lies below the prefix.
	KeysOf(ctx context.Context, prefix []byte, most int) (names []string, more bool, err error)
}

// FolderKeeper is an optional interface of an Admin whose store keeps keys in folders
// that stay when the last key in them is gone.
type FolderKeeper interface {
	// MissingFolders returns those folders above the keys with a prefix that are not
	// there, the outermost first.
	MissingFolders(ctx context.Context, prefix string) ([]string, error)
	// RemoveFolders removes folders that MissingFolders returned, the innermost first. One
	// that is gone, or that is not empty, is left alone.
	RemoveFolders(ctx context.Context, folders []string) error
}

// ServiceKeeper is an optional interface of an Admin whose store has a catalog of services
// (kv.Services).
type ServiceKeeper interface {
	// Services returns the names of the nodes of services that begin with a prefix.
	Services(ctx context.Context, prefix string) ([]string, error)
	// RemoveServices deregisters nodes that Services names.
	RemoveServices(ctx context.Context, names []string) error
}

// LeaseEnder is an optional interface of an Admin whose store binds keys to leases, or
// sessions, and names these in its answers.
type LeaseEnder interface {
	// LeasesOf returns the names of the leases to which keys with a prefix are bound, and
	// to which no other keys are bound.
	LeasesOf(ctx context.Context, prefix []byte) (names []string, err error)
	// EndLeases ends leases by the names that LeasesOf and Grants have. One that is gone
	// already is no error.
	EndLeases(ctx context.Context, names []string) error
}

// Leaser is an optional interface of an Admin (kv.Leases): the store has
// sessions with a time to live, which a kv.KeepAlive prolongs.
type Leaser interface {
	// Grant makes n leases with the given time to live, many at once. On an
	// error it returns those that it made, which are to be revoked.
	Grant(ctx context.Context, n int, ttl time.Duration) (ids []int64, err error)
	// Revoke ends leases, many at once. One that is gone already is no error.
	Revoke(ctx context.Context, ids []int64) error
}

// LeaseNamer is an optional interface of a Leaser whose store knows leases by names:
// their numbers are this program's.
type LeaseNamer interface {
	// LeaseNames are the names of leases that it granted, in the same order.
	LeaseNames(ids []int64) []string
}

// Hasher is an optional interface of an Admin (kv.Hashes).
type Hasher interface {
	// Hash asks every endpoint for the hash of all keys and values up to one
	// revision, the same for all, in the order of the endpoints. The error is
	// ErrBehind where a member has not come to that revision yet.
	Hash(ctx context.Context) ([]MemberHash, error)
}

// ErrBehind is an answer of a member that has not applied yet what another one
// has. It may have the moment after.
var ErrBehind = errors.New("the member is behind the others")

// MemberHash is the hash of a member's data up to a revision. Members are in
// agreement when their hashes are equal; ones that have Compacted to different
// revisions cannot be compared.
type MemberHash struct {
	Endpoint  string // HOST:PORT
	Hash      uint64
	Revision  int64
	Compacted int64
}

// UserChecker is an optional interface of an Admin whose store has users (kv.Users).
type UserChecker interface {
	// UserUnchecked returns why the cluster did not check the user and password of the
	// Access, as the second half of a sentence; empty where it does check them.
	UserUnchecked(ctx context.Context) (why string, err error)
}
