package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// diskCommand returns the hidden command that serves a member's disk with injected faults. Only
// package host starts it.
func diskCommand() *cobra.Command {
	return &cobra.Command{
		Use: disk.Command + " FOLDER FILES", Short: "Serve a disk that fails on request", Hidden: true,
		Args: command.Takes(2, 2, "the folder, and the one that keeps its files"),
		RunE: func(_ *cobra.Command, args []string) error {
			probe.GiveBackPages()
			return disk.Serve(args[0], args[1], os.Stdin, os.Stdout)
		},
	}
}
