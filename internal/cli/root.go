package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// execute finds and runs the command. Whatever is wrong comes back as one
// sentence: the library prints neither errors nor usage.
func (a *app) execute(ctx context.Context, args []string) error {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.InitDefaultHelpCmd() // so that they are found below
	root.InitDefaultCompletionCmd(args...)
	if err := unknownCommand(root, args); err != nil {
		return err
	}
	return root.ExecuteContext(ctx)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "quorumbench",
		Short: "Benchmark distributed, consistent key-value stores",
		Long: `quorumbench benchmarks distributed, consistent key-value stores.

"quorumbench run" starts a real cluster, measures it and prints a table;
"quorumbench bench" measures a cluster that runs already.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(a.runCommand(), a.reportCommand(), a.benchCommand(), a.checkCommand(), a.clusterCommand(),
		a.nullServerCommand(), a.storesCommand(), a.versionCommand(), a.memberCommand())
	root.SetHelpCommand(helpCommand())
	return root
}

// group is a command that only has commands below it.
func group(use, short, choose string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return usage("%s needs one of its commands: %s", path(c), choose)
		},
	}
	g.AddCommand(commands...)
	return g
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Explain a command", Args: cobra.ArbitraryArgs,
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

// unknownCommand looks for a word where a command should be, before the flags
// behind it are read as those of the command above.
func unknownCommand(root *cobra.Command, args []string) error {
	found, rest, err := root.Find(args)
	if err != nil || !found.HasAvailableSubCommands() || len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return nil // flags and arguments are the command's own business
	}
	if strings.HasPrefix(rest[0], "__") {
		return nil // completion asks
	}
	var names []string
	for _, c := range found.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return usage("there is no command %q%s", strings.TrimSpace(path(found)+" "+rest[0]), suggest(rest[0], names, ""))
}

// path is what a command is called, without the program's name before it.
func path(c *cobra.Command) string {
	if _, below, ok := strings.Cut(c.CommandPath(), " "); ok {
		return below
	}
	return ""
}

// takes bounds a command's arguments and says which they are.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > most && most == 0:
			return usage("%s takes no arguments, and %q is one", path(c), args[0])
		case len(args) > most:
			return usage("%s takes %s and no more, and %q is more", path(c), what, args[most])
		case len(args) < least:
			return usage("%s needs %s", path(c), what)
		}
		return nil
	}
}

// flagError puts what is wrong with a flag into a sentence.
func flagError(c *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
		syntax  *pflag.InvalidSyntaxError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return unknownShorthand(c, unknown.GetSpecifiedShortnames())
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		return usage("%s --%s%s", noFlag(c), name, suggest(name, flagNames(c), "--"))
	case errors.As(err, &missing):
		return usage("--%s needs a value: %s", missing.GetFlag().Name, missing.GetFlag().Value.Type())
	case errors.As(err, &invalid):
		return usage("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
	case errors.As(err, &syntax):
		return usage("%q is not a flag", syntax.GetSpecifiedFlag())
	}
	return usage("%w", err)
}

// unknownShorthand is for a flag with one dash: the program has none but -h,
// so the whole word was meant as a flag.
func unknownShorthand(c *cobra.Command, word string) error {
	name, _, _ := strings.Cut(word, "=")
	if c.Flags().Lookup(name) != nil {
		return usage("%s -%s; did you mean --%s?", noFlag(c), name, name)
	}
	return usage("%s -%s%s", noFlag(c), name, suggest(name, flagNames(c), "--"))
}

func noFlag(c *cobra.Command) string {
	if p := path(c); p != "" {
		return p + " has no flag"
	}
	return "there is no flag"
}

func flagNames(c *cobra.Command) []string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// oneOf reads a text that can only be one of some words.
func oneOf(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		for _, w := range words {
			if s == w {
				return s, nil
			}
		}
		return "", fmt.Errorf("there is no %q; choose %s", s, strings.Join(words, " or "))
	}
}
