package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Every flag of every command of bench stands in docs/commands.md.
func TestDocsOfBench(t *testing.T) {
	data, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range benchKinds() {
		set := pflag.NewFlagSet(kind.name, pflag.ContinueOnError)
		newBenchFlags(newBenchCommon(newFlags(set)), kind, set)
		set.VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(string(data), "--"+f.Name) {
				t.Errorf("docs/commands.md has no --%s, which bench %s has", f.Name, kind.name)
			}
		})
	}
}
