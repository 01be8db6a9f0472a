package golden

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/cli"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// hidden lists the commands that no help text lists, because only quorumbench itself starts them.
var hidden = []string{"member", "disk", "network", "completion"}

// TestHelp compares the help of every command with the golden file. It begins with the help of the
// program itself, and visits the commands that each help text lists. It does not run in parallel
// with other tests, so with -update, help.txt is written before TestReference reads the file.
func TestHelp(t *testing.T) {
	settle.SkipUnderRace(t)
	var all strings.Builder
	walk(t, &all, nil)
	for _, name := range hidden {
		walk(t, &all, []string{name})
	}
	compare(t, "help.txt", all.String())
}

// walk writes the help texts of a command and its subcommands to the builder.
func walk(t *testing.T, to *strings.Builder, command []string) {
	t.Helper()
	text := help(t, command)
	checkHelp(t, command, text)
	fmt.Fprintf(to, "==== %s\n\n%s\n", strings.Join(append([]string{"quorumbench"}, command...), " "), text)
	for _, s := range sectionsOf(text) {
		if !s.isOfCommands() {
			continue
		}
		for _, e := range s.entries {
			walk(t, to, append(command[:len(command):len(command)], e.name))
		}
	}
}

// checkHelp checks that a help text fits 100 columns and has examples, and that either all or none
// of its flags and commands are in groups.
func checkHelp(t *testing.T, command []string, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("the help of %q has a line of %d columns: %s", command, n, line)
		}
	}
	if strings.Contains(text, "\nOther flags:\n") {
		t.Errorf("the help of %q has flags without a group: add their names to flagGroups in internal/cli/command/help.go", command)
	}
	isHidden := len(command) > 0 && slices.Contains(hidden, command[0])
	if !isHidden && !strings.Contains(text, "\nExamples:\n  quorumbench") {
		t.Errorf("the help of %q has no example", command)
	}
	if len(command) == 0 && strings.Contains(text, "\nCommands:\n") {
		t.Error("a command belongs to no group: add its name to questions in internal/cli/root.go")
	}
}

func help(t *testing.T, command []string) string {
	t.Helper()
	var out, complaints bytes.Buffer
	args := append(command[:len(command):len(command)], "--help")
	if code := cli.Main(args, strings.NewReader(""), &out, &complaints); code != 0 || complaints.Len() > 0 {
		t.Fatalf("%q ended with exit code %d and printed to stderr: %q", args, code, complaints.String())
	}
	return out.String()
}
