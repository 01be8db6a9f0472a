package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/cli/command"
)

// heading is the text that all pages share.
type heading struct{ date, version string }

// pageName returns the name of a command's page, such as quorumbench-stores-install.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// special replaces two kinds of characters: those that roff would interpret, and those that roff
// would print as other characters. (For example, roff would replace the quotes around a threshold
// by quotes that a shell does not understand.)
var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// escape returns text that roff prints unchanged. It also escapes periods at the start of a line.
func escape(text string) string {
	lines := strings.Split(special.Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// page returns the man page of a command in roff with the macros of the package man.
func page(c *cobra.Command, h *heading) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %q 1 %q %q \"User Commands\"\n.nh\n.ad l\n", strings.ToUpper(pageName(c)), h.date, "quorumbench "+h.version)
	// Programs such as mandb read this line without roff, so it keeps its apostrophes.
	short := strings.ReplaceAll(escape(c.Short), `\(aq`, "'")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", escape(pageName(c)), short)
	if c.HasParent() {
		fmt.Fprintf(&b, ".B %s\n", escape(c.UseLine()))
	}
	if c.HasAvailableSubCommands() {
		if c.HasParent() {
			b.WriteString(".br\n")
		}
		fmt.Fprintf(&b, ".B %s COMMAND\n", escape(c.CommandPath()))
	}
	b.WriteString(".SH DESCRIPTION\n")
	for i, paragraph := range strings.Split(strings.TrimSpace(cmp.Or(c.Long, c.Short)), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		writeParagraph(&b, paragraph)
	}
	writeSubcommands(&b, c)
	writeFlags(&b, c)
	if c.HasExample() {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", escape(c.Example))
	}
	writeRelated(&b, c)
	return b.Bytes()
}

// writeParagraph writes a paragraph. It keeps the line breaks of indented text.
func writeParagraph(b *bytes.Buffer, text string) {
	if strings.HasPrefix(text, " ") || strings.Contains(text, "\n ") {
		fmt.Fprintf(b, ".nf\n%s\n.fi\n", escape(text))
		return
	}
	fmt.Fprintf(b, "%s\n", escape(text))
}

func writeSubcommands(b *bytes.Buffer, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(below.Name()), escape(below.Short))
		}
	}
}

func writeFlags(b *bytes.Buffer, c *cobra.Command) {
	var flags []*pflag.Flag
	c.InheritedFlags() // adds the inherited flags to c.Flags()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			flags = append(flags, f)
		}
	})
	if len(flags) == 0 {
		return
	}
	slices.SortFunc(flags, func(x, y *pflag.Flag) int { return strings.Compare(x.Name, y.Name) })
	b.WriteString(".SH OPTIONS\n")
	for _, f := range flags {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(command.FlagTitle(f)), escape(command.FlagMeaning(f)))
	}
}

// writeRelated lists the pages of the parent command and of the subcommands.
func writeRelated(b *bytes.Buffer, c *cobra.Command) {
	var names []string
	if c.HasParent() {
		names = append(names, pageName(c.Parent()))
	}
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, pageName(below))
		}
	}
	if len(names) == 0 {
		return
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, name := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", escape(name), end)
	}
}
