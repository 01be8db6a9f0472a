package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Limits of the clean-up. A store may report that a large removal timed out, but continue the
// removal. Therefore the cleaner counts the remaining keys afterwards.
const (
	cleanupTime  = 3 * time.Minute
	reclaimTime  = 5 * time.Minute
	cleanupPause = 500 * time.Millisecond
	// cleanupRequestTimeout limits the duration of one request. If a paused member does not
	// respond, the next request is sent to another member.
	cleanupRequestTimeout = 20 * time.Second
)

// cleaner removes the keys that a load writes. A nil cleaner removes nothing.
type cleaner struct {
	t                  *Trial
	access             store.Access // to all members
	admin              store.Admin  // of all members
	names              map[string]string
	timeout            time.Duration
	rejectsMaintenance map[string]bool // by endpoint: whether the member rejects maintenance requests because it has no vote
	began              bool            // whether keys may have been written
	operations         uint64          // number of the load's operations, including those of the warm-up
	sweepAll           bool            // whether keys remained after a sweep, so that the next sweep deletes all keys of the key space
}

// newCleaner returns the load's cleaner, or nil if the trial does not remove its keys. It returns a
// guard.NotEmptyError if keys with the load's prefix already exist.
func (t *Trial) newCleaner(ctx context.Context, m *members) (*cleaner, error) {
	if !t.Spec.Load.Cleanup.Keys && !t.removesSingly() {
		return nil, nil
	}
	c := &cleaner{t: t, access: t.Cluster.Access(), names: map[string]string{}, timeout: cleanupTime}
	if t.Cluster.Guard == nil { // if the cluster has a guard, the guard has already checked this
		if err := c.checkEmpty(ctx); err != nil {
			return nil, err
		}
	}
	c.access.Endpoints = nil
	for _, e := range m.scrapedMembers() {
		c.access.Endpoints = append(c.access.Endpoints, e.Endpoint)
		c.names[e.Endpoint] = e.Name
	}
	var err error
	c.admin, err = t.Cluster.Store.Admin(c.access)
	return c, err
}

func (c *cleaner) close() {
	if c != nil {
		_ = c.admin.Close() // no request is pending
	}
}

// begin records that the load is about to write keys.
func (c *cleaner) begin() {
	if c != nil {
		c.began = true
	}
}

// addOperations adds to the number of operations that may have written keys.
func (c *cleaner) addOperations(due uint64) {
	if c != nil {
		c.operations += due
	}
}

// run removes the keys, no matter how the load ended. It also compacts and defragments the
// databases if the load specifies this.
func (c *cleaner) run(a *load.Assignment) *record.Cleanup {
	if c == nil {
		return nil
	}
	c.t.report(Progress{Stage: StageCleaningUp})
	out := &record.Cleanup{}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	var err error
	if c.began {
		out.Deleted, err = c.remove(ctx, a)
	}
	out.Space = c.databaseSizes(ctx)
	if err != nil {
		out.Failure = err.Error()
		return out
	}
	if asked := c.t.Spec.Load.Cleanup; c.began && (asked.Compact || asked.Defragment) {
		ctx, cancel := context.WithTimeout(context.Background(), reclaimTime)
		defer cancel()
		if err := c.reclaim(ctx, out); err != nil {
			out.NotReclaimed = err.Error()
		}
		c.recordSizes(ctx, out)
	}
	return out
}

// recordSizes sets the sizes of the databases after the clean-up.
func (c *cleaner) recordSizes(ctx context.Context, out *record.Cleanup) {
	for _, now := range c.databaseSizes(ctx) {
		for i := range out.Space {
			if out.Space[i].Endpoint == now.Endpoint {
				out.Space[i].After = now.Before
			}
		}
	}
}

// KeysLeftError reports that keys may remain after a failed or interrupted trial because the
// clean-up failed. The error is joined with the error that ended the trial.
type KeysLeftError struct{ Cause error }

// Error returns a sentence.
func (e *KeysLeftError) Error() string { return e.Cause.Error() }

// keysLeft returns the error of a failed clean-up, or nil if the clean-up did not fail. The error is
// a KeysLeftError if keys may remain.
func keysLeft(c *record.Cleanup) error {
	err := c.Err()
	if err != nil && c.Failure != "" {
		return &KeysLeftError{err}
	}
	return err
}

// cleanUpFailed cleans up after a trial that has no result. It returns err, joined with the error
// of the clean-up, if any.
func (c *cleaner) cleanUpFailed(a *load.Assignment, err error) error {
	return errors.Join(err, keysLeft(c.run(a)))
}

// remove removes the keys, and repeats the removal until no key is left or the time limit is
// reached.
func (c *cleaner) remove(ctx context.Context, a *load.Assignment) (deleted int64, err error) {
	if g := c.t.Cluster.Guard; g != nil && !c.t.removesSingly() {
		return g.Clear(ctx, c.prefix())
	}
	for {
		n, failed := c.removeOnce(ctx, a)
		deleted += n
		asked, cancel := context.WithTimeout(ctx, cleanupRequestTimeout)
		remaining, err := c.count(asked)
		cancel()
		if err == nil && remaining == 0 {
			return deleted, nil
		}
		c.sweepAll = c.sweepAll || err == nil && failed == nil
		if failed == nil {
			failed = err
		}
		if failed == nil {
			failed = fmt.Errorf("keys with the prefix %q remain", c.prefix())
		}
		if !measure.Pause(ctx, cleanupPause) {
			return deleted, failed
		}
	}
}

func (c *cleaner) prefix() string { return c.t.Spec.Load.Prefix }

func (c *cleaner) removeOnce(ctx context.Context, a *load.Assignment) (int64, error) {
	d, ok := c.admin.(store.Cleaner)
	if !ok || strings.Trim(c.prefix(), "/") == "" {
		return c.sweep(ctx, a)
	}
	ctx, cancel := context.WithTimeout(ctx, cleanupRequestTimeout)
	defer cancel()
	return d.DeletePrefix(ctx, []byte(c.prefix()))
}

// sweep deletes the load's keys one by one, if they cannot be deleted by prefix. The keys are
// known, because the key of operation n depends only on the seed and n. However, sweep deletes all
// keys of the key space in these cases: if the load had a preload, if its operations write several
// keys, if its warm-up used other keys, or if keys remained after an earlier sweep. Keys remain if
// several event loops were interrupted, because the number of their operations then does not
// determine which operations they sent.
func (c *cleaner) sweep(ctx context.Context, original *load.Assignment) (int64, error) {
	a := *original
	a.Preloaded, a.Leases = nil, nil
	if len(a.Voters) > 0 {
		a.Endpoints = a.Voters
	}
	l := &a.Load
	all := c.sweepAll || l.Preload || l.KeysPerOperation() > 1 || l.Warmup > 0 && l.Distribution.Name != scenario.Sequential
	l.Mix = []scenario.Operation{{Kind: kv.Delete, Weight: 1}}
	l.Arrival, l.Rate, l.Duration, l.Warmup = scenario.Closed, scenario.Rate{}, 0, 0
	l.Total, l.Watch = c.operations, nil
	if all {
		l.Total, l.Distribution = l.KeySpace, scenario.Distribution{Name: scenario.Sequential}
	}
	if l.Total == 0 {
		return 0, nil
	}
	res, err := load.Run(ctx, c.t.Worker, &a, load.Reports{})
	if err != nil {
		return 0, err
	}
	deleted := int64(res.Measured.Outcomes[kv.OK])
	if n := res.Measured.Failed(); n > 0 {
		err = fmt.Errorf("%d of %d keys could not be deleted", n, res.Measured.Due)
	}
	return deleted, err
}

// databaseSizes returns the sizes of the databases.
func (c *cleaner) databaseSizes(ctx context.Context) []record.Space {
	status, _ := c.admin.Status(ctx) // a member that does not respond has no size
	c.rejectsMaintenance = map[string]bool{}
	var out []record.Space
	for i := range status.Members {
		m := &status.Members[i]
		c.rejectsMaintenance[m.Endpoint] = m.Role == kv.NonVoter && !c.t.Cluster.Store.Capabilities().NonVoters.ForwardsRequests
		if m.Err == nil && m.DBSize > 0 {
			out = append(out, record.Space{Member: cmp.Or(c.names[m.Endpoint], m.Name, m.Endpoint), Endpoint: m.Endpoint, Before: m.DBSize, After: m.DBSize})
		}
	}
	return out
}

// reclaim compacts the history once, and then defragments one member after the other. It does not
// defragment them at the same time, because a member does not respond while it defragments.
func (c *cleaner) reclaim(ctx context.Context, out *record.Cleanup) (err error) {
	if c.t.Spec.Load.Cleanup.Compact {
		m, ok := c.admin.(store.Operator)
		if !ok {
			return errors.New("the store does not support compaction") // the check of the scenario has already rejected such a store
		}
		if out.Revision, err = m.Compact(ctx); err != nil {
			return err
		}
	}
	if !c.t.Spec.Load.Cleanup.Defragment {
		return nil
	}
	for i := range out.Space {
		if c.rejectsMaintenance[out.Space[i].Endpoint] {
			continue // this member rejects maintenance
		}
		if err := c.defragment(ctx, out.Space[i].Endpoint); err != nil {
			return err
		}
		out.Space[i].Defragmented = true
	}
	return nil
}

func (c *cleaner) defragment(ctx context.Context, endpoint string) error {
	access := c.access
	access.Endpoints = []string{endpoint}
	admin, err := c.t.Cluster.Store.Admin(access)
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }() // no request is pending
	m, ok := admin.(store.Operator)
	if !ok {
		return fmt.Errorf("the member at %s does not support defragmentation", endpoint) // the check of the scenario has already rejected such a store
	}
	return m.Defragment(ctx)
}

// checkEmpty returns a guard.NotEmptyError if keys with the load's prefix exist.
func (c *cleaner) checkEmpty(ctx context.Context) error {
	n, err := c.count(ctx)
	if err != nil || n == 0 {
		return err
	}
	return &guard.NotEmptyError{Prefix: c.prefix(), Keys: n, Remedy: "choose another prefix for the trials with cleanup"}
}

// count returns the number of the load's keys that exist. If the result is greater than 0, it may
// be lower than the actual number.
func (c *cleaner) count(ctx context.Context) (int64, error) {
	l := &c.t.Spec.Load
	in := guard.PrefixInterval(l.Prefix)
	if strings.Trim(l.Prefix, "/") == "" {
		var err error
		if in, err = guard.KeySpaceInterval(l.Prefix, l.KeySize, l.KeySpace); err != nil {
			return 0, err
		}
	}
	n, _, err := (&guard.Client{Store: c.t.Cluster.Store, Access: c.t.Cluster.Access()}).Count(ctx, in)
	return n, err
}
