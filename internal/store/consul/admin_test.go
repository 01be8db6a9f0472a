package consul

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// agent is a scripted agent of the server m1 in a cluster of three servers.
type agent struct {
	leader     atomic.Pointer[string] // RPC address of the leader
	selfFails  atomic.Bool            // the agent does not describe itself
	selfAsked  atomic.Int32           // number of requests for the agent's description
	memberList string                 // the names of the servers, in the order of the agent's list
}

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := "null"
	switch r.URL.Path {
	case "/v1/status/leader":
		body = fmt.Sprintf("%q", *a.leader.Load())
	case "/v1/agent/self":
		if a.selfAsked.Add(1); a.selfFails.Load() {
			http.Error(w, "no data", http.StatusInternalServerError)
			return
		}
		state := "Follower"
		if *a.leader.Load() == "10.0.0.1:8300" {
			state = "Leader"
		}
		body = fmt.Sprintf(`{"Config":{"NodeName":"m1","NodeID":"00000000-0000-0001-0000-000000000000"},
			"Member":{"Addr":"10.0.0.1","Tags":{"port":"8300"}},"Stats":{"raft":{"state":%q,"term":"3"}}}`, state)
	case "/v1/agent/members":
		var all []string
		for _, name := range strings.Fields(a.memberList) {
			all = append(all, fmt.Sprintf(`{"Name":%q,"Addr":"10.0.0.%s","Tags":{"role":"consul"}}`, name, name[1:]))
		}
		body = "[" + strings.Join(all, ",") + "]"
	}
	_, _ = w.Write([]byte(body)) // if this fails, the client reports the error
}

// startAgent starts a scripted agent and returns an Admin that uses it.
func startAgent(t *testing.T, a *agent, leader string) store.Admin {
	t.Helper()
	a.leader.Store(&leader)
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	admin, err := New().Admin(store.Access{Endpoints: []string{strings.TrimPrefix(s.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	return admin
}

func TestMembersAreSortedByName(t *testing.T) {
	members, err := startAgent(t, &agent{memberList: "m3 m1 m2"}, "10.0.0.1:8300").Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range members {
		names = append(names, m.Name)
	}
	if want := []string{"m1", "m2", "m3"}; !slices.Equal(names, want) {
		t.Errorf("Members returned %q, want %q", names, want)
	}
}

// TestRoleAsksAgainAfterAFailure checks that Role requests the agent's state after a change of
// leader until the agent has responded.
func TestRoleAsksAgainAfterAFailure(t *testing.T) {
	script := &agent{}
	a := startAgent(t, script, "10.0.0.2:8300")
	if m := a.Role(t.Context(), 0); m.Err != nil || m.Role != kv.Follower {
		t.Fatalf("the first role is %+v, want a follower", m)
	}
	leader := "10.0.0.1:8300"
	script.leader.Store(&leader)
	script.selfFails.Store(true)
	if m := a.Role(t.Context(), 0); m.Err == nil {
		t.Fatalf("the agent does not describe itself, but Role returned %+v", m)
	}
	script.selfFails.Store(false)
	asked := script.selfAsked.Load()
	if m := a.Role(t.Context(), 0); m.Err != nil || m.Role != kv.Leader || script.selfAsked.Load() != asked+1 {
		t.Errorf("after the failure, Role returned %+v with %d requests for the state, want a leader with 1 request", m, script.selfAsked.Load()-asked)
	}
	asked = script.selfAsked.Load()
	if m := a.Role(t.Context(), 0); m.Role != kv.Leader || script.selfAsked.Load() != asked {
		t.Errorf("without a change, Role returned %+v with %d requests for the state, want a leader without such requests", m, script.selfAsked.Load()-asked)
	}
}
