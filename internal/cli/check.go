package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/check"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// The exit codes of `check` beyond those of every command: those of etcdctl.
const (
	ExitNotEmpty    = 3 // there are keys with the prefix
	ExitUnknownLoad = 4
)

func (a *app) checkCommand() *cobra.Command {
	g := group("check", "Check whether a cluster, or a disk, is good enough", "perf, datascale or disk",
		a.checkPerfCommand(), a.checkDatascaleCommand(), a.checkDiskCommand())
	g.Long = `Check whether a running cluster, or a disk, is good enough: the checks of etcdctl
for every store, with the reason when one fails. What they write they remove.`
	return g
}

// checkFlags are what the checks of a cluster share.
type checkFlags struct {
	attachFlags
	load       string
	prefix     string
	compact    bool
	defragment bool
	conns      int
	timeout    time.Duration
	threads    int
	seed       uint64
	verbose    bool
	format     string
}

func newCheckFlags(prefix string) checkFlags {
	return checkFlags{
		attachFlags: newAttachFlags(), load: "s", prefix: prefix,
		timeout: scenario.DefaultLoad().Timeout, seed: scenario.DefaultSeed, format: "text",
	}
}

func (f *checkFlags) register(r flags, loads string) {
	r.text("load", &f.load, "s|m|l|xl", loads)
	r.text("prefix", &f.prefix, "TEXT", "what every key begins with; no such key may be there")
	r.toggle("auto-compact", &f.compact, "compact the history when it is done")
	r.toggle("auto-defrag", &f.defragment, "defragment every member when it is done")
	f.attachFlags.register(r)
	r.whole("conns", &f.conns, "connections; 0 is one for each client")
	r.span("timeout", &f.timeout, "of one write, from when it is sent")
	r.whole("threads", &f.threads, "event loops of the generator; 0 chooses")
	r.seed("seed", &f.seed, "everything random comes from it")
	r.toggle("verbose", &f.verbose, "percentiles, and what was looked at, too")
	r.choice("format", &f.format, "of the result on standard output", "text", "json")
}

// checked is a command line that makes sense.
type checked struct {
	load    string // short name
	cluster check.Cluster
}

// resolve checks the flags. An unknown load comes before all else, and has an
// exit code of its own.
func (f *checkFlags) resolve(a *app) (c checked, err error) {
	if c.load, err = check.Load(f.load); err != nil {
		return c, &exit{code: ExitUnknownLoad, cause: err}
	}
	switch {
	case strings.Trim(f.prefix, "/") == "":
		return c, usage("--prefix is %q, and everything with that prefix is removed in the end: give a longer one", f.prefix)
	case f.conns < 0 || f.conns > scenario.MaxConnections:
		return c, usage("--conns must be from 0 to %d, not %d", scenario.MaxConnections, f.conns)
	case f.timeout <= 0 || f.timeout > scenario.MaxTimeout:
		return c, usage("--timeout must be above 0 and at most %v, not %v", scenario.MaxTimeout, f.timeout)
	case f.threads < 0 || f.threads > scenario.MaxThreads:
		return c, usage("--threads must be from 0 to %d, not %d", scenario.MaxThreads, f.threads)
	}
	if err := f.checkStore([]scenario.Operation{{Kind: kv.Put, Weight: 1}}, a.catalog); err != nil {
		return c, err
	}
	attach, err := f.attachOf()
	if err != nil {
		return c, err
	}
	if err := attach.ValidateFlags(); err != nil {
		return c, usage("%w", err)
	}
	access, err := load.AccessOf(attach)
	if err != nil {
		return c, usage("%w", err)
	}
	st, err := a.lookup(f.store)
	if err != nil {
		return c, usage("--store: %w", err)
	}
	c.cluster = check.Cluster{Store: st, Access: access, Target: f.target}
	return c, nil
}

// checkFailed gives what kept a check from being made its exit code.
func checkFailed(err error) error {
	var notEmpty *check.NotEmptyError
	switch {
	case errors.As(err, &notEmpty):
		return &exit{code: ExitNotEmpty, cause: err}
	case errors.Is(err, context.Canceled):
		return &exit{code: ExitInterrupted, cause: errors.New("interrupted before anything was written")}
	}
	return err
}

// interrupted is what an interrupted check ends with.
func interruptedCheck(cleanup check.Cleanup) error {
	text := "interrupted; what was written has been removed"
	if cleanup.Err != nil {
		text = "interrupted; what was written may not have been removed: " + cleanup.Err.Error()
	}
	return &exit{code: ExitInterrupted, cause: errors.New(text)}
}

// printCleanup prints what came of the clean-up in the original's words, and
// how much space came back.
func (a *app) printCleanup(c check.Cleanup) {
	if c.Err != nil && c.Revision == 0 && !anyDefragmented(c) {
		a.printf("FAIL: Cleanup failed during key deletion: ERROR(%v)\n", c.Err)
		return
	}
	if c.Revision > 0 {
		a.printf("Compacting with revision %d\nCompacted with revision %d\n", c.Revision, c.Revision)
	}
	for _, s := range c.Space {
		if s.Defragmented {
			a.printf("Defragmenting %q\nDefragmented %q\n", s.Endpoint, s.Endpoint)
		}
	}
	if c.Revision > 0 || anyDefragmented(c) {
		for _, s := range c.Space {
			a.printf("Space of member %s: %s before, %s after, %s given back\n", s.Member,
				bytesText(s.Before), bytesText(s.After), bytesText(max(s.Before-s.After, 0)))
		}
	}
	if c.Err != nil {
		a.printf("FAIL: Cleanup failed: ERROR(%v)\n", c.Err)
	}
}

func anyDefragmented(c check.Cleanup) bool {
	return slices.ContainsFunc(c.Space, func(s check.Space) bool { return s.Defragmented })
}

// bytesText is a number of bytes with its unit.
func bytesText(n int64) string {
	const unit = 1 << 20
	if n < unit && n > -unit {
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/unit)
}

// spaceJSON and its like are the fields of --format json.
type cleanupJSON struct {
	Deleted  int64       `json:"deleted"`
	Revision int64       `json:"compacted_revision,omitempty"`
	Space    []spaceJSON `json:"space,omitempty"`
	Error    string      `json:"error,omitempty"`
}

type spaceJSON struct {
	Member       string `json:"member"`
	Endpoint     string `json:"endpoint"`
	Before       int64  `json:"bytes_before"`
	After        int64  `json:"bytes_after"`
	Defragmented bool   `json:"defragmented"`
}

func cleanupFields(c check.Cleanup) cleanupJSON {
	out := cleanupJSON{Deleted: c.Deleted, Revision: c.Revision}
	for _, s := range c.Space {
		out.Space = append(out.Space, spaceJSON(s))
	}
	if c.Err != nil {
		out.Error = sentence(c.Err.Error())
	}
	return out
}

type failureJSON struct {
	Kind  string `json:"kind"`
	Text  string `json:"text,omitempty"`
	Count uint64 `json:"count"`
}

func failureFields(list []check.Failure) []failureJSON {
	out := make([]failureJSON, 0, len(list))
	for _, f := range list {
		out = append(out, failureJSON(f))
	}
	return out
}
