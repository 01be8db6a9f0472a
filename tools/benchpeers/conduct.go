package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// overtime is the time that a peer may run beyond the planned length of its measurement.
const overtime = 60 * time.Second

// comparison is one run of this program.
type comparison struct {
	options
	place         *workspace
	cases         []Case
	peers         []Peer
	stores        []string // measured stores with their versions
	results       Results
	notes         []string
	startedRounds int // the highest number of rounds started for any store
}

// runComparison measures all cases and prints the results. If ctx ends or a cluster fails,
// runComparison prints the results so far and returns the error.
func runComparison(ctx context.Context, o options) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the benchpeers binary: %w", err)
	}
	c := &comparison{options: o, cases: o.selectedCases()}
	c.reportProgress("building quorumbench")
	if c.place, err = newWorkspace(o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.place.close()) }()
	if err := c.place.prepare(ctx); err != nil {
		return err
	}
	c.choosePeers(ctx, self)
	measuring := c.measure(ctx)
	if c.startedRounds == 0 {
		return measuring
	}
	return errors.Join(measuring, c.print(os.Stdout))
}

// choosePeers selects the peers that are available and can run at least one case. For each peer
// that is not available, it adds a note with the reason. self is the path of this binary.
func (c *comparison) choosePeers(ctx context.Context, self string) {
	all := []Peer{
		NewQuorumbench(c.place.binary, self), NewH2load(), NewClientV3(self),
		NewEtcdBenchmark(os.Getenv(EtcdBenchmarkEnv)), NewGoZooKeeper(self), NewWrk(), NewHey(),
	}
	if slices.ContainsFunc(c.cases, func(k Case) bool { return k.Tmpfs }) {
		all = append(all, NewEtcdctl(BuildEtcdctl(ctx, func(step string) { c.reportProgress("building etcdctl: " + step) })))
	}
	if c.soak {
		all = all[:1]
	}
	for _, p := range all {
		if !slices.ContainsFunc(c.cases, p.CanRun) {
			continue
		}
		if p.Unavailable != nil {
			c.note("%s is left out: %v", p.Name, p.Unavailable)
			continue
		}
		c.peers = append(c.peers, p)
	}
}

// measure measures one store after the other, so that only one cluster runs at a time. It omits
// stores whose server is not available, and omits cases on a tmpfs if this machine has no suitable
// tmpfs.
func (c *comparison) measure(ctx context.Context) error {
	var missing []string
	for _, g := range testbedKeys(c.cases) {
		cases := casesForTestbed(c.cases, g)
		b, err := newTestbed(c.place, g)
		if err != nil {
			what := g.store
			if g.tmpfs {
				what = cases[0].Title
			}
			missing = append(missing, fmt.Sprintf("%s is left out: %v", what, err))
			continue
		}
		if err := c.measureOnTestbed(ctx, b, cases); err != nil {
			return err
		}
	}
	if c.startedRounds == 0 {
		return errors.New("nothing can be measured: " + strings.Join(missing, "; "))
	}
	c.notes = append(c.notes, missing...)
	return nil
}

func (c *comparison) measureOnTestbed(ctx context.Context, b *testbed, cases []Case) (err error) {
	c.reportProgress("starting the servers of " + b.store.Name())
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.prepare(ctx, cases); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	c.stores = withTitle(c.stores, b.store.Name(), b.title())
	if err := c.warmUp(ctx, b, cases); err != nil {
		return err
	}
	return c.measureRounds(ctx, b, cases)
}

// withTitle adds a store's title to a list. The title contains no version if the testbed has only
// null servers. A title with a version replaces a title without a version.
func withTitle(titles []string, store, title string) []string {
	for i, t := range titles {
		if t == title || t == store {
			titles[i] = title
			return titles
		}
		if title == store && strings.HasPrefix(t, store+" ") {
			return titles
		}
	}
	return append(titles, title)
}

// warmUp runs each case once with quorumbench and ignores the figures. A server that has just
// started compiles code, opens files and fills caches. Without the warm-up, this work would put the
// first peer at a disadvantage.
func (c *comparison) warmUp(ctx context.Context, b *testbed, cases []Case) error {
	if c.soak {
		return nil
	}
	for _, k := range cases {
		if k.FirstRoundOnly || k.NullServer || k.Tmpfs {
			continue
		}
		c.reportProgress("warming the servers up: " + k.Title)
		_, err := c.run(ctx, b, k, c.peers[0])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.reportProgress("warming up failed: " + err.Error())
		}
	}
	return nil
}

func (c *comparison) measureRounds(ctx context.Context, b *testbed, cases []Case) error {
	most := 0
	for _, k := range cases {
		most = max(most, c.roundsOf(k))
	}
	for round := range most {
		c.startedRounds = max(c.startedRounds, round+1)
		for _, k := range cases {
			rounds := c.roundsOf(k)
			if round >= rounds {
				continue
			}
			able := slices.DeleteFunc(slices.Clone(c.peers), func(p Peer) bool { return !p.CanRun(k) })
			for _, p := range Rotated(able, round) {
				prefix := fmt.Sprintf("round %d of %d, %s, %s: ", round+1, rounds, k.Title, p.Name)
				if err := c.measureOne(ctx, b, round, prefix, k, p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// roundsOf returns the number of rounds of a case.
func (c *comparison) roundsOf(k Case) int {
	switch {
	case c.soak || k.FirstRoundOnly:
		return 1
	case k.Tmpfs:
		return c.checks
	case k.Rounds > 0:
		return min(c.rounds, k.Rounds)
	}
	return c.rounds
}

// measureOne measures one peer in one case. If the measurement fails, measureOne adds a note, and
// the comparison continues.
func (c *comparison) measureOne(ctx context.Context, b *testbed, round int, prefix string, k Case, p Peer) error {
	figures, err := c.run(ctx, b, k, p)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		c.note("%s%v", prefix, err)
		c.reportProgress(prefix + err.Error())
		return nil
	}
	c.results.Add(Run{Round: round, Case: k.Name, Peer: p.Name, Figures: figures})
	c.reportProgress(prefix + figures.String())
	return nil
}

// run runs one case with one peer.
func (c *comparison) run(ctx context.Context, b *testbed, k Case, p Peer) (Figures, error) {
	seconds := c.seconds
	if k.Duration > 0 {
		seconds = k.Duration
	}
	work, err := b.work(ctx, k, seconds)
	if err != nil {
		return Figures{}, err
	}
	limited, cancel := context.WithTimeout(ctx, seconds+overtime)
	defer cancel()
	figures, err := p.Run(limited, work)
	if ctx.Err() == nil && limited.Err() != nil {
		err = fmt.Errorf("benchpeers stopped the measurement after %v", seconds+overtime)
	}
	return figures, err
}

func (c *comparison) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

func (c *comparison) reportProgress(text string) { fmt.Fprintln(os.Stderr, text) }
