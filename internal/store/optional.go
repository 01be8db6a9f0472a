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

// Embedded is an optional interface of a Store whose server is built into the
// quorumbench binary (BuiltIn). Launch starts Self with the arguments `member
// NAME --config FILE`, and that command calls RunMember.
type Embedded interface {
	// RunMember runs one member in this process until ctx ends, the process is
	// asked to terminate, the member fails, or the parent process ends.
	// configFile is a file from Launch.
	RunMember(ctx context.Context, configFile string) error
	// CertificateFiles returns the paths of a member's certificate and key. The
	// member loads new contents while it runs (kv.Certificates).
	CertificateFiles(at kv.MemberPlace) (certificate, key string)
}

// ParentEnv is the environment variable of an embedded member. The value
// ParentStdin means that standard input is a pipe from the parent process, so
// that its end means the parent's end.
const (
	ParentEnv   = "QUORUMBENCH_PARENT"
	ParentStdin = "stdin"
)

// Applier is an optional interface of an Admin whose members may lack
// acknowledged writes when they are read at Promises.Own.
type Applier interface {
	// Newest returns a revision that is at least that of every write acknowledged
	// before the call, as far as the Admin's endpoints know.
	Newest(ctx context.Context) (int64, error)
	// Applied returns the revision of the newest write that the i-th endpoint,
	// counted from 0, has applied. It is comparable with Event.Revision or
	// Event.At.
	Applied(ctx context.Context, i int) (int64, error)
}

// Operator is an optional interface of an Admin whose store has maintenance
// operations; its capabilities list them. NoHistory implements the methods for a
// store that keeps no history.
type Operator interface {
	// MoveLeader transfers leadership to the member with this ID
	// (kv.LeaderTransfer).
	MoveLeader(ctx context.Context, member uint64) error
	// Work makes a member perform a feature's work and returns when the work is
	// done (kv.Snapshots, kv.Alarms, kv.SpaceQuota, kv.AuthSwitch). undo, if not
	// nil, must be called to undo it while the Admin is still open, even after an
	// error.
	Work(ctx context.Context, what kv.Feature, member Member) (undo func(context.Context) error, err error)
	// Replace removes a stopped member from the cluster, which then expects an
	// empty member in its place (kv.Replacement, LaunchSpec.Joining). The Admin's
	// endpoints are the other members.
	Replace(ctx context.Context, gone Member) error

	// AddLearner adds a non-voting member, which is started afterwards
	// (kv.Learners, LaunchSpec.Joining).
	AddLearner(ctx context.Context, at kv.MemberPlace) error
	// Promote makes a learner a voting member. It waits until the learner has
	// caught up and votes.
	Promote(ctx context.Context, at kv.MemberPlace) error
	// Dismiss removes a voting or non-voting member. An unknown member is not an
	// error.
	Dismiss(ctx context.Context, at kv.MemberPlace) error

	// CheckRights returns an error if the user lacks the right to kv.Compaction
	// or kv.Defragmentation, and nil if that is unknown. It changes nothing.
	CheckRights(ctx context.Context, what kv.Feature) error
	// Compact discards the history before the present revision and returns that
	// revision. It waits until the space inside the database is free.
	Compact(ctx context.Context) (revision int64, err error)
	// CompactBehind discards the history older than behind revisions before the
	// present one. It returns the revision compacted to, or 0 if there is no
	// history that old. It does not wait until the space is free, because a load
	// runs concurrently.
	CompactBehind(ctx context.Context, behind int64) (revision int64, err error)
	// Defragment returns the free space of every endpoint to the file system, one
	// endpoint after the other.
	Defragment(ctx context.Context) error
	// Hash returns each endpoint's hash of all keys and values up to one
	// revision, which is the same for all endpoints (kv.Hashes). It returns
	// ErrBehind if a member has not reached that revision yet.
	Hash(ctx context.Context) ([]MemberHash, error)
}

// NoHistory implements the Operator methods of a store that has no history and no
// learners. The methods that would do something return errors.ErrUnsupported.
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

// Cleaner is an optional interface of an Admin that finds and removes the remains
// of a load (kv.PrefixDelete). NoServices implements the methods for a store
// without a service catalog.
type Cleaner interface {
	// DeletePrefix deletes every key with a prefix, which must not be empty, and
	// returns their number.
	DeletePrefix(ctx context.Context, prefix []byte) (deleted int64, err error)
	// KeysOf returns the names of up to most keys with a prefix, spelled like the
	// prefix, and whether there are more. A store with folders returns the
	// containing folder instead, if it is below the prefix.
	KeysOf(ctx context.Context, prefix []byte, most int) (names []string, more bool, err error)
	// Services returns the names of the service catalog's nodes with a prefix
	// (kv.Services).
	Services(ctx context.Context, prefix string) ([]string, error)
	// RemoveServices deregisters nodes returned by Services.
	RemoveServices(ctx context.Context, names []string) error
}

// NoServices implements the Cleaner methods of a store without a service catalog.
type NoServices struct{}

// Services implements Cleaner.
func (NoServices) Services(context.Context, string) ([]string, error) { return nil, nil }

// RemoveServices implements Cleaner.
func (NoServices) RemoveServices(context.Context, []string) error { return nil }

// FolderKeeper is an optional interface of an Admin whose store keeps keys in
// folders that remain when their last key is deleted.
type FolderKeeper interface {
	// MissingFolders returns the folders above the keys with a prefix that do not
	// exist, outermost first.
	MissingFolders(ctx context.Context, prefix string) ([]string, error)
	// RemoveFolders removes folders returned by MissingFolders, innermost first.
	// It skips folders that do not exist or are not empty.
	RemoveFolders(ctx context.Context, folders []string) error
}

// Leaser is an optional interface of an Admin (kv.Leases): the store has leases
// or sessions with a time to live, which kv.KeepAlive renews and to which keys
// can be bound.
type Leaser interface {
	// Grant creates n leases with the given time to live, many concurrently. On
	// an error it returns the leases created so far, which the caller must
	// revoke.
	Grant(ctx context.Context, n int, ttl time.Duration) (ids []int64, err error)
	// Revoke ends leases, many concurrently. An unknown lease is not an error.
	Revoke(ctx context.Context, ids []int64) error
	// LeaseNames returns the names of leases from Grant in the same order, if the
	// store identifies leases by names; otherwise nil.
	LeaseNames(ids []int64) []string
	// LeasesOf returns the names of the leases whose keys all have the prefix,
	// and that have at least one key. It limits the time of each of its requests.
	LeasesOf(ctx context.Context, prefix []byte) (names []string, err error)
	// EndLeases ends leases by names from LeasesOf or Grants. An unknown lease is
	// not an error.
	EndLeases(ctx context.Context, names []string) error
}

// ErrBehind is the error of a member that has not yet applied the writes of
// another member. A retry may succeed.
var ErrBehind = errors.New("the member lags behind the others")

// MemberHash is the hash of a member's data up to a revision. Members agree if
// their hashes are equal. Hashes of members that have Compacted to different
// revisions cannot be compared.
type MemberHash struct {
	Endpoint  string // HOST:PORT
	Hash      uint64
	Revision  int64
	Compacted int64
}

// Tapped is an optional interface of a Store whose protocol can be decoded
// passively, so that traffic between clients and a member can be recorded.
type Tapped interface {
	// Tap returns a passive decoder for one connection, starting at its first
	// byte.
	Tap(TapConfig) Tap
}

// TapConfig configures the passive decoder of one connection.
type TapConfig struct {
	Conn     uint32 // its number in the recording
	Redactor *call.Redactor
	// Call receives each call when it has ended, and Gap each gap. Their
	// arguments are valid only during the call.
	Call func(*call.Call)
	Gap  func(call.Gap)
}

// Tap decodes one connection. It is not safe for concurrent use.
type Tap interface {
	// Feed decodes bytes that one side sent and that arrived at the given time.
	// After an error, whose text is one sentence, the rest of the connection
	// cannot be decoded.
	Feed(ofClient bool, at int64, b []byte) error
	// End reports the end of the connection: open calls get no reply.
	End(at int64)
	// Open returns the number of calls without a reply.
	Open() int
}

// Replayer is an optional interface of a Store whose protocol can be recorded,
// and whose codecs can replay recorded calls (Op.Call).
type Replayer interface {
	Store
	Tapped
	// Replays reports whether the codecs can replay a call.
	Replays(c *call.Call) bool
	// Requires returns another key that must exist before a part can be executed,
	// such as a node's parent; nil for none.
	Requires(p *call.Part) []byte
}

// NullServed is an optional interface of a Store with a null server
// (kv.NullServer), which speaks the store's protocol without a store.
type NullServed interface {
	// NullServer returns a null server. Its error is one sentence about invalid
	// options, for example the position of an error in a script and the known
	// words.
	NullServer(NullOptions) (NullServer, error)
}

// NullServer is a null server that is ready to serve.
type NullServer interface {
	// Serve runs one member of a null cluster on each listener, the first as the
	// leader, until ctx ends. It then closes everything and returns nil. It
	// returns an error if it cannot go on.
	Serve(ctx context.Context, listeners []net.Listener) error
}

// NullOptions configure a null server. With the zero value it stores nothing and
// responds at once.
type NullOptions struct {
	// Script determines the fate of operations, in the language of null.Parse;
	// empty means an immediate response to each.
	Script string
	// Memory makes the server store writes. Without it every key exists with the
	// same value of ValueSize bytes.
	Memory    bool
	ValueSize int
	// TLS enables TLS; nil for plain connections.
	TLS *tls.Config
	// User, NAME:PASSWORD, enables authentication.
	User string
	// MaxStreams limits the requests in flight on a connection, for protocols
	// that can express it; 0 for no limit.
	MaxStreams int
}

// Sizer is an optional interface of a Store whose documentation recommends
// hardware and settings for a load.
type Sizer interface {
	// Size returns the resources that the load's data fills, and the
	// recommendations for the load. It returns an error if the settings cannot be
	// parsed.
	Size(SizedLoad) ([]Filling, []Advice, error)
}

// SizedLoad describes a load and the cluster to carry it. 0 means unknown, except
// in numbers of operations.
type SizedLoad struct {
	// Settings are the store's settings of the cluster as JSON; nil for a cluster
	// that was not launched by quorumbench.
	Settings  json.RawMessage
	Members   int
	Requests  float64 // per second
	Writes    float64 // per second, included in Requests
	Clients   int     // connections
	Keys      uint64  // existing keys
	KeySize   int     // bytes, including the prefix
	ValueSize int     // bytes
	// History is how long replaced values are kept.
	History time.Duration
	// CPUs and bytes of memory of the smallest member's machine.
	Processors float64
	Memory     float64
	// RoundTrip is the longest mean round trip between two members, as measured
	// by them. FsyncP99 is the slowest p99 of a log sync.
	RoundTrip, FsyncP99 time.Duration
}

// Data returns the size of the keys and their present values in bytes.
func (l *SizedLoad) Data() float64 { return float64(l.Keys) * float64(l.KeySize+l.ValueSize) }

// Filling is a resource that a load's data fills up to a limit.
type Filling struct {
	What        string  // such as database quota
	Used, Limit float64 // bytes
	Text        string  // how both were computed, as a sentence
	Source      string  // the source document
}

// Advice is a recommendation of a store's documentation for a load.
type Advice struct {
	Topic  string // such as election timeout
	Text   string // sentences
	Source string // the source document
}
