package trial

import (
	"context"
	"errors"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// answers is a cluster's word for its state.
type answers struct{ status store.Status }

func (a answers) Status(context.Context) (store.Status, error) { return a.status, nil }

func (answers) Members(context.Context) ([]string, error) { return nil, nil }

func (answers) Close() error { return nil }

// A member has the name that we gave it, which its log and its processes have,
// and keeps it when it is lost.
func TestMembersHaveTheNamesThatWeGave(t *testing.T) {
	status := store.Status{Members: []store.Member{
		{Endpoint: "a:1", Name: "server.1", ID: 1, Role: kv.Leader},
		{Endpoint: "b:1", Err: errors.New("gone"), Gone: true},
		{Endpoint: "c:1", Name: "theirs", ID: 3, Role: kv.Follower},
	}}
	m := &members{admin: answers{status}, named: map[string]string{"a:1": "m1", "b:1": "m2"}}
	if _, err := m.ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"m1", "m2", "theirs"} {
		if got := m.status().Members[i].Name; got != want {
			t.Errorf("member %d is called %q, not %q", i+1, got, want)
		}
	}
	if lost := m.lost(nil); len(lost) != 1 || lost[0] != "m2" {
		t.Errorf("lost are %v", lost)
	}
}

// Who had not answered when the question was withdrawn is not lost.
func TestAWithdrawnQuestionLosesNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := &members{admin: answers{store.Status{Members: []store.Member{{Endpoint: "a:1", Err: context.Canceled}}}}}
	if _, err := m.ask(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if lost := m.lost(nil); len(lost) > 0 {
		t.Errorf("lost are %v", lost)
	}
}
