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

// benchKind is one of the `bench` commands.
type benchKind struct {
	name         string
	short        string
	kinds        []kv.Kind
	distribution string // unless the flags say
}

func benchKinds() []benchKind {
	return []benchKind{
		{"put", "Write keys", []kv.Kind{kv.Put}, scenario.Uniform},
		{"get", "Read one key at a time from the key space", []kv.Kind{kv.Get}, scenario.Uniform},
		{"range", "Read a given key or interval again and again", []kv.Kind{kv.Range}, scenario.Uniform},
		// Each key is deleted once, for as long as there are keys.
		{"delete", "Delete keys", []kv.Kind{kv.Delete}, scenario.Sequential},
		{"mixed", "Write and read keys of one key space", []kv.Kind{kv.Put, kv.Get}, scenario.Uniform},
	}
}

func (k benchKind) reads() bool {
	return slices.Contains(k.kinds, kv.Get) || slices.Contains(k.kinds, kv.Range)
}

// scenario makes the one trial that the flags ask for. Its error is one
// sentence in the flags' words.
func (f *benchFlags) scenario(kind benchKind, args []string, catalog scenario.Catalog) (*scenario.Scenario, error) {
	if err := f.checkTogether(kind); err != nil {
		return nil, err
	}
	load, err := f.loadOf(kind, args)
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
			return nil, inFlags(err)
		}
	}
	if err := f.checkStore(load, catalog); err != nil {
		return nil, err
	}
	// The trial's seed is the one given, so that the one in its result repeats it.
	load.Seed = f.seed
	s := &scenario.Scenario{Name: "bench-" + kind.name, Seed: f.seed}
	if w := load.Fit(catalog.InFlight(f.store)); w != "" && f.given("conns") {
		s.Warnings = append(s.Warnings, w)
	}
	for _, w := range load.Warnings() {
		s.Warnings = append(s.Warnings, inFlagWords(w, ""))
	}
	s.Trials = []scenario.Trial{{
		Name: kind.name, Number: 1, Repeat: 1, Repeats: 1, Load: *load,
		Cluster: scenario.Cluster{Store: f.store, Attach: attach, Key: "attached"},
	}}
	return s, nil
}

// checkTogether refuses flags that contradict each other.
func (f *benchFlags) checkTogether(kind benchKind) error {
	switch {
	case f.given("total") && f.given("duration"):
		return usage("--total and --duration both bound the measurement; give one of them")
	case f.given("rate") && f.rate < 0:
		return usage("--rate must be above 0, or 0 for a closed loop, not %g", f.rate)
	case f.given("arrival") && f.load.Arrival != scenario.Closed && f.rate == 0:
		return usage("--arrival %s needs a --rate above 0", f.load.Arrival)
	case f.load.Arrival == scenario.Closed && f.given("arrival") && f.rate > 0:
		return usage("--arrival closed has no --rate; drop one of them")
	case f.given("max-in-flight") && f.rate == 0:
		return usage("--max-in-flight is for an open loop, which --rate makes")
	case f.sequential && f.given("distribution") && f.load.Distribution.Name != scenario.Sequential:
		return usage("--sequential-keys and --distribution %s contradict each other; give one of them", f.load.Distribution)
	}
	if kind.name != "mixed" {
		return nil
	}
	switch {
	case f.putWeight < 0 || f.getWeight < 0:
		return usage("--put-weight and --get-weight cannot be negative")
	case f.putWeight == 0 && f.getWeight == 0:
		return usage("--put-weight and --get-weight are both 0, so there is nothing to do")
	}
	return nil
}

func (f *benchFlags) loadOf(kind benchKind, args []string) (*scenario.Load, error) {
	l := f.load
	if !f.given("clients") && l.Connections > 0 {
		l.Clients = l.Connections
	}
	if f.rate > 0 {
		l.Rate.PerSecond = f.rate
		if l.Arrival == scenario.Closed {
			l.Arrival = scenario.Constant
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
	l.Mix = f.mix(kind)
	switch kind.name {
	case "range":
		l.RangeKey, l.RangeLimit = []byte(args[0]), f.limit
		if len(args) > 1 {
			l.RangeEnd = []byte(args[1])
		}
	case "put":
		l.Preload = f.preload
	default:
		l.Preload = !f.noPreload
	}
	return &l, nil
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
func (f *benchFlags) mix(kind benchKind) []scenario.Operation {
	var mix []scenario.Operation
	for _, k := range kind.kinds {
		op := scenario.Operation{Kind: k, Weight: 1}
		if k == kv.Get || k == kv.Range {
			op.Consistency = f.consistency
		}
		if kind.name == "mixed" {
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

// attachOf reads the endpoints: a scheme says whether TLS is meant.
func (f *benchFlags) attachOf() (*scenario.Attach, error) {
	a := f.attach
	var plain, secure string
	for _, given := range f.endpoints {
		scheme, rest, found := strings.Cut(given, "://")
		switch {
		case !found:
			rest = given
		case scheme == "http":
			plain = given
		case scheme == "https":
			secure = given
		default:
			return nil, usage("the endpoint %q begins with neither http:// nor https://; write HOST:PORT", given)
		}
		a.Endpoints = append(a.Endpoints, strings.TrimSuffix(rest, "/"))
	}
	options := a.CACert != "" || a.Cert != "" || a.CertKey != "" || a.SkipVerify
	switch {
	case (a.Cert == "") != (a.CertKey == ""):
		return nil, usage("--cert and --key belong together; give both")
	case a.SkipVerify && a.CACert != "":
		return nil, usage("--cacert says whom to trust and --insecure-skip-tls-verify trusts everybody; give one of them")
	case plain != "" && secure != "":
		return nil, usage("the endpoints %s and %s contradict each other: TLS is for all of them or for none", plain, secure)
	case plain != "" && options:
		return nil, usage("the endpoint %s is without TLS, and other flags are about TLS; write https:// or drop them", plain)
	}
	a.TLS = secure != "" || options
	return &a, nil
}

// checkStore asks the catalog whether the store is there and can do it.
func (f *benchFlags) checkStore(l *scenario.Load, catalog scenario.Catalog) error {
	stores := catalog.Stores()
	if !slices.Contains(stores, f.store) {
		return usage("--store: there is no store %q; choose one of: %s%s", f.store, strings.Join(stores, ", "), suggest(f.store, stores, ""))
	}
	for _, op := range l.Mix {
		if err := catalog.Supports(f.store, op.Kind, op.Consistency); err != nil {
			return usage("%w", err)
		}
	}
	return nil
}

// keyFlags is what scenario files call something, and the flag that it is here.
var keyFlags = map[string]string{
	"connections": "--conns", "clients": "--clients", "max-in-flight": "--max-in-flight", "threads": "--threads",
	"key-size": "--key-size", "value-size": "--val-size", "key-space": "--key-space-size", "prefix": "--prefix",
	"distribution": "--distribution", "range-key": "KEY", "range-end": "END", "range-limit": "--limit",
	"rate": "--rate", "arrival": "--arrival", "total": "--total", "duration": "--duration", "warmup": "--warmup",
	"timeout": "--timeout", "target": "--target", "consistency": "--consistency", "dial-timeout": "--dial-timeout",
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
	if m := bound.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s must be %s, not %s", m[1], m[3], m[2])
	}
	return text
}
