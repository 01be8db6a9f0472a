package cli

import (
	"context"
	_ "embed" // for the scenario with the load
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze/faults"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

//go:embed break.yaml
var breakLoad string

// Default start and duration of the fault that `break` injects.
const (
	defaultFaultStart    = " at 5s"
	defaultFaultDuration = " for 3s"
)

// breakFlags holds the flags of `break`.
type breakFlags struct {
	checkFlags
	store    string
	rate     float64
	clients  int
	duration time.Duration
	isGiven  func(flag string) bool
}

func (a *commandLine) breakCommand() *cobra.Command {
	f := &breakFlags{checkFlags: checkFlags{seed: scenario.DefaultSeed, format: "text"}, rate: 500, clients: 30, duration: 25 * time.Second}
	c := &cobra.Command{
		Use: "break 'FAULT'", Short: "Inject a fault into a local cluster, and report the effect on clients", Args: command.ArgsBetween(1, 1, "one fault, such as 'kill leader'"),
		Long: `Start a cluster of three members on this machine, send reads and writes at a steady rate,
inject a fault, and report the effect on clients in one sentence: the outage, the time
until throughput recovered, the errors, and the p99 before and after.

FAULT has the same form as in scenario files, for example 'pause follower' or 'kill leader
for 5s'. Unless it states other times, it begins 5 s after the start of the measurement
and lasts 3 s. docs/reference/faults.md lists all faults.

The exit code is 0 if the fault was injected as requested, whatever its effect.`,
		Example: `  quorumbench break 'kill leader'
  quorumbench break 'isolate leader for 5s' --store zookeeper --duration 40s`,
	}
	r := command.NewFlags(c.Flags())
	r.Text("store", &f.store, "NAME[@VERSION]", "store (default etcd)")
	r.Number("rate", &f.rate, "R", "reads and writes per second")
	r.Int("clients", &f.clients, "number of connections")
	r.Duration("duration", &f.duration, "duration of the measurement; the fault must end before the measurement does")
	r.Seed("seed", &f.seed, "seed for all random choices")
	a.AddProgress(r)
	a.AddMetrics(r)
	r.Format(&f.format, &a.Wide, "text", "json")
	r.Text("out", &f.out, "DIR", "keep the run directory at this path, which must be empty or absent")
	c.RunE = func(c *cobra.Command, args []string) error {
		f.isGiven = c.Flags().Changed
		return a.breakMember(c.Context(), f, args[0])
	}
	return c
}

// completeFault returns the fault's text, with the default start and duration added if they are
// missing.
func completeFault(words string) (string, error) {
	whole := strings.TrimSpace(words)
	if !strings.Contains(whole, " at ") {
		whole += defaultFaultStart
	}
	f, err := fault.ParseFault(whole)
	if err != nil {
		return "", command.Usage("%s", strings.ReplaceAll(err.Error(), whole, words))
	}
	if f.Every > 0 || f.Repeat > 0 {
		return "", command.Usage("break injects a fault only once, but %q asks for repeats; remove \"every\" and \"repeat\" from the fault, or use run --set faults=...", words)
	}
	if f.Duration == 0 && !strings.Contains(whole, " for ") {
		f.Duration = 1
		if f.Problem() == "" {
			whole += defaultFaultDuration
		}
	}
	return whole, nil
}

// scenario returns the scenario that `break` runs, including the fault that the parameter `words`
// describes. It also sets the settings that the run records.
func (f *breakFlags) scenario(a *commandLine, words string) (*scenario.Scenario, error) {
	whole, err := completeFault(words)
	if err != nil {
		return nil, err
	}
	name, version, err := storeVersion(f.store, "")
	if err != nil {
		return nil, err
	}
	o := scenario.Options{Store: name, Version: version, Assignments: []scenario.Assignment{{Key: "faults", Value: whole}}}
	for _, setting := range []struct{ flag, key, value string }{
		{"rate", "rate", text.FormatNumber(f.rate)},
		{"clients", "connections", strconv.Itoa(f.clients)},
		{"clients", "clients", strconv.Itoa(f.clients)},
		{"duration", "duration", f.duration.String()},
	} {
		if f.isGiven(setting.flag) {
			o.Assignments = append(o.Assignments, scenario.Assignment{Key: setting.key, Value: setting.value})
		}
	}
	f.asked = commandLineSettings(&o)
	s, err := scenario.Parse("break.yaml", []byte(breakLoad), a.Catalog, o)
	if err != nil {
		return nil, toFlagError(err)
	}
	s.Reseed(f.seed)
	return s, nil
}

// setFaults matches the start of an error about the fault. Such an error mentions --set, but users
// of `break` give the fault as an argument.
var setFaults = regexp.MustCompile(`--set faults=[^:]*: `)

// toFlagError turns err into a usage error that describes only the first problem. In the error's
// text, it replaces --set KEY with the flag of `break` that sets the parameter KEY, and removes
// --set faults=VALUE.
func toFlagError(err error) error {
	var all file.Errors
	words := err.Error()
	if errors.As(err, &all) {
		words = all.Lines()[0]
	}
	words = strings.NewReplacer("break.yaml: ", "", "--set connections", "--clients", "--set ", "--").Replace(setFaults.ReplaceAllString(words, ""))
	return command.Usage("%s", words)
}

func (a *commandLine) breakMember(ctx context.Context, f *breakFlags, words string) error {
	s, err := f.scenario(a, words)
	if err != nil {
		return err
	}
	a.Warn(s.Warnings...)
	b := a.newBar(f.format, f.duration.Seconds(), " s")
	b.requestNoun = "operations"
	err = a.check(ctx, &f.checkFlags, s, b, b.seconds, func(t *record.Trial) error {
		if t.State == record.Interrupted {
			if f.format == "text" {
				a.Printf("INTERRUPTED after %s: %s of %s operations succeeded\n", text.FixedSeconds(t.Seconds, 1), text.Count(t.Operations), text.Count(t.Due))
			}
			return nil
		}
		e, err := faults.SingleEffect(t)
		if err != nil {
			return err
		}
		return checkError(e.Fault.Failure == "", false, a.Report(f.format, report.Effect(e)))
	})
	if err == nil && f.format == "text" {
		if f.out == "" {
			a.SuggestNext("%s (keeps the run directory for \"quorumbench report\")", a.RepeatCommand("--out", "DIR"))
		} else {
			a.SuggestNext("quorumbench report %s --format html --out PAGE (shows the outage in charts)", text.ShellQuote(f.out))
		}
		a.SuggestMore(f.out)
	}
	return err
}
