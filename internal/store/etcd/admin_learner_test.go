package etcd

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/quorumbench/quorumbench/internal/store"
)

// learnerAuth is the Auth service of a cluster whose learner receives the first login.
type learnerAuth struct {
	etcdserverpb.UnimplementedAuthServer
	logins atomic.Int64
}

func (s *learnerAuth) Authenticate(context.Context, *etcdserverpb.AuthenticateRequest) (*etcdserverpb.AuthenticateResponse, error) {
	if s.logins.Add(1) == 1 {
		return nil, rpctypes.ErrGRPCNotSupportedForLearner
	}
	return &etcdserverpb.AuthenticateResponse{Token: "token"}, nil
}

// TestAllEndpointsAreUsedAfterLearnersRefusal checks that the client uses all endpoints even if a
// learner refused the login, so that a single member's failure does not end all requests.
func TestAllEndpointsAreUsedAfterLearnersRefusal(t *testing.T) {
	auth := &learnerAuth{}
	var endpoints, want []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		etcdserverpb.RegisterAuthServer(server, auth)
		go func() { _ = server.Serve(l) }() // returns when the server stops
		t.Cleanup(server.Stop)
		endpoints = append(endpoints, l.Addr().String())
		want = append(want, "http://"+l.Addr().String())
	}
	a := adminOf(t, store.Access{Endpoints: endpoints, User: "u", Password: "p"}).(*admin)
	c, err := a.ensureClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Endpoints(); auth.logins.Load() < 2 || !slices.Equal(got, want) {
		t.Errorf("after %d logins, the client uses the endpoints %q, want %q", auth.logins.Load(), got, want)
	}
}
