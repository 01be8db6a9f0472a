package scenario

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The most that env may ask for.
const (
	maxEnv      = 64      // variables
	maxEnvValue = 4 << 10 // bytes of one
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ourEnv begins the names of variables that are between us and our members.
const ourEnv = "QUORUMBENCH_"

// setEnv reads the variables of the members' environment.
func setEnv(d *draft, n *node) error {
	if n.kind != mapping || len(n.pairs) == 0 {
		return n.at.errorf("env must be a mapping of variables, as in {JVMFLAGS: -Xmx1g}, not %s", emptyMapping(n))
	}
	if len(n.pairs) > maxEnv {
		return n.at.errorf("env has %d variables and can have %d at most", len(n.pairs), maxEnv)
	}
	env := make(map[string]string, len(n.pairs))
	for _, p := range n.pairs {
		value, err := p.value.word("env." + p.key)
		switch {
		case err != nil:
			return err
		case !envName.MatchString(p.key):
			return p.at.errorf("%q is no name of a variable; it has letters, digits and _", p.key)
		case strings.HasPrefix(p.key, ourEnv):
			return p.at.errorf("%s is a variable of quorumbench's own, and not for env", p.key)
		case len(value) > maxEnvValue:
			return p.at.errorf("env.%s has %d bytes and can have %d at most", p.key, len(value), maxEnvValue)
		case strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
			return p.at.errorf("env.%s has a character that cannot be printed", p.key)
		}
		env[p.key] = value
	}
	d.cluster.Env = env
	return nil
}

// Environment is the variables that members get besides the usual ones, as
// NAME=VALUE and in the order of their names.
func (c *Cluster) Environment() []string { return Variables(c.Env) }

// Variables are those of a map as NAME=VALUE, in the order of their names.
func Variables(env map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, fmt.Sprintf("%s=%s", name, env[name]))
	}
	return out
}
