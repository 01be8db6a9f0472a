package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// helpText is the help of one command, in its parts.
type helpText struct {
	name                     string // without quorumbench
	meaning, usage, examples string
	flags                    []flagHelp
	under                    int // how many commands are around it
	isOfBench                bool
}

// flagHelp is a flag in the help of a command.
type flagHelp struct{ name, given, meaning string }

// commandBlocks are the sections of docs/reference/commands.md, from testdata/help.txt.
func commandBlocks() map[string]func(*block) string {
	all := map[string]func(*block) string{
		"commands": func(b *block) string {
			var rows [][]string
			root, _, _ := strings.Cut(readHelp(b), "\n==== ")
			_, listing, _ := strings.Cut(root, "Available Commands:\n")
			for line := range strings.Lines(listing) {
				name, short, _ := strings.Cut(strings.TrimSpace(line), " ")
				if name == "" {
					break
				}
				rows = append(rows, []string{fmt.Sprintf("[`%s`](#%s)", name, name), strings.TrimSpace(short)})
			}
			return b.table([]string{"command", "purpose"}, rows)
		},
		"bench flags": benchTable,
	}
	for _, name := range []string{
		"run", "report", "compare", "bench", "capacity", "check", "verify", "cluster", "stores", "null-server",
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

// flagLine matches a flag in help: its name with the name of its value, and its meaning.
var flagLine = regexp.MustCompile(`^ +(?:-\w, )?(--\S+(?: \S+)?) {3,}(.*)$`)

// givenDefault matches the default at the end of a flag's meaning.
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
		h.meaning = strings.TrimSpace(h.meaning)
		usage, _, _ := strings.Cut(text, "\n\n")
		h.usage = usage
		if _, examples, found := strings.Cut(text, "\nExamples:\n"); found {
			h.examples, _, _ = strings.Cut(examples, "\n\n")
		}
		for line := range strings.Lines(text) {
			found := flagLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if found == nil || strings.HasPrefix(found[1], "--help") {
				continue
			}
			f := flagHelp{name: found[1], meaning: found[2]}
			if with := givenDefault.FindStringSubmatch(f.meaning); with != nil {
				f.meaning, f.given = with[1], with[2]
			}
			h.flags = append(h.flags, f)
		}
		all = append(all, h)
	}
	return all
}

// write writes the section of a command: its heading, its meaning, a usage line with the
// examples, and a table of its flags. The commands of bench share a table.
func (h *helpText) write(b *block, to *strings.Builder) {
	fmt.Fprintf(to, "%s %s\n\n", strings.Repeat("#", 2+h.under), h.name)
	for paragraph := range strings.SplitSeq(h.meaning, "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			paragraph = "```\n" + paragraph + "\n```"
		}
		to.WriteString(paragraph + "\n\n")
	}
	usage := slices.DeleteFunc(strings.Split(h.usage, "\n"), func(line string) bool {
		return strings.HasSuffix(line, "[command]") || h.under == 0 && h.name == "bench"
	})
	if shown := strings.TrimSpace(unindent(strings.Join(usage, "\n") + "\n" + h.examples)); shown != "" {
		to.WriteString("```\n" + shown + "\n```\n\n")
	}
	if len(h.flags) == 0 || h.isOfBench || h.name == "bench" {
		return
	}
	var rows [][]string
	for _, f := range h.flags {
		rows = append(rows, []string{code(f.name), code(f.given), f.meaning})
	}
	to.WriteString((&block{name: b.name, t: b.t}).table([]string{"flag", "default", "meaning"}, rows) + "\n")
}

func unindent(text string) string { return strings.ReplaceAll("\n"+text, "\n  ", "\n") }

// benchTable has a row for each flag of the commands of bench: which have it, with which
// defaults.
func benchTable(b *block) string {
	type key struct{ name, meaning string }
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
			k := key{f.name, f.meaning}
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

// defaultsOf writes the defaults of a flag, the most frequent first.
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

// someOf names commands: all, all but a few, or each.
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
