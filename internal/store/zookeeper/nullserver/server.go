// Package nullserver is a null server for ZooKeeper's protocol: it calibrates the load generator
// and is the ground truth of its accuracy tests. It responds at once, or as a script demands.
//
// One process can act as several members that share the written data; the first is the leader.
// Client libraries accept it as ZooKeeper if they only create, delete, read and write nodes,
// individually or in a multi, watch them, list children, sync, and send srvr, conf, dirs, ruok or
// mntr. Watches end with their connection: setWatches, which would set them again, is accepted
// and has no effect. Access rights are not stored.
//
// Like ZooKeeper it replies to the requests of a connection in order: a reply that is due waits
// for those before it. So a script's `never` silences its connection starting with that request,
// and a delay holds back all later replies.
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

// maxDue limits the connections that are served in one batch; more would delay the first ones.
const maxDue = 64

// New returns a null server. Its script applies only to operations on nodes: not to sync, exists
// of the root, ping or the requests of the session itself.
func New(o store.NullOptions) (*Server, error) {
	script, err := null.ReadScript(o, errorNames(), false)
	if err != nil {
		return nil, err
	}
	s := &Server{user: o.User, tree: newTree(&o)}
	s.Server = null.NewServer(script, null.NetConfig[*conn, *conn]{Open: s.open, Due: s.sendDue, MaxDue: maxDue, TLS: o.TLS})
	return s, nil
}

// Serve implements store.NullServer.
func (s *Server) Serve(ctx context.Context, listeners []net.Listener) error {
	for _, l := range listeners {
		s.members = append(s.members, l.Addr().String())
	}
	return s.Server.Serve(ctx, listeners)
}

// sendDue writes the replies that are due.
func (s *Server) sendDue(batch []*conn) {
	for _, c := range batch {
		c.Lock()
		c.scheduled = false
		tree, all := c.session.tree, c.session.tree.AllShards()
		tree.Lock(all)
		c.release(s.Clock.Now())
		tree.Unlock(all)
		c.Flush(false)
		c.Unlock()
	}
}

// scriptErrors lists the codes available to error=NAME.
var scriptErrors = [...]jute.Code{
	jute.SystemError, jute.MarshallingError, jute.Unimplemented, jute.OperationTimeout, jute.BadArguments,
	jute.NoNode, jute.NoAuth, jute.BadVersion, jute.NodeExists, jute.SessionExpired, jute.SessionMoved,
	jute.NotReadOnly, jute.RequestTimeout, jute.QuotaExceeded, jute.ThrottledOp,
}

// errorNames lists the names available to error=NAME: ZooKeeper's codes in lower case.
func errorNames() (names []string) {
	for _, code := range scriptErrors {
		names = append(names, strings.ToLower(code.String()))
	}
	return names
}

// failure returns the code that an action returns instead of executing the operation. ZooKeeper
// cannot cancel a request; the code is the closest equivalent.
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
