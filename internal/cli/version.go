package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
)

func (a *commandLine) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the program's version", Args: command.ArgsBetween(0, 0, ""),
		Example: `  quorumbench version`,
		RunE: func(*cobra.Command, []string) error {
			a.printVersion()
			return nil
		},
	}
}

func (a *commandLine) printVersion() {
	t := command.Tool()
	a.Printf("quorumbench %s", t.Version)
	if t.Revision != "" {
		a.Printf(" (%s)", t.Revision)
	}
	a.Printf("\n%s %s/%s\n", t.Go, runtime.GOOS, runtime.GOARCH)
}
