package consul

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// TestLiveTokenWithFewRights checks that Status and Members still list the servers if the token has
// no rights on agents. Here all servers are on the same host, so their roles are unknown.
func TestLiveTokenWithFewRights(t *testing.T) {
	s := start(t, storetest.Options{User: true, Members: 3})
	acl := official.Consul(t, s.Access).ACL()
	if _, _, err := acl.PolicyCreate(&api.ACLPolicy{Name: "app", Rules: `key_prefix "app/" { policy = "write" }`}, nil); err != nil {
		t.Fatal(err)
	}
	token, _, err := acl.TokenCreate(&api.ACLToken{Policies: []*api.ACLLink{{Name: "app"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := s.Access.Endpoints
	for _, endpoints := range [][]string{all, all[1:2]} {
		a, err := New().Admin(store.Access{Endpoints: endpoints, Password: token.SecretID})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = a.Close() }()
		var status store.Status
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		storetest.Poll(ctx, t, func() error { // wait until every server knows the token
			if status, err = a.Status(t.Context()); err != nil {
				return err
			}
			for _, m := range status.Members {
				err = errors.Join(err, m.Err)
			}
			return err
		})
		for i, m := range status.Members {
			again := a.Role(t.Context(), i)
			if m.HiddenData != hiddenRoleNote || m.Version == "" || m.Role != kv.UnknownRole || len(m.Peers) != 3 || again.Role != m.Role || again.ID != m.ID {
				t.Errorf("Status returned the member %+v, but Role returned %+v", m, again)
			}
			if _, err := a.(store.Applier).Applied(t.Context(), i); err == nil || !strings.Contains(err.Error(), "agent:read") {
				t.Errorf("reading the applied index from an agent that may not be a server returned: %v", err)
			}
		}
		members, err := a.Members(t.Context())
		if err != nil || len(members) != 3 || len(endpoints) == 3 && !slices.Equal(store.Endpoints(members), all) {
			t.Errorf("members %v, %v", members, err)
		}
	}
}

// TestServerAt checks that serverOnHost returns a server only if exactly one server is on the
// endpoint's host.
func TestServerAt(t *testing.T) {
	for _, c := range []struct {
		endpoint, peers, want string
	}{
		{"10.0.0.1:8500", "10.0.0.1:8300 10.0.0.2:8300", "10.0.0.1:8300"},
		{"10.0.0.3:8500", "10.0.0.1:8300 10.0.0.2:8300", ""}, // a client agent, or a forwarded address
		{"127.0.0.1:8500", "127.0.0.1:8300 127.0.0.1:8310", ""},
		{"[::1]:8500", "[::1]:8300", "[::1]:8300"},
		{"consul:8500", "10.0.0.1:8300", ""},
		{"10.0.0.1:8500", "", ""},
	} {
		if got := serverOnHost(c.endpoint, strings.Fields(c.peers)); got != c.want {
			t.Errorf("the server of %s with the peers %s is %q, want %q", c.endpoint, c.peers, got, c.want)
		}
	}
}
