package cli

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/figures"
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
	isGiven func(flag string) bool
}

func (a *commandLine) capacityShareCommand() *cobra.Command {
	f := &shareFlags{history: 5 * time.Minute, format: "text"}
	c := &cobra.Command{
		Use:   "share RUN...",
		Short: "Estimate from recorded searches how much of a cluster's capacity a load uses",
		Long: `Estimate how much of a cluster a load uses. The estimate is based on run directories that
"quorumbench capacity" wrote. The report shows the load's share of the capacity, of CPUs,
disk, network and memory, and of the store's own limits, such as etcd's database quota. The
report also shows which resource limit the load reaches first, and what the store's
documentation recommends, with sources.

The load is that of the recorded search, at the rate in --rate and with the changes in
--set, or the load of a trial in the scenario file --load. The command contacts no server.`,
		Example: `  quorumbench capacity share runs/capacity-1 --rate 2000
  quorumbench capacity share runs/capacity-1 --rate 500 --set value-size=1KiB --set key-space=200000
  quorumbench capacity share runs/* --load my-load.yaml --format json`,
		Args: command.ArgsBetween(1, math.MaxInt, "run directories"),
	}
	r := command.NewFlags(c.Flags())
	r.Number("rate", &f.rate, "R", "operations per second of the load (default: the rate in the file)")
	r.Text("load", &f.load, "FILE", "scenario file with the load")
	r.Text("trial", &f.trial, "NAME", "name of the trial whose load to use, if the file has several trials")
	command.Repeated(r, "set", &f.set, "KEY=VALUE", scenario.ParseAssignment, "change a parameter of the load, for example value-size=1KiB")
	r.Duration("history", &f.history, "time between compactions; until the next compaction, the store keeps overwritten values")
	r.Size("network", &f.network, "bandwidth of a member's network interface in bytes per second, for example 125MB; without this flag, the load's share of the network is not known")
	r.Format(&f.format, &a.Wide, "text", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		f.isGiven = c.Flags().Changed
		return a.capacityShare(f, args)
	}
	return c
}

func (f *shareFlags) check() error {
	switch {
	case f.load == "" && f.trial != "":
		return command.Usage("--trial selects a trial in a scenario file, but no file is given; give a file with --load")
	case f.load == "" && !f.isGiven("rate"):
		return command.Usage("--rate is missing; give the load's operations per second, or give the load as a scenario file with --load")
	case f.isGiven("rate") && !(f.rate > 0 && f.rate <= scenario.MaxRate):
		return command.Usage("--rate must be above 0 and at most %d, not %g", scenario.MaxRate, f.rate)
	case f.isGiven("rate") && f.replacesRecorded(scenario.Assignment{Key: "rate"}):
		return command.Usage("--rate and --set rate both set the rate; give only one of them")
	case slices.ContainsFunc(f.set, scenario.Assignment.SelectsRunningCluster):
		return command.Usage("one of the --set flags is for a running cluster, but this command contacts no server; remove that flag")
	case f.history < 0:
		return command.Usage("--history is %s, but must be at least 0", f.history)
	case f.network < 0:
		return command.Usage("--network is %d, but must be at least 0", f.network)
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
		figures.ReadTrialFiles(run, dir)
		if found := size.CapacitiesOf(run); found != nil && first == nil {
			for _, f := range found.All {
				first = cmp.Or(first, f.First)
			}
		}
		runs = append(runs, run)
	}
	if first == nil {
		return command.Usage("%s does not contain a capacity search; record a search with quorumbench capacity", dirs[0])
	}
	load, err := a.sharedLoad(f, first)
	if err != nil {
		return err
	}
	sizes, err := size.SizesOf(runs, load, func(name string) store.Sizer {
		st, err := a.Lookup(name)
		if err != nil {
			return nil // the run was recorded with a store that this version does not know
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
	a.SuggestNext("quorumbench check perf --rate %g --endpoints HOST:PORT,... (checks whether the cluster can carry this rate)", load.Rate)
	return nil
}

// sharedLoad returns the load whose share of the capacity is estimated. With --load, this is the
// load in the scenario file. Otherwise, this is the load of the recorded search with the changes
// that --set requests.
func (a *commandLine) sharedLoad(f *shareFlags, recorded *record.Trial) (load size.Load, err error) {
	o := scenario.Options{Assignments: f.set}
	var s *scenario.Scenario
	if f.load != "" {
		s, err = a.load([]string{f.load}, o)
	} else if name := recorded.Application.Name; name != "" {
		return load, command.Usage("this run searched with the load of an application (%s), so its result is not a rate, and no share can be estimated; record a search for a rate, or give another run", name)
	} else {
		o.Assignments = append(loadOf(recorded), scenario.Assignment{Key: "max-in-flight", Value: "1"}) // nothing is sent, so no memory is needed for operations in flight
		o.Assignments = append(slices.DeleteFunc(o.Assignments, f.replacesRecorded), f.set...)
		o.Store = recorded.Store
		s, err = scenario.Parse("capacity.yaml", scenario.CapacityFile(), a.Catalog, o)
	}
	if err != nil {
		return load, &command.Exit{Code: command.ExitUsage, Cause: err}
	}
	if err := keepTrial(s, f.trial); err != nil {
		return load, err
	}
	if name := s.Trials[0].Load.Application.Name; name != "" {
		return load, command.Usage("the trial %s has the load of an application (%s), for which no search was recorded; use quorumbench capacity --over to find the highest load that the cluster can carry", s.Trials[0].Name, name)
	}
	load = size.Load{Load: s.Trials[0].Load, Rate: s.Trials[0].Load.Rate.PerSecond, History: f.history, Network: float64(f.network)}
	if f.isGiven("rate") {
		load.Rate = f.rate
	}
	if load.Rate <= 0 {
		return load, command.Usage("the trial %s has no rate: it is a closed loop, or its rate comes from another trial; give --rate", s.Trials[0].Name)
	}
	return load, nil
}

// replacesRecorded reports whether a --set flag replaces the recorded assignment.
func (f *shareFlags) replacesRecorded(recorded scenario.Assignment) bool {
	return slices.ContainsFunc(f.set, func(a scenario.Assignment) bool {
		return a.Key == recorded.Key || a.Key == "operation" && recorded.Key == "mix"
	})
}

// loadParameters lists the parameters that determine how much of the cluster a load uses.
var loadParameters = []string{"mix", "key-size", "value-size", "key-space", "connections"}

// loadOf returns the assignments that reproduce a recorded load.
func loadOf(t *record.Trial) (set []scenario.Assignment) {
	for _, p := range scenario.ParametersOf(&t.Load) {
		for _, key := range loadParameters {
			if text := p.Text(&t.Load); p.Key == key && text != "" {
				set = append(set, scenario.Assignment{Key: key, Value: text})
			}
		}
	}
	return set
}
