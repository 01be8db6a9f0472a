// The tests of Follower run in the simulated time of package testing/synctest: time.Sleep advances
// the simulated time without waiting.

package cluster

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// followedCluster is a cluster whose first member can stop responding.
type followedCluster struct {
	leader   atomic.Int64
	silent   atomic.Bool
	requests [3]atomic.Int64
}

func (w *followedCluster) Status(context.Context) (store.Status, error) {
	return store.Status{}, errors.New("Status must not be called")
}
func (*followedCluster) Members(context.Context) ([]store.Member, error)     { return nil, nil }
func (*followedCluster) Close() error                                        { return nil }
func (*followedCluster) UncheckedUserReason(context.Context) (string, error) { return "", nil }

func (w *followedCluster) Role(ctx context.Context, i int) store.Member {
	w.requests[i].Add(1)
	if i == 0 && w.silent.Load() {
		<-ctx.Done()
		return store.Member{Err: ctx.Err()}
	}
	leader := w.leader.Load()
	if int64(i) == leader {
		return leadsIn(uint64(i+1), uint64(leader+1))
	}
	return follows(uint64(i+1), uint64(leader+1), uint64(leader+1))
}

// run runs a Follower in simulated time. It calls the function test with the Follower and a channel
// of its changes.
func run(t *testing.T, admin store.Admin, every time.Duration, test func(f *Follower, led <-chan Change)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := NewView(3)
		led := make(chan Change, 100)
		f := NewFollower(Config{Admin: admin, Members: 3, Interval: every, OnResponse: func(i int, requests, ended time.Time, m store.Member) {
			for _, c := range v.Update(i, requests, ended, m) {
				led <- c
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.Run(ctx, nil); close(ended) }()
		synctest.Wait()
		if c := <-led; c.Kind != LeaderElected || c.Member != 0 {
			t.Errorf("the first change is %+v, want the election of member 0", c)
		}
		test(f, led)
		cancel()
		<-ended
	})
}

// A leader that does not respond does not delay the responses of the other members: the next leader
// is known within the pause between two requests, and the silent leader is lost after LostAfter.
func TestASilentMemberDelaysNoOther(t *testing.T) {
	w := &followedCluster{}
	run(t, w, FastInterval, func(_ *Follower, led <-chan Change) {
		w.silent.Store(true)
		time.Sleep(1450 * time.Millisecond)
		w.leader.Store(1)
		elected := time.Now()
		if c := <-led; c.Kind != LeaderElected || c.Member != 1 || c.At.Sub(elected) > FastInterval {
			t.Errorf("%v after the election, the next change is %+v", time.Since(elected), c)
		}
		if c := <-led; c.Kind != MemberLost || c.Member != 0 || c.At.After(elected) || time.Since(c.At) < LostAfter {
			t.Errorf("%v after the election, the next change is %+v", time.Since(elected), c)
		}
	})
}

func TestPollingIntervals(t *testing.T) {
	w := &followedCluster{}
	run(t, w, SlowInterval, func(f *Follower, _ <-chan Change) {
		time.Sleep(10*time.Second + SlowInterval/2)
		if n := w.requests[1].Load(); n != 11 {
			t.Errorf("the member was polled %d times in 10 s", n)
		}
		for range 1000 { // a burst of wake-ups
			f.Refresh()
		}
		synctest.Wait()
		if n := w.requests[1].Load(); n != 12 {
			t.Errorf("the member was polled %d times after a burst of wake-ups, want once", n-11)
		}
		time.Sleep(10 * time.Second)
		if n := w.requests[1].Load(); n < 110 || n > 113 {
			t.Errorf("the member was polled %d times in the 10 s after a wake-up", n-12)
		}
		time.Sleep(alertPeriod)
		before := w.requests[1].Load()
		time.Sleep(10 * time.Second)
		if n := w.requests[1].Load() - before; n < 9 || n > 11 {
			t.Errorf("the member was polled %d times in 10 s after the alert period", n)
		}
	})
}

// As long as the load completes operations, members are polled at SlowInterval. When the load
// completes no operations, members are immediately polled at FastInterval.
func TestPollsSeldomWhileTheLoadProgresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &followedCluster{}
		var done atomic.Uint64
		f := NewFollower(Config{Admin: w, Members: 3, Interval: FastInterval, CompletedOperations: done.Load, OnResponse: func(int, time.Time, time.Time, store.Member) {}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.Run(ctx, nil); close(ended) }()
		for range 500 { // 5 s
			time.Sleep(10 * time.Millisecond)
			done.Add(3)
		}
		if n := w.requests[1].Load(); n < 5 || n > 7 {
			t.Errorf("the member was polled %d times in 5 s in which the load completed operations", n)
		}
		time.Sleep(FastInterval / 2) // so that no request is sent at the beginning or end of the one-second interval below
		before := w.requests[1].Load()
		time.Sleep(time.Second)
		if n := w.requests[1].Load() - before; n < 8 || n > 10 {
			t.Errorf("the member was polled %d times in a second in which the load completed no operations", n)
		}
		cancel()
		<-ended
	})
}
