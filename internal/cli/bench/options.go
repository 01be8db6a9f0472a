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

// common holds the flags of all `bench` commands, which may be before or after the command's name.
// Names and defaults equal those of etcd's benchmark, so that its command lines work.
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
	r.Toggle("target-leader", &f.targetLeader, "the same as --target leader")
	r.Span("auto-sync-interval", &f.autoSync, "above 0: connect to the endpoints that the cluster reports, as --target all does")
	r.Whole("conns", &f.conns, "number of connections")
	r.Whole("clients", &f.clients, "number of clients, each with one operation outstanding")
	r.Toggle("precise", &f.summary.Precise, "print seconds with all their digits")
	r.Toggle("sample", &f.summary.Sample, "also print a line for each second")
	r.Toggle("report-perfdash", &f.perfdash, "write the percentiles as JSON for perfdash into the folder $ARTIFACTS, or else _artifacts")
	r.Text("out", &f.out, "DIR", "keep the run directory here; it must be empty or absent")
	r.Destination(&f.upload)
	r.Format(&f.format, wide, "text", "json", "etcd")
	r.Toggle("strict", &f.strict, "exit with 1 also if the verdict is suspect")
	return f
}

// kind describes a `bench` command: a preset of package scenario, and its arguments and flags.
type kind struct {
	name  string // of the command and of the preset
	args  string // follow the name in help
	most  int    // maximum number of arguments
	takes string // describes the arguments in errors
	alias string
	short string

	// The command has no flags for the parameters in without and, if only is not nil, has flags
	// only for the parameters in only. names maps parameters to other flag names.
	without []string
	only    []string
	names   map[string]string
	// mixed: the operations are a parameter, so the command has the flags of all operations.
	mixed bool
	// preloads: the keys are written before the load unless --no-preload is given.
	preloads bool
	// flags registers flags that are not parameters; fill sets parameters from those flags and
	// the arguments. Both may be nil.
	flags func(*options, command.Flags)
	fill  func(*options, []string) error
	// sections are the command's own sections of the summary.
	sections report.Classic
}

// options holds the flags of one `bench` command: flags of parameters, and other flags of etcd's
// benchmark, which set parameters.
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

	set *pflag.FlagSet // knows which flags were given
}

// watchFlags holds flags of the commands with watchers.
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
		r.Toggle("sequential-keys", &f.sequential, "the same as --distribution sequential")
	}
	if kind.preloads {
		r.Toggle("no-preload", &f.noPreload, "do not write missing keys before the load")
	}
	if has("page-size") {
		r.Toggle("paginate", &f.paginate, "the same as --page-size "+benchPage)
	}
	if kind.flags != nil {
		kind.flags(f, r)
	}
	r.Whole("repeats", &f.repeats, "number of repeats; above 1, print a table with the medians")
	r.Seed("seed", &f.seed, "seed of everything random")
	return f
}

// offered returns the parameters for which the command has a flag.
func (k kind) offered(c *scenario.Command) []*scenario.Parameter {
	return slices.DeleteFunc(c.Parameters(k.mixed), func(p *scenario.Parameter) bool {
		switch p.Key {
		case "connections", "clients", "target": // all commands have them
			return true
		case "preload":
			return k.preloads || slices.Contains(k.without, p.Key) || k.only != nil
		}
		return slices.Contains(k.without, p.Key) || k.only != nil && !slices.Contains(k.only, p.Key)
	})
}

// scenario returns the scenario that the flags describe. Its error is one sentence that names the
// flags.
func (f *options) scenario(args []string, catalog scenario.Catalog) (*scenario.Scenario, error) {
	if err := f.checkRepeats(); err != nil {
		return nil, err
	}
	if err := f.fill(args); err != nil {
		return nil, err
	}
	return f.Scenario(f.preset, catalog, scenario.Ask{Seed: f.seed, Repeats: f.repeats})
}

// fill sets the parameters that follow from other flags and from the arguments.
func (f *options) fill(args []string) error {
	if err := f.fillTarget(); err != nil {
		return err
	}
	c := f.preset
	if c.Given("rate") && f.isZero("rate") {
		c.Drop("rate")
	}
	for _, of := range []struct {
		flag, key string
		n         int
	}{{"conns", "connections", f.conns}, {"clients", "clients", f.clients}} {
		if f.set.Changed(of.flag) {
			f.put(of.key, strconv.Itoa(of.n))
		}
	}
	if c.Given("rate") && !f.set.Changed("clients") && f.conns > 0 {
		c.Let("clients", strconv.Itoa(f.conns)) // an open loop has no clients, and all connections send
	}
	if f.sequential {
		if d, err := scenario.ParseDistribution(f.text("distribution")); c.Given("distribution") && err == nil && d.Name != scenario.Sequential {
			return command.Usage("--sequential-keys and --distribution %s contradict each other; give one of them", d)
		}
		f.put("distribution", scenario.Sequential)
	}
	if f.kind.preloads {
		c.Names["preload: false"] = "--no-preload"
		if f.noPreload {
			f.put("preload", "false")
		}
	} else {
		c.Names["preload: false"] = "no --preload"
	}
	if f.paginate {
		if c.Given("page-size") {
			return command.Usage("--paginate and --page-size are the same; give one of them")
		}
		c.Names["page-size"] = "--paginate"
		f.put("page-size", benchPage)
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

// text returns the value or default of a parameter's flag; empty without a flag.
func (f *options) text(key string) string {
	c := f.preset
	if flag := f.set.Lookup(c.FlagName(c.Parameter(key))); flag != nil {
		return flag.Value.String()
	}
	return ""
}

// benchPage is the page size of `--paginate`, in keys; etcd's benchmark uses the same size.
const benchPage = "10000"

// put sets a parameter to a valid value, and panics if the value is not valid.
func (f *options) put(key, text string) {
	if err := f.preset.Set(key, text); err != nil {
		panic("cli: " + key + ": " + err.Error())
	}
}

func (f *options) fillTarget() error {
	target := f.Target
	switch {
	case f.autoSync < 0:
		return command.Usage("--auto-sync-interval is %v and cannot be negative", f.autoSync)
	case f.targetLeader && f.set.Changed("target") && target.Mode != kv.LeaderOnly:
		return command.Usage("--target-leader and --target %s contradict each other; give one of them", target)
	case f.targetLeader:
		target = kv.Target{Mode: kv.LeaderOnly}
	case f.autoSync > 0 && !f.set.Changed("target"):
		target = kv.Target{Mode: kv.All}
	}
	f.preset.Let("target", target.String())
	return nil
}

// checkRepeats returns a usage error for flags that contradict several repeats.
func (f *options) checkRepeats() error {
	switch {
	case f.repeats < 1 || f.repeats > scenario.MaxRepeats:
		return command.Usage("--repeats must be from 1 to %d, not %d", scenario.MaxRepeats, f.repeats)
	case f.repeats == 1:
		return nil
	}
	if f.format == "etcd" {
		return command.Usage("--format etcd is about one measurement, and --repeats asks for %d; drop one of them", f.repeats)
	}
	hashes := f.set.Lookup("check-hashkv")
	for _, one := range []struct {
		flag  string
		asked bool
	}{{"sample", f.summary.Sample}, {"precise", f.summary.Precise}, {"report-perfdash", f.perfdash}, {"check-hashkv", hashes != nil && hashes.Value.String() == "true"}} {
		if one.asked {
			return command.Usage("--%s is about one measurement, and --repeats asks for %d; drop one of them", one.flag, f.repeats)
		}
	}
	return nil
}
