package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// helpText contains the parts of a command's help text.
type helpText struct {
	name                     string // command name without the program's name
	meaning, usage, examples string
	flags                    []flagHelp
	under                    int // number of parent commands
	isOfBench                bool
}

// flagHelp contains a flag's group, name, default and description from a command's help.
type flagHelp struct{ group, name, given, meaning string }

// commandBlocks returns the generators for the sections in docs/reference/commands.md. The
// generators read testdata/help.txt.
func commandBlocks() map[string]func(*block) string {
	all := map[string]func(*block) string{
		"commands": func(b *block) string {
			root, _, _ := strings.Cut(readHelp(b), "\n==== ")
			var to strings.Builder
			for _, g := range sectionsOf(root) {
				if !g.isOfCommands() {
					continue
				}
				var rows [][]string
				for _, e := range g.entries {
					rows = append(rows, []string{fmt.Sprintf("[`%s`](#%s)", e.name, e.name), e.meaning})
				}
				fmt.Fprintf(&to, "**%s**\n\n%s\n", g.title, (&block{name: b.name, t: b.t}).table([]string{"command", "purpose"}, rows))
			}
			return strings.TrimRight(to.String(), "\n") + "\n"
		},
		"bench flags": benchTable,
	}
	for _, name := range []string{
		"run", "init", "report", "compare", "history", "serve", "bench", "capacity", "check", "break", "verify", "cluster", "stores", "null-server",
		"traffic", "cleanup", "agent", "upload", "version", "help",
	} {
		all["command "+name] = func(b *block) string {
			var to strings.Builder
			for _, h := range helpTexts(b) {
				if first, _, _ := strings.Cut(h.name, " "); first == name {
					h.write(b, &to)
				}
			}
			return to.String()
		}
	}
	return all
}

func readHelp(b *block) string {
	all, err := os.ReadFile(filepath.Join("testdata", "help.txt"))
	must(b.t, err)
	return string(all)
}

// section is the part of a help text below one heading. It lists commands or flags with their
// descriptions.
type section struct {
	title   string
	entries []helpEntry
}

type helpEntry struct{ name, meaning string }

// isOfCommands reports whether the section lists commands. Otherwise it lists flags.
func (s *section) isOfCommands() bool {
	return len(s.entries) > 0 && !strings.HasPrefix(s.entries[0].name, "--")
}

var (
	// sectionHeading matches a section's heading.
	sectionHeading = regexp.MustCompile(`^([A-Z].*):$`)
	// firstOfEntry matches the first line of an entry: a name and the beginning of its
	// description.
	firstOfEntry = regexp.MustCompile(`^  ([a-z-]+(?: \S+)?)(?: {2,}(.*))?$`)
	// nextOfEntry matches each further line of an entry's description.
	nextOfEntry = regexp.MustCompile(`^ {4,}(\S.*)$`)
)

// sectionsOf returns the sections of a help text that list commands or flags.
func sectionsOf(text string) (all []section) {
	for part := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(strings.Trim(part, "\n"), "\n")
		heading := sectionHeading.FindStringSubmatch(lines[0])
		if heading == nil || heading[1] == "Usage" || heading[1] == "Examples" {
			continue
		}
		s := section{title: heading[1]}
		for _, line := range lines[1:] {
			if e := firstOfEntry.FindStringSubmatch(line); e != nil {
				s.entries = append(s.entries, helpEntry{e[1], e[2]})
			} else if e := nextOfEntry.FindStringSubmatch(line); e != nil && len(s.entries) > 0 {
				last := &s.entries[len(s.entries)-1]
				last.meaning = strings.TrimSpace(last.meaning + " " + e[1])
			}
		}
		all = append(all, s)
	}
	return all
}

// givenDefault matches the default at the end of a flag's description.
var givenDefault = regexp.MustCompile(`^(.*) \(default (.*)\)$`)

// helpTexts returns the help of every command.
func helpTexts(b *block) (all []helpText) {
	for part := range strings.SplitSeq(readHelp(b), "==== quorumbench") {
		name, text, _ := strings.Cut(part, "\n")
		if strings.TrimSpace(text) == "" {
			continue
		}
		h := helpText{name: strings.TrimSpace(name), under: strings.Count(strings.TrimSpace(name), " ")}
		h.isOfBench = strings.HasPrefix(h.name, "bench ")
		h.meaning, text, _ = strings.Cut(text, "\nUsage:\n")
		h.meaning, h.examples, _ = strings.Cut(h.meaning, "\nExamples:\n")
		h.meaning = strings.TrimSpace(h.meaning)
		h.usage, text, _ = strings.Cut(text, "\n\n")
		for part := range strings.SplitSeq(text, "\n\n") {
			if first, _, _ := strings.Cut(part, "\n"); sectionHeading.MatchString(first) || strings.HasSuffix(part, "explains a command.\n") {
				break
			}
			h.meaning += "\n\n" + strings.TrimRight(part, "\n")
		}
		h.meaning = strings.TrimSpace(h.meaning)
		for _, s := range sectionsOf("\n\n" + text) {
			if s.isOfCommands() {
				continue
			}
			for _, e := range s.entries {
				f := flagHelp{group: s.title, name: e.name, meaning: e.meaning}
				if with := givenDefault.FindStringSubmatch(f.meaning); with != nil {
					f.meaning, f.given = with[1], with[2]
				}
				h.flags = append(h.flags, f)
			}
		}
		all = append(all, h)
	}
	return all
}

// write writes the page's section about a command: heading, description, usage line with examples,
// and a table of flags. The subcommands of bench share one table.
func (h *helpText) write(b *block, to *strings.Builder) {
	fmt.Fprintf(to, "%s %s\n\n", strings.Repeat("#", 2+h.under), h.name)
	for paragraph := range strings.SplitSeq(h.meaning, "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			paragraph = "```\n" + paragraph + "\n```"
		}
		to.WriteString(paragraph + "\n\n")
	}
	usage := slices.DeleteFunc(strings.Split(h.usage, "\n"), func(line string) bool {
		return strings.HasSuffix(line, " COMMAND")
	})
	if shown := strings.TrimSpace(unindent(strings.Join(usage, "\n") + "\n" + h.examples)); shown != "" {
		to.WriteString("```\n" + shown + "\n```\n\n")
	}
	if len(h.flags) == 0 || h.isOfBench || h.name == "bench" {
		return
	}
	for i := 0; i < len(h.flags); {
		var rows [][]string
		group := h.flags[i].group
		for ; i < len(h.flags) && h.flags[i].group == group; i++ {
			rows = append(rows, []string{code(h.flags[i].name), code(h.flags[i].given), h.flags[i].meaning})
		}
		title := "flag"
		if group != "Flags" {
			title = strings.ToLower(group[:1]) + group[1:]
		}
		to.WriteString((&block{name: b.name, t: b.t}).table([]string{title, "default", "meaning"}, rows) + "\n")
	}
}

func unindent(text string) string { return strings.ReplaceAll("\n"+text, "\n  ", "\n") }

// benchTable returns a table with a row for each flag of bench's subcommands. A row lists the
// subcommands that have the flag, and the flag's defaults.
func benchTable(b *block) string {
	type key struct{ group, name, meaning string }
	var order []key
	commands, with := map[key][]string{}, map[key]map[string][]string{}
	var all []string
	for _, h := range helpTexts(b) {
		if !h.isOfBench {
			continue
		}
		name := strings.TrimPrefix(h.name, "bench ")
		all = append(all, name)
		for _, f := range h.flags {
			k := key{f.group, f.name, f.meaning}
			if commands[k] == nil {
				order, with[k] = append(order, k), map[string][]string{}
			}
			commands[k] = append(commands[k], name)
			with[k][f.given] = append(with[k][f.given], name)
		}
	}
	var rows [][]string
	for _, k := range order {
		rows = append(rows, []string{code(k.name), defaultsOf(with[k]), someOf(commands[k], all), k.meaning})
	}
	return (&block{name: b.name, t: b.t}).table([]string{"flag", "default", "commands", "meaning"}, rows)
}

// defaultsOf returns a flag's defaults as text, with the most frequent default first.
func defaultsOf(with map[string][]string) string {
	var givens []string
	for given := range with {
		givens = append(givens, given)
	}
	slices.SortFunc(givens, func(a, b string) int {
		if d := len(with[b]) - len(with[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var cells []string
	for i, given := range givens {
		word := code(given)
		if word == "" {
			word = "none"
		}
		if i > 0 {
			word = strings.Join(with[given], ", ") + ": " + word
		}
		cells = append(cells, word)
	}
	if len(cells) == 1 && cells[0] == "none" {
		return ""
	}
	return strings.Join(cells, "; ")
}

// someOf describes a set of commands: "all", "all but" a few, or each name.
func someOf(these, all []string) string {
	others := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(these, name) })
	switch {
	case len(others) == 0:
		return "all"
	case len(others) < len(these):
		return "all but " + strings.Join(others, ", ")
	}
	return strings.Join(these, ", ")
}
