package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Cleanup is what came of removing what a check wrote.
type Cleanup struct {
	Deleted int64 // keys
	// Err is a sentence when keys are left, or may be.
	Err error
	// Revision is that up to which the history was compacted; 0: it was not.
	Revision int64
	// Space is what the members' databases took.
	Space []Space
}

// Space is one member's database, in bytes.
type Space struct {
	Member, Endpoint string
	Before           int64 // with the check's keys, as they were removed
	After            int64 // when all was done
	Defragmented     bool
}

// Bounds of the clean-up: a store may answer that a large removal timed out
// and go on with it, so it is asked again whether anything is left.
const (
	cleanupTime  = 3 * time.Minute
	reclaimTime  = 5 * time.Minute
	cleanupPause = 500 * time.Millisecond
	// cleanupTry bounds one of those: a member that stands still does not answer,
	// and the next time another is asked.
	cleanupTry = 20 * time.Second
)

// enter reaches a cluster for a check that writes below the prefix, where nothing
// may be yet, and that what it wrote can be removed from. The caller closes the
// result's admin.
func enter(ctx context.Context, c Cluster, l scenario.Load, prefix string, compact, defragment bool) (*reached, error) {
	r, err := reach(ctx, c, l)
	if err != nil {
		return nil, err
	}
	if err = canCleanUp(r, compact, defragment); err == nil {
		err = r.mustBeEmpty(ctx, prefix)
	}
	if err != nil {
		_ = r.admin.Close() // nothing is left to ask
		return nil, err
	}
	return r, nil
}

// canCleanUp returns a sentence when the store cannot remove a check's keys, or
// not compact or defragment as asked.
func canCleanUp(r *reached, compact, defragment bool) error {
	can, name := r.Store.Capabilities(), r.Store.Name()
	if err := can.Operation(name, kv.Delete, kv.None); err != nil {
		return fmt.Errorf("%s could not be cleaned up after a check: %w", name, err)
	}
	if err := can.Feature(name, kv.Compaction); compact && err != nil {
		return fmt.Errorf("--auto-compact: %w", err)
	}
	if err := can.Feature(name, kv.Defragmentation); defragment && err != nil {
		return fmt.Errorf("--auto-defrag: %w", err)
	}
	return nil
}

// cleaner removes what a check wrote.
type cleaner struct {
	r                   *reached
	plan                *load.Assignment // of the check
	prefix              string
	due                 uint64 // operations of the check
	compact, defragment bool
	patience            time.Duration // 0: cleanupTime
}

// run removes the keys, also when the check was interrupted, and reclaims the
// space if asked.
func (c *cleaner) run() Cleanup {
	var out Cleanup
	if c.patience == 0 {
		c.patience = cleanupTime
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.patience)
	defer cancel()
	if c.due > 0 {
		out.Deleted, out.Err = c.remove(ctx)
	}
	out.Space = c.space(ctx)
	if out.Err == nil && (c.compact || c.defragment) {
		ctx, cancel := context.WithTimeout(context.Background(), reclaimTime)
		defer cancel()
		out.Err = c.reclaim(ctx, &out)
		c.after(ctx, &out)
	}
	return out
}

// remove asks until nothing is left, or the time is up.
func (c *cleaner) remove(ctx context.Context) (deleted int64, err error) {
	for {
		n, failed := c.removeOnce(ctx)
		deleted += n
		asked, cancel := context.WithTimeout(ctx, cleanupTry)
		left, err := c.r.count(asked, c.prefix)
		cancel()
		if err == nil && left == 0 {
			return deleted, nil
		}
		if failed == nil {
			failed = err
		}
		if failed == nil {
			failed = fmt.Errorf("keys with prefix %q are left", c.prefix)
		}
		timer := time.NewTimer(cleanupPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return deleted, failed
		case <-timer.C:
		}
	}
}

func (c *cleaner) removeOnce(ctx context.Context) (int64, error) {
	m, ok := c.r.admin.(store.PrefixDeleter)
	if !ok {
		return c.sweep(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, cleanupTry)
	defer cancel()
	return m.DeletePrefix(ctx, []byte(c.prefix))
}

// sweep deletes key by key what the check wrote, for stores that remove no
// prefixes: operation n's key is a function of the seed and n, and so is known.
func (c *cleaner) sweep(ctx context.Context) (int64, error) {
	plan := *c.plan
	plan.Load.Mix = []scenario.Operation{{Kind: kv.Delete, Weight: 1}}
	plan.Load.Arrival, plan.Load.Rate, plan.Load.Duration = scenario.Closed, scenario.Rate{}, 0
	plan.Load.Total = c.due
	res, err := load.Run(ctx, c.r.worker(), &plan, load.Reports{})
	if err != nil {
		return 0, err
	}
	deleted := int64(res.Measured.Outcomes[kv.OK])
	if n := res.Measured.Failed(); n > 0 {
		err = fmt.Errorf("%d of %d keys could not be deleted", n, res.Measured.Due)
	}
	return deleted, err
}

// space asks how large the databases are.
func (c *cleaner) space(ctx context.Context) []Space {
	status, _ := c.r.admin.Status(ctx) // who does not answer has no size
	var out []Space
	for i := range status.Members {
		if m := &status.Members[i]; m.Err == nil && m.DBSize > 0 {
			out = append(out, Space{Member: c.r.name(m.Endpoint), Endpoint: m.Endpoint, Before: m.DBSize, After: m.DBSize})
		}
	}
	return out
}

// reclaim compacts once and defragments every member, one
// after the other: a member answers nothing meanwhile.
func (c *cleaner) reclaim(ctx context.Context, out *Cleanup) (err error) {
	m, ok := c.r.admin.(store.Maintainer)
	if !ok {
		return errors.New("the space cannot be reclaimed") // canCleanUp has refused
	}
	if c.compact {
		if out.Revision, err = m.Compact(ctx); err != nil {
			return err
		}
	}
	if !c.defragment {
		return nil
	}
	for i := range out.Space {
		if err := c.defragmentOne(ctx, out.Space[i].Endpoint); err != nil {
			return err
		}
		out.Space[i].Defragmented = true
	}
	return nil
}

func (c *cleaner) defragmentOne(ctx context.Context, endpoint string) error {
	access := c.r.Access
	access.Endpoints = []string{endpoint}
	admin, err := c.r.Store.Admin(access)
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }()
	m, ok := admin.(store.Maintainer)
	if !ok {
		return fmt.Errorf("%s cannot be defragmented", endpoint)
	}
	return m.Defragment(ctx)
}

// after fills in how large the databases are now.
func (c *cleaner) after(ctx context.Context, out *Cleanup) {
	for _, now := range c.space(ctx) {
		for i := range out.Space {
			if out.Space[i].Endpoint == now.Endpoint {
				out.Space[i].After = now.Before
			}
		}
	}
}
