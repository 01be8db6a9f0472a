// Package store defines what a store provides to the rest of the program. Each store is one
// folder below this one that implements Store, and one line in the registry.
//
// A store never imports from the wings: it describes how servers start as data that
// run/cluster acts on, and how it talks as a Codec that internal/load drives.
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
	// Name is what --store and scenario files call it, such as etcd.
	Name() string
	// Capabilities says what the store can do, and what that is there.
	Capabilities() kv.Capabilities
	// DecodeSettings decodes the store's own settings from a scenario file
	// (decode is strict and fills the value it is given), or returns the
	// defaults when decode is nil. The result goes to Launch unchanged.
	DecodeSettings(decode func(into any) error) (any, error)
	// Launch says what to start for a cluster: data, not actions.
	Launch(LaunchSpec) (Launch, error)
	// Server says how the store's server of the given version, such as 3.9.5, gets
	// onto this machine; the empty version is the default one. The error says
	// which versions there are.
	Server(version string) (ServerSource, error)
	// Admin opens a connection for status and administration through the
	// store's official client. It does not wait for a server.
	Admin(Access) (Admin, error)
	// Metrics says where the figures of the member at an endpoint (HOST:PORT)
	// are, in the order in which the places are tried; the first that answers
	// is taken. None: the member reports nothing.
	Metrics(a Access, endpoint string) []MetricSource
	// Signal reads one line of a log of any process of a member (Process,
	// Process.Behind), without its end and perhaps cut after some thousand
	// bytes. It is a pure function that keeps nothing of line; ok is false for
	// a line that says nothing, which is most of them.
	Signal(line []byte) (s Signal, ok bool)
	// Promises says what the store promises of the order of its writes, if its answers tell
	// that order (kv.Order).
	Promises() Promises
	// Codecs returns a factory of connections' codecs. The codecs of one
	// factory belong to one event loop and may share state without locks, so
	// it is called once for each loop.
	Codecs(Access) Codecs
}

// Access is how to reach a cluster.
type Access struct {
	Endpoints []string    // HOST:PORT each, without a scheme
	TLS       *tls.Config // nil: plain
	// Authority is the certificate in PEM that TLS trusts, of a cluster that we started.
	Authority []byte
	User      string // empty: no authentication
	Password  string
	// Behind gives, for a store that is a proxy, the HOST:PORT of the server
	// behind an endpoint, where it is known: for clusters that we started.
	Behind map[string]string
	// SessionTimeout, if not 0, is how long the session of a load's connection lives without
	// a request, of a store with kv.Ephemeral: the load keeps it alive, and the codec does
	// not. The server may grant another time.
	SessionTimeout time.Duration
	// Grants takes the names of the leases and sessions that the operations of a load were
	// granted; nil for nobody. It belongs to the load's one loop.
	Grants *Grants
	// DialTimeout bounds how long it may take to connect; 0 means 5 s.
	DialTimeout time.Duration
	// Dial opens the connections of what asks about a cluster, where it cannot be
	// reached from here; nil: directly. No load goes through it.
	Dial Dial
}

// Dial opens a connection to an endpoint, HOST:PORT.
type Dial func(ctx context.Context, endpoint string) (net.Conn, error)

// Connect opens a connection to ask at an endpoint, without TLS.
func (a *Access) Connect(ctx context.Context, endpoint string) (net.Conn, error) {
	if a.Dial != nil {
		return a.Dial(ctx, endpoint)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", endpoint)
}

// ConnectSecure is Connect with the TLS that the access has, if any.
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
		_ = plain.Close() // the error that matters is that one
		return nil, err
	}
	return secure, nil
}

// URL is that of a server at an endpoint, HOST:PORT, over HTTP.
func (a *Access) URL(endpoint string) string {
	if a.TLS != nil {
		return "https://" + endpoint
	}
	return "http://" + endpoint
}

// Admin asks about a cluster and maintains it.
type Admin interface {
	// Status asks every endpoint, all at the same time: one that accepts a
	// connection and says nothing delays no other. An endpoint that does not
	// answer is listed with its Err; the error is for when none answers.
	Status(ctx context.Context) (Status, error)
	// Members asks the cluster for all its members, in the order of their names: the
	// client endpoint HOST:PORT that each advertises, and its ID and name where the
	// store tells them. An advertised endpoint may lead nowhere from here, and is empty
	// where the store does not tell it.
	Members(ctx context.Context) ([]Member, error)
	// Role asks the i-th of the Admin's endpoints, from 0, and no other, for its role
	// within the context's time. It costs less than a Status: members are asked many times a
	// second while a load runs. Several goroutines may ask, each its own endpoint. The result
	// has ID, Role, Term and Leader as far as the member says them, and Err and Gone as in a
	// Status.
	Role(ctx context.Context, i int) Member
	// UserUnchecked returns why the cluster did not check the user and password of the
	// Access, as the second half of a sentence; empty where it does check them, or where the
	// store has no users (kv.Users).
	UserUnchecked(ctx context.Context) (why string, err error)
	io.Closer
}

// Status is a cluster as its members describe it.
type Status struct {
	Version string // of the store, as the members say it; "3.6.1, 3.7.0" when they differ
	Term    uint64 // the highest seen
	Members []Member
}

// Member is one member as it describes itself.
type Member struct {
	ID       uint64
	Name     string
	Endpoint string // HOST:PORT
	Version  string
	Role     kv.Role
	Term     uint64
	Leader   uint64 // the leader's ID, as this member says; 0: it knows none, or does not say
	DBSize   int64  // bytes on disk
	// Room is how many bytes of new data the member takes before its quota stops all
	// writes; 0: not known, or there is no quota.
	Room int64
	// Cluster identifies the cluster to which the member says it belongs, such as
	// etcd's cluster ID; empty where the store has no such number.
	Cluster string
	// Peers are the addresses at which the members of its cluster reach each other, as
	// this member knows them, sorted; empty where it does not tell them.
	Peers  []string
	Alarms []string // such as NOSPACE
	// Hidden is a sentence about what the user may not know of the member, and which right
	// shows it; empty where the member tells everything.
	Hidden string
	// Err is not nil if the member did not answer: then the rest is empty. One
	// that answers that it cannot serve now has answered; its Role is unknown.
	Err error
	// Gone says of Err that nothing listens at the endpoint: the process ended.
	Gone bool
}

// Leader returns the member that leads at the highest term, or nil.
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

// Promises are what a store's documentation promises of its answers, and what
// they tell.
type Promises struct {
	// Of maps each promise to where the documentation makes it: a sentence, or a
	// part of one, with an address. What is not in it is not promised.
	Of map[history.Promise]string
	// Own is the level at which a read is answered from what the asked member
	// has itself, once it has all that was acknowledged before: so each member is
	// read whole after a load. Where the level does not wait for that, the Admin is
	// an Applier.
	Own kv.Consistency
	// Conflicts says that an Event of a conflict has the version that stood
	// against it: 0 is then that the key was not there, and -1 that it is not told.
	Conflicts bool
	// Unsure says that a conflict, and a delete that found nothing, are also answered
	// where the write may have been done.
	Unsure bool
	// Untold says that the answers to writes do not tell their revisions: what is
	// known of their order is real time, and the revisions that reads show.
	Untold bool
	// Ranges says that an answer of several keys is of one state of the store, and
	// tells the revision of each.
	Ranges bool
	// Counted says that a version (Event.Revision, Op.Revision) counts the writes
	// of the key since it was made, so that an older one can come again. Events of
	// writes have it, and those of reads have the revision too (Event.Mod).
	Counted bool
}
