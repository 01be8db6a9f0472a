package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

func (a *app) checkDatascaleCommand() *cobra.Command {
	f := newCheckFlags("check-datascale")
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
	load, l, err := f.findLoad(scenario.ScaleLoads)
	if err != nil {
		return err
	}
	f.put("total", strconv.FormatUint(l.Keys, 10))
	f.put("clients", strconv.Itoa(l.Clients))
	s, err := f.scenario(a, l.Clients)
	if err != nil {
		return err
	}
	b := a.newBar(f.format, float64(l.Keys), " keys")
	began := f.format == "json"
	begin := func() {
		if !began {
			began = true
			a.Printf("Start data scale check for work load [%d key-value pairs, %d bytes per key-value, %d concurrent clients].\n",
				l.Keys, s.Trials[0].Load.KeySize+s.Trials[0].Load.ValueSize, l.Clients)
		}
	}
	show := func(p runner.Progress) {
		if p.Stage == runner.Measuring || p.Stage == runner.Draining {
			begin()
		}
		b.writes(p)
	}
	return a.check(ctx, f, s, b, show, func(t *record.Trial) error {
		if t.Opened != nil {
			begin() // it was over before anybody looked
		}
		c := analyze.CheckScale(t)
		first := analyze.MemberCost{Unread: "no member was asked"}
		if len(c.Members) > 0 {
			first = c.Members[0]
		}
		switch {
		case t.State != record.Interrupted && !first.Memory.Known:
			return a.unread(f, "after", first.Unread)
		case f.format == "json":
			err = report.ScaleCheckJSON(a.Stdout, &c, load)
		default:
			err = report.ScaleCheck(a.Stdout, &c, f.verbose)
		}
		return judged(c.Pass, err)
	})
}
