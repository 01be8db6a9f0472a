// Package store defines the interfaces and types that connect a store with the rest of the program.
// Each store has one subfolder, whose package implements Store, and one line in the registry.
//
// A store's package never imports the packages that use it. It describes, as data, how to start
// servers; run/cluster uses that description. It implements the store's protocol as a Codec, which
// internal/load calls.
package store

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Store is one kind of key-value store.
type Store interface {
	// Name returns the store's name in --store and in scenario files, such as
	// etcd.
	Name() string
	// Capabilities returns the supported operations and features, and how this store implements
	// each of them.
	Capabilities() kv.Capabilities
	// DecodeSettings returns the store's settings. It calls the function `decode` to fill a struct
	// from a scenario file; this function rejects unknown fields. If `decode` is nil,
	// DecodeSettings returns the defaults. The caller passes the result to Launch unchanged.
	DecodeSettings(decode func(into any) error) (any, error)
	// Launch returns a description, as data, of how to start a cluster.
	Launch(LaunchSpec) (Launch, error)
	// Server describes how to install the given version of the store's server, such as 3.9.5. An
	// empty version means the default. If the version is not known, the error lists the known
	// versions.
	Server(version string) (ServerSource, error)
	// Admin returns an Admin that reads the status of a cluster and administers the cluster with
	// the store's official client. The call does not wait until a server is available.
	Admin(Access) (Admin, error)
	// Metrics returns sources of the metrics for the member at an endpoint (HOST:PORT). The caller
	// tries them in order until one responds. If the result is empty, the member reports no
	// metrics.
	Metrics(a Access, endpoint string) []MetricSource
	// Signal parses a log line from one of a member's processes (see Process and Process.Backends).
	// The line does not contain its line break, and may be truncated after a few thousand bytes.
	// The result depends only on `line`, and Signal keeps no reference to that slice. ok is false
	// for lines that report no event, which are most lines.
	Signal(line []byte) (s Signal, ok bool)
	// Guarantees returns the store's documented guarantees about the order of writes. They can be
	// verified only if the store's responses contain that order (see kv.WriteOrder).
	Guarantees() Guarantees
	// Codecs returns a function that creates the codecs for one event loop. These codecs may share
	// state without locks, so Codecs must be called once for each loop.
	Codecs(Access) Codecs
}

// Access describes how to connect to a cluster.
type Access struct {
	Endpoints []string    // each in the form HOST:PORT, without a scheme
	TLS       *tls.Config // nil for plain connections
	// Authority is the certificate, in PEM, of the certificate authority that TLS trusts. It is set
	// if quorumbench started the cluster.
	Authority []byte
	User      string // empty for no authentication
	Password  string
	// Backends maps a proxy's endpoint to the HOST:PORT of the server that the proxy uses. It is
	// set only in clusters that quorumbench started.
	Backends map[string]string
	// SessionTimeout, if not 0, is the timeout that a load's connection requests for its session in
	// a store with kv.Ephemeral. The server may choose another timeout. The session expires if the
	// server receives no request within the timeout. The load, not the codec, keeps the session
	// alive.
	SessionTimeout time.Duration
	// Grants collects the names of the leases and sessions that the store grants to a load's
	// operations; nil if the names are not needed. Only the load's single event loop uses Grants.
	Grants *Grants
	// DialTimeout limits the time for connecting; 0 means 5 s.
	DialTimeout time.Duration
	// Dial opens connections for administration, if the cluster cannot be reached directly; nil to
	// connect directly. The load does not use Dial.
	Dial Dial
}

// Dial opens a connection to an endpoint, which has the form HOST:PORT.
type Dial func(ctx context.Context, endpoint string) (net.Conn, error)

// Connect opens a connection without TLS for administration.
func (a *Access) Connect(ctx context.Context, endpoint string) (net.Conn, error) {
	if a.Dial != nil {
		return a.Dial(ctx, endpoint)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", endpoint)
}

// ConnectSecure opens a connection for administration. It uses TLS if the access has a TLS
// configuration.
func (a *Access) ConnectSecure(ctx context.Context, endpoint string) (net.Conn, error) {
	plain, err := a.Connect(ctx, endpoint)
	if err != nil || a.TLS == nil {
		return plain, err
	}
	config := a.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(endpoint)
	}
	secure := tls.Client(plain, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = plain.Close() // err is the relevant error
		return nil, err
	}
	return secure, nil
}

// URL returns the HTTP or HTTPS URL of an endpoint, which has the form HOST:PORT.
func (a *Access) URL(endpoint string) string {
	if a.TLS != nil {
		return "https://" + endpoint
	}
	return "http://" + endpoint
}

// Admin reads a cluster's state and maintains the cluster.
type Admin interface {
	// Status asks all endpoints concurrently, so that an endpoint that accepts a connection but
	// sends nothing does not delay the others. For an endpoint that does not respond, the result
	// contains a member whose Err is set. Status returns an error if no endpoint responds.
	Status(ctx context.Context) (Status, error)
	// Members returns all of the cluster's members, sorted by name. Endpoint is the advertised
	// client endpoint (HOST:PORT) of a member, which this program may be unable to reach; it is
	// empty if the store does not report it. ID and Name are set if the store reports them.
	Members(ctx context.Context) ([]Member, error)
	// Role asks only the i-th endpoint, counted from 0, for its role. ctx limits the time. Role
	// must be cheaper than Status: during a load it is called many times per second, and
	// concurrently for different endpoints. The result contains ID, Role, Term and Leader, if the
	// member reports them, and Err and ProcessEnded as in Status.
	Role(ctx context.Context, i int) Member
	// UncheckedUserReason returns the reason why the cluster did not check the user and the
	// password in the Access. The reason is the last clause of a sentence. UncheckedUserReason
	// returns an empty string if the cluster checks the user and the password, or if the store has
	// no users (see kv.Users).
	UncheckedUserReason(ctx context.Context) (reason string, err error)
	io.Closer
}

// Status is a cluster's state according to its members.
type Status struct {
	Version string // as the members report it; "3.6.1, 3.7.0" if their versions differ
	Term    uint64 // the highest term that a member reports
	Members []Member
}

// Member is the state of one member according to that member.
type Member struct {
	ID       uint64
	Name     string
	Endpoint string // HOST:PORT
	Version  string
	Role     kv.Role
	Term     uint64
	Leader   uint64 // the leader's ID according to this member; 0 if none or unknown
	DBSize   int64  // size of the database on disk in bytes
	// QuotaRemaining is the number of bytes of new data that the member accepts before its quota
	// stops all writes; 0 if it is unknown or there is no quota.
	QuotaRemaining int64
	// Cluster identifies the member's cluster, for example by etcd's cluster ID; empty if the store
	// has no such ID.
	Cluster string
	// Peers are the peer addresses of all members of the cluster, as this member reports them, in
	// sorted order; empty if the member does not report them.
	Peers  []string
	Alarms []string // active alarms, such as NOSPACE
	// HiddenData is a sentence that states which data the user is not allowed to read, and which
	// right the user lacks; empty if the user could read everything.
	HiddenData string
	// Err is set if the member did not respond; most other fields are then empty. If the member
	// responds that it cannot serve requests, Err is nil and Role is unknown.
	Err error
	// ProcessEnded is set if no process listens at the endpoint, because the process has ended. Err
	// is then set as well.
	ProcessEnded bool
}

// Leader returns the leader with the highest term, or nil if no member reports that it is the
// leader.
func (s *Status) Leader() *Member {
	var best *Member
	for i := range s.Members {
		m := &s.Members[i]
		if m.Err == nil && m.Role == kv.Leader && (best == nil || m.Term > best.Term) {
			best = m
		}
	}
	return best
}

// Guarantees describes a store's documented guarantees, and the information that its responses
// contain.
type Guarantees struct {
	// Sources maps each guarantee to its source in the documentation: a sentence or part of a
	// sentence, with an address. The store does not give a guarantee that is missing from the map.
	Sources map[history.Guarantee]string
	// MemberReadLevel is the consistency level of a read that returns a single member's own state.
	// After a load, each member is read completely at this level. If such a read does not wait for
	// all acknowledged writes, the store's Admin must implement Applier.
	MemberReadLevel kv.Consistency
	// ConflictVersions is set if the Event for a conflict contains the version that caused the
	// conflict: 0 if the key did not exist, -1 if the version is unknown.
	ConflictVersions bool
	// AmbiguousResults is set if the store may have executed a write although its response reports
	// a conflict or a delete that found no key.
	AmbiguousResults bool
	// NoWriteRevisions is set if responses to writes do not contain the revisions of the writes.
	// The order of the writes is then known only from real time and from the revisions of reads.
	NoWriteRevisions bool
	// AtomicRanges is set if a response with several keys reflects one state of the store and
	// contains the revision of each key.
	AtomicRanges bool
	// VersionsCountWrites is set if a version (Event.Revision, Op.Revision) is the number of writes
	// since the key was created. The same version can then occur again after the key was deleted.
	// Events for writes contain the version; events for reads also contain the revision
	// (Event.ModRevision).
	VersionsCountWrites bool
}
