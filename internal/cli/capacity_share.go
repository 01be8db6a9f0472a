package cli

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// shareFlags holds the flags of `capacity share`.
type shareFlags struct {
	load    string
	trial   string
	set     []scenario.Assignment
	rate    float64
	history time.Duration
	network int
	format  string
	given   func(flag string) bool
}

func (a *commandLine) capacityShareCommand() *cobra.Command {
	f := &shareFlags{history: 5 * time.Minute, format: "text"}
	c := &cobra.Command{
		Use:   "share RUN...",
		Short: "Estimate how much of a cluster a load uses, from recorded capacities",
		Long: `Estimate how much of a cluster a load uses, from the run directories of quorumbench
capacity: its share of the capacity, of CPUs, disk, network and memory, and of the
store's own limits, such as etcd's database quota; the resource limit that it reaches
first; and the recommendations of the store's documentation, each with its source.

The load is the load of the recorded search at another rate, changed by --set, or the
trial of the scenario file that --load names. The command contacts no server.`,
		Example: `  quorumbench capacity share runs/capacity-1 --rate 2000
  quorumbench capacity share runs/capacity-1 --rate 500 --set value-size=1KiB --set key-space=200000
  quorumbench capacity share runs/* --load my-load.yaml --format json`,
		Args: command.Takes(1, math.MaxInt, "run directories"),
	}
	r := command.NewFlags(c.Flags())
	r.Number("rate", &f.rate, "R", "operations per second of the load; default: the file's rate")
	r.Text("load", &f.load, "FILE", "scenario file with the load")
	r.Text("trial", &f.trial, "NAME", "trial of the file, if the file has several")
	command.Repeated(r, "set", &f.set, "KEY=VALUE", scenario.ParseAssignment, "set a parameter of the load, as in value-size=1KiB")
	r.Span("history", &f.history, "time between compactions, for which the store keeps replaced values")
	r.Size("network", &f.network, "bytes per second of a member's network interface, as in 125MB; without it the network's share is not known")
	r.Format(&f.format, &a.Wide, "text", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		f.given = c.Flags().Changed
		return a.capacityShare(f, args)
	}
	return c
}

func (f *shareFlags) check() error {
	switch {
	case f.load == "" && f.trial != "":
		return command.Usage("--trial names one of a file's trials, and there is no file; give it with --load")
	case f.load == "" && !f.given("rate"):
		return command.Usage("--rate is missing: the operations a second of the load; or give the load as a scenario file with --load")
	case f.given("rate") && !(f.rate > 0 && f.rate <= scenario.MaxRate):
		return command.Usage("--rate must be above 0 and at most %d, not %g", scenario.MaxRate, f.rate)
	case f.given("rate") && f.sets(scenario.Assignment{Key: "rate"}):
		return command.Usage("--rate and --set rate both give the rate; give one of them")
	case slices.ContainsFunc(f.set, scenario.Assignment.OfRunning):
		return command.Usage("--set says how a cluster is reached, and no server is asked here; drop it")
	case f.history < 0:
		return command.Usage("--history must not be below 0, and is %s", f.history)
	case f.network < 0:
		return command.Usage("--network must not be below 0, and is %d", f.network)
	}
	return nil
}

func (a *commandLine) capacityShare(f *shareFlags, dirs []string) error {
	if err := f.check(); err != nil {
		return err
	}
	var runs []*record.Run
	var first *record.Trial
	for _, dir := range dirs {
		run, err := record.Open(dir)
		if err != nil {
			return err
		}
		run.ReadEvents(dir)
		if found := size.CapacitiesOf(run); found != nil && first == nil {
			for _, f := range found.All {
				first = cmp.Or(first, f.First)
			}
		}
		runs = append(runs, run)
	}
	if first == nil {
		return command.Usage("%s is no search for a capacity; record one with quorumbench capacity", dirs[0])
	}
	load, err := a.sharedLoad(f, first)
	if err != nil {
		return err
	}
	sizes, err := size.SizesOf(runs, load, func(name string) store.Sizer {
		st, err := a.Lookup(name)
		if err != nil {
			return nil // the record names a store that this version does not know
		}
		sizer, _ := st.(store.Sizer)
		return sizer
	})
	if err != nil {
		return err
	}
	if err := a.Report(f.format, report.Sizes(sizes)); err != nil || f.format != "text" {
		return err
	}
	a.Next("quorumbench check perf --rate %g --endpoints HOST:PORT,... (does the cluster carry the rate)", load.Rate)
	return nil
}

// sharedLoad returns the load whose share is estimated: the load of --load, or the load of the
// recorded search changed by --set.
func (a *commandLine) sharedLoad(f *shareFlags, recorded *record.Trial) (load size.Load, err error) {
	o := scenario.Options{Set: f.set}
	var s *scenario.Scenario
	if f.load != "" {
		s, err = a.load([]string{f.load}, o)
	} else if name := recorded.Application.Name; name != "" {
		return load, command.Usage("the search is of what an application sends (%s): its interval says how much of it the cluster carries, and its parameters are no shares of a rate; search a rate, or give another run", name)
	} else {
		o.Set = append(loadOf(recorded), scenario.Assignment{Key: "max-in-flight", Value: "1"}) // nothing is sent, so operations in flight need no memory
		o.Set = append(slices.DeleteFunc(o.Set, f.sets), f.set...)
		o.Store = recorded.Store
		s, err = scenario.Parse("capacity.yaml", scenario.OfCapacity(), a.Catalog, o)
	}
	if err != nil {
		return load, &command.Exit{Code: command.ExitUsage, Cause: err}
	}
	if err := keepTrial(s, f.trial); err != nil {
		return load, err
	}
	if name := s.Trials[0].Load.Application.Name; name != "" {
		return load, command.Usage("the trial %s is what an application sends (%s), and no curve is of its calls; search how much of it the cluster carries with capacity --over", s.Trials[0].Name, name)
	}
	load = size.Load{Load: s.Trials[0].Load, Rate: s.Trials[0].Load.Rate.PerSecond, History: f.history, Network: float64(f.network)}
	if f.given("rate") {
		load.Rate = f.rate
	}
	if load.Rate <= 0 {
		return load, command.Usage("the trial %s has no rate: it is a closed loop, or takes its rate from another trial; give --rate", s.Trials[0].Name)
	}
	return load, nil
}

// sets reports whether --set replaces a recorded parameter.
func (f *shareFlags) sets(recorded scenario.Assignment) bool {
	return slices.ContainsFunc(f.set, func(a scenario.Assignment) bool {
		return a.Key == recorded.Key || a.Key == "operation" && recorded.Key == "mix"
	})
}

// sizedBy lists the parameters that determine the size of a load.
var sizedBy = []string{"mix", "key-size", "value-size", "key-space", "connections"}

// loadOf returns the assignments that reproduce a recorded load.
func loadOf(t *record.Trial) (set []scenario.Assignment) {
	for _, p := range scenario.ParametersOf(&t.Load) {
		for _, key := range sizedBy {
			if text := p.Text(&t.Load); p.Key == key && text != "" {
				set = append(set, scenario.Assignment{Key: key, Value: text})
			}
		}
	}
	return set
}
