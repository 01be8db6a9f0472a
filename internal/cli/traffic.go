package cli

import (
	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
)

func (a *commandLine) trafficCommand() *cobra.Command {
	g := command.Group("traffic", "Record the traffic of clients, describe it and send it again", "record, profile or replay",
		a.recordCommand(), a.profileCommand(), a.replayCommand())
	g.Long = `Record the traffic between clients and a member, derive a scenario from the recording,
and send the recorded calls again.`
	return g
}
