package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/bench"
	"github.com/quorumbench/quorumbench/internal/cli/command"
)

// execute finds and runs the command. It returns all errors, because the flag library is configured
// to print neither errors nor usage.
func (a *commandLine) execute(ctx context.Context, args []string) error {
	if a.Plugin {
		args = pluginArgs(args)
	}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.InitDefaultHelpCmd() // so that root.Find finds the commands help and completion
	root.InitDefaultCompletionCmd(args...)
	if isCompletionRequest(args) {
		a.completeValues(root)
	}
	if err := unknownCommand(root, args); err != nil {
		return err
	}
	c, err := root.ExecuteContextC(ctx)
	return withAuthority(c, err)
}

// withAuthority adds the command's remedy to an error about a certificate from an unknown
// authority. An error of an upload already has its remedy.
func withAuthority(c *cobra.Command, err error) error {
	if !command.IsUnknownAuthority(err) || strings.Contains(err.Error(), command.UploadAuthority) {
		return err
	}
	switch {
	case c.Flag("cacert") != nil:
		return fmt.Errorf("%w; give the authority that signed the servers' certificates with --cacert FILE", err)
	case c.Flag("set") != nil:
		return fmt.Errorf("%w; if this is the certificate of a running cluster, give the authority that signed it with the key tls of the scenario: tls: {cacert: FILE}", err)
	}
	return err
}

// commandGroups groups the commands by what the user wants to do.
var commandGroups = []command.HelpGroup{
	{Title: "Check a cluster or machine", Names: "check capacity break"},
	{Title: "Measure", Names: "bench run init"},
	{Title: "Look at results", Names: "report compare history serve verify upload"},
	{Title: "Real traffic", Names: "traffic"},
	{Title: "Laboratory", Names: "stores cluster null-server agent cleanup"},
	{Title: "Program", Names: "version"}, // and help, which the flag library adds
}

func (a *commandLine) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "quorumbench",
		Short: "Benchmark distributed, consistent key-value stores",
		Long: `quorumbench benchmarks distributed, consistent key-value stores.

"quorumbench run" starts a real cluster, measures it and prints a table;
"quorumbench bench" measures a running cluster.`,
		Example: `  quorumbench run
  quorumbench check disk /var/lib/etcd
  quorumbench bench put --endpoints 10.0.0.1:2379,10.0.0.2:2379`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
	}
	version := false
	command.NewFlags(root.Flags()).Toggle("version", &version, "print the program's version")
	root.RunE = func(c *cobra.Command, _ []string) error {
		if version {
			return a.printVersion("text")
		}
		return c.Help()
	}
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return a.UseEnvironment(c) }
	root.SetFlagErrorFunc(command.FlagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(a.runCommand(), a.initCommand(), a.reportCommand(), a.compareCommand(), a.historyCommand(), a.serveCommand(), a.verifyCommand(), a.uploadCommand(), bench.Command(a.App), a.checkCommand(), a.capacityCommand(), a.breakCommand(), a.cleanupCommand(), a.clusterCommand(),
		a.nullServerCommand(), a.trafficCommand(), a.agentCommand(), a.storesCommand(), a.versionCommand(), a.memberCommand(), diskCommand(), networkCommand(), a.inPodCommand())
	root.SetHelpCommand(helpCommand())
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { _ = command.WriteHelp(a.Stdout, c) }) // a.Stdout keeps its first error
	command.GroupCommands(root, commandGroups...)
	root.SetHelpCommandGroupID(commandGroups[len(commandGroups)-1].Title)
	return root
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Explain a command", Args: cobra.ArbitraryArgs,
		Example: `  quorumbench help bench put`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := unknownCommand(c.Root(), args); err != nil {
				return err
			}
			about, _, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// unknownCommand returns a usage error if args has an unknown word in place of a subcommand.
// Without this check, flags after that word would be parsed as flags of the parent command.
func unknownCommand(root *cobra.Command, args []string) error {
	found, rest, err := root.Find(args)
	takesArguments := err == nil && strings.Contains(found.Use, " ")
	if err != nil || !found.HasAvailableSubCommands() || takesArguments || len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return nil // the command checks its own flags and arguments
	}
	if isCompletionRequest(rest) {
		return nil
	}
	var names []string
	for _, c := range found.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	remedy := command.Suggest(rest[0], names, "")
	if remedy == "" {
		remedy = fmt.Sprintf("; %s --help lists the commands", found.CommandPath())
	}
	return command.Usage("there is no command %q%s", strings.TrimSpace(command.Path(found)+" "+rest[0]), remedy)
}
