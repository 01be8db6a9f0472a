package command

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Group returns a command that does nothing unless a subcommand is given.
func Group(use, short, choose string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use: use, Short: short, Args: cobra.ArbitraryArgs, Annotations: map[string]string{groupOnly: "true"},
		RunE: func(c *cobra.Command, _ []string) error {
			return Usage("%s needs a subcommand: %s", Path(c), choose)
		},
	}
	g.AddCommand(commands...)
	return g
}

// groupOnly is the annotation of a command that needs a subcommand.
const groupOnly = "group-only"

// Path returns the full name of a command without the program's name, such as "bench put".
func Path(c *cobra.Command) string {
	if _, below, ok := strings.Cut(c.CommandPath(), " "); ok {
		return below
	}
	return ""
}

// ArgsBetween returns a check that a command has at least `minArgs` and at most `maxArgs`
// arguments. Error messages contain the description of the arguments.
func ArgsBetween(minArgs, maxArgs int, description string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > maxArgs && maxArgs == 0:
			return Usage("%s takes no arguments; remove %s", Path(c), printableArgument(c, args[0]))
		case len(args) > maxArgs:
			return Usage("%s takes only %s; remove %s", Path(c), description, printableArgument(c, args[maxArgs]))
		case len(args) < minArgs:
			return Usage("%s needs %s", Path(c), description)
		}
		return nil
	}
}

// printableArgument returns an argument in the form that messages show. It hides an argument that
// may be a password, such as the last word in --user NAME PASSWORD.
func printableArgument(c *cobra.Command, arg string) string {
	if f := c.Flags().Lookup("user"); f != nil && f.Changed || strings.ContainsAny(arg, ":@") {
		return "the argument after the flags (not shown, because it may be a password)"
	}
	return strconv.Quote(arg)
}

// FlagError turns an error from parsing flags into a usage error of one sentence.
func FlagError(c *cobra.Command, err error) error {
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
		return Usage("%s --%s%s", noFlag(c), name, suggestFlag(c, name))
	case errors.As(err, &missing):
		return Usage("--%s needs a value: %s", missing.GetFlag().Name, missing.GetFlag().Value.Type())
	case errors.As(err, &invalid):
		return Usage("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
	case errors.As(err, &syntax):
		name, _, _ := strings.Cut(syntax.GetSpecifiedFlag(), "=") // the value may be a password, so only the name is shown
		return Usage("%q is not a flag", name)
	}
	return Usage("%w", err)
}

// unknownShorthand returns the error for an unknown flag with a single dash. The only valid
// shorthand is -h, so unknownShorthand treats the whole word as a misspelled flag name.
func unknownShorthand(c *cobra.Command, word string) error {
	name := word
	if end := strings.IndexAny(word, "=:@"); end >= 0 {
		name = word[:end]
	}
	if c.Flags().Lookup(name) != nil {
		return Usage("%s -%s; did you mean --%s?", noFlag(c), name, name)
	}
	return Usage("%s -%s%s", noFlag(c), name, suggestFlag(c, name))
}

// suggestFlag returns the last part of an error about an unknown flag. This part names the flag
// with the most similar name, or the command that lists all flags.
func suggestFlag(c *cobra.Command, name string) string {
	if near := Suggest(name, flagNames(c), "--"); near != "" {
		return near
	}
	return "; " + strings.TrimSpace("quorumbench "+Path(c)) + " --help lists the flags"
}

func noFlag(c *cobra.Command) string {
	if p := Path(c); p != "" {
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

// Suggest returns "; did you mean" followed by the prefix and the known word that is most similar
// to the given word. It returns an empty string if no known word is similar.
func Suggest(word string, known []string, prefix string) string {
	best := flagSynonyms[strings.ReplaceAll(strings.ToLower(word), "_", "-")]
	if !slices.Contains(known, best) {
		best = text.Nearest(word, known)
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, best)
}

// flagSynonyms maps names in scenario files and in other tools to quorumbench's flag names.
var flagSynonyms = map[string]string{
	"connections": "conns", "value-size": "val-size", "key-space": "key-space-size", "keyspace": "key-space-size",
	"operations": "total", "requests": "total", "ops": "total", "time": "duration", "sequential": "sequential-keys",
	"ca-cert": "cacert", "ca": "cacert", "insecure": "insecure-skip-tls-verify", "tls-key": "key", "tls-cert": "cert",
	"qps": "rate", "output": "out", "host": "endpoints", "hosts": "endpoints", "endpoint": "endpoints",
	"warm-up": "warmup", "runs": "runs-dir", "data": "data-dir", "directory": "dir", "nodes": "members",
}
