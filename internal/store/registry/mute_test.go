package registry_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// mute returns the endpoint of a listener that accepts connections but sends nothing, like a paused
// member.
func mute(t *testing.T) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String() // the kernel accepts connections to it
}

func served(t *testing.T, st store.NullServerProvider) (endpoint string) {
	t.Helper()
	return storetest.ServeNull(t, st, 1, store.NullOptions{Memory: true})[0]
}

// TestMuteMemberDelaysNoOther checks that a paused member does not delay queries of other
// members, although the query of the paused member uses up the time limit. Status must return all
// members together. Role must return another member's role immediately. A paused member must not
// be reported as gone.
func TestMuteMemberDelaysNoOther(t *testing.T) {
	const given = time.Second
	for _, st := range registry.All() {
		null, ok := st.(store.NullServerProvider)
		if !ok {
			continue
		}
		t.Run(st.Name(), func(t *testing.T) {
			t.Parallel()
			admin, err := st.Admin(store.Access{Endpoints: []string{mute(t), served(t, null)}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = admin.Close() }()
			ctx, cancel := context.WithTimeout(t.Context(), given)
			defer cancel()
			s, err := admin.Status(ctx)
			if err != nil || len(s.Members) != 2 {
				t.Fatalf("status %+v, %v", s, err)
			}
			if m := s.Members[0]; m.Err == nil || m.ProcessEnded {
				t.Errorf("the mute member is %+v", m)
			}
			if m := s.Members[1]; m.Err != nil {
				t.Errorf("the other member is %+v", m)
			}
			waiting, giveUp := context.WithCancel(t.Context())
			silent := make(chan store.Member, 1)
			go func() { silent <- admin.Role(waiting, 0) }()
			if m := admin.Role(t.Context(), 1); m.Err != nil {
				t.Errorf("with a mute member in the cluster, the role of the other member is %+v", m)
			}
			select {
			case m := <-silent:
				t.Errorf("the mute member responded: %+v", m)
			default:
			}
			giveUp()
			if m := <-silent; m.Err == nil {
				t.Errorf("the mute member is %+v", m)
			}
		})
	}
}
