package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/store"
)

// memberCommand returns the hidden command that runs one member of a cluster in this process. Only
// package cluster starts this command.
func (a *commandLine) memberCommand() *cobra.Command {
	var config string
	c := &cobra.Command{
		Use: "member STORE", Short: "Run one member of a cluster", Hidden: true,
		Args: command.ArgsBetween(1, 1, "the store's name"),
	}
	command.NewFlags(c.Flags()).Text("config", &config, "FILE", "the member's configuration file")
	c.RunE = func(c *cobra.Command, args []string) error {
		if config == "" {
			return command.Usage("--config is missing; give the member's configuration file")
		}
		st, err := a.Lookup(args[0])
		if err != nil {
			return command.Usage("%w", err)
		}
		embedded, ok := st.(store.Embedded)
		if !ok {
			return fmt.Errorf("the server of %s is not built into this program", st.Name())
		}
		probe.ReleasePages() // memory from start-up would otherwise be counted as the store's memory
		return runMember(c.Context(), embedded, config)
	}
	return c
}

// runMember runs a member until it ends. A server that cannot continue panics, for example when the
// disk is full. runMember returns such a panic as an error, because it is not a defect in
// quorumbench.
func runMember(ctx context.Context, st store.Embedded, config string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the member gave up: %v", r)
		}
	}()
	return st.RunMember(ctx, config)
}
