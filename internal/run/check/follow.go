package check

import (
	"context"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/follow"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/store"
)

// moves is the part of a generator that follows the members.
type moves interface{ Retarget(endpoints []string) }

// follower moves the load when its target, the leader or the followers, has
// moved. For any other target it asks nobody.
type follower struct {
	r         *reached
	view      *follow.View
	asking    *follow.Follower
	generator moves
	aimed     []string // where the load was sent last
	quit      context.CancelFunc
	ended     chan struct{}
}

func newFollower(r *reached) *follower {
	f := &follower{r: r, view: follow.NewView(len(r.status.Members)), aimed: r.targets, ended: make(chan struct{})}
	now := time.Now()
	for i, m := range r.status.Members {
		f.view.Take(i, now, now, m)
	}
	f.asking = follow.New(follow.Config{Admin: r.admin, Members: len(r.status.Members), Every: follow.Often, Take: f.take})
	return f
}

// changed is called from the load's loops.
func (f *follower) changed(uint64, bool) { f.asking.Poke() }

func (f *follower) begin(g moves) {
	f.generator = g
	ctx, quit := context.WithCancel(context.Background())
	f.quit = quit
	go func() {
		defer close(f.ended)
		if f.r.Target.Mode == kv.LeaderOnly || f.r.Target.Mode == kv.Followers {
			f.asking.Run(ctx, load.Background)
		}
	}()
}

// take takes a member's answer, and moves the load if its target has moved.
func (f *follower) take(i int, asked, ended time.Time, m store.Member) {
	for _, c := range f.view.Take(i, asked, ended, m) {
		if c.What != follow.Led && c.What != follow.Renewed {
			continue
		}
		if targets, err := f.view.Endpoints(f.r.Target); err == nil && !slices.Equal(targets, f.aimed) {
			f.aimed = targets
			f.generator.Retarget(targets)
		}
	}
}

func (f *follower) end() {
	f.quit()
	<-f.ended
}
