package trial

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// lagging is a cluster whose second member applies the newest write late, at the time `appliedAt`.
type lagging struct {
	answers
	appliedAt time.Time // time at which the second member applies the write
	exited    bool      // its port is closed
}

func (l *lagging) Newest(context.Context) (int64, error) { return 7, nil }

func (l *lagging) Applied(_ context.Context, i int) (int64, error) {
	switch {
	case i == 0 || !measure.Now().Before(l.appliedAt):
		return 7, nil
	case l.exited:
		return 0, errors.New("connection refused")
	}
	return 6, nil
}

func (l *lagging) Role(_ context.Context, i int) store.Member {
	return store.Member{ProcessEnded: l.exited && i == 1}
}

// catchUp waits for a member that lacks an acknowledged write. With Consul, such a member may need
// up to a minute after a partition was healed. For a member that has exited, catchUp waits only as
// long as a restart takes.
func TestWaitsForMembersThatCatchUpLate(t *testing.T) {
	for name, c := range map[string]struct {
		after         time.Duration
		exited        bool
		behind        bool
		atLeast, most time.Duration
	}{
		"at once":           {},
		"after a partition": {after: time.Minute, atLeast: time.Minute, most: time.Minute + 2*time.Second},
		"never":             {after: time.Hour, behind: true, atLeast: catchUpTime, most: catchUpTime + 2*time.Second},
		"ended":             {after: time.Hour, exited: true, behind: true, atLeast: restartTime, most: restartTime + 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &members{admin: &lagging{
					answers:   answers{status: store.Status{Members: []store.Member{{Endpoint: "a:1", ID: 1, Role: kv.Leader}, {Endpoint: "b:1", ID: 2, Role: kv.Follower}}}},
					appliedAt: measure.Now().Add(c.after), exited: c.exited,
				}}
				if _, err := m.queryStatus(t.Context()); err != nil {
					t.Fatal(err)
				}
				reported := false
				behind, waited := m.catchUp(t.Context(), func() { reported = true })
				if behind[1] != c.behind || behind[0] || waited < c.atLeast || waited > c.most {
					t.Errorf("after %v, the members that are behind are %v", waited, behind)
				}
				if reported != (c.atLeast > statusTimeout) {
					t.Errorf("after %v, the long wait was reported: %v", waited, reported)
				}
			})
		})
	}
}
