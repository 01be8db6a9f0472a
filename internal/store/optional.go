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

// Embedded is an optional interface of a Store whose server is built into the quorumbench
// binary (BuiltIn). Launch then describes processes that run the quorumbench binary
// (LaunchSpec.Self) as `member NAME --config FILE`, and that command calls RunMember.
type Embedded interface {
	// RunMember runs one member in this process. It returns when ctx ends, when the process is
	// asked to terminate, when the member fails, or when the parent process ends. configFile is a
	// file that Launch described.
	RunMember(ctx context.Context, configFile string) error
	// CertificateFiles returns the paths of a member's certificate and key. The running member
	// notices when the files' contents change and uses the new certificate (kv.Certificates).
	CertificateFiles(at kv.MemberPlace) (certificate, key string)
}

// ParentEnv is the environment variable that the parent process sets for an embedded member.
// With the value ParentStdin, standard input is a pipe from the parent process: when it reaches
// its end, the parent has ended.
const (
	ParentEnv   = "QUORUMBENCH_PARENT"
	ParentStdin = "stdin"
)

// Applier is an optional interface of an Admin. A store needs it if a read of a member's own
// state (Promises.Own) may miss writes that were acknowledged before.
type Applier interface {
	// Newest returns a revision that is at least as high as the revision of every write that was
	// acknowledged before the call, as far as the Admin's endpoints know.
	Newest(ctx context.Context) (int64, error)
	// Applied returns the revision of the newest write that the i-th endpoint, counted from 0, has
	// applied. The revision can be compared with Event.Revision or Event.At.
	Applied(ctx context.Context, i int) (int64, error)
}

// Operator is an optional interface of an Admin whose store has maintenance operations. The
// store's capabilities list the operations that it has. A store without history embeds
// NoHistory.
type Operator interface {
	// MoveLeader transfers leadership to the member with this ID
	// (kv.LeaderTransfer).
	MoveLeader(ctx context.Context, member uint64) error
	// Work makes a member perform a feature's work and returns when the work is done. The features
	// are kv.Snapshots, kv.Alarms, kv.SpaceQuota and kv.AuthSwitch. If undo is not nil, the caller
	// must call it to reverse the work, while the Admin is still open and even after an error.
	Work(ctx context.Context, what kv.Feature, member Member) (undo func(context.Context) error, err error)
	// Replace removes a stopped member from the cluster. The cluster then expects that an empty
	// member takes its place (kv.Replacement, LaunchSpec.Joining). The Admin's endpoints must be
	// those of the other members.
	Replace(ctx context.Context, gone Member) error

	// AddLearner adds a non-voting member to the cluster. The caller starts its process afterwards
	// (kv.Learners, LaunchSpec.Joining).
	AddLearner(ctx context.Context, at kv.MemberPlace) error
	// Promote makes a learner a voting member. It waits until the learner has
	// caught up and votes.
	Promote(ctx context.Context, at kv.MemberPlace) error
	// Dismiss removes a member, with or without a vote, from the cluster. It returns nil if the
	// cluster does not have the member.
	Dismiss(ctx context.Context, at kv.MemberPlace) error

	// CheckRights returns an error if the user lacks the right to perform what, which is
	// kv.Compaction or kv.Defragmentation. It returns nil if that cannot be determined. It changes
	// nothing.
	CheckRights(ctx context.Context, what kv.Feature) error
	// Compact discards the history before the present revision and returns that revision. It waits
	// until the database can reuse the space.
	Compact(ctx context.Context) (revision int64, err error)
	// CompactBehind keeps the newest revisions, as many as behind, and discards the older history.
	// It returns the revision up to which it discarded the history, or 0 if there is no history
	// that old. It is called while a load runs, so it does not wait until the space is free.
	CompactBehind(ctx context.Context, behind int64) (revision int64, err error)
	// Defragment returns the free space in the database of every endpoint to the file system, one
	// endpoint after the other.
	Defragment(ctx context.Context) error
	// Hash returns a hash for each endpoint. The hashes cover all keys and values up to one
	// revision, which is the same for all endpoints (kv.Hashes). Hash returns ErrBehind if a member
	// has not reached that revision yet.
	Hash(ctx context.Context) ([]MemberHash, error)
}

// NoHistory implements the Operator methods for a store that has neither a history nor
// learners. CheckRights returns nil; all other methods return errors.ErrUnsupported.
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

// Cleaner is an optional interface of an Admin. It finds and removes the keys and services that
// a load left in the store (kv.PrefixDelete). A store without a service catalog embeds
// NoServices.
type Cleaner interface {
	// DeletePrefix deletes every key with the prefix, which must not be empty. It returns the
	// number of deleted keys.
	DeletePrefix(ctx context.Context, prefix []byte) (deleted int64, err error)
	// KeysOf returns the names of keys with the prefix, up to the number most, and reports whether
	// there are more. The names are written in the same form as the prefix. In a store with
	// folders, a folder that contains such keys, and that is below the prefix, is returned instead
	// of its keys.
	KeysOf(ctx context.Context, prefix []byte, most int) (names []string, more bool, err error)
	// Services returns the names of the nodes in the service catalog that start with the prefix
	// (kv.Services).
	Services(ctx context.Context, prefix string) ([]string, error)
	// RemoveServices deregisters nodes whose names Services returned.
	RemoveServices(ctx context.Context, names []string) error
}

// NoServices implements the Cleaner methods of a store without a service catalog.
type NoServices struct{}

// Services implements Cleaner.
func (NoServices) Services(context.Context, string) ([]string, error) { return nil, nil }

// RemoveServices implements Cleaner.
func (NoServices) RemoveServices(context.Context, []string) error { return nil }

// FolderKeeper is an optional interface of an Admin whose store keeps keys in folders. A folder
// remains when its last key is deleted.
type FolderKeeper interface {
	// MissingFolders returns the folders that would contain keys with the prefix but do not exist
	// yet, outermost first.
	MissingFolders(ctx context.Context, prefix string) ([]string, error)
	// RemoveFolders removes folders that MissingFolders returned earlier, innermost first. It skips
	// folders that do not exist or are not empty.
	RemoveFolders(ctx context.Context, folders []string) error
}

// Leaser is an optional interface of an Admin (kv.Leases). Its store has leases or sessions
// with a time to live. A client renews them with kv.KeepAlive, and keys can be bound to them.
type Leaser interface {
	// Grant creates n leases with the given time to live. It sends many requests concurrently. On
	// an error it returns the leases that it has created, and the caller must revoke them.
	Grant(ctx context.Context, n int, ttl time.Duration) (ids []int64, err error)
	// Revoke ends leases; it sends many requests concurrently. It ignores unknown leases.
	Revoke(ctx context.Context, ids []int64) error
	// LeaseNames returns the names of leases that Grant returned, in the same order, or nil if the
	// store does not identify leases by names.
	LeaseNames(ids []int64) []string
	// LeasesOf returns the names of the leases that have at least one key and whose keys all have
	// the prefix. It applies a time limit to each of its requests.
	LeasesOf(ctx context.Context, prefix []byte) (names []string, err error)
	// EndLeases ends leases whose names come from LeasesOf or Grants. It ignores unknown leases.
	EndLeases(ctx context.Context, names []string) error
}

// ErrBehind means that a member has not yet applied writes that another member has applied. The
// caller may try again later.
var ErrBehind = errors.New("the member lags behind the others")

// MemberHash is the hash of a member's data up to a revision. Two members have the same data if
// their hashes are equal. The hashes of two members can be compared only if both members have
// compacted their data to the same revision.
type MemberHash struct {
	Endpoint  string // HOST:PORT
	Hash      uint64
	Revision  int64
	Compacted int64
}

// Tapped is an optional interface of a Store. It decodes the store's protocol passively, so
// that traffic between clients and a member can be recorded.
type Tapped interface {
	// Tap returns a passive decoder for one connection. The decoder must receive all of
	// the connection's bytes, starting with the first byte.
	Tap(TapConfig) Tap
}

// TapConfig configures the passive decoder of one connection.
type TapConfig struct {
	Conn     uint32 // the connection's number in the recording
	Redactor *call.Redactor
	// The decoder calls Call with each call once the call has ended, and Gap with each gap in the
	// traffic. The callbacks must not keep their arguments.
	Call func(*call.Call)
	Gap  func(call.Gap)
}

// Tap decodes the traffic on one connection. It is not safe for concurrent use.
type Tap interface {
	// Feed decodes bytes that the client (if ofClient is set) or the server sent, and that arrived
	// at the given time. After an error, the rest of the connection cannot be decoded. The error's
	// text is one sentence.
	Feed(ofClient bool, at int64, b []byte) error
	// End reports the end of the connection. Open calls are then recorded without a reply.
	End(at int64)
	// Open returns the number of calls without a reply.
	Open() int
}

// Replayer is an optional interface of a Store whose traffic can be recorded, and whose codecs
// can send recorded calls again (Op.Call).
type Replayer interface {
	Store
	Tapped
	// Replays reports whether the store's codecs can send a recorded call again.
	Replays(c *call.Call) bool
	// Requires returns another key that must exist before the store can execute a part, such as the
	// parent of a node, or nil if there is no such key.
	Requires(p *call.Part) []byte
}

// NullServed is an optional interface of a Store that has a null server (kv.NullServer): a
// server that understands the store's protocol but stores nothing on disk.
type NullServed interface {
	// NullServer returns a null server. If an option is invalid, the error is one sentence that
	// describes the mistake: for example, for a script, its position and the known words.
	NullServer(NullOptions) (NullServer, error)
}

// NullServer is a null server that is ready to serve.
type NullServer interface {
	// Serve runs a null cluster with one member on each listener; the first member is the leader.
	// When ctx ends, Serve closes everything and returns nil. It returns an error if it cannot
	// continue.
	Serve(ctx context.Context, listeners []net.Listener) error
}

// NullOptions configures a null server. The zero value describes a server that stores nothing
// and responds at once.
type NullOptions struct {
	// Script determines how the server treats operations, in the language that null.Parse reads. If
	// Script is empty, the server responds to each operation at once.
	Script string
	// Memory makes the server keep writes in memory. Without it, every key exists, with the same
	// value of ValueSize bytes.
	Memory    bool
	ValueSize int
	// TLS is the TLS configuration; nil for plain connections.
	TLS *tls.Config
	// User has the form NAME:PASSWORD and enables authentication; empty for no authentication.
	User string
	// MaxStreams limits the number of requests in flight on a connection, if the protocol can
	// announce such a limit; 0 for no limit.
	MaxStreams int
}

// Sizer is an optional interface of a Store whose documentation recommends hardware and
// settings for a given load.
type Sizer interface {
	// Size returns the resources that the load's data fills, and the recommendations for the load.
	// It returns an error if it cannot parse the load's Settings.
	Size(SizedLoad) ([]Filling, []Advice, error)
}

// SizedLoad describes a load and the cluster that must serve it. A 0 means that the figure is
// unknown, except in Requests and Writes, where it is a number.
type SizedLoad struct {
	// Settings are the store's settings in the cluster, as JSON; nil for a cluster that quorumbench
	// did not launch.
	Settings  json.RawMessage
	Members   int
	Requests  float64 // per second
	Writes    float64 // per second; included in Requests
	Clients   int     // connections
	Keys      uint64  // number of keys that exist
	KeySize   int     // bytes, including the prefix
	ValueSize int     // bytes
	// History is how long the store keeps a value after it was replaced.
	History time.Duration
	// Processors (CPUs) and Memory (bytes) describe the machine of the member with the least.
	Processors float64
	Memory     float64
	// RoundTrip is the longest mean round-trip time between two members, as the members measured
	// it. FsyncP99 is the p99 of log syncs on the slowest member.
	RoundTrip, FsyncP99 time.Duration
}

// Data returns the size in bytes of all keys and their present values.
func (l *SizedLoad) Data() float64 { return float64(l.Keys) * float64(l.KeySize+l.ValueSize) }

// Filling is a resource that a load's data fills up to a limit.
type Filling struct {
	What        string  // such as database quota
	Used, Limit float64 // bytes
	Text        string  // one sentence: how Used and Limit were computed
	Source      string  // the document that states the limit
}

// Advice is a recommendation from a store's documentation for a load.
type Advice struct {
	Topic  string // such as election timeout
	Text   string // one or more sentences
	Source string // the document that contains the recommendation
}
