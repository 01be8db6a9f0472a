package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/run/check"
)

func (a *app) checkDatascaleCommand() *cobra.Command {
	f := newCheckFlags("/etcdctl-check-datascale/")
	c := &cobra.Command{
		Use: "datascale", Short: "Check what so many keys cost each member: memory, disk, time", Args: command.Takes(0, 0, ""),
		Long: `Check what so many keys of 512 + 512 bytes cost each member: its memory and its
database before and after, the bytes per key, and how long the writes took.

  load       keys  clients
  s        10,000       50
  m       100,000      200
  l     1,000,000      500
  xl    3,000,000    1,000

The exit code is 0 when it was done, 1 when a write failed or no memory could be
read, 3 when there are keys with the prefix, 4 for an unknown load.`,
	}
	r := command.NewFlags(c.Flags())
	f.register(r, "the load: s(mall), m(edium), l(arge) or xl (xLarge)")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.checkDatascale(c.Context(), &f) }
	return c
}

func (a *app) checkDatascale(ctx context.Context, f *checkFlags) error {
	c, err := f.resolve(a)
	if err != nil {
		return err
	}
	scale := check.ScaleOf(c.load)
	shown := a.newBar(f.format, float64(scale.Keys), " keys")
	ctx, stop := command.Interruptible(ctx, func() { shown.note("stopping and cleaning up; press Ctrl-C again to stop at once and leave the keys") })
	defer stop()
	d := check.Datascale{
		Cluster: c.cluster, Scale: scale, Prefix: f.prefix, Connections: f.conns, Timeout: f.timeout, Threads: f.threads,
		Seed: f.seed, Compact: f.compact, Defragment: f.defragment, Watch: shown.writes,
	}
	if f.format != "json" {
		d.Began = func() {
			a.Printf("Start data scale check for work load [%d key-value pairs, %d bytes per key-value, %d concurrent clients].\n",
				scale.Keys, check.ScaleBytes, scale.Clients)
		}
	}
	out, err := d.Run(ctx)
	shown.clear()
	if err != nil {
		var unread *check.UnreadError
		if errors.As(err, &unread) && f.format != "json" {
			a.Printf("%s\n", unread.Line())
			return errors.New(unread.Why)
		}
		return checkFailed(err)
	}
	if f.format == "json" {
		if err := a.JSON(scaleFields(&d, c.load, out)); err != nil {
			return err
		}
	} else {
		a.printScale(out, f.verbose)
	}
	switch {
	case out.Interrupted:
		return interruptedCheck(out.Cleanup)
	case len(out.ByError) > 0:
		return &command.Exit{Code: command.ExitFailed}
	case out.Cleanup.Err != nil:
		return fmt.Errorf("what was written may not have been removed: %w", out.Cleanup.Err)
	}
	return nil
}

func (a *app) printScale(out *check.ScaleOutcome, verbose bool) {
	a.printCleanup(out.Cleanup)
	if out.Interrupted {
		a.Printf("INTERRUPTED after %.1f s: %s keys were written\n", out.Seconds, readable.Count(out.Written))
		return
	}
	if len(out.ByError) > 0 {
		a.Printf("FAIL: too many errors\n")
		for _, e := range out.ByError {
			a.Printf("FAIL: ERROR(%s) -> %d\n", e, e.Count)
		}
	} else {
		a.Printf("PASS: Approximate system memory used : %.2f MB.\n", float64(out.Members[0].Memory.Grown())/(1<<20))
	}
	for i := range out.Members {
		m := &out.Members[i]
		a.Printf("Member %s: memory %s; database %s\n", m.Name, a.change(m.Memory, out.Written, m.Unread), a.change(m.Disk, out.Written, "not told"))
	}
	if out.Members[0].Memory.Grown() < 0 {
		a.Printf("Member %s needs less memory than before: it had some left over. Restart it for a figure that means something.\n", out.Members[0].Name)
	}
	a.Printf("%s keys in %.1f s: %s\n", readable.Count(out.Written), out.Seconds, readable.PerSecond(out.Throughput))
	a.printPercentiles("Service time", out.Service.Percentiles[:])
	if verbose {
		a.Printf("Slowest %s, mean %s\n", figureText(out.Service.Max), figureText(out.Service.Mean))
	}
}

// change is a figure before and after, and what that is for each key.
func (a *app) change(c check.Change, keys uint64, unknown string) string {
	if !c.Known {
		if unknown == "" {
			unknown = "not told"
		}
		return unknown
	}
	text := fmt.Sprintf("%s before, %s after", bytesText(c.Before), bytesText(c.After))
	if keys > 0 && c.Grown() >= 0 {
		text += fmt.Sprintf(", %.0f bytes per key", float64(c.Grown())/float64(keys))
	}
	return text
}

// scaleJSON is what --format json prints.
type scaleJSON struct {
	Check      string             `json:"check"`
	Load       string             `json:"load"`
	Store      string             `json:"store"`
	Version    string             `json:"version"`
	Keys       uint64             `json:"keys"`
	Clients    int                `json:"clients"`
	Seed       uint64             `json:"seed"`
	State      string             `json:"state"` // pass, fail or interrupted
	Written    uint64             `json:"written"`
	Seconds    float64            `json:"seconds"`
	Throughput float64            `json:"writes_per_second"`
	Service    map[string]float64 `json:"service_seconds"`
	Members    []memberCostJSON   `json:"members"`
	Errors     []failureJSON      `json:"errors"`
	Cleanup    cleanupJSON        `json:"cleanup"`
}

type memberCostJSON struct {
	Name         string `json:"name"`
	Endpoint     string `json:"endpoint"`
	MemoryBefore *int64 `json:"memory_bytes_before,omitempty"`
	MemoryAfter  *int64 `json:"memory_bytes_after,omitempty"`
	DiskBefore   *int64 `json:"database_bytes_before,omitempty"`
	DiskAfter    *int64 `json:"database_bytes_after,omitempty"`
	Unread       string `json:"unread,omitempty"`
}

func scaleFields(d *check.Datascale, load string, out *check.ScaleOutcome) scaleJSON {
	j := scaleJSON{
		Check: "datascale", Load: load, Store: d.Cluster.Store.Name(), Version: out.Version, Keys: d.Scale.Keys, Clients: d.Scale.Clients,
		Seed: d.Seed, State: "pass", Written: out.Written, Seconds: out.Seconds, Throughput: out.Throughput,
		Service: percentileFields(out.Service.Percentiles[:]), Errors: failureFields(out.ByError), Cleanup: cleanupFields(out.Cleanup),
	}
	switch {
	case out.Interrupted:
		j.State = "interrupted"
	case len(out.ByError) > 0 || out.Cleanup.Err != nil:
		j.State = "fail"
	}
	for i := range out.Members {
		m := &out.Members[i]
		c := memberCostJSON{Name: m.Name, Endpoint: m.Endpoint, Unread: m.Unread}
		if m.Memory.Known {
			c.MemoryBefore, c.MemoryAfter = &m.Memory.Before, &m.Memory.After
		}
		if m.Disk.Known {
			c.DiskBefore, c.DiskAfter = &m.Disk.Before, &m.Disk.After
		}
		j.Members = append(j.Members, c)
	}
	return j
}
