package scenario

import (
	"strings"
	"testing"
)

// An environment belongs to a cluster, no matter whether it is specified in a trial, in defaults,
// in a matrix, for a store or for a baseline. A different environment means a different cluster.
func TestEnvironmentBelongsToTheCluster(t *testing.T) {
	const file = `
order: written
defaults: {store: etcd, operation: put, duration: 1s, env: {B: two, A: "1"}}
trials:
  - name: a
  - name: b
    env: {A: 1, B: two}
  - name: c-{env}
    matrix: {env: [{A: "2"}, {A: "3"}]}
  - name: d
    store: {name: etcd, env: {C: x}}
  - name: e
    baseline: {env: {A: old}}
  - {name: f, endpoints: "a:1"}
`
	s := parse(t, "f.yaml", file)
	keys := map[string]string{}
	for i := range s.Trials {
		c := &s.Trials[i].Cluster
		keys[s.Trials[i].Name] = c.Key
		if c.RunningCluster != nil && len(c.Env) > 0 {
			t.Errorf("a running cluster has the environment %q", c.Environment())
		}
	}
	if len(s.Trials) != 8 || keys["a"] != keys["b"] || keys["a"] != keys["e"] {
		t.Errorf("there are %d trials, and the clusters are %q", len(s.Trials), keys)
	}
	different := map[string]bool{}
	for _, key := range keys {
		different[key] = true
	}
	if len(different) != 6 {
		t.Errorf("%d different clusters, want 6: %q", len(different), keys)
	}
	plan := strings.Join(s.Lines(), "\n")
	for _, want := range []string{"environment", "A=1 B=two", "A=old", "C=x"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan lacks %q:\n%s", want, plan)
		}
	}
}

func TestEnvironmentIsRefused(t *testing.T) {
	for env, want := range map[string]string{
		"[A]":                    "env must be a mapping of variables, for example {JVMFLAGS: -Xmx1g}, not a list",
		"{}":                     "env must be a mapping of variables, for example {JVMFLAGS: -Xmx1g}, not an empty value",
		"{A: [1]}":               "env.A must be text, not a list",
		"{'A=B': x}":             `"A=B" is not the name of a variable; use letters, digits and _`,
		"{QUORUMBENCH_X: x}":     "the variable QUORUMBENCH_X is reserved for quorumbench",
		`{A: "x\ny"}`:            "env.A contains a character that cannot be printed; remove that character",
		`{A: "\e[31m"}`:          "env.A contains a character that cannot be printed; remove that character",
		"{A: x}, endpoints: a:1": "endpoints and env exclude each other; give only one of them",
		"{A: " + strings.Repeat("x", maxEnvValue+1) + "}": "env.A has 4097 bytes, but can have at most 4096",
	} {
		_, err := Parse("f.yaml", []byte("trials: [{store: etcd, operation: put, env: "+env+"}]"), shelf{}, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, not %q", env, err, want)
		}
	}
}
