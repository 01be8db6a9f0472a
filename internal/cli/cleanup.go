package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/run/kubernetes"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// cleanupFlags holds the flags of `cleanup`.
type cleanupFlags struct {
	command.AttachFlags
	prefix string
	run    string
	dryRun bool
	pod    podCheck
}

func (a *commandLine) cleanupCommand() *cobra.Command {
	f := &cleanupFlags{AttachFlags: command.NewAttachFlags()}
	c := &cobra.Command{
		Use: "cleanup", Short: "Remove what a killed run left in a running cluster", Args: command.ArgsBetween(0, 0, ""),
		Long: `Remove everything that a killed run left in a running cluster, and nothing else: the run's
keys, their leases and sessions, the run's services, and the parent nodes of the keys.

A run writes a marker (PREFIX.quorumbench-run) before its first key, and removes the
marker last. The marker proves that no key had the prefix when the run began. If there is
no marker, keys with the prefix stay. The keys of a run that is still active stay, too.
The command cannot see whether a run from another machine is still active, so it keeps the
keys of such a run and exits with 1; use --run to confirm that the run has ended.`,
		Example: `  quorumbench cleanup --endpoints 10.0.0.1:2379
  quorumbench cleanup --store zookeeper --endpoints 10.0.0.1:2181 --prefix /app/bench/
  quorumbench cleanup --on kubernetes --image registry.example.com/quorumbench:1`,
	}
	r := command.NewFlags(c.Flags())
	f.Register(r)
	r.Text("prefix", &f.prefix, "TEXT", "key prefix of the run (default: all prefixes that loads use by default)")
	r.Text("run", &f.run, "ID", "ID of a run that began on another machine and has ended")
	r.Toggle("dry-run", &f.dryRun, "print what would be removed, and remove nothing")
	command.SetGroup(r.Set, "Flags for keys on a running cluster", "prefix", "run", "dry-run")
	f.pod.register(c, a.Plugin, &f.AttachFlags)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if f.pod.enabledOn != "" {
			return a.runInPod(c.Context(), &f.pod, "cleanup", []string{"none; removes only keys that a killed run left"}, 0, kubernetes.Remedies{Late: "repeat the command", Killed: "repeat the command"})
		}
		return a.cleanup(c.Context(), f, c.Flags().Changed("prefix"))
	}
	return c
}

func (a *commandLine) cleanup(ctx context.Context, f *cleanupFlags, named bool) error {
	attach, err := f.Running()
	if err != nil {
		return err
	}
	if attach != nil {
		if err := attach.Validate(); err != nil {
			return command.Usage("%w", err)
		}
	}
	if err := command.CheckStore(f.Store, a.Catalog); err != nil {
		return err
	}
	st, err := a.Lookup(f.Store)
	if err != nil {
		return err
	}
	access, err := load.ReadAccess(attach)
	if err != nil {
		return err
	}
	ctx, stop := command.Interruptible(ctx, func() { a.PrintNote("stopping") })
	defer stop()
	g := guard.New(guard.Options{Client: guard.Client{Store: st, Access: access}, Notify: func(s string) { a.PrintNote("%s", s) }, Now: time.Now, DefaultPrefixes: scenario.RunningClusterPrefixes(a.Catalog.Applications())})
	prefixes := scenario.RunningClusterPrefixes(a.Catalog.Applications())
	if named {
		prefixes = []string{f.prefix}
	}
	found, err := g.Find(ctx, prefixes)
	if err != nil {
		return err
	}
	switch {
	case f.run != "" && len(found) == 0:
		return fmt.Errorf(noKeysOfRun, f.run)
	case len(found) == 0 && named:
		return a.reportUnmarked(ctx, g, f.prefix)
	case len(found) == 0:
		a.Printf("No run has left anything below %s.\n", strings.Join(quotedAll(prefixes), ", "))
		return nil
	}
	return a.cleanLeftovers(ctx, f, g, found, named)
}

// noKeysOfRun is the error for --run with the ID of a run that left no keys.
const noKeysOfRun = "--run: no run with the ID %q has left keys; give the ID that quorumbench cleanup prints without --run"

// cleanLeftovers removes the keys that runs left. The command fails if keys stay that the user
// requested to remove.
func (a *commandLine) cleanLeftovers(ctx context.Context, f *cleanupFlags, g *guard.Guard, found []guard.Leftover, named bool) error {
	failed := false
	for i := range found {
		cleaned, err := a.cleanLeftover(ctx, f, g, &found[i], named)
		if err != nil {
			return err
		}
		failed = failed || !cleaned && f.requests(&found[i], named)
	}
	if f.run != "" && !slices.ContainsFunc(found, func(l guard.Leftover) bool { return l.Run == f.run }) {
		return fmt.Errorf(noKeysOfRun, f.run)
	}
	if failed {
		return &command.Exit{Code: command.ExitFailed} // cleanLeftover has already printed the reason
	}
	return nil
}

// requests reports whether the flags request the removal of a run's keys. Without --prefix and
// --run, the flags request the removal of all keys except the keys that a run keeps on request, and
// the keys of an active run, which removes them itself.
func (f *cleanupFlags) requests(l *guard.Leftover, named bool) bool {
	switch {
	case named || f.run == l.Run:
		return true
	case f.run != "" || l.KeepsKeys:
		return false
	}
	return l.RunState != guard.Running
}

// cleanLeftover removes the keys that a run left. If the keys must stay, it prints the reason and
// returns false.
func (a *commandLine) cleanLeftover(ctx context.Context, f *cleanupFlags, g *guard.Guard, l *guard.Leftover, named bool) (cleaned bool, err error) {
	run := fmt.Sprintf("run %s (started by process %d on %s at %s)", l.Run, l.Owner.PID, l.Machine, l.StartTime.Format(time.RFC3339))
	switch {
	case l.KeepsKeys && !named:
		a.Printf("Keys below %q stay, as the %s requested. Use --prefix %s to remove them.\n", l.Prefix, run, l.Prefix)
		return false, nil
	case l.RunState == guard.Running:
		a.Printf("Keys below %q stay, because the %s is still active.\n", l.Prefix, run)
		return false, nil
	case l.RunState == guard.Unknown && f.run != l.Run:
		a.Printf("Keys below %q stay, because this machine cannot see whether the %s is still active. If the run has ended, remove the keys with --run %s.\n", l.Prefix, run, l.Run)
		return false, nil
	case f.run != "" && f.run != l.Run:
		a.Printf("Keys below %q stay, because they belong to the %s, and --run names another run.\n", l.Prefix, run)
		return false, nil
	}
	a.Printf("The %[2]s left keys below %[1]q.\n", l.Prefix, run)
	if f.dryRun {
		return true, nil
	}
	n, err := g.Clean(ctx, l)
	if err == nil {
		a.Printf("Removed %s below %q, and the marker.\n", text.Plural(uint64(n), "key"), l.Prefix) // #nosec G115 -- a count
	}
	return err == nil, err
}

// reportUnmarked handles a prefix without a marker. If no key has the prefix, reportUnmarked prints
// that no run left anything there. If keys have the prefix, or if the prefix covers the whole
// store, reportUnmarked returns an error.
func (a *commandLine) reportUnmarked(ctx context.Context, g *guard.Guard, prefix string) error {
	if strings.Trim(prefix, "/") == "" {
		return fmt.Errorf("no run left a marker for the prefix %q, so nothing is removed", prefix)
	}
	n, _, err := g.Count(ctx, guard.PrefixInterval(prefix))
	switch {
	case err != nil:
		return err
	case n > 0:
		return fmt.Errorf("the keys below %q stay, because no marker proves that quorumbench wrote them", prefix)
	}
	a.Printf("No run has left anything below %q.\n", prefix)
	return nil
}

func quotedAll(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = fmt.Sprintf("%q", s)
	}
	return out
}
