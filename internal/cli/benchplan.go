package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// scenario makes the one trial that the flags ask for. Its error is one
// sentence in the flags' words.
func (f *benchFlags) scenario(args []string, catalog scenario.Catalog) (*scenario.Scenario, error) {
	s, err := f.trial(args, catalog)
	if err != nil {
		return nil, f.inOwnWords(err)
	}
	return s, nil
}

// inOwnWords puts a sentence into the names that the command has for flags.
func (f *benchFlags) inOwnWords(err error) error {
	if len(f.kind.renamed) == 0 || exitCode(err) != ExitUsage {
		return err
	}
	return usage("%s", strings.NewReplacer(f.kind.renamed...).Replace(err.Error()))
}

func (f *benchFlags) trial(args []string, catalog scenario.Catalog) (*scenario.Scenario, error) {
	if err := f.checkTogether(); err != nil {
		return nil, err
	}
	load, err := f.loadOf(args)
	if err != nil {
		return nil, err
	}
	attach, err := f.attachOf()
	if err != nil {
		return nil, err
	}
	load.Complete()
	for _, check := range []func() error{load.Validate, attach.Validate} {
		if err := check(); err != nil {
			err = inFlags(err)
			if f.kind.blind() { // the flag is the other way round there
				err = usage("%s", strings.ReplaceAll(err.Error(), "--no-preload", "no --preload"))
			}
			return nil, err
		}
	}
	if err := f.checkStore(load.Mix, catalog); err != nil {
		return nil, err
	}
	if f.kind.watches {
		if err := catalog.Supports(f.store, kv.Watch, kv.None); err != nil {
			return nil, usage("%w", err)
		}
	}
	if load.Scan != (scenario.Scan{}) && !catalog.RangeForms(f.store) {
		return nil, usage("%s cannot read a range with %s; leave it out", f.store, f.scanFlag())
	}
	// The trial's seed is the one given, so that the one in its result repeats it.
	load.Seed = f.seed
	s := &scenario.Scenario{Name: "bench-" + f.kind.name, Seed: f.seed}
	if w := load.Fit(catalog.InFlight(f.store)); w != "" && f.given("conns") {
		s.Warnings = append(s.Warnings, w)
	}
	var notes []string
	if w := load.FitOrdered(catalog.Ordered(f.store)); w != "" {
		notes = append(notes, w)
	}
	if m := load.STM; m != nil && m.KeysPerTxn*m.WritePercent/100 == 0 {
		notes = append(notes, fmt.Sprintf("No transaction writes: %d percent (--txn-wr-percent) of %s (--keys-per-txn) is no whole key.", m.WritePercent, plural(m.KeysPerTxn, "key")))
	}
	if load.NewConnection {
		notes = append(notes, scenario.NewConnectionNote)
	}
	for _, w := range load.Warnings() {
		s.Warnings = append(s.Warnings, inFlagWords(w, ""))
	}
	for i := range f.repeats {
		s.Trials = append(s.Trials, scenario.Trial{
			Name: f.kind.name, Number: 1, Repeat: i + 1, Repeats: f.repeats, Load: *load, Notes: notes,
			Cluster: scenario.Cluster{Store: f.store, Attach: attach, Key: "attached"},
		})
	}
	return s, nil
}

func (f *benchFlags) loadOf(args []string) (*scenario.Load, error) {
	l := f.load
	l.Connections, l.Clients = f.conns, f.clients
	switch l.Target = f.target; {
	case f.targetLeader:
		l.Target.Mode = kv.LeaderOnly
	case f.autoSync > 0 && !f.given("target"):
		l.Target.Mode = kv.All
	}
	if f.rate > 0 {
		l.Rate.PerSecond = f.rate
		if l.Arrival == scenario.Closed {
			l.Arrival = scenario.Constant
		}
		if !f.given("clients") && l.Connections > 0 {
			l.Clients = l.Connections // an open loop has none, and all connections send
		}
	}
	if err := f.bound(&l); err != nil {
		return nil, err
	}
	if f.given("key-space-size") {
		if f.keySpace < 1 {
			return nil, usage("--key-space-size must be at least 1, not %d", f.keySpace)
		}
		l.KeySpace = uint64(f.keySpace)
	}
	if f.sequential {
		l.Distribution = scenario.Distribution{Name: scenario.Sequential}
	}
	if l.Compact.Every == 0 {
		l.Compact = scenario.Compaction{}
	}
	l.Mix = f.mix()
	l.RangeLimit = f.limit
	switch {
	case f.kind.fill != nil:
		l.Preload = f.preload
		return &l, f.kind.fill(f, &l, args)
	case f.kind.name == "range":
		return &l, f.interval(&l, args)
	case f.kind.blind():
		l.Preload = f.preload
	default:
		l.Preload = !f.noPreload
	}
	return &l, nil
}

// interval is what `range` reads.
func (f *benchFlags) interval(l *scenario.Load, args []string) error {
	if f.prefix && len(args) > 1 {
		return usage("--prefix reads all keys that begin with KEY, and END %q bounds them, too; give one of them", args[1])
	}
	if l.Scan = f.load.Scan; f.paginate {
		l.Scan.PageSize = benchPage
	}
	if len(args) == 0 {
		if !f.prefix {
			return usage("bench range needs %s", f.kind.takes)
		}
		l.RangeKey, l.RangeEnd = firstOfAll, afterAll
		return nil
	}
	l.RangeKey = []byte(args[0])
	switch {
	case len(args) > 1:
		l.RangeEnd = []byte(args[1])
	case f.prefix:
		if l.RangeEnd = prefixEnd(l.RangeKey); l.RangeEnd == nil {
			return usage("no key follows those that begin with %q, so they cannot be told from the rest", args[0])
		}
	}
	return nil
}

// prefixEnd is the first key behind all that begin with the prefix; nil if
// there is none.
func prefixEnd(prefix []byte) []byte {
	end := slices.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

// bound settles what ends the window.
func (f *benchFlags) bound(l *scenario.Load) error {
	switch {
	case f.given("duration") && l.Duration <= 0:
		return usage("--duration must be above 0, not %v", l.Duration)
	case f.given("duration"):
		return nil
	case f.total < 1:
		return usage("--total must be at least 1, not %d", f.total)
	}
	l.Total = uint64(f.total)
	return nil
}

// mix is what the command does, without what has no weight.
func (f *benchFlags) mix() []scenario.Operation {
	var mix []scenario.Operation
	for _, k := range f.kind.kinds {
		op := scenario.Operation{Kind: k, Weight: 1}
		if k == kv.Get || k == kv.Range || k == kv.TxnGet {
			op.Consistency = f.consistency
		}
		if f.kind.name == "mixed" {
			op.Weight = f.putWeight
			if k == kv.Get {
				op.Weight = f.getWeight
			}
		}
		if op.Weight != 0 {
			mix = append(mix, op)
		}
	}
	return mix
}

// keyFlags is what scenario files call something, and the flag that it is here.
var keyFlags = map[string]string{
	"connections": "--conns", "clients": "--clients", "max-in-flight": "--max-in-flight", "threads": "--threads",
	"key-size": "--key-size", "value-size": "--val-size", "key-space": "--key-space-size", "prefix": "--prefix",
	"distribution": "--distribution", "range-key": "KEY", "range-end": "END", "range-limit": "--limit",
	"txn-keys": "--txn-ops", "rate": "--rate", "arrival": "--arrival", "total": "--total", "duration": "--duration", "warmup": "--warmup",
	"new-connection": "--new-connection", "timeout": "--timeout", "target": "--target", "consistency": "--consistency", "dial-timeout": "--dial-timeout",
	"cert": "--cert", "cacert": "--cacert", "insecure-skip-tls-verify": "--insecure-skip-tls-verify", "user": "--user",
}

// inFlags puts a sentence about a scenario's key into the words of the flags.
func inFlags(err error) error {
	var p *scenario.Problem
	if !errors.As(err, &p) {
		return usage("%w", err)
	}
	return usage("%s", inFlagWords(p.Text, p.Key))
}

var (
	keyWord = regexp.MustCompile(`[a-z]+(-[a-z]+)*`)
	bound   = regexp.MustCompile(`^(--\S+) is (\S+) and must be (at least \S+|above \S+|from [^;]+)$`)
)

// inFlagWords replaces the names of keys: those that can be nothing but a
// name, and the one that the sentence is about.
func inFlagWords(text, about string) string {
	text = keyWord.ReplaceAllStringFunc(text, func(word string) string {
		if flag, ok := keyFlags[word]; ok && (word == about || strings.Contains(word, "-")) {
			return flag
		}
		return word
	})
	text = strings.ReplaceAll(text, "preload: false", "--no-preload")
	if m := bound.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s must be %s, not %s", m[1], m[3], m[2])
	}
	return text
}
