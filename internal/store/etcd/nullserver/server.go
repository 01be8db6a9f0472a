// Package nullserver is a server that speaks enough of etcd's gRPC over HTTP/2
// to be benchmarked, with no store behind it: what the generator is calibrated
// against, and the ground truth of its accuracy tests. It answers at once, or
// as a null.Script says.
//
// One process can be several members that share what was written; the first
// leads. The official client (go.etcd.io/etcd/client/v3) takes it for etcd as
// long as it asks for Put, Get, Delete, Txn, Status, MemberList, Watch of what
// is yet to be written, or leases, which never end by themselves. Without a
// memory there are no watches and leases.
package nullserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/nullnet"
	"github.com/quorumbench/quorumbench/internal/store/null/timer"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Options say how a null server behaves. The zero Options remember what was
// written and answer everything at once.
type Options struct {
	// Script is what happens to operations; ParseScript reads one. Only
	// operations on keys count as such and follow it, administration does not.
	// nil answers everything at once.
	Script *null.Script
	// NoMemory forgets writes, and answers every read with the key asked for
	// and Value: the cheapest server there is, for calibration.
	NoMemory bool
	Value    []byte
	// TLS serves over TLS; the protocol h2 is added to what it negotiates.
	TLS *tls.Config
	// User, NAME:PASSWORD, turns authentication on.
	User string
	// Window is the size in bytes of the flow-control windows that clients
	// get, from 1 to 2^31-1. 0 is so large that they never wait.
	Window int
	// MaxStreams is how many requests one connection may have in flight;
	// 0 for no limit.
	MaxStreams int
	// Counts, if not nil, counts the operations. Without it the server keeps
	// no figures at all.
	Counts *null.Counts
}

// ParseScript reads a script for this server: null.Parse with the names of
// the errors that it can answer.
func ParseScript(text string) (*null.Script, error) { return null.Parse(text, Errors()) }

// check says what makes no sense. A user without a password may be a password,
// and is not shown.
func (o *Options) check() error {
	switch {
	case o.Window < 0 || o.Window > h2.MaxWindow:
		return fmt.Errorf("null server: a window of %d bytes is impossible; it is 1 to 2147483647, or 0 for the default", o.Window)
	case o.MaxStreams < 0:
		return fmt.Errorf("null server: a connection cannot have %d requests in flight; write at least 1, or 0 for no limit", o.MaxStreams)
	case o.User != "" && !strings.Contains(o.User, ":"):
		return errors.New("null server: the user has no password; write NAME:PASSWORD")
	case o.Script == nil:
		return nil
	}
	known := scriptErrors()
	for _, r := range o.Script.Rules {
		if r.Kind == null.Error && known[r.Name] == nil {
			return fmt.Errorf("null server: there is no error %q; known are %s", r.Name, strings.Join(Errors(), ", "))
		}
	}
	return nil
}

// defaultWindow is a window that nobody fills.
const defaultWindow = 1 << 30

// maxDue is how many answers are given before any of them is written: more
// would make the first late.
const maxDue = 256

// server is the members of one null cluster.
type server struct {
	*nullnet.Server[*conn, *pending]
	options Options
	tls     *tls.Config
	members []*member
	touched []*conn // kept for due
}

// Serve serves one member of a null cluster on each listener, the first of
// which leads, until ctx is done: then it closes everything, waits for all of
// its goroutines and returns nil. It returns an error for Options that make no
// sense, or when a listener fails; the listeners are closed in any case.
func Serve(ctx context.Context, listeners []net.Listener, o Options) error {
	clock, err := timer.NewClock()
	if err != nil {
		nullnet.CloseAll(listeners)
		return err
	}
	defer clock.Close()
	return serve(ctx, listeners, o, clock)
}

func serve(ctx context.Context, listeners []net.Listener, o Options, clock timer.Clock) error {
	s, err := newServer(listeners, o, clock)
	if err != nil {
		nullnet.CloseAll(listeners)
		return err
	}
	return s.Serve(ctx, listeners)
}

func newServer(listeners []net.Listener, o Options, clock timer.Clock) (*server, error) {
	if len(listeners) == 0 {
		return nil, errors.New("null server: there is no listener, and so no member")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &server{options: o}
	s.Server = nullnet.NewServer(nullnet.NewBase(o.Script, clock), nullnet.Config[*conn, *pending]{
		Open: s.open, Due: s.due, MaxDue: maxDue, BadRequest: badRequestPage,
	})
	scheme := "http://"
	if o.TLS != nil {
		scheme = "https://"
		s.tls = o.TLS.Clone()
		if !slices.Contains(s.tls.NextProtos, "h2") {
			s.tls.NextProtos = append([]string{"h2"}, s.tls.NextProtos...)
		}
	}
	s.newMembers(listeners, scheme, clock)
	return s, nil
}

// newMembers makes one member for each listener, with one store for all.
func (s *server) newMembers(listeners []net.Listener, scheme string, clock timer.Clock) {
	var keeper keeper
	var h *hub
	if s.options.NoMemory {
		keeper = &canned{value: s.options.Value}
	} else {
		m := newMemory()
		if s.Script != nil && s.Script.Lag > 0 {
			m.past = &past{now: clock.Now, lag: int64(s.Script.Lag)}
		}
		h = newHub(s)
		keeper, m.hub = m, h
	}
	var urls []string
	for _, l := range listeners {
		urls = append(urls, scheme+l.Addr().String())
	}
	for i := range listeners {
		s.members = append(s.members, &member{
			identity: newIdentity(MemberID(i + 1)), keeper: keeper, hub: h, members: members(urls),
			user: s.options.User, errors: scriptErrors(), noLocal: s.Script != nil && s.Script.NoLocal,
		})
	}
}

func (s *server) newSession(m *member) *session {
	window := int64(s.options.Window)
	if window == 0 {
		window = defaultWindow
	}
	session := newSession(m, window)
	session.run, session.script = s.Run, s.Script
	session.counts, session.maxStreams = s.options.Counts, s.options.MaxStreams
	return session
}

func (s *server) open(nc net.Conn, member int) *conn {
	if s.tls != nil {
		nc = tls.Server(nc, s.tls)
	}
	return newConn(s, s.members[member], nc)
}
