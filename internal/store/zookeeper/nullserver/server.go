// Package nullserver is a null server for ZooKeeper's protocol. It serves to calibrate the load
// generator. Accuracy tests also use it, because its true behavior is known. It replies at once, or
// as a script demands.
//
// One process can act as several members that share the written data; the first member is the
// leader. Client libraries cannot distinguish it from ZooKeeper if they only create, delete, read
// and write nodes (individually or in a multi), watch nodes, list children, sync, and send srvr,
// conf, dirs, ruok or mntr. A watch ends with its connection: the server accepts setWatches
// requests, with which clients restore their watches on a new connection, but does not restore the
// watches. The server stores no access rights.
//
// Like ZooKeeper, the server replies to the requests on a connection in order: a reply that is due
// waits for the replies before it. Therefore a delay also delays all later replies. If the script
// demands `never` for a request, the connection receives no reply to that request or to any later
// request.
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

// maxDue is the maximum number of connections whose due replies are sent in one batch. In a larger
// batch, the first connections would have to wait longer.
const maxDue = 64

// New returns a null server. The script applies only to operations on nodes. It does not apply to
// sync, exists of the root, ping, or the requests that open and close a session.
func New(o store.NullOptions) (*Server, error) {
	script, err := null.ReadScript(o, errorNames(), false)
	if err != nil {
		return nil, err
	}
	s := &Server{user: o.User, tree: newTree(&o)}
	s.Server = null.NewServer(script, null.NetConfig[*conn, *conn]{Open: s.open, HandleDue: s.sendDue, MaxDue: maxDue, TLS: o.TLS})
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

// scriptErrors lists the codes that a script can demand with error=NAME.
var scriptErrors = [...]jute.Code{
	jute.SystemError, jute.MarshallingError, jute.Unimplemented, jute.OperationTimeout, jute.BadArguments,
	jute.NoNode, jute.NoAuth, jute.BadVersion, jute.NodeExists, jute.SessionExpired, jute.SessionMoved,
	jute.NotReadOnly, jute.RequestTimeout, jute.QuotaExceeded, jute.ThrottledOp,
}

// errorNames returns the names that a script can use in error=NAME: ZooKeeper's codes in lower
// case.
func errorNames() (names []string) {
	for _, code := range scriptErrors {
		names = append(names, strings.ToLower(code.String()))
	}
	return names
}

// failure returns the error code for the reply if the action prevents the execution of the
// operation. Otherwise it returns jute.OK. The action Reset cancels a request, which ZooKeeper
// cannot do, so failure returns the most similar code.
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
