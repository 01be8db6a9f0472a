package scenario

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// setStore reads the name of the store, or a mapping with its name and other keys of the cluster.
// The method hoistStoreKeys moves these keys to the trial.
func setStore(d *draft, key string, n *file.Node) (err error) {
	if n.Kind != file.Mapping {
		d.cluster.Store, err = n.SingleLine(key)
		return err
	}
	named := false
	readers := map[string]func(*file.Node) error{
		"name": func(n *file.Node) (err error) {
			d.cluster.Store, err = n.SingleLine(key)
			named = true
			return err
		},
	}
	for _, k := range variantKeys() {
		readers[k] = func(n *file.Node) error { return d.parameters[k].readFrom(d, n) }
	}
	switch err := n.Fields(key, readers); {
	case err != nil:
		return err
	case !named:
		return n.Pos.Errorf("if store is a mapping, it needs the key \"name\", for example {name: etcd, label: old}")
	}
	return nil
}

func setLabel(d *draft, key string, n *file.Node) (err error) {
	d.cluster.Label, err = n.SingleLine(key)
	switch l := d.cluster.Label; {
	case err != nil:
		return err
	case len(l) > maxLabel:
		return n.Pos.Errorf("label has %d bytes, but can have at most %d", len(l), maxLabel)
	case !text.Printable(l):
		return n.Pos.Errorf("label is %q, which contains a character that cannot be printed; remove that character", l)
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
func setEnv(d *draft, _ string, n *file.Node) error {
	if n.Kind != file.Mapping || len(n.Pairs) == 0 {
		return n.Pos.Errorf("env must be a mapping of variables, for example {JVMFLAGS: -Xmx1g}, not %s", n.DescribeMismatch(file.Mapping))
	}
	if len(n.Pairs) > maxEnv {
		return n.Pos.Errorf("env has %d variables, but can have at most %d", len(n.Pairs), maxEnv)
	}
	env := make(map[string]string, len(n.Pairs))
	for _, p := range n.Pairs {
		value, err := p.Value.ScalarText("env." + p.Key)
		switch {
		case err != nil:
			return err
		case !envName.MatchString(p.Key):
			return p.Pos.Errorf("%q is not the name of a variable; use letters, digits and _", p.Key)
		case strings.HasPrefix(p.Key, reservedEnvPrefix):
			return p.Pos.Errorf("the variable %s is reserved for quorumbench", p.Key)
		case len(value) > maxEnvValue:
			return p.Pos.Errorf("env.%s has %d bytes, but can have at most %d", p.Key, len(value), maxEnvValue)
		case strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
			return p.Pos.Errorf("env.%s contains a character that cannot be printed; remove that character", p.Key)
		}
		env[p.Key] = value
	}
	d.cluster.Env = env
	return nil
}

func setTLS(d *draft, key string, n *file.Node) error {
	d.runningCluster.TLS = true
	path := func(key string, target *string) func(*file.Node) error {
		return func(n *file.Node) (err error) { *target, err = n.SingleLine(key); return err }
	}
	return n.Fields(key, map[string]func(*file.Node) error{
		"cacert": path("cacert", &d.runningCluster.CACert),
		"cert":   path("cert", &d.runningCluster.Cert),
		"key":    path("key", &d.runningCluster.CertKey),
		"insecure-skip-tls-verify": func(n *file.Node) (err error) {
			d.runningCluster.SkipVerify, err = n.Boolean("insecure-skip-tls-verify")
			return err
		},
	})
}

func setSettings(d *draft, _ string, n *file.Node) error {
	if n.Kind != file.Mapping {
		return n.Pos.Errorf("settings must be a mapping of the store's own settings, not %s", n.Describe())
	}
	d.settings = n
	return nil
}
