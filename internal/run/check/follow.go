package check

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/load"
)

// followEvery is how soon a cluster is asked again that does not tell its
// leader yet.
const followEvery = 100 * time.Millisecond

// follower moves the load when its target, the leader or the followers, has
// moved.
type follower struct {
	r       *reached
	changes chan struct{}
	quit    context.CancelFunc
	ended   chan struct{}
}

func newFollower(r *reached) *follower {
	return &follower{r: r, changes: make(chan struct{}, 1), ended: make(chan struct{})}
}

// changed is called from the load's loops.
func (f *follower) changed(uint64, bool) {
	select {
	case f.changes <- struct{}{}:
	default: // it is known already that something changed
	}
}

func (f *follower) begin(g *load.Generator) {
	ctx, quit := context.WithCancel(context.Background())
	f.quit = quit
	go func() {
		defer close(f.ended)
		load.Background()
		for {
			select {
			case <-ctx.Done():
				return
			case <-f.changes:
			}
			if f.r.Target.Mode == kv.LeaderOnly || f.r.Target.Mode == kv.Followers {
				f.move(ctx, g)
			}
		}
	}()
}

// move asks who leads until somebody does, and moves the load there.
func (f *follower) move(ctx context.Context, g *load.Generator) {
	for ctx.Err() == nil {
		asked, cancel := context.WithTimeout(ctx, askTimeout)
		now, _ := f.r.admin.Status(asked) // who does not answer is within
		cancel()
		if leader := now.Leader(); leader != nil && leader.Term == now.Term {
			if targets, err := f.r.resolve(&now); err == nil {
				g.Retarget(targets)
			}
			return
		}
		timer := time.NewTimer(followEvery)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (f *follower) end() {
	f.quit()
	<-f.ended
}
