// Package store defines what a store provides to the rest of the program. Each store is one
// folder below this one that implements Store, and one line in the registry.
//
// A store never imports the packages that use it: it describes as data how
// servers start, for run/cluster, and its protocol as a Codec, which
// internal/load drives.
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
	// Capabilities returns the supported operations and features, with what each
	// one is in this store.
	Capabilities() kv.Capabilities
	// DecodeSettings decodes the store's settings from a scenario file with
	// decode, which is strict and fills in its argument, or returns the defaults
	// if decode is nil. The result is passed to Launch unchanged.
	DecodeSettings(decode func(into any) error) (any, error)
	// Launch returns as data how to start a cluster.
	Launch(LaunchSpec) (Launch, error)
	// Server returns how to install the given version of the store's server, such
	// as 3.9.5; the empty version is the default one. The error lists the known
	// versions.
	Server(version string) (ServerSource, error)
	// Admin returns a connection for status and administration through the
	// store's official client. It does not wait for a server.
	Admin(Access) (Admin, error)
	// Metrics returns where to read the metrics of the member at an endpoint
	// (HOST:PORT). The sources are tried in order until one responds. An empty
	// result means that the member reports no metrics.
	Metrics(a Access, endpoint string) []MetricSource
	// Signal parses a log line of any of a member's processes (Process,
	// Process.Behind), without its line end and possibly cut after some thousand
	// bytes. It is a pure function and does not retain line. ok is false for most
	// lines, which report nothing.
	Signal(line []byte) (s Signal, ok bool)
	// Promises returns the store's documented guarantees about the order of its
	// writes, if its responses contain that order (kv.Order).
	Promises() Promises
	// Codecs returns a function that creates the codecs of one event loop. They
	// may share state without locks, so Codecs is called once per loop.
	Codecs(Access) Codecs
}

// Access describes how to reach a cluster.
type Access struct {
	Endpoints []string    // HOST:PORT each, without a scheme
	TLS       *tls.Config // nil: plain
	// Authority is the PEM certificate that TLS trusts, for a cluster that
	// quorumbench started.
	Authority []byte
	User      string // empty: no authentication
	Password  string
	// Behind maps a proxy's endpoint to the HOST:PORT of the server that it uses,
	// where known: in clusters that quorumbench started.
	Behind map[string]string
	// SessionTimeout, if not 0, is how long the session of a load's connection
	// lives without a request, in a store with kv.Ephemeral. The load keeps the
	// session alive, not the codec. The server may grant another time.
	SessionTimeout time.Duration
	// Grants collects the names of the leases and sessions that a load's
	// operations are granted; nil: not wanted. Only the load's single loop uses
	// it.
	Grants *Grants
	// DialTimeout limits the time to connect; 0 means 5 s.
	DialTimeout time.Duration
	// Dial opens connections for administration if the cluster cannot be reached
	// directly; nil: connect directly. The load does not use it.
	Dial Dial
}

// Dial opens a connection to an endpoint, HOST:PORT.
type Dial func(ctx context.Context, endpoint string) (net.Conn, error)

// Connect opens a plain connection for administration.
func (a *Access) Connect(ctx context.Context, endpoint string) (net.Conn, error) {
	if a.Dial != nil {
		return a.Dial(ctx, endpoint)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", endpoint)
}

// ConnectSecure opens a connection for administration, with TLS if the access has
// it.
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

// URL returns the HTTP or HTTPS URL of an endpoint, HOST:PORT.
func (a *Access) URL(endpoint string) string {
	if a.TLS != nil {
		return "https://" + endpoint
	}
	return "http://" + endpoint
}

// Admin reads a cluster's state and maintains the cluster.
type Admin interface {
	// Status asks all endpoints concurrently, so that an endpoint that accepts a
	// connection and sends nothing delays no other. An endpoint that does not
	// respond is listed with its Err. It returns an error if no endpoint
	// responds.
	Status(ctx context.Context) (Status, error)
	// Members returns all of the cluster's members by name, each with its
	// advertised client endpoint HOST:PORT, and with its ID and name if the store
	// reports them. The endpoint may be unreachable from here; it is empty if the
	// store does not report it.
	Members(ctx context.Context) ([]Member, error)
	// Role asks only the i-th endpoint, counted from 0, for its role, limited by
	// ctx. It must be cheaper than Status, because it is called many times per
	// second during a load, also concurrently for different endpoints. The result
	// has ID, Role, Term and Leader as far as the member reports them, and Err
	// and Gone as in Status.
	Role(ctx context.Context, i int) Member
	// UserUnchecked returns why the cluster did not check the Access's user and
	// password, as the second half of a sentence; empty if it does check them, or
	// if the store has no users (kv.Users).
	UserUnchecked(ctx context.Context) (why string, err error)
	io.Closer
}

// Status is a cluster's state as its members report it.
type Status struct {
	Version string // the store's version as the members report it; "3.6.1, 3.7.0" if they differ
	Term    uint64 // the highest term seen
	Members []Member
}

// Member is a member's state as it reports it.
type Member struct {
	ID       uint64
	Name     string
	Endpoint string // HOST:PORT
	Version  string
	Role     kv.Role
	Term     uint64
	Leader   uint64 // the leader's ID according to this member; 0: none or unknown
	DBSize   int64  // bytes on disk
	// Room is how many bytes of new data the member accepts before its quota
	// stops all writes; 0: unknown, or no quota.
	Room int64
	// Cluster identifies the member's cluster, such as etcd's cluster ID; empty
	// if the store has no such ID.
	Cluster string
	// Peers are the peer addresses of the cluster's members as this member knows
	// them, sorted; empty if it does not report them.
	Peers  []string
	Alarms []string // such as NOSPACE
	// Hidden is a sentence about data that the user may not read, and the right
	// that it needs; empty if everything was readable.
	Hidden string
	// Err is not nil if the member did not respond; other fields are then empty.
	// A member that responds that it cannot serve has no Err, and an unknown
	// Role.
	Err error
	// Gone means that no process listens at the endpoint, as Err says: the
	// process ended.
	Gone bool
}

// Leader returns the leader with the highest term, or nil.
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

// Promises describes a store's documented guarantees, and the information in its
// responses.
type Promises struct {
	// Of maps each guarantee to its source in the documentation: a sentence, or a
	// part of one, with an address. Guarantees that are not in the map are not
	// promised.
	Of map[history.Promise]string
	// Own is the consistency level of a read from a single member's own state,
	// used to read each member completely after a load. If such a read does not
	// wait for all acknowledged writes, the Admin is an Applier.
	Own kv.Consistency
	// Conflicts means that the Event of a conflict has the version that caused
	// it: 0 if the key did not exist, -1 if unknown.
	Conflicts bool
	// Unsure means that a conflict, or a delete that found nothing, may also be
	// the response to a write that was executed.
	Unsure bool
	// NoWriteRevisions means that responses to writes lack their revisions. Their order is
	// known only from real time and from the revisions of reads.
	NoWriteRevisions bool
	// Ranges means that a response with several keys reflects one state of the
	// store, and has each key's revision.
	Ranges bool
	// Counted means that a version (Event.Revision, Op.Revision) counts a key's
	// writes since its creation, so that the same version can occur again. Events
	// of writes have the version, and those of reads also the revision
	// (Event.Mod).
	Counted bool
}
