package cli

import (
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// networkCommand returns the hidden command that forwards packets between members in separate
// networks. Only package host starts it.
func networkCommand() *cobra.Command {
	return &cobra.Command{
		Use: network.Command + " SUBNET MEMBERS", Short: "Forward packets between members, over links that fail on request", Hidden: true,
		Args: command.Takes(2, 2, "the subnet, and how many members there are"),
		RunE: func(_ *cobra.Command, args []string) error {
			members, err := strconv.Atoi(args[1])
			if err != nil {
				return command.Usage("%q is no number of members", args[1])
			}
			probe.GiveBackPages()
			return network.Serve(args[0], members, os.Stdin, os.Stdout)
		},
	}
}
