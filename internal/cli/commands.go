package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Commands returns the tree of commands, from which tools/manual generates man pages and shell
// completions. Main executes a command line.
func Commands() *cobra.Command {
	a := &commandLine{&command.App{
		Stdout: command.NewOutput(io.Discard), Stderr: text.NewWriter(io.Discard), Screen: io.Discard,
		Lookup: registry.Lookup, Catalog: registry.Catalog{Apps: load.Applications},
	}}
	return a.root()
}
