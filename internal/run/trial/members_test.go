package trial

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// answers is a cluster with a fixed status.
type answers struct {
	store.Admin
	status store.Status
}

func (a answers) Status(context.Context) (store.Status, error) { return a.status, nil }

func (answers) Members(context.Context) ([]store.Member, error) { return nil, nil }

func (answers) Close() error { return nil }

// A member has the name that quorumbench gave to it. The member's log and processes also have this
// name. The member keeps the name when it is lost.
func TestMembersKeepTheNamesGivenToThem(t *testing.T) {
	status := store.Status{Members: []store.Member{
		{Endpoint: "a:1", Name: "server.1", ID: 1, Role: kv.Leader},
		{Endpoint: "b:1", Err: errors.New("gone"), ProcessEnded: true},
		{Endpoint: "c:1", Name: "theirs", ID: 3, Role: kv.Follower},
	}}
	m := &members{admin: answers{status: status}, givenNames: map[string]string{"a:1": "m1", "b:1": "m2"}}
	if _, err := m.queryStatus(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"m1", "m2", "theirs"} {
		if got := m.status().Members[i].Name; got != want {
			t.Errorf("member %d is called %q, not %q", i+1, got, want)
		}
	}
	if lost := m.lost(nil); len(lost) != 1 || lost[0] != "m2" {
		t.Errorf("the lost members are %v", lost)
	}
}

// If a request was canceled, a member that has not responded is not counted as lost.
func TestMemberIsNotLostAfterACancelledRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := &members{admin: answers{status: store.Status{Members: []store.Member{{Endpoint: "a:1", Err: context.Canceled}}}}}
	if _, err := m.queryStatus(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if lost := m.lost(nil); len(lost) > 0 {
		t.Errorf("the lost members are %v", lost)
	}
}

// later is a cluster in which one member responds only when it is asked again.
type later struct {
	answers
	silent int // number of requests without a response
	asked  int
}

func (l *later) Status(context.Context) (store.Status, error) {
	status := l.status
	l.asked++
	if l.silent > 0 {
		l.silent--
		status.Members = append(status.Members[:1:1], store.Member{Endpoint: "b:1", Err: context.DeadlineExceeded})
	}
	return status, nil
}

// If a member responds slowly when a trial begins, it is asked once more and is not reported as
// lost. If the member's process has exited, the member is not asked again.
func TestASlowMemberIsAskedAgain(t *testing.T) {
	all := store.Status{Members: []store.Member{{Endpoint: "a:1", ID: 1, Role: kv.Leader}, {Endpoint: "b:1", ID: 2, Role: kv.Follower}}}
	for _, silent := range []int{0, 1, 2} {
		m, err := connectMembers(t.Context(), &later{answers: answers{status: all}, silent: silent}, nil, nil, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if known := m.ids()["b:1"] == 2; known != (silent < 2) {
			t.Errorf("silent %d times: the member's ID is known: %v", silent, known)
		}
		if lost := m.lost(nil); len(lost) > 0 { // the member is not lost if the clock did not advance
			t.Errorf("silent %d times: the members %v are reported as lost", silent, lost)
		}
	}
	gone := store.Status{Members: []store.Member{{Endpoint: "a:1", ID: 1, Role: kv.Leader}, {Endpoint: "b:1", Err: errors.New("refused"), ProcessEnded: true}}}
	l := &later{answers: answers{status: gone}}
	m, err := connectMembers(t.Context(), l, nil, nil, time.Minute)
	if lost := m.lost(nil); err != nil || len(lost) != 1 || lost[0] != "b:1" || l.asked != 1 {
		t.Errorf("the lost members are %v (%v), and the cluster was asked %d times", lost, err, l.asked)
	}
}
