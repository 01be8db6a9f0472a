package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/trial"
)

// An interrupted search reports keys that may remain.
func TestInterruptedSearchReportsRemainingKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want string
	}{
		{context.Canceled, "interrupted"},
		{errors.Join(context.Canceled, &trial.KeysLeftError{Cause: errors.New("keys are left")}), "interrupted; keys are left"},
	} {
		if err := searchError(nil, test.err); command.ExitCode(err) != command.ExitInterrupted || err.Error() != test.want {
			t.Errorf("the error of %v is %q with exit code %d, want %q", test.err, err, command.ExitCode(err), test.want)
		}
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"value-size=128,1KiB,16KiB":                          3,
		"mix={put: 20, get: 80},{put: 80, get: 20}":          2,
		"endpoints=[a:1, b:2],[c:3]":                         2,
		"clients=10":                                         1,
		" store = etcd@3.5.30 , zookeeper ":                  2,
		"settings={snapshot-count: 10, quota: [1, {a: 2}]},": 1,
	} {
		o, err := parseOver(text)
		if err != nil || len(o.values) != want {
			t.Errorf("%q: %d values %q, %v; want %d", text, len(o.values), o.values, err, want)
			continue
		}
		if again, err := parseOver(o.String()); err != nil || again.String() != o.String() {
			t.Errorf("%q is formatted as %q, which is parsed as %q, %v", text, o, again, err)
		}
	}
	if o, err := parseOver(" nodes "); err != nil || !o.searchesParameter() || o.String() != "nodes" {
		t.Errorf("a key without values is parsed as %v, %v", o, err)
	}
	for _, text := range []string{"", " ", "=1", "x=", "x=,,", "x=1,2,1"} {
		if o, err := parseOver(text); err == nil {
			t.Errorf("%q is parsed as %v, want an error", text, o)
		}
	}
}
