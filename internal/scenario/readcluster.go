package scenario

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/quorumbench/quorumbench/internal/text"
)

// setStore reads the name of the store, or a mapping with its name and other keys of the cluster.
// The method hoistStoreKeys moves these keys to the trial.
func setStore(d *draft, key string, n *node) (err error) {
	if n.kind != mapping {
		d.cluster.Store, err = n.singleLine(key)
		return err
	}
	named := false
	readers := map[string]func(*node) error{
		"name": func(n *node) (err error) {
			d.cluster.Store, err = n.singleLine(key)
			named = true
			return err
		},
	}
	for _, k := range variantKeys() {
		readers[k] = func(n *node) error { return d.parameters[k].readFrom(d, n) }
	}
	switch err := n.fields(key, readers); {
	case err != nil:
		return err
	case !named:
		return n.pos.errorf("if store is a mapping, it needs the key \"name\", for example {name: etcd, label: old}")
	}
	return nil
}

func setLabel(d *draft, key string, n *node) (err error) {
	d.cluster.Label, err = n.singleLine(key)
	switch l := d.cluster.Label; {
	case err != nil:
		return err
	case len(l) > maxLabel:
		return n.pos.errorf("label has %d bytes, but can have at most %d", len(l), maxLabel)
	case !text.Printable(l):
		return n.pos.errorf("label is %q, which contains a character that cannot be printed; remove that character", l)
	}
	return nil
}

// Upper limits for environment variables.
const (
	maxEnv      = 64      // number of variables
	maxEnvValue = 4 << 10 // bytes in a value
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reservedEnvPrefix is the prefix of environment variables that quorumbench itself sets for
// members.
const reservedEnvPrefix = "QUORUMBENCH_"

// setEnv reads the environment variables for the members.
func setEnv(d *draft, _ string, n *node) error {
	if n.kind != mapping || len(n.pairs) == 0 {
		return n.pos.errorf("env must be a mapping of variables, for example {JVMFLAGS: -Xmx1g}, not %s", n.describeMismatch(mapping))
	}
	if len(n.pairs) > maxEnv {
		return n.pos.errorf("env has %d variables, but can have at most %d", len(n.pairs), maxEnv)
	}
	env := make(map[string]string, len(n.pairs))
	for _, p := range n.pairs {
		value, err := p.value.scalarText("env." + p.key)
		switch {
		case err != nil:
			return err
		case !envName.MatchString(p.key):
			return p.pos.errorf("%q is not the name of a variable; use letters, digits and _", p.key)
		case strings.HasPrefix(p.key, reservedEnvPrefix):
			return p.pos.errorf("the variable %s is reserved for quorumbench", p.key)
		case len(value) > maxEnvValue:
			return p.pos.errorf("env.%s has %d bytes, but can have at most %d", p.key, len(value), maxEnvValue)
		case strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
			return p.pos.errorf("env.%s contains a character that cannot be printed; remove that character", p.key)
		}
		env[p.key] = value
	}
	d.cluster.Env = env
	return nil
}

func setTLS(d *draft, key string, n *node) error {
	d.runningCluster.TLS = true
	file := func(key string, target *string) func(*node) error {
		return func(n *node) (err error) { *target, err = n.singleLine(key); return err }
	}
	return n.fields(key, map[string]func(*node) error{
		"cacert": file("cacert", &d.runningCluster.CACert),
		"cert":   file("cert", &d.runningCluster.Cert),
		"key":    file("key", &d.runningCluster.CertKey),
		"insecure-skip-tls-verify": func(n *node) (err error) {
			d.runningCluster.SkipVerify, err = n.boolean("insecure-skip-tls-verify")
			return err
		},
	})
}

func setSettings(d *draft, _ string, n *node) error {
	if n.kind != mapping {
		return n.pos.errorf("settings must be a mapping of the store's own settings, not %s", n.describe())
	}
	d.settings = n
	return nil
}
