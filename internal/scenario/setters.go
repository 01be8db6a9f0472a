package scenario

import (
	"encoding/json"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// MaxRepeats is how often a trial may be repeated.
const MaxRepeats = 1000

// draft is a trial in the making.
type draft struct {
	parameters  map[string]*Parameter
	called      words
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

func newDraft(parameters map[string]*Parameter, w words) *draft {
	return &draft{parameters: parameters, called: w, load: fileLoad(), cluster: Cluster{Members: DefaultMembers}, consistency: kv.Linearizable}
}

// wordOf reads a text of one line.
func wordOf(key string, field func(*draft) *string) func(*draft, *node) error {
	return func(d *draft, n *node) error {
		s, err := n.filled(key)
		*field(d) = s
		return err
	}
}

func setMembers(d *draft, n *node) error { return n.wholeInto("members", &d.cluster.Members) }

func setDialTimeout(d *draft, n *node) (err error) {
	d.attach.DialTimeout, err = parsed(n, "dial-timeout", ParseDuration)
	return err
}

func setScaleDuration(d *draft, n *node) error {
	return n.booleanInto("scale-duration", &d.scaleDuration)
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

func setConsistency(d *draft, n *node) (err error) {
	d.consistency, err = parsed(n, "consistency", kv.ParseConsistency)
	return err
}

// rateValue is operations a second, or a share of another trial's throughput.
type rateValue struct{}

func (rateValue) hint() string   { return "R" }
func (rateValue) bounds() string { return "above 0, up to 10^7" }

// parse leaves shares to files: a command has no other trial.
func (rateValue) parse(l *Load, s string) (err error) {
	l.Rate.PerSecond, err = ParseNumber(s)
	return err
}

func (rateValue) read(d *draft, key string, n *node) error {
	r, err := parsed(n, key, ParseRate)
	if err == nil && r.Of == "" && !(r.PerSecond > 0) {
		bounds := "above 0"
		if n.flag {
			bounds += ", or 0 for a closed loop"
		}
		err = n.at.errorf("%s", d.called.outOf(key, n.text, bounds))
	}
	d.load.Rate = r
	return err
}

func (rateValue) check(*checks, string, *Load) {} // checkArrival

func (rateValue) text(l *Load) string {
	if l.Rate == (Rate{}) {
		return ""
	}
	return l.Rate.String()
}

// encode leaves out the rate that a share came to.
func (rateValue) encode(l *Load) any {
	switch r := l.Rate; {
	case r.Of != "":
		return r.String()
	case r.PerSecond == 0:
		return nil
	}
	return l.Rate.PerSecond
}

func (rateValue) decode(l *Load, b json.RawMessage) error {
	var s string
	if json.Unmarshal(b, &s) != nil {
		l.Rate = Rate{}
		return json.Unmarshal(b, &l.Rate.PerSecond)
	}
	r, err := ParseRate(s)
	l.Rate = r
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
