package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/profile"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

func (a *commandLine) profileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "profile FILE",
		Short: "Derive a scenario from a recording",
		Long: `Derive a scenario from a recording (quorumbench traffic record): operations and their
shares, rate, keys, sizes and connections. Comments in the scenario describe properties of
the recording that a scenario cannot express. The scenario is printed to standard output.`,
		Example: `  quorumbench traffic profile monday.qbrec > monday.yaml
  quorumbench run monday.yaml --scale 2`,
		Args: command.ArgsBetween(1, 1, "a recording"),
	}
	c.RunE = func(_ *cobra.Command, args []string) error {
		p, err := profile.Read(args[0])
		if err != nil {
			return withoutRecording(args[0], err)
		}
		if p.Problem != "" {
			a.Warn(p.Problem)
		}
		lines := p.Lines()
		if _, err := scenario.Parse("profile.yaml", []byte(strings.Join(lines, "\n")), a.Catalog, scenario.Options{}); err != nil {
			return fmt.Errorf("no scenario was written, because \"quorumbench run\" would reject the scenario derived from %s: %w", args[0], err)
		}
		for _, line := range lines {
			a.Printf("%s\n", line)
		}
		return nil
	}
	return c
}

// withoutRecording returns the error for a recording that cannot be read. If the file does not
// exist, the error includes a remedy.
func withoutRecording(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("there is no recording %s; name a file that quorumbench traffic record wrote", path)
}
