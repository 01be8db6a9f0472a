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
// network namespaces. Only package host starts this command.
func networkCommand() *cobra.Command {
	return &cobra.Command{
		Use: network.Command + " SUBNET MEMBERS", Short: "Forward packets between members, over links that fail on request", Hidden: true,
		Args: command.ArgsBetween(2, 2, "the subnet, and the number of members"),
		RunE: func(_ *cobra.Command, args []string) error {
			members, err := strconv.Atoi(args[1])
			if err != nil {
				return command.Usage("%q is not a number of members; write a whole number", args[1])
			}
			probe.ReleasePages()
			return network.Serve(args[0], members, os.Stdin, os.Stdout)
		},
	}
}
