package cli

import (
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// scenario makes the one trial that the flags ask for. Its error is one
// sentence in the flags' words.
func (f *benchFlags) scenario(args []string, catalog scenario.Catalog) (*scenario.Scenario, error) {
	if err := f.checkRepeats(); err != nil {
		return nil, err
	}
	if err := f.fill(args); err != nil {
		return nil, err
	}
	attach, err := f.attachOf()
	if err != nil {
		return nil, err
	}
	if err := f.checkStore(nil, catalog); err != nil {
		return nil, err
	}
	s, err := f.command.Scenario(catalog, scenario.Ask{Store: f.store, Attach: attach, Seed: f.seed, Repeats: f.repeats})
	if err != nil {
		return nil, usage("%w", err)
	}
	return s, nil
}

// fill says what the parameters are, beside those that have a flag of their own.
func (f *benchFlags) fill(args []string) error {
	if err := f.fillTarget(); err != nil {
		return err
	}
	c := f.command
	if c.Given("rate") && f.isZero("rate") {
		c.Drop("rate")
	}
	for _, of := range []struct {
		flag, key string
		n         int
	}{{"conns", "connections", f.conns}, {"clients", "clients", f.clients}} {
		if f.given(of.flag) {
			f.put(of.key, strconv.Itoa(of.n))
		}
	}
	if c.Given("rate") && !f.given("clients") && f.conns > 0 {
		c.Let("clients", strconv.Itoa(f.conns)) // an open loop has none, and all connections send
	}
	if f.sequential {
		if d, err := scenario.ParseDistribution(f.text("distribution")); c.Given("distribution") && err == nil && d.Name != scenario.Sequential {
			return usage("--sequential-keys and --distribution %s contradict each other; give one of them", d)
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
			return usage("--paginate and --page-size are the same; give one of them")
		}
		c.Names["page-size"] = "--paginate"
		f.put("page-size", benchPage)
	}
	if f.kind.fill != nil {
		return f.kind.fill(f, args)
	}
	return nil
}

// isZero reports whether a parameter's flag says 0.
func (f *benchFlags) isZero(key string) bool {
	n, err := scenario.ParseNumber(f.text(key))
	return err == nil && n == 0
}

// text is what a parameter's flag says, or its default; empty without a flag.
func (f *benchFlags) text(key string) string {
	c := f.command
	if flag := f.set.Lookup(c.FlagName(c.Parameter(key))); flag != nil {
		return flag.Value.String()
	}
	return ""
}

// benchPage is how many keys `--paginate` reads at a time, as etcd's benchmark
// does.
const benchPage = "10000"

// put sets a parameter to a text that is a value of it.
func (f *benchFlags) put(key, text string) {
	if err := f.command.Set(key, text); err != nil {
		panic("cli: " + key + ": " + err.Error())
	}
}

func (f *benchFlags) fillTarget() error {
	target := f.target
	switch {
	case f.autoSync < 0:
		return usage("--auto-sync-interval is %v and cannot be negative", f.autoSync)
	case f.targetLeader && f.given("target") && target.Mode != kv.LeaderOnly:
		return usage("--target-leader and --target %s contradict each other; give one of them", target)
	case f.targetLeader:
		target = kv.Target{Mode: kv.LeaderOnly}
	case f.autoSync > 0 && !f.given("target"):
		target = kv.Target{Mode: kv.All}
	}
	f.command.Let("target", target.String())
	return nil
}

// checkRepeats refuses what has no room for several measurements.
func (f *benchFlags) checkRepeats() error {
	switch {
	case f.repeats < 1 || f.repeats > scenario.MaxRepeats:
		return usage("--repeats must be from 1 to %d, not %d", scenario.MaxRepeats, f.repeats)
	case f.repeats == 1:
		return nil
	}
	hashes := f.set.Lookup("check-hashkv")
	for _, one := range []struct {
		flag  string
		asked bool
	}{{"sample", f.summary.Sample}, {"precise", f.summary.Precise}, {"report-perfdash", f.perfdash}, {"check-hashkv", hashes != nil && hashes.Value.String() == "true"}} {
		if one.asked {
			return usage("--%s is about one measurement, and --repeats asks for %d; drop one of them", one.flag, f.repeats)
		}
	}
	return nil
}
