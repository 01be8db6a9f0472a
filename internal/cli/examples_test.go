package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// TestExamplesAreCommandLines lets each command parse its examples in the help texts: flags, flag
// values and arguments. No command runs.
func TestExamplesAreCommandLines(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	var lines []string
	var find func(*cobra.Command)
	find = func(c *cobra.Command) {
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", " ")) {
			lines = append(lines, strings.TrimSpace(line))
		}
		for _, below := range c.Commands() {
			find(below)
		}
	}
	find(exampleProgram().root())
	if len(lines) < 40 {
		t.Fatalf("help has only %d examples", len(lines))
	}
	for _, line := range lines {
		args, toFile, _ := strings.Cut(line, " > ")
		words := shellWords(args)
		if words[0] != "quorumbench" || strings.Contains(toFile, ">") {
			t.Errorf("the example %q is not a command line of quorumbench", line)
			continue
		}
		ran := ""
		root := exampleProgram().root()
		stub(root, &ran)
		root.SetArgs(words[1:])
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Errorf("the example %q is refused: %v", line, err)
		} else if ran == "" {
			t.Errorf("the example %q runs no command", line)
		}
	}
}

// stub replaces the actions of a command and its subcommands. The new action only stores the path
// of its command in *ran.
func stub(c *cobra.Command, ran *string) {
	if c.RunE != nil {
		c.RunE = func(c *cobra.Command, _ []string) error {
			*ran = c.CommandPath()
			return nil
		}
	}
	for _, below := range c.Commands() {
		stub(below, ran)
	}
}

func exampleProgram() *commandLine {
	return &commandLine{&command.App{
		Stdin: strings.NewReader(""), Stdout: command.NewOutput(io.Discard), Stderr: io.Discard, Screen: io.Discard,
		Lookup: registry.Lookup, Catalog: registry.Catalog{Apps: load.Applications},
	}}
}

// shellWords splits a command line into words, as a shell would. It supports single quotes.
func shellWords(line string) (words []string) {
	word, quoted, began := "", false, false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, began = !quoted, true
		case r == ' ' && !quoted:
			if began {
				words = append(words, word)
			}
			word, began = "", false
		default:
			word, began = word+string(r), true
		}
	}
	if began {
		words = append(words, word)
	}
	return words
}
