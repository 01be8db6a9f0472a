package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// diskCommand returns the hidden command that provides a member's disk and injects faults into it.
// Only package host starts this command.
func diskCommand() *cobra.Command {
	return &cobra.Command{
		Use: disk.Command + " FOLDER FILES", Short: "Serve a disk that fails on request", Hidden: true,
		Args: command.ArgsBetween(2, 2, "the folder to serve, and the folder that stores its files"),
		RunE: func(_ *cobra.Command, args []string) error {
			probe.ReleasePages()
			return disk.Serve(args[0], args[1], os.Stdin, os.Stdout)
		},
	}
}
