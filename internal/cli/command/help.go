package command

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/text"
)

const (
	// helpWidth is the width of help texts, in columns.
	helpWidth = 100
	// maxNameColumns is the maximum width of the column that contains the names. If a name is
	// longer, its meaning starts on the next line.
	maxNameColumns = 34
	// maxUngrouped is the maximum number of flags that help lists without groups.
	maxUngrouped = 12
	// otherFlags is the heading for flags that are in no group.
	otherFlags = "Other flags"
)

// flagGroups lists the groups of flags, and the flags in each group. Both lists are in the order in
// which help shows them.
var flagGroups = []struct {
	title string
	names string
}{
	{"Scenario flags", "list print schema validate dry-run set scale trial resume"},
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
	{"Flags for keys on a running cluster", "cleanup overwrite-existing cluster-wide auto-compact auto-defrag"},
	{"Output flags", "progress metrics push format wide out runs-dir upload threshold strict interval verbose precise sample report-perfdash"},
	{"Host flags", "agent-certs ssh-identity ssh-known-hosts ssh-config"},
	{PodFlags, ""},
}

// PodFlags is the heading of the group of flags for Kubernetes pods. SetGroup assigns these flags
// to the group, because flagGroups already lists some of their names in other groups.
const PodFlags = "Pod flags"

// groupAnnotation is the annotation that assigns a flag to a group. It overrides flagGroups.
const groupAnnotation = "group"

// SetGroup assigns flags in a set to a group in help. It overrides flagGroups.
func SetGroup(set *pflag.FlagSet, group string, names ...string) {
	for _, name := range names {
		if err := set.SetAnnotation(name, groupAnnotation, []string{group}); err != nil {
			panic("cli: " + err.Error())
		}
	}
}

// HelpGroup is a group of subcommands in the help text of their parent command.
type HelpGroup struct {
	Title string
	Names string // separated by spaces, in the order in which help lists them
}

// orderAnnotation is the annotation that stores a command's position in its group.
const orderAnnotation = "order"

// GroupCommands groups the subcommands of a command. It ignores names that are not subcommands.
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

// WriteHelp writes the help text of a command: the first paragraph of the description, examples,
// usage, the rest of the description, and then the subcommands and flags in groups.
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

// onlyGroups reports whether a command does nothing unless a subcommand is given.
func onlyGroups(c *cobra.Command) bool { return !c.HasParent() || c.Annotations[groupOnly] != "" }

// isListed reports whether help lists a command.
func isListed(c *cobra.Command) bool { return c.IsAvailableCommand() || c.Name() == "help" }

// writeCommands writes the subcommands of a command, in groups.
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

// writeFlags writes a command's flags, including inherited flags. It groups them if there are many.
func writeFlags(b *strings.Builder, c *cobra.Command) {
	var all []*pflag.Flag
	longest := 0
	c.InheritedFlags() // adds the inherited flags to c.Flags()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			all = append(all, f)
			if n := utf8.RuneCountInString(FlagTitle(f)); n <= maxNameColumns {
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
			writeEntry(b, FlagTitle(f), FlagMeaning(f), longest)
		}
	}
	if len(all) <= maxUngrouped {
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

// FlagTitle returns the name of a flag followed by the name of its value.
func FlagTitle(f *pflag.Flag) string {
	title := "--" + f.Name
	if kind, _ := pflag.UnquoteUsage(f); kind != "" && kind != "bool" {
		title += " " + kind
	}
	return title
}

// describedDefault matches a default value that is described in words at the end of a flag's
// meaning. FlagMeaning removes this description if the flag has a fixed default in the command.
var describedDefault = regexp.MustCompile(`(; default: .*| \(default: [^()]*\))$`)

// FlagMeaning returns the meaning of a flag, followed by its default value.
func FlagMeaning(f *pflag.Flag) string {
	_, meaning := pflag.UnquoteUsage(f)
	if !slices.Contains([]string{"", "0", "false"}, f.DefValue) {
		meaning = describedDefault.ReplaceAllString(meaning, "") + " (default " + f.DefValue + ")"
	}
	return meaning
}

// writeEntry writes a name and its meaning. All lines of the meaning start in the same column,
// which is to the right of the longest name.
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
