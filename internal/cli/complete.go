package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/scenarios"
)

// isCompletionRequest reports whether a shell started the program to complete a command line.
func isCompletionRequest(args []string) bool {
	return len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd)
}

// wordList matches the type of a flag whose value is one of a list of words.
var wordList = regexp.MustCompile(`^[\w.-]+(\|[\w.-]+)+$`)

// completeValues lets a shell complete the values of flags and arguments: scenarios and their
// parameters, stores, and flags whose value is one of a list of words. The flag library completes
// the names of commands and flags.
func (a *commandLine) completeValues(c *cobra.Command) {
	switch c.CommandPath() {
	case "quorumbench run", "quorumbench capacity":
		c.ValidArgsFunction = completeScenario
	case "quorumbench stores install":
		c.ValidArgsFunction = cobra.FixedCompletions(append(a.acceptedStores(c), everyStore), cobra.ShellCompDirectiveNoFileComp)
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		var complete cobra.CompletionFunc
		switch kind := f.Value.Type(); {
		case f.Name == "set", f.Name == "over":
			complete = a.completeParameter
		case f.Name == "store", f.Name == "protocol":
			complete = cobra.FixedCompletions(a.acceptedStores(c), cobra.ShellCompDirectiveNoFileComp)
		case wordList.MatchString(kind):
			complete = cobra.FixedCompletions(strings.Split(kind, "|"), cobra.ShellCompDirectiveNoFileComp)
		default:
			return
		}
		_ = c.RegisterFlagCompletionFunc(f.Name, complete) // fails only if the flag already has a completion
	})
	for _, below := range c.Commands() {
		a.completeValues(below)
	}
}

// acceptedStores returns the names of the stores that a command accepts as a flag or an argument.
func (a *commandLine) acceptedStores(c *cobra.Command) []string {
	switch c.CommandPath() {
	case "quorumbench check hosts":
		return hostRuleStores()
	case "quorumbench check machine", "quorumbench null-server":
		return a.storesWith(func(st store.Store) bool { _, ok := st.(store.NullServerProvider); return ok })
	case "quorumbench traffic record":
		return a.storesWith(func(st store.Store) bool { _, ok := st.(store.Replayer); return ok })
	case "quorumbench stores install":
		return a.storesWith(func(st store.Store) bool {
			source, err := st.Server("")
			return err == nil && source.Installable()
		})
	}
	return a.Catalog.Stores()
}

// storesWith returns the names of the stores that have a property.
func (a *commandLine) storesWith(property func(store.Store) bool) (names []string) {
	for _, name := range a.Catalog.Stores() {
		if st, err := a.Lookup(name); err == nil && property(st) {
			names = append(names, name)
		}
	}
	return names
}

// completeScenario completes the name of a built-in scenario or of a YAML file.
func completeScenario(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, name := range scenarios.Names() {
		if strings.HasPrefix(name, typed) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeParameter completes the key of a scenario's parameter, and the "=" after it.
func (a *commandLine) completeParameter(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	if strings.Contains(typed, "=") {
		return nil, directive
	}
	var keys []cobra.Completion
	for _, p := range scenario.Parameters(a.Catalog.Applications()) {
		if strings.HasPrefix(p.Key, typed) {
			keys = append(keys, cobra.CompletionWithDesc(p.Key+"=", p.Meaning))
		}
	}
	return keys, directive
}
