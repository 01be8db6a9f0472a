package scenario

import (
	"github.com/quorumbench/quorumbench/internal/kv"
)

// MaxRepeats is how often a trial may be repeated.
const MaxRepeats = 1000

// draft is a trial in the making.
type draft struct {
	name        string // as written: a template
	load        Load
	cluster     Cluster
	attach      Attach
	settings    *node
	consistency kv.Consistency // of reads that give none of their own
	repeats     int
	places      []place // of the mix's operations

	scaleDuration bool // the window is scaled as totals are
	watchAll      bool // each watcher watches the whole key space
}

func newDraft() *draft {
	return &draft{load: fileLoad(), cluster: Cluster{Members: DefaultMembers}, consistency: kv.Linearizable}
}

func setName(d *draft, n *node) (err error) {
	d.name, err = n.filled("name")
	return err
}

func setRepeats(d *draft, n *node) error {
	i, err := readRepeats(n)
	d.repeats = i
	return err
}

func readRepeats(n *node) (int, error) {
	i, err := n.whole("repeats")
	if err == nil && (i < 1 || i > MaxRepeats) {
		return 0, n.at.errorf("repeats is %d and must be from 1 to %d", i, MaxRepeats)
	}
	return int(i), err
}

func setSettings(d *draft, n *node) error {
	if n.kind != mapping {
		return n.at.errorf("settings must be a mapping of the store's own settings, not %s", n.what())
	}
	d.settings = n
	return nil
}

func setEndpoints(d *draft, n *node) (err error) {
	d.attach.Endpoints, err = n.words("endpoints")
	return err
}

func setTLS(d *draft, n *node) error {
	d.attach.TLS = true
	file := func(key string, to *string) func(*node) error {
		return func(n *node) (err error) {
			*to, err = n.filled(key)
			return err
		}
	}
	return n.fields("tls", map[string]func(*node) error{
		"cacert": file("cacert", &d.attach.CACert),
		"cert":   file("cert", &d.attach.Cert),
		"key":    file("key", &d.attach.CertKey),
		"insecure-skip-tls-verify": func(n *node) (err error) {
			d.attach.SkipVerify, err = n.boolean("insecure-skip-tls-verify")
			return err
		},
	})
}

func setOperation(d *draft, n *node) error {
	k, err := parsed(n, "operation", kv.ParseKind)
	d.load.Mix, d.places = []Operation{{Kind: k, Weight: 1}}, []place{n.at}
	return err
}

func setMix(d *draft, n *node) error {
	d.load.Mix, d.places = nil, nil
	switch n.kind {
	case mapping:
		for _, p := range n.pairs {
			k, err := parsed(&node{kind: scalar, text: p.key, at: p.at}, "mix", kv.ParseKind)
			if err != nil {
				return err
			}
			weight, err := readWeight(p.value)
			if err != nil {
				return err
			}
			d.load.Mix, d.places = append(d.load.Mix, Operation{Kind: k, Weight: weight}), append(d.places, p.at)
		}
	case list:
		for _, item := range n.items {
			o, err := readOperation(item)
			if err != nil {
				return err
			}
			d.load.Mix, d.places = append(d.load.Mix, o), append(d.places, item.at)
		}
	default:
		return n.at.errorf("mix must be a mapping as in {put: 20, get: 80}, or a list, not %s", n.what())
	}
	if len(d.load.Mix) == 0 {
		return n.at.errorf("the mix has no operation")
	}
	return nil
}

func readOperation(n *node) (Operation, error) {
	o, named := Operation{Weight: 1}, false
	err := n.fields("an entry of mix", map[string]func(*node) error{
		"operation": func(n *node) (err error) {
			o.Kind, err = parsed(n, "operation", kv.ParseKind)
			named = true
			return err
		},
		"consistency": func(n *node) (err error) {
			o.Consistency, err = parsed(n, "consistency", kv.ParseConsistency)
			return err
		},
		"weight": func(n *node) (err error) {
			o.Weight, err = readWeight(n)
			return err
		},
	})
	switch {
	case err != nil:
		return o, err
	case !named:
		return o, n.at.errorf("an entry of mix needs operation")
	case o.Consistency != kv.None && !reads(o.Kind):
		return o, n.at.errorf("consistency is for reads, and %s is none", o.Kind)
	}
	return o, nil
}

func readWeight(n *node) (float64, error) {
	w, err := n.number("a weight")
	if err == nil && !(w >= MinWeight && w <= MaxWeight) {
		return 0, n.at.errorf("a weight is %s and must be from %s to %s", n.text, formatNumber(MinWeight), formatNumber(MaxWeight))
	}
	return w, err
}

func setConsistency(d *draft, n *node) (err error) {
	d.consistency, err = parsed(n, "consistency", kv.ParseConsistency)
	return err
}

func setTarget(d *draft, n *node) (err error) {
	d.load.Target, err = parsed(n, "target", kv.ParseTarget)
	return err
}

func setPrefix(d *draft, n *node) (err error) {
	d.load.Prefix, err = n.word("prefix")
	return err
}

func rangeKey(name string, field func(*draft) *[]byte) func(*draft, *node) error {
	return func(d *draft, n *node) error {
		s, err := n.word(name)
		*field(d) = []byte(s)
		return err
	}
}

func setArrival(d *draft, n *node) (err error) {
	d.load.Arrival, err = parsed(n, "arrival", ParseArrival)
	return err
}

func setRate(d *draft, n *node) error {
	r, err := parsed(n, "rate", ParseRate)
	if err == nil && r.Of == "" && !(r.PerSecond > 0) {
		err = n.at.errorf("rate is %s and must be above 0", n.text)
	}
	d.load.Rate = r
	return err
}

func setDuration(d *draft, n *node) error {
	v, err := parsed(n, "duration", ParseDuration)
	if err == nil && v <= 0 {
		err = n.at.errorf("duration is %v and must be above 0", v)
	}
	d.load.Duration = v
	return err
}

func setDistribution(d *draft, n *node) error {
	if n.kind != mapping {
		v, err := parsed(n, "distribution", ParseDistribution)
		d.load.Distribution = v
		return err
	}
	var v Distribution
	for _, p := range n.pairs { // first the name, wherever it stands
		if p.key == "name" {
			var err error
			if v, err = parsed(p.value, "distribution", newDistribution); err != nil {
				return err
			}
		}
	}
	if v.Name == "" {
		return n.at.errorf("distribution needs a name: sequential, uniform, zipfian or hotspot")
	}
	parameter := func(key, of string, to *float64) func(*node) error {
		return func(n *node) (err error) {
			if v.Name != of {
				return n.at.errorf("%s is a parameter of the distribution %s", key, of)
			}
			*to, err = n.number(key)
			return err
		}
	}
	err := n.fields("distribution", map[string]func(*node) error{
		"name":           func(*node) error { return nil },
		"theta":          parameter("theta", Zipfian, &v.Theta),
		"hot-keys":       parameter("hot-keys", Hotspot, &v.HotKeys),
		"hot-operations": parameter("hot-operations", Hotspot, &v.HotOps),
	})
	if err != nil {
		return err
	}
	if err := v.check(); err != nil {
		return n.at.errorf("%v", err)
	}
	d.load.Distribution = v
	return nil
}
