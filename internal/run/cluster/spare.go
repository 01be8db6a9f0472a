package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Spare is an additional member that is not started with the cluster. Members does not include it.
type Spare interface {
	// Place returns the spare member's addresses and folder.
	Place() kv.MemberPlace
	// Start starts the member without data, so that it joins the other members. They must already
	// expect this member. Start does not wait until the member is ready.
	Start(ctx context.Context) error
	// End kills the member if it is running, and removes its data.
	End(ctx context.Context) error
}

// places returns the number of members, which includes the spare member.
func (s *Spec) places() int {
	if s.Spare {
		return s.Members + 1
	}
	return s.Members
}

// reservePlace reserves the last place for the spare member, if the spec requires this.
func (c *Cluster) reservePlace(spec store.LaunchSpec, launch host.Launch, places []kv.MemberPlace) error {
	if !c.spec.Spare {
		return nil
	}
	memberPlace := places[c.spec.Members]
	spec.Members, launch.Members = places, places
	spec.JoiningMember, launch.Joining = memberPlace.Name, memberPlace.Name
	l, err := c.store.Launch(spec)
	if err != nil {
		return err
	}
	m := &member{place: c.placeOfMember(c.spec.Members), spec: spec, launch: l.Processes[c.spec.Members], hostLaunch: launch}
	m.details = c.describe(m)
	c.spare = &spare{c, m, memberPlace}
	return nil
}

// allMembers returns all members including the spare member.
func (c *Cluster) allMembers() []*member {
	if c.spare == nil {
		return c.members
	}
	return append(slices.Clip(c.members), c.spare.m)
}

// Spare returns the additional member that can join. It returns an error if no place was reserved
// for it.
func (c *Cluster) Spare() (Spare, error) {
	if c.spare == nil {
		return nil, errors.New("the cluster was started without a reserved place for another member")
	}
	return c.spare, nil
}

// spare implements Spare.
type spare struct {
	c           *Cluster
	m           *member
	memberPlace kv.MemberPlace
}

// Place implements Spare.
func (s *spare) Place() kv.MemberPlace { return s.memberPlace }

// Start implements Spare.
func (s *spare) Start(ctx context.Context) error {
	s.c.stopping.Lock()
	defer s.c.stopping.Unlock()
	if s.c.stopped {
		return fmt.Errorf("member %s is not started, because its cluster was stopped", s.memberPlace.Name)
	}
	var err error
	if s.m.disk == nil {
		err = s.c.mountDisk(ctx, s.m)
	}
	if err == nil {
		err = s.c.startProcesses(ctx, s.m)
	}
	if err != nil {
		return fmt.Errorf("cannot start member %s: %w", s.memberPlace.Name, err)
	}
	return nil
}

// End implements Spare.
func (s *spare) End(ctx context.Context) error {
	if len(s.m.startedProcesses()) == 0 {
		return nil
	}
	if err := s.m.signal(ctx, host.Kill); err != nil {
		return err
	}
	limit := time.NewTimer(killTimeout)
	defer limit.Stop()
	for _, p := range s.m.startedProcesses() {
		select {
		case <-p.Exited():
		case <-limit.C:
			return fmt.Errorf("member %s was killed but has not exited", s.memberPlace.Name)
		}
	}
	if err := s.m.place.host.MakeDir(ctx, s.m.launch.DataDir); err != nil { // the member may have been killed before it created the folder
		return err
	}
	return s.m.place.host.Empty(ctx, s.m.launch.DataDir)
}
