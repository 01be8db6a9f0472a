package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
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
	g := command.Group("check", "Check whether a cluster, or a disk, is good enough", "perf, datascale or disk",
		a.checkPerfCommand(), a.checkDatascaleCommand(), a.checkDiskCommand())
	g.Long = `Check whether a running cluster, or a disk, is good enough: the checks of etcdctl
for every store, with the reason when one fails. What they write they remove.`
	return g
}

// checkFlags are what the checks of a cluster share.
type checkFlags struct {
	command.AttachFlags
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
		AttachFlags: command.NewAttachFlags(), load: "s", prefix: prefix,
		timeout: scenario.DefaultLoad().Timeout, seed: scenario.DefaultSeed, format: "text",
	}
}

func (f *checkFlags) register(r command.Flags, loads string) {
	r.Text("load", &f.load, "s|m|l|xl", loads)
	r.Text("prefix", &f.prefix, "TEXT", "what every key begins with; no such key may be there")
	r.Toggle("auto-compact", &f.compact, "compact the history when it is done")
	r.Toggle("auto-defrag", &f.defragment, "defragment every member when it is done")
	f.Register(r)
	r.Whole("conns", &f.conns, "connections; 0 is one for each client")
	r.Span("timeout", &f.timeout, "of one write, from when it is sent")
	r.Whole("threads", &f.threads, "event loops of the generator; 0 chooses")
	r.Seed("seed", &f.seed, "everything random comes from it")
	r.Toggle("verbose", &f.verbose, "percentiles, and what was looked at, too")
	r.Choice("format", &f.format, "of the result on standard output", "text", "json")
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
		return c, &command.Exit{Code: ExitUnknownLoad, Cause: err}
	}
	switch {
	case strings.Trim(f.prefix, "/") == "":
		return c, command.Usage("--prefix is %q, and everything with that prefix is removed in the end: give a longer one", f.prefix)
	case f.conns < 0 || f.conns > scenario.MaxConnections:
		return c, command.Usage("--conns must be from 0 to %d, not %d", scenario.MaxConnections, f.conns)
	case f.timeout <= 0 || f.timeout > scenario.MaxTimeout:
		return c, command.Usage("--timeout must be above 0 and at most %v, not %v", scenario.MaxTimeout, f.timeout)
	case f.threads < 0 || f.threads > scenario.MaxThreads:
		return c, command.Usage("--threads must be from 0 to %d, not %d", scenario.MaxThreads, f.threads)
	}
	if err := f.CheckStore([]scenario.Operation{{Kind: kv.Put, Weight: 1}}, a.Catalog); err != nil {
		return c, err
	}
	attach, err := f.Attach()
	if err != nil {
		return c, err
	}
	if err := attach.ValidateFlags(); err != nil {
		return c, command.Usage("%w", err)
	}
	access, err := load.AccessOf(attach)
	if err != nil {
		return c, command.Usage("%w", err)
	}
	st, err := a.Lookup(f.Store)
	if err != nil {
		return c, command.Usage("--store: %w", err)
	}
	c.cluster = check.Cluster{Store: st, Access: access, Target: f.Target}
	return c, nil
}

// checkFailed gives what kept a check from being made its exit code.
func checkFailed(err error) error {
	var notEmpty *check.NotEmptyError
	switch {
	case errors.As(err, &notEmpty):
		return &command.Exit{Code: ExitNotEmpty, Cause: err}
	case errors.Is(err, context.Canceled):
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted before anything was written")}
	}
	return err
}

// interrupted is what an interrupted check ends with.
func interruptedCheck(cleanup check.Cleanup) error {
	text := "interrupted; what was written has been removed"
	if cleanup.Err != nil {
		text = "interrupted; what was written may not have been removed: " + cleanup.Err.Error()
	}
	return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New(text)}
}

// printCleanup prints what came of the clean-up in the original's words, and
// how much space came back.
func (a *app) printCleanup(c check.Cleanup) {
	if c.Err != nil && c.Revision == 0 && !anyDefragmented(c) {
		a.Printf("FAIL: Cleanup failed during key deletion: ERROR(%v)\n", c.Err)
		return
	}
	if c.Revision > 0 {
		a.Printf("Compacting with revision %d\nCompacted with revision %d\n", c.Revision, c.Revision)
	}
	for _, s := range c.Space {
		if s.Defragmented {
			a.Printf("Defragmenting %q\nDefragmented %q\n", s.Endpoint, s.Endpoint)
		}
	}
	if c.Revision > 0 || anyDefragmented(c) {
		for _, s := range c.Space {
			a.Printf("Space of member %s: %s before, %s after, %s given back\n", s.Member,
				bytesText(s.Before), bytesText(s.After), bytesText(max(s.Before-s.After, 0)))
		}
	}
	if c.Err != nil {
		a.Printf("FAIL: Cleanup failed: ERROR(%v)\n", c.Err)
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
		out.Error = command.Sentence(c.Err.Error())
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
