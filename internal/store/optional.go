package store

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Embedded is an optional interface of a Store: its server is built into our own
// binary (BuiltIn). Launch then starts Self with the arguments `member NAME
// --config FILE`, and that command calls RunMember.
type Embedded interface {
	// RunMember runs one member in this process until ctx ends, the process is
	// asked to terminate, the member fails, or the process that started it is
	// gone. configFile is one that Launch wrote.
	RunMember(ctx context.Context, configFile string) error
	// CertificateFiles returns the files in which a member has its credentials, and from
	// which it takes new ones while it runs (kv.Certificates).
	CertificateFiles(at kv.MemberPlace) (certificate, key string)
}

// ParentEnv is the environment variable that says to an embedded member, when it
// is set to ParentStdin, that its standard input is a pipe whose other end the
// starting process holds: the end of that pipe is the end of the parent.
const (
	ParentEnv   = "QUORUMBENCH_PARENT"
	ParentStdin = "stdin"
)

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

// Operator is an optional interface of an Admin whose store does work on request. Which
// work it does is in its capabilities. NoHistory has the methods for a store that keeps no
// history of its keys.
type Operator interface {
	// MoveLeader hands the leadership to the member with the given id
	// (kv.LeaderTransfer).
	MoveLeader(ctx context.Context, member uint64) error
	// Work has a member do what a feature stands for, and returns when it has been
	// done (kv.Snapshots, kv.Alarms, kv.SpaceQuota, kv.AuthSwitch). undo is not nil where
	// something is to be undone, also next to an error; it is called with the Admin still
	// open.
	Work(ctx context.Context, what kv.Feature, member Member) (undo func(context.Context) error, err error)
	// Replace has the cluster forget the member, which does not run, and expect an
	// empty one in its place (kv.Replacement, LaunchSpec.Joining). The Admin is of the
	// others.
	Replace(ctx context.Context, gone Member) error

	// AddLearner has the cluster expect a member, which is started afterwards
	// (LaunchSpec.Joining) and does not vote (kv.Learners). Members are named by their
	// places.
	AddLearner(ctx context.Context, at kv.MemberPlace) error
	// Promote has it vote. It returns when the member has caught up so far that it
	// may, and does.
	Promote(ctx context.Context, at kv.MemberPlace) error
	// Dismiss has the cluster forget it, whether it votes or not. One that is not known
	// is no error.
	Dismiss(ctx context.Context, at kv.MemberPlace) error

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
	// Hash asks every endpoint for the hash of all keys and values up to one
	// revision, the same for all, in the order of the endpoints (kv.Hashes). The error is
	// ErrBehind where a member has not come to that revision yet.
	Hash(ctx context.Context) ([]MemberHash, error)
}

// NoHistory has the methods of an Operator whose store keeps no history and has no members
// without a vote. Those that do work return errors.ErrUnsupported.
type NoHistory struct{}

// AddLearner implements Operator.
func (NoHistory) AddLearner(context.Context, kv.MemberPlace) error { return errors.ErrUnsupported }

// Promote implements Operator.
func (NoHistory) Promote(context.Context, kv.MemberPlace) error { return errors.ErrUnsupported }

// Dismiss implements Operator.
func (NoHistory) Dismiss(context.Context, kv.MemberPlace) error { return errors.ErrUnsupported }

// CheckRights implements Operator.
func (NoHistory) CheckRights(context.Context, kv.Feature) error { return nil }

// Compact implements Operator.
func (NoHistory) Compact(context.Context) (int64, error) { return 0, errors.ErrUnsupported }

// CompactBehind implements Operator.
func (NoHistory) CompactBehind(context.Context, int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// Defragment implements Operator.
func (NoHistory) Defragment(context.Context) error { return errors.ErrUnsupported }

// Hash implements Operator.
func (NoHistory) Hash(context.Context) ([]MemberHash, error) { return nil, errors.ErrUnsupported }

// Cleaner is an optional interface of an Admin that finds and removes what a load left
// (kv.PrefixDelete). NoServices has the methods for a store without a catalog of services.
type Cleaner interface {
	// DeletePrefix removes every key that begins with prefix, which must not
	// be empty, and returns how many there were.
	DeletePrefix(ctx context.Context, prefix []byte) (deleted int64, err error)
	// KeysOf returns the names of at most so many keys that begin with a prefix, as the
	// prefix is spelt, and whether there are more. A store that keeps keys in folders names
	// the folder that holds them where it lies below the prefix.
	KeysOf(ctx context.Context, prefix []byte, most int) (names []string, more bool, err error)
	// Services returns the names of the nodes of services that begin with a prefix
	// (kv.Services).
	Services(ctx context.Context, prefix string) ([]string, error)
	// RemoveServices deregisters nodes that Services names.
	RemoveServices(ctx context.Context, names []string) error
}

// NoServices has the methods of a Cleaner whose store has no catalog of services.
type NoServices struct{}

// Services implements Cleaner.
func (NoServices) Services(context.Context, string) ([]string, error) { return nil, nil }

// RemoveServices implements Cleaner.
func (NoServices) RemoveServices(context.Context, []string) error { return nil }

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

// Leaser is an optional interface of an Admin (kv.Leases): the store has leases, or
// sessions, with a time to live, which a kv.KeepAlive prolongs and to which keys are bound.
type Leaser interface {
	// Grant makes n leases with the given time to live, many at once. On an
	// error it returns those that it made, which are to be revoked.
	Grant(ctx context.Context, n int, ttl time.Duration) (ids []int64, err error)
	// Revoke ends leases, many at once. One that is gone already is no error.
	Revoke(ctx context.Context, ids []int64) error
	// LeaseNames returns the names of leases that it granted, in the same order, if the
	// store knows leases by names and the numbers are this program's; else nil.
	LeaseNames(ids []int64) []string
	// LeasesOf returns the names of the leases to which keys with a prefix are bound, and
	// to which no other keys are bound.
	LeasesOf(ctx context.Context, prefix []byte) (names []string, err error)
	// EndLeases ends leases by the names that LeasesOf and Grants have. One that is gone
	// already is no error.
	EndLeases(ctx context.Context, names []string) error
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

// Tapped decodes passively what passes between clients and a member, so that it can be
// recorded.
type Tapped interface {
	// Tap understands one connection from its first byte on.
	Tap(TapConfig) Tap
}

// TapConfig is of one connection.
type TapConfig struct {
	Conn     uint32 // its number in the recording
	Redactor *call.Redactor
	// Call takes each call when it has ended, and Gap what is missing. What they are
	// given is the Tap's again when they return.
	Call func(*call.Call)
	Gap  func(call.Gap)
}

// Tap understands a connection. It belongs to one goroutine.
type Tap interface {
	// Feed takes what one side sent, and when that had come. After an error, which is
	// one sentence, the tap understands nothing more of the connection.
	Feed(ofClient bool, at int64, b []byte) error
	// End says that the connection has ended: calls that are open get no answer.
	End(at int64)
	// Open is how many calls await their answer.
	Open() int
}

// Replayer is an optional interface of a Store whose protocol can be recorded, and whose
// codecs send recorded calls again (Op.Call).
type Replayer interface {
	Store
	Tapped
	// Replays reports whether they send calls like that one.
	Replays(c *call.Call) bool
	// Requires is another key that must have been there for a part to be done, such as
	// a node's parent; nil for none.
	Requires(p *call.Part) []byte
}

// NullServed is an optional interface of a Store (kv.NullServer): it has a null
// server, which speaks the store's protocol with no store behind it.
type NullServed interface {
	// NullServer prepares a null server. Its error is one sentence about the
	// options, such as where a script is wrong and what is known there.
	NullServer(NullOptions) (NullServer, error)
}

// NullServer is a null server that is ready to serve.
type NullServer interface {
	// Serve serves one member of a null cluster on each listener, the first of
	// which leads, until ctx is done; then it closes everything and returns
	// nil. An error means that it could not go on.
	Serve(ctx context.Context, listeners []net.Listener) error
}

// NullOptions say how a null server behaves. The zero NullOptions remember
// nothing and answer everything at once.
type NullOptions struct {
	// Script is what happens to operations, in the language of null.Parse;
	// empty answers everything at once.
	Script string
	// Memory remembers what was written. Without it every key is there, with
	// the same value of ValueSize bytes.
	Memory    bool
	ValueSize int
	// TLS serves over TLS; nil is plain.
	TLS *tls.Config
	// User, NAME:PASSWORD, turns authentication on.
	User string
	// MaxStreams is how many requests one connection may have in flight, for
	// protocols that can say so; 0 for no limit.
	MaxStreams int
}

// Sizer is an optional interface of a Store whose documents say what a cluster wants for
// a load.
type Sizer interface {
	// Size says what fills up with the load's data, and what is recommended for it. The
	// error is for settings that cannot be read.
	Size(SizedLoad) ([]Filling, []Advice, error)
}

// SizedLoad is a load and the cluster that is to carry it. 0 is not known, but for
// numbers of operations.
type SizedLoad struct {
	// Settings are the store's own of the cluster, as JSON; nil for a cluster that was
	// running already.
	Settings  json.RawMessage
	Members   int
	Requests  float64 // a second
	Writes    float64 // of those
	Clients   int     // connections
	Keys      uint64  // that there are
	KeySize   int     // bytes, with the prefix
	ValueSize int     // bytes
	// History is for how long values are kept that were replaced.
	History time.Duration
	// Of the machine of a member with the least: processors, and bytes of memory.
	Processors float64
	Memory     float64
	// RoundTrip is the longest mean round trip between two members, as they measured it,
	// and FsyncP99 the slowest p99 of a sync of the log.
	RoundTrip, FsyncP99 time.Duration
}

// Data is how many bytes the keys and their present values are.
func (l *SizedLoad) Data() float64 { return float64(l.Keys) * float64(l.KeySize+l.ValueSize) }

// Filling is something that a load's data fills, up to a limit.
type Filling struct {
	What        string  // such as database quota
	Used, Limit float64 // bytes
	Text        string  // how both were found, as a sentence
	Source      string  // the document
}

// Advice is what a store's document recommends for a load.
type Advice struct {
	Topic  string // such as election timeout
	Text   string // sentences
	Source string // the document
}
