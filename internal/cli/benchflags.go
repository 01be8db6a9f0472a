package cli

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// benchCommon are the flags that all `bench` commands have, before or behind
// the command's name. Their names and defaults are those of etcd's benchmark,
// so that its command lines work.
type benchCommon struct {
	attachFlags
	targetLeader bool
	autoSync     time.Duration
	conns        int
	clients      int

	summary  report.Classic
	perfdash bool
	out      string
	format   string
	strict   bool
}

func newBenchCommon(r flags) *benchCommon {
	f := &benchCommon{attachFlags: newAttachFlags(), conns: 1, clients: 1, format: "text"}
	f.register(r)
	r.toggle("target-leader", &f.targetLeader, "the same as --target leader")
	r.span("auto-sync-interval", &f.autoSync, "above 0, the endpoints are those that the cluster tells: the same as --target all")
	r.whole("conns", &f.conns, "connections")
	r.whole("clients", &f.clients, "clients in all, each with one operation outstanding")
	r.toggle("precise", &f.summary.Precise, "seconds with all their digits")
	r.toggle("sample", &f.summary.Sample, "a line for each second, too")
	r.toggle("report-perfdash", &f.perfdash, "write the percentiles as JSON for perfdash into the folder $ARTIFACTS, or else _artifacts")
	r.text("out", &f.out, "DIR", "keep the run directory here; it must be empty or not there yet")
	r.choice("format", &f.format, "of the result on standard output", "text", "json")
	r.toggle("strict", &f.strict, "exit with 1 when the verdict is suspect, too")
	return f
}

// benchFlags are the flags of one `bench` command: those of its parameters, and
// beside them what etcd's benchmark calls otherwise.
type benchFlags struct {
	*benchCommon
	kind    benchKind
	command *scenario.Command

	seed    uint64
	repeats int

	sequential bool
	noPreload  bool
	putWeight  float64
	getWeight  float64
	rwRatio    float64 // reads for each write
	prefix     bool    // range: all keys that begin with KEY
	paginate   bool
	endKey     string
	watch      watchFlags

	set *pflag.FlagSet // knows which were given
}

func newBenchFlags(common *benchCommon, kind benchKind, set *pflag.FlagSet) *benchFlags {
	command := scenario.NewCommand(kind.name)
	for key, name := range kind.names {
		command.Names[key] = name
	}
	f := &benchFlags{
		benchCommon: common, kind: kind, command: command,
		seed: scenario.DefaultSeed, repeats: 1, putWeight: 50, getWeight: 50, rwRatio: 1, set: set,
	}
	r := newFlags(set)
	offered := kind.offered(command)
	for _, p := range offered {
		f.parameter(r, p)
	}
	has := func(key string) bool {
		return slices.ContainsFunc(offered, func(p *scenario.Parameter) bool { return p.Key == key })
	}
	if has("distribution") {
		r.toggle("sequential-keys", &f.sequential, "the same as --distribution sequential")
	}
	if kind.preloads {
		r.toggle("no-preload", &f.noPreload, "do not write missing keys before")
	}
	if has("page-size") {
		r.toggle("paginate", &f.paginate, "the same as --page-size "+benchPage)
	}
	if kind.flags != nil {
		kind.flags(f, r)
	}
	r.whole("repeats", &f.repeats, "measure so often, and print a table with the medians")
	r.seed("seed", &f.seed, "everything random comes from it")
	return f
}

// offered are the parameters for which the command has a flag.
func (k benchKind) offered(c *scenario.Command) []*scenario.Parameter {
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

// parameter registers the flag of a parameter.
func (f *benchFlags) parameter(r flags, p *scenario.Parameter) {
	name := f.command.FlagName(p)
	v := &parameterFlag{command: f.command, parameter: p, text: f.command.Default(p)}
	r.set.Var(v, name, p.Meaning)
	if v.Type() == "bool" {
		r.set.Lookup(name).NoOptDefVal = "true"
	}
}

// given reports whether a flag was on the command line.
func (f *benchFlags) given(name string) bool { return given(f.set, name) }

// parameterFlag is the flag of a parameter.
type parameterFlag struct {
	command   *scenario.Command
	parameter *scenario.Parameter
	text      string
}

// Set implements pflag.Value.
func (v *parameterFlag) Set(s string) error {
	err := v.command.Set(v.parameter.Key, s)
	if err == nil {
		v.text = s
	}
	return err
}

// String implements pflag.Value; it is what help shows as the default.
func (v *parameterFlag) String() string {
	if v.text == "0s" || v.text == scenario.Closed.String() {
		return "" // nothing, as without the flag
	}
	return v.text
}

// Type implements pflag.Value; it stands for the value in help.
func (v *parameterFlag) Type() string { return v.parameter.Hint() }
