// Package nullserver is a server that speaks enough of ZooKeeper's protocol to
// be benchmarked, with no store behind it: what the generator is calibrated
// against, and the ground truth of its accuracy tests. It answers at once, or
// as a script says.
//
// One process can be several members that share what was written; the first
// leads. Client libraries take it for ZooKeeper as long as they create, delete,
// read and write nodes, alone or in a multi, watch them, list children, sync, and
// ask srvr, conf, dirs, ruok or mntr. Watches end with their connection: setWatches,
// which sets them again, is accepted and does nothing. Access rights are not kept.
//
// Like ZooKeeper it answers a connection's requests in their order: an answer
// that is due waits for those before it. So a script's `never` silences its
// connection from that request on, and a delay holds back what comes behind it.
package nullserver

import (
	"context"
	"net"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/null"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// maxDue is how many connections are served at once: more would make the
// first late.
const maxDue = 64

// New prepares a null server. In its script only operations on nodes count as
// such and follow it: not sync, exists of the root, ping or the session's own.
func New(o store.NullOptions) (*Server, error) {
	script, err := null.ReadScript(o, errorNames(), false)
	if err != nil {
		return nil, err
	}
	s := &Server{user: o.User, tree: newTree(&o)}
	s.Server = null.NewServer(script, null.NetConfig[*conn, *conn]{Open: s.open, Due: s.due, MaxDue: maxDue, TLS: o.TLS})
	return s, nil
}

// Serve implements store.NullServer.
func (s *Server) Serve(ctx context.Context, listeners []net.Listener) error {
	for _, l := range listeners {
		s.members = append(s.members, l.Addr().String())
	}
	return s.Server.Serve(ctx, listeners)
}

// due gives the answers that are due.
func (s *Server) due(batch []*conn) {
	for _, c := range batch {
		c.Lock()
		c.scheduled = false
		tree, all := c.session.tree, c.session.tree.All()
		tree.Lock(all)
		c.release(s.Clock.Now())
		tree.Unlock(all)
		c.Flush(false)
		c.Unlock()
	}
}

// scriptErrors are the codes that error=NAME may ask for.
var scriptErrors = [...]jute.Code{
	jute.SystemError, jute.MarshallingError, jute.Unimplemented, jute.OperationTimeout, jute.BadArguments,
	jute.NoNode, jute.NoAuth, jute.BadVersion, jute.NodeExists, jute.SessionExpired, jute.SessionMoved,
	jute.NotReadOnly, jute.RequestTimeout, jute.QuotaExceeded, jute.ThrottledOp,
}

// errorNames lists the names that error=NAME may have: ZooKeeper's codes in
// lower case.
func errorNames() (names []string) {
	for _, code := range scriptErrors {
		names = append(names, strings.ToLower(code.String()))
	}
	return names
}

// failure is the code that an action answers instead of doing the operation.
// ZooKeeper cannot cancel one request; what comes nearest is answered.
func failure(a null.Action) jute.Code {
	switch {
	case a.Kind == null.Error:
		named := func(code jute.Code) bool { return strings.EqualFold(code.String(), a.Name) }
		return scriptErrors[slices.IndexFunc(scriptErrors[:], named)]
	case a.Kind == null.Reset && a.Name == "refused":
		return jute.ThrottledOp
	case a.Kind == null.Reset:
		return jute.SystemError
	}
	return jute.OK
}
