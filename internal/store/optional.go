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

// Embedded is an optional interface of a Store whose server is built into the quorumbench binary
// (BuiltIn). Each process that Launch describes runs the quorumbench binary (see LaunchSpec.Self)
// with the arguments `member NAME --config FILE`. That command calls RunMember.
type Embedded interface {
	// RunMember runs one member in this process. It returns when ctx ends, when the process is
	// asked to terminate, when the member fails, or when the parent process ends. configFile is a
	// file that Launch described.
	RunMember(ctx context.Context, configFile string) error
	// CertificateFiles returns the paths of a member's certificate and key. If the contents of
	// these files change, the running member uses the new certificate (see kv.Certificates).
	CertificateFiles(at kv.MemberPlace) (certificate, key string)
}

// ParentEnv is the environment variable that the parent process sets for an embedded member. If its
// value is ParentStdin, standard input is a pipe from the parent process, and the end of the input
// means that the parent process has ended.
const (
	ParentEnv   = "QUORUMBENCH_PARENT"
	ParentStdin = "stdin"
)

// Applier is an optional interface of an Admin. A store needs an Applier if a read of a member's
// own state (see Guarantees.MemberReadLevel) may miss writes that were acknowledged before the read.
type Applier interface {
	// Newest returns a revision that is at least as high as the revision of every write that was
	// acknowledged before the call, as far as the Admin's endpoints know.
	Newest(ctx context.Context) (int64, error)
	// Applied returns the revision of the newest write that the i-th endpoint, counted from 0, has
	// applied. The revision can be compared with Event.Revision or Event.StoreRevision.
	Applied(ctx context.Context, i int) (int64, error)
}

// Operator is an optional interface of an Admin whose store has maintenance operations. The store's
// capabilities list the operations that the store supports. A store without history embeds
// NoHistory.
type Operator interface {
	// MoveLeader transfers leadership to the member with this ID (see kv.LeaderTransfer).
	MoveLeader(ctx context.Context, member uint64) error
	// PerformMaintenance makes a member perform the maintenance work of a feature: kv.Snapshots,
	// kv.Alarms, kv.SpaceQuota or kv.AuthSwitch. It returns when the work is complete. If the
	// result `undo` is not nil, the caller must call it before closing the Admin, in order to
	// reverse the work. This also applies if PerformMaintenance returned an error.
	PerformMaintenance(ctx context.Context, feature kv.Feature, member Member) (undo func(context.Context) error, err error)
	// Replace removes a stopped member from the cluster. The cluster then expects a member without
	// data to replace the removed member (see kv.Replacement and LaunchSpec.JoiningMember). The
	// Admin's endpoints must be the endpoints of the other members.
	Replace(ctx context.Context, removed Member) error

	// AddLearner adds a non-voting member to the cluster. The caller starts the member's process
	// afterwards (see kv.Learners and LaunchSpec.JoiningMember).
	AddLearner(ctx context.Context, place kv.MemberPlace) error
	// Promote turns a learner into a voting member. It waits until the learner has caught up and
	// can vote.
	Promote(ctx context.Context, place kv.MemberPlace) error
	// RemoveMember removes a voting or non-voting member from the cluster. It also returns nil if
	// the member does not belong to the cluster.
	RemoveMember(ctx context.Context, place kv.MemberPlace) error

	// CheckRights returns an error if the user lacks the right to perform the given operation,
	// which is kv.Compaction or kv.Defragmentation. It returns nil if the user's rights cannot be
	// determined. CheckRights does not change the cluster.
	CheckRights(ctx context.Context, operation kv.Feature) error
	// Compact discards the history before the present revision and returns that revision. It waits
	// until the database can reuse the space.
	Compact(ctx context.Context) (revision int64, err error)
	// TrimHistory discards the history except for the newest n revisions. It returns the revision
	// up to which it discarded the history, or 0 if the history contains no older revisions. It is
	// called while a load runs, so it does not wait until the space is free.
	TrimHistory(ctx context.Context, n int64) (revision int64, err error)
	// Defragment returns the unused space in each endpoint's database to the file system. It
	// processes one endpoint after the other.
	Defragment(ctx context.Context) error
	// Hash returns a hash for each endpoint. The hashes cover all keys and values up to one
	// revision, which is the same for all endpoints (see kv.Hashes). Hash returns ErrNotCaughtUp if
	// a member has not reached that revision yet.
	Hash(ctx context.Context) ([]MemberHash, error)
}

// NoHistory implements the Operator methods for a store that has neither a history nor
// learners. CheckRights returns nil; all other methods return errors.ErrUnsupported.
type NoHistory struct{}

// AddLearner implements Operator.
func (NoHistory) AddLearner(context.Context, kv.MemberPlace) error { return errors.ErrUnsupported }

// Promote implements Operator.
func (NoHistory) Promote(context.Context, kv.MemberPlace) error { return errors.ErrUnsupported }

// RemoveMember implements Operator.
func (NoHistory) RemoveMember(context.Context, kv.MemberPlace) error { return errors.ErrUnsupported }

// CheckRights implements Operator.
func (NoHistory) CheckRights(context.Context, kv.Feature) error { return nil }

// Compact implements Operator.
func (NoHistory) Compact(context.Context) (int64, error) { return 0, errors.ErrUnsupported }

// TrimHistory implements Operator.
func (NoHistory) TrimHistory(context.Context, int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// Defragment implements Operator.
func (NoHistory) Defragment(context.Context) error { return errors.ErrUnsupported }

// Hash implements Operator.
func (NoHistory) Hash(context.Context) ([]MemberHash, error) { return nil, errors.ErrUnsupported }

// Cleaner is an optional interface of an Admin. It finds and removes the keys and services that a
// load left in the store (see kv.PrefixDelete). A store without a service catalog embeds
// NoServices.
type Cleaner interface {
	// DeletePrefix deletes every key with the prefix, which must not be empty. It returns the
	// number of deleted keys.
	DeletePrefix(ctx context.Context, prefix []byte) (deleted int64, err error)
	// KeysWithPrefix returns the names of at most `limit` keys with the prefix. The result `more`
	// is true if the store contains further keys with the prefix. The names have the same form as
	// the prefix. In a store with folders, KeysWithPrefix returns a folder below the prefix instead
	// of the keys in that folder.
	KeysWithPrefix(ctx context.Context, prefix []byte, limit int) (names []string, more bool, err error)
	// Services returns the names of the nodes in the service catalog whose names start with the
	// prefix (see kv.Services).
	Services(ctx context.Context, prefix string) ([]string, error)
	// RemoveServices deregisters the nodes with the given names, which Services has returned.
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
	// MissingFolders returns the folders that are needed for keys with the prefix but do not exist
	// yet, outermost first.
	MissingFolders(ctx context.Context, prefix string) ([]string, error)
	// RemoveFolders removes folders that MissingFolders returned earlier, innermost first. It skips
	// folders that do not exist or are not empty.
	RemoveFolders(ctx context.Context, folders []string) error
}

// Leaser is an optional interface of an Admin whose store has leases or sessions with a time to
// live (see kv.Leases). Clients renew leases with kv.KeepAlive, and keys can be bound to leases.
type Leaser interface {
	// Grant creates n leases with the given time to live. It sends many requests concurrently. If
	// Grant fails, it returns the leases that it has already created, and the caller must revoke
	// them.
	Grant(ctx context.Context, n int, ttl time.Duration) (ids []int64, err error)
	// Revoke ends leases; it sends many requests concurrently. It ignores unknown leases.
	Revoke(ctx context.Context, ids []int64) error
	// LeaseNames returns the names of leases that Grant returned, in the same order, or nil if the
	// store does not identify leases by names.
	LeaseNames(ids []int64) []string
	// LeasesWithPrefix returns the names of the leases that have at least one key and whose keys
	// all have the prefix. It applies a time limit to each of its requests.
	LeasesWithPrefix(ctx context.Context, prefix []byte) (names []string, err error)
	// EndLeases ends the leases with the given names, which LeasesWithPrefix or Grants has
	// returned. It ignores unknown leases.
	EndLeases(ctx context.Context, names []string) error
}

// ErrNotCaughtUp means that a member has not yet applied writes that another member has applied.
// The caller may try again later.
var ErrNotCaughtUp = errors.New("the member has not yet applied all writes that another member has applied")

// MemberHash is the hash of a member's data up to a revision. Two members have the same data if
// their hashes are equal. The hashes of two members can be compared only if both members have
// compacted their data to the same revision.
type MemberHash struct {
	Endpoint  string // HOST:PORT
	Hash      uint64
	Revision  int64
	Compacted int64
}

// TapProvider is an optional interface of a Store that can decode its protocol passively, so that
// the traffic between clients and a member can be recorded.
type TapProvider interface {
	// Tap returns a passive decoder for one connection. The decoder must receive all of
	// the connection's bytes, starting with the first byte.
	Tap(TapConfig) Tap
}

// TapConfig configures the passive decoder of one connection.
type TapConfig struct {
	Conn     uint32 // the connection's number in the recording
	Redactor *call.Redactor
	// When a call has ended, the decoder passes it to the function Call. The decoder passes each
	// gap in the traffic to the function Gap. The callbacks must not keep references to their
	// arguments.
	Call func(*call.Call)
	Gap  func(call.Gap)
}

// Tap decodes the traffic on one connection. It is not safe for concurrent use.
type Tap interface {
	// Feed decodes bytes that arrived at the given time. If fromClient is set, the client sent the
	// bytes; otherwise the server sent them. After an error, the rest of the connection cannot be
	// decoded. The error's text is one sentence.
	Feed(fromClient bool, at int64, b []byte) error
	// End reports the end of the connection. The decoder then records each call that is still open
	// as a call without a reply.
	End(at int64)
	// Open returns the number of calls without a reply.
	Open() int
}

// Replayer is an optional interface of a Store whose traffic can be recorded, and whose codecs can
// send recorded calls again (see Op.Call).
type Replayer interface {
	Store
	TapProvider
	// CanReplay reports whether the store's codecs can send a recorded call again.
	CanReplay(c *call.Call) bool
	// RequiredKey returns the key that must exist before the store can execute a part, such as the
	// key of a node's parent. It returns nil if the part depends on no other key.
	RequiredKey(p *call.Part) []byte
}

// NullServerProvider is an optional interface of a Store that has a null server (see
// kv.NullServer). A null server is a server that understands the store's protocol but stores
// nothing on disk.
type NullServerProvider interface {
	// NullServer returns a null server. If an option is invalid, the text of the error is one
	// sentence about the mistake. For a mistake in a script, the sentence contains the mistake's
	// position and the known words.
	NullServer(NullOptions) (NullServer, error)
}

// NullServer is a null server that is ready to serve.
type NullServer interface {
	// Serve runs a null cluster with one member on each listener; the first member is the leader.
	// When ctx ends, Serve closes everything and returns nil. If it cannot continue, it returns an
	// error.
	Serve(ctx context.Context, listeners []net.Listener) error
}

// NullOptions configures a null server. The zero value describes a server that stores nothing
// and responds at once.
type NullOptions struct {
	// Script is text in the language that null.Parse reads. It determines how the server treats
	// operations. If Script is empty, the server responds to each operation at once.
	Script string
	// Memory makes the server keep writes in memory. Without Memory, every key exists and has the
	// same value of ValueSize bytes.
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
	Size(SizingInput) ([]ResourceUsage, []Advice, error)
}

// SizingInput describes a load and the cluster that must serve it. In Requests and Writes, 0 means
// that the load contains no requests or writes. In the other fields, 0 means that the figure is
// unknown.
type SizingInput struct {
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
	// History is how long the store keeps an old value after a new value has replaced it.
	History time.Duration
	// Processors is the smallest number of CPUs, and Memory is the smallest memory in bytes, of the
	// members' machines.
	Processors float64
	Memory     float64
	// RoundTrip is the longest mean round-trip time between two members, as the members measured
	// it. FsyncP99 is the p99 of log syncs on the slowest member.
	RoundTrip, FsyncP99 time.Duration
}

// Data returns the size in bytes of all keys and their present values.
func (l *SizingInput) Data() float64 { return float64(l.Keys) * float64(l.KeySize+l.ValueSize) }

// ResourceUsage describes how much of a limited resource the load's data uses.
type ResourceUsage struct {
	Resource    string  // such as database quota
	Used, Limit float64 // bytes
	Explanation string  // one sentence: how Used and Limit were computed
	Source      string  // the document that states the limit
}

// Advice is a recommendation from a store's documentation for a load.
type Advice struct {
	Topic  string // such as election timeout
	Text   string // one or more sentences
	Source string // the document that contains the recommendation
}
