package cli

import (
	"context"
	"fmt"
	"github.com/quorumbench/quorumbench/internal/run/probe"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/store"
)

// memberCommand returns the hidden command that runs a member of a cluster in this process. Only
// clusters start it.
func (a *commandLine) memberCommand() *cobra.Command {
	var config string
	c := &cobra.Command{
		Use: "member STORE", Short: "Run one member of a cluster", Hidden: true,
		Args: command.Takes(1, 1, "the store's name"),
	}
	command.NewFlags(c.Flags()).Text("config", &config, "FILE", "configuration of the member")
	c.RunE = func(c *cobra.Command, args []string) error {
		if config == "" {
			return command.Usage("--config is missing: the member's configuration")
		}
		st, err := a.Lookup(args[0])
		if err != nil {
			return command.Usage("%w", err)
		}
		embedded, ok := st.(store.Embedded)
		if !ok {
			return fmt.Errorf("the server of %s is not built into this program", st.Name())
		}
		probe.GiveBackPages() // pages of start-up would count as the store's memory
		return runMember(c.Context(), embedded, config)
	}
	return c
}

// runMember runs a member until it ends. A server that cannot continue, for example on a full disk,
// panics; runMember returns the panic as an error, because it is not a defect of quorumbench.
func runMember(ctx context.Context, st store.Embedded, config string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the member gave up: %v", r)
		}
	}()
	return st.RunMember(ctx, config)
}
