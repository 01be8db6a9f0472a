package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Poll calls the function `ask` repeatedly until `ask` returns nil. It fails the test if the
// context ends first.
func Poll(ctx context.Context, t testing.TB, ask func() error) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the cluster is not ready: %v", err)
		case <-tick.C:
		}
	}
}

// AwaitRoles waits until every member that responds has a role and one of them is leader. It
// returns the status and the leader's endpoint.
func AwaitRoles(t testing.TB, a store.Admin) (s store.Status, leader string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	Poll(ctx, t, func() (err error) {
		if s, err = a.Status(ctx); err != nil {
			return err
		}
		for _, m := range s.Members {
			if m.Err == nil && (m.Role == kv.UnknownRole || m.ID == 0 || m.Name == "") {
				return fmt.Errorf("member %+v", m)
			}
		}
		l := s.Leader()
		if l == nil {
			return fmt.Errorf("no leader: %+v", s)
		}
		leader = l.Endpoint
		return CheckRoles(ctx, a, &s)
	})
	return s, leader
}

// CheckRoles queries each responding member's role separately, and returns an error if a role
// differs from the status.
func CheckRoles(ctx context.Context, a store.Admin, s *store.Status) error {
	for range 2 { // twice, because the second response may come from cached data
		for i, want := range s.Members {
			if want.Err != nil {
				continue
			}
			got := a.Role(ctx, i)
			if got.Err != nil || got.Endpoint != want.Endpoint || got.ID != want.ID || got.Role != want.Role || got.Term != want.Term {
				return fmt.Errorf("the status reports the member %+v, but Role reports %+v", want, got)
			}
			if l := s.Leader(); got.Leader != 0 && got.Leader != l.ID {
				return fmt.Errorf("%s reports the leader %x, but the leader is %+v", got.Endpoint, got.Leader, *l)
			}
		}
	}
	return nil
}
