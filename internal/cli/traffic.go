package cli

import (
	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
)

func (a *commandLine) trafficCommand() *cobra.Command {
	g := command.Group("traffic", "Record the traffic of clients, derive a scenario from it, and send it again", "record, profile or replay",
		a.recordCommand(), a.profileCommand(), a.replayCommand())
	g.Example = `  quorumbench traffic record --capture 10.0.0.5:2379 --duration 10m --out monday.qbrec
  quorumbench traffic profile monday.qbrec > monday.yaml`
	g.Long = `Record the traffic between clients and a member, derive a scenario from the recording,
and send the recorded calls again.`
	return g
}
