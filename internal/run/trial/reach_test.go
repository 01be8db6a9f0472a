package trial

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// If the leader cannot serve the load, the error contains the reason if it is known. Otherwise, it
// contains the endpoint of the leader.
func TestUnreachableLeader(t *testing.T) {
	follower, leader := store.Member{Endpoint: "a:1", ID: 1, Role: kv.Follower, Leader: 2}, store.Member{Endpoint: "b:1", ID: 2, Role: kv.Leader, Leader: 2}
	silent := store.Member{Endpoint: "b:1", Err: errors.New("no route to it")}
	refused := errors.New("the generator was refused")
	for _, test := range []struct {
		what   string
		second store.Member
		absent map[string]error
		says   string
	}{
		{"all respond", leader, nil, ""},
		{"the follower is absent", leader, map[string]error{"a:1": refused}, ""},
		{"the leader responds to status requests only", leader, map[string]error{"b:1": refused}, "no member of the target responds: the generator was refused"},
		{"the leader is silent", silent, nil, "the leader is the member at b:1, which does not respond"},
	} {
		m, err := connectMembers(t.Context(), answers{status: store.Status{Members: []store.Member{follower, test.second}}}, []string{"a:1", "b:1"}, nil, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		err = m.markAbsent(test.absent, []string{"a:1", "b:1"}, kv.Target{Mode: kv.LeaderOnly})
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: the error is %v, want %q", test.what, err, test.says)
		}
	}
}
