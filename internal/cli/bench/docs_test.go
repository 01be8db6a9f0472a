package bench

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/cli/command"
)

// Every flag of every command of bench stands in docs/commands.md.
func TestDocsOfBench(t *testing.T) {
	data, err := os.ReadFile("../../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds() {
		set := pflag.NewFlagSet(kind.name, pflag.ContinueOnError)
		newOptions(newCommon(command.NewFlags(set)), kind, set)
		set.VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(string(data), "--"+f.Name) {
				t.Errorf("docs/commands.md has no --%s, which bench %s has", f.Name, kind.name)
			}
		})
	}
}
