package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/text"
)

const (
	// helpWidth is the width of help in columns.
	helpWidth = 100
	// mostNameColumns bounds the column of names; a longer name has its meaning on the next line.
	mostNameColumns = 34
	// mostUngrouped is the maximum number of flags that help lists without groups.
	mostUngrouped = 12
	// otherFlags is the heading of flags without a group.
	otherFlags = "Other flags"
)

// flagGroups are the groups of flags in help, in their order, with the names of their flags in
// the order in which help lists them.
var flagGroups = []struct {
	title string
	names string
}{
	{"Scenario flags", "list print validate dry-run set scale trial resume"},
	{"Cluster flags", `endpoints store exec data-dir target cacert cert key insecure-skip-tls-verify user dial-timeout
		auto-sync-interval target-leader`},
	{"Load flags", `load mix put-weight get-weight rw-ratio consistency rate put-rate arrival clients conns new-connection
		max-in-flight total put-total duration timeout workers threads speed compactions
		prefix key-size val-size key-space-size keys distribution sequential-keys preload no-preload
		range-key range-end end-key limit count-only keys-only stream page-size paginate
		txn-ops keys-per-txn txn-wr-percent isolation stm-locker
		compact-first compact-interval compact-index-delta`},
	{"Watcher flags", `watchers streams watch-per-stream watchers-per-stream watch-conns watched-keys watched-key-total
		keys-per-watcher watch-mode watch-key prevkv events created-in-window`},
	{"Measurement flags", `objective over from max-rate max-value width until warm-up warmup repeats seed verify check-hashkv
		until-precision at-most until-metric require-memory allow-volatile`},
	{"Flags for keys on a running cluster", "cleanup overwrite-existing cluster-wide cleanup-compact cleanup-defragment auto-compact auto-defrag"},
	{"Output flags", "format wide out runs-dir upload threshold strict interval verbose precise sample report-perfdash"},
	{"Host flags", "agent-certs ssh-identity ssh-known-hosts ssh-config"},
	{PodFlags, ""},
}

// PodFlags is the title of the group of flags about pods. SetGroup puts flags into it, because
// other groups have flags with the same names.
const PodFlags = "Pod flags"

// groupAnnotation is the key of a flag's annotation that names its group instead of flagGroups.
const groupAnnotation = "group"

// SetGroup puts flags of a set into a group of help, which overrides flagGroups.
func SetGroup(set *pflag.FlagSet, group string, names ...string) {
	for _, name := range names {
		if err := set.SetAnnotation(name, groupAnnotation, []string{group}); err != nil {
			panic("cli: " + err.Error())
		}
	}
}

// HelpGroup is a group of commands in the help of the command above them.
type HelpGroup struct {
	Title string
	Names string // in the order in which help lists them
}

// orderAnnotation is the key of a command's annotation with its place in its group.
const orderAnnotation = "order"

// GroupCommands groups the subcommands of a command. Names without a subcommand are ignored.
func GroupCommands(c *cobra.Command, groups ...HelpGroup) {
	for _, g := range groups {
		c.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title})
		for i, name := range strings.Fields(g.Names) {
			for _, below := range c.Commands() {
				if below.Name() == name {
					below.GroupID = g.Title
					if below.Annotations == nil {
						below.Annotations = map[string]string{}
					}
					below.Annotations[orderAnnotation] = fmt.Sprintf("%03d", i)
				}
			}
		}
	}
}

// WriteHelp writes the help of a command: the first paragraph of its description, examples, usage,
// the rest of the description, and its subcommands and flags in groups.
func WriteHelp(to io.Writer, c *cobra.Command) error {
	var b strings.Builder
	first, rest, _ := strings.Cut(strings.TrimSpace(cmp.Or(c.Long, c.Short)), "\n\n")
	b.WriteString(first + "\n")
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	b.WriteString("\nUsage:\n")
	if !onlyGroups(c) {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", c.CommandPath())
	}
	if rest != "" {
		b.WriteString("\n" + rest + "\n")
	}
	writeCommands(&b, c)
	writeFlags(&b, c)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%q explains a command.\n", c.CommandPath()+" COMMAND --help")
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// onlyGroups reports whether a command does nothing without a subcommand.
func onlyGroups(c *cobra.Command) bool { return !c.HasParent() || c.Annotations[groupOnly] != "" }

// isListed reports whether help lists a command.
func isListed(c *cobra.Command) bool { return c.IsAvailableCommand() || c.Name() == "help" }

// writeCommands writes the subcommands of a command, by group.
func writeCommands(b *strings.Builder, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	longest := 0
	for _, below := range c.Commands() {
		if isListed(below) {
			longest = max(longest, len(below.Name()))
		}
	}
	for _, g := range append(c.Groups(), &cobra.Group{Title: "Commands"}) {
		var all []*cobra.Command
		for _, below := range c.Commands() {
			if isListed(below) && below.GroupID == g.ID {
				all = append(all, below)
			}
		}
		if len(all) == 0 {
			continue
		}
		slices.SortStableFunc(all, func(x, y *cobra.Command) int {
			return strings.Compare(x.Annotations[orderAnnotation], y.Annotations[orderAnnotation])
		})
		fmt.Fprintf(b, "\n%s:\n", g.Title)
		for _, below := range all {
			writeEntry(b, below.Name(), below.Short, longest)
		}
	}
}

// writeFlags writes the flags of a command and those that it inherits, in groups if there are
// many.
func writeFlags(b *strings.Builder, c *cobra.Command) {
	var all []*pflag.Flag
	longest := 0
	c.InheritedFlags() // adds the inherited flags to c.Flags()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			all = append(all, f)
			if n := utf8.RuneCountInString(flagTitle(f)); n <= mostNameColumns {
				longest = max(longest, n)
			}
		}
	})
	list := func(title string, flags []*pflag.Flag) {
		if len(flags) == 0 {
			return
		}
		fmt.Fprintf(b, "\n%s:\n", title)
		for _, f := range flags {
			writeEntry(b, flagTitle(f), flagMeaning(f), longest)
		}
	}
	if len(all) <= mostUngrouped {
		list("Flags", all)
		return
	}
	for _, g := range flagGroups {
		names := strings.Fields(g.names)
		var flags []*pflag.Flag
		for _, f := range all {
			if groupOf(f) == g.title {
				flags = append(flags, f)
			}
		}
		slices.SortStableFunc(flags, func(x, y *pflag.Flag) int {
			return slices.Index(names, x.Name) - slices.Index(names, y.Name)
		})
		list(g.title, flags)
	}
	list(otherFlags, slices.DeleteFunc(all, func(f *pflag.Flag) bool { return groupOf(f) != otherFlags }))
}

// groupOf returns the group of a flag.
func groupOf(f *pflag.Flag) string {
	if given := f.Annotations[groupAnnotation]; len(given) > 0 {
		return given[0]
	}
	for _, g := range flagGroups {
		if slices.Contains(strings.Fields(g.names), f.Name) {
			return g.title
		}
	}
	return otherFlags
}

// flagTitle returns the name of a flag with the name of its value.
func flagTitle(f *pflag.Flag) string {
	title := "--" + f.Name
	if kind, _ := pflag.UnquoteUsage(f); kind != "" && kind != "bool" {
		title += " " + kind
	}
	return title
}

// flagMeaning returns the meaning of a flag with its default.
func flagMeaning(f *pflag.Flag) string {
	_, meaning := pflag.UnquoteUsage(f)
	if !slices.Contains([]string{"", "0", "false"}, f.DefValue) {
		meaning += " (default " + f.DefValue + ")"
	}
	return meaning
}

// writeEntry writes a name and its meaning. Every line of the meaning begins in the column after
// the longest name.
func writeEntry(b *strings.Builder, name, meaning string, longest int) {
	indent := 2 + longest + 2
	fmt.Fprintf(b, "  %s", name)
	at := 2 + utf8.RuneCountInString(name)
	if at+2 > indent {
		b.WriteString("\n")
		at = 0
	}
	for i, line := range text.Wrap(meaning, helpWidth-indent, 0) {
		if i > 0 {
			at = 0
		}
		fmt.Fprintf(b, "%s%s\n", strings.Repeat(" ", indent-at), line)
	}
}
