package bench

import (
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/upload"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// common holds the flags that all `bench` commands have. They may come before or after the
// command's name. Names and defaults equal those in etcd's benchmark, so that its command lines
// work.
type common struct {
	command.AttachFlags
	targetLeader bool
	autoSync     time.Duration
	conns        int
	clients      int

	summary  report.Classic
	perfdash bool
	out      string
	upload   *upload.Destination
	format   string
	strict   bool
}

func newCommon(r command.Flags, wide *bool) *common {
	f := &common{AttachFlags: command.NewAttachFlags(), conns: 1, clients: 1, format: "text"}
	f.Register(r)
	r.Toggle("target-leader", &f.targetLeader, "short for --target leader")
	r.Duration("auto-sync-interval", &f.autoSync, "if above 0, connect to all endpoints that the cluster reports, as with --target all")
	r.Int("conns", &f.conns, "number of connections")
	r.Int("clients", &f.clients, "number of clients, each with one operation outstanding")
	r.Toggle("precise", &f.summary.Precise, "print durations with all digits")
	r.Toggle("sample", &f.summary.Sample, "also print one line for each second of the measurement")
	r.Toggle("report-perfdash", &f.perfdash, "write the percentiles as JSON for perfdash into the folder $ARTIFACTS (_artifacts if the variable is not set)")
	r.Text("out", &f.out, "DIR", "keep the run directory at this path, which must be empty or absent")
	r.Destination(&f.upload)
	r.Format(&f.format, wide, "text", "json", "etcd")
	r.Toggle("strict", &f.strict, "also exit with status 1 if the verdict is suspect")
	return f
}

// kind describes a `bench` command: its preset in package scenario, its arguments and its flags.
type kind struct {
	name            string // name of the command and of the preset
	args            string // arguments, as help shows them after the name
	maxArgs         int    // maximum number of arguments
	argsDescription string // describes the arguments in error messages
	alias           string
	short           string

	// The command has no flags for the parameters in the list `excludedParameters`. If the list
	// `includedParameters` is not nil, the command has flags only for the parameters in this list.
	// The map `names` gives parameters a flag name other than the default.
	excludedParameters []string
	includedParameters []string
	names              map[string]string
	// mixed is set if the user chooses the mix of operations. The command then has the flags of all
	// operations.
	mixed bool
	// preloads is set if the keys are written before the load, unless --no-preload is given.
	preloads bool
	// The function `flags` registers the flags that do not belong to a parameter. The function
	// `fill` sets parameters from these flags and from the arguments. Both functions may be nil.
	flags func(*options, command.Flags)
	fill  func(*options, []string) error
	// sections describes the sections of the summary that only this command prints.
	sections report.Classic
}

// options holds the flags of one `bench` command: one flag for each offered parameter, and other
// flags of etcd's benchmark that set parameters indirectly.
type options struct {
	*common
	kind   kind
	preset *scenario.Command

	seed    uint64
	repeats int

	sequential bool
	noPreload  bool
	putWeight  float64
	getWeight  float64
	rwRatio    float64 // reads per write
	prefix     bool    // range: all keys that begin with KEY
	paginate   bool
	endKey     string
	watch      watchFlags

	set *pflag.FlagSet // used to find out which flags were given
}

// watchFlags holds the flags of commands with watchers.
type watchFlags struct {
	streams   int
	perStream int
	keys      int // number of watched keys
}

func newOptions(common *common, kind kind, set *pflag.FlagSet) *options {
	preset := scenario.NewCommand(kind.name)
	for key, name := range kind.names {
		preset.Names[key] = name
	}
	f := &options{
		common: common, kind: kind, preset: preset,
		seed: scenario.DefaultSeed, repeats: 1, putWeight: 50, getWeight: 50, rwRatio: 1, set: set,
	}
	r := command.NewFlags(set)
	offered := kind.offered(preset)
	for _, p := range offered {
		r.Parameter(preset, p, p.Meaning)
	}
	has := func(key string) bool {
		return slices.ContainsFunc(offered, func(p *scenario.Parameter) bool { return p.Key == key })
	}
	if has("distribution") {
		r.Toggle("sequential-keys", &f.sequential, "short for --distribution sequential")
	}
	if kind.preloads {
		r.Toggle("no-preload", &f.noPreload, "do not write the missing keys before the load starts")
	}
	if has("page-size") {
		r.Toggle("paginate", &f.paginate, "short for --page-size "+benchPage)
	}
	if kind.flags != nil {
		kind.flags(f, r)
	}
	r.Int("repeats", &f.repeats, "number of repeats; if above 1, print a table with medians")
	r.Seed("seed", &f.seed, "seed for all random choices")
	return f
}

// offered returns the parameters that have a flag in the command.
func (k kind) offered(c *scenario.Command) []*scenario.Parameter {
	return slices.DeleteFunc(c.Parameters(k.mixed), func(p *scenario.Parameter) bool {
		switch p.Key {
		case "connections", "clients", "target": // all commands have them
			return true
		case "preload":
			return k.preloads || slices.Contains(k.excludedParameters, p.Key) || k.includedParameters != nil
		}
		return slices.Contains(k.excludedParameters, p.Key) || k.includedParameters != nil && !slices.Contains(k.includedParameters, p.Key)
	})
}

// scenario returns the scenario that the flags describe. An error is one sentence that names the
// flags.
func (f *options) scenario(args []string, catalog scenario.Catalog) (*scenario.Scenario, error) {
	if err := f.checkRepeats(); err != nil {
		return nil, err
	}
	if err := f.fill(args); err != nil {
		return nil, err
	}
	return f.Scenario(f.preset, catalog, scenario.CommandOptions{Seed: f.seed, Repeats: f.repeats})
}

// fill sets the parameters that depend on the arguments or on flags that do not belong to a
// parameter.
func (f *options) fill(args []string) error {
	if err := f.fillTarget(); err != nil {
		return err
	}
	c := f.preset
	if c.IsGiven("rate") && f.isZero("rate") {
		c.Remove("rate")
	}
	for _, of := range []struct {
		flag, key string
		n         int
	}{{"conns", "connections", f.conns}, {"clients", "clients", f.clients}} {
		if f.set.Changed(of.flag) {
			f.mustSet(of.key, strconv.Itoa(of.n))
		}
	}
	if c.IsGiven("rate") && !f.set.Changed("clients") && f.conns > 0 {
		c.SetDerived("clients", strconv.Itoa(f.conns)) // an open loop has no clients: all connections send
	}
	if f.sequential {
		if d, err := scenario.ParseDistribution(f.text("distribution")); c.IsGiven("distribution") && err == nil && d.Name != scenario.Sequential {
			return command.Usage("--sequential-keys and --distribution %s contradict each other; give only one of them", d)
		}
		f.mustSet("distribution", scenario.Sequential)
	}
	if f.kind.preloads {
		c.Names["preload: false"] = "--no-preload"
		if f.noPreload {
			f.mustSet("preload", "false")
		}
	} else {
		c.Names["preload: false"] = "no --preload"
	}
	if f.paginate {
		if c.IsGiven("page-size") {
			return command.Usage("--paginate and --page-size both set the page size; give only one of them")
		}
		c.Names["page-size"] = "--paginate"
		f.mustSet("page-size", benchPage)
	}
	if f.kind.fill != nil {
		return f.kind.fill(f, args)
	}
	return nil
}

// isZero reports whether the value of a parameter's flag is 0.
func (f *options) isZero(key string) bool {
	n, err := text.ParseNumber(f.text(key))
	return err == nil && n == 0
}

// text returns the value or default of a parameter's flag, or an empty string if the command has no
// such flag.
func (f *options) text(key string) string {
	c := f.preset
	if flag := f.set.Lookup(c.FlagName(c.Parameter(key))); flag != nil {
		return flag.Value.String()
	}
	return ""
}

// benchPage is the page size that `--paginate` sets, in keys. etcd's benchmark uses the same size.
const benchPage = "10000"

// mustSet sets a parameter to a valid value, and panics if the value is not valid.
func (f *options) mustSet(key, text string) {
	if err := f.preset.Set(key, text); err != nil {
		panic("cli: " + key + ": " + err.Error())
	}
}

func (f *options) fillTarget() error {
	target := f.Target
	switch {
	case f.autoSync < 0:
		return command.Usage("--auto-sync-interval is %v, but must be at least 0", f.autoSync)
	case f.targetLeader && f.set.Changed("target") && target.Mode != kv.LeaderOnly:
		return command.Usage("--target-leader and --target %s contradict each other; give only one of them", target)
	case f.targetLeader:
		target = kv.Target{Mode: kv.LeaderOnly}
	case f.autoSync > 0 && !f.set.Changed("target"):
		target = kv.Target{Mode: kv.AllMembers}
	}
	f.preset.SetDerived("target", target.String())
	return nil
}

// checkRepeats returns a usage error for flags that cannot be combined with several repeats.
func (f *options) checkRepeats() error {
	switch {
	case f.repeats < 1 || f.repeats > scenario.MaxRepeats:
		return command.Usage("--repeats must be from 1 to %d, not %d", scenario.MaxRepeats, f.repeats)
	case f.repeats == 1:
		return nil
	}
	if f.format == "etcd" {
		return command.Usage("--format etcd prints only one measurement, but --repeats asks for %d; remove one of the two flags", f.repeats)
	}
	if flag := f.singleOnly(); flag != "" {
		return command.Usage("--%s applies to only one measurement, but --repeats asks for %d; remove one of the two flags", flag, f.repeats)
	}
	return nil
}

// singleOnly returns the name of a given flag that cannot be combined with several repeats, or an
// empty string if there is no such flag. It ignores --format.
func (f *options) singleOnly() string {
	hashes := f.set.Lookup("check-hashkv")
	switch {
	case f.summary.Sample:
		return "sample"
	case f.summary.Precise:
		return "precise"
	case f.perfdash:
		return "report-perfdash"
	case hashes != nil && hashes.Value.String() == "true":
		return "check-hashkv"
	}
	return ""
}
