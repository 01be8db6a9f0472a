package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/compare"
	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/peer"
)

// patience is how much longer than planned a peer may take.
const patience = 60 * time.Second

// comparison is a run of the program.
type comparison struct {
	options
	bed     *bed
	cases   []peer.Case
	windows map[string]time.Duration // of cases that have their own
	peers   []peer.Peer
	results compare.Results
	notes   []string
	begun   int // rounds
}

// conduct measures and prints. When ctx ends it prints what was measured until
// then, and returns ctx's error.
func conduct(ctx context.Context, o options) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("our own binary cannot be found: %w", err)
	}
	c := &comparison{options: o}
	c.cases, c.windows = o.chosen()
	c.say("building and starting the servers")
	if c.bed, err = newBed(o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.bed.close()) }()
	if err := c.bed.prepare(ctx, slices.ContainsFunc(c.cases, func(c peer.Case) bool { return c.Null })); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	c.choosePeers([]peer.Peer{
		peer.NewQuorumbench(c.bed.binary), peer.NewH2load(), peer.NewClientV3(self),
		peer.NewEtcdBenchmark(os.Getenv(peer.EtcdBenchmarkEnv)),
	})
	measuring := c.measure(ctx)
	return errors.Join(measuring, c.print(os.Stdout))
}

// choosePeers keeps those that are there, and notes why the others are not.
func (c *comparison) choosePeers(all []peer.Peer) {
	if c.soak {
		all = all[:1]
	}
	for _, p := range all {
		if err := p.Available(); err != nil {
			c.note("%s is left out: %v", p.Name(), err)
			continue
		}
		c.peers = append(c.peers, p)
	}
}

func (c *comparison) measure(ctx context.Context) error {
	rounds := c.rounds
	if c.soak {
		rounds = 1
	}
	for round := range rounds {
		c.begun = round + 1
		for _, work := range c.cases {
			if work.Once && round > 0 {
				continue
			}
			able := slices.DeleteFunc(slices.Clone(c.peers), func(p peer.Peer) bool { return !p.Does(work) })
			for _, p := range compare.Rotated(able, round) {
				if err := c.one(ctx, round, rounds, work, p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// one measures one peer at one case. What goes wrong with it is noted and ends
// nothing.
func (c *comparison) one(ctx context.Context, round, rounds int, k peer.Case, p peer.Peer) error {
	seconds := c.seconds
	if own, ok := c.windows[k.Name]; ok {
		seconds = own
	}
	work, err := c.bed.work(ctx, k, seconds)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, seconds+patience)
	defer cancel()
	figures, err := p.Run(limited, work)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		err = fmt.Errorf("it was stopped after %v", seconds+patience)
	}
	prefix := fmt.Sprintf("round %d of %d, %s, %s: ", round+1, rounds, k.Title, p.Name())
	if err != nil {
		c.note("%s%v", prefix, err)
		c.say(prefix + err.Error())
		return nil
	}
	c.results.Add(compare.Run{Round: round, Case: k.Name, Peer: p.Name(), Figures: figures})
	c.say(prefix + figures.String())
	return nil
}

func (c *comparison) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// say tells progress.
func (c *comparison) say(text string) { fmt.Fprintln(os.Stderr, text) }
