// Command manual writes a man page for each command of quorumbench, and the completions for bash,
// zsh, fish and PowerShell. The program itself does not contain the man pages.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli"
)

func main() {
	to := flag.String("to", "", "folder for the new folders man and completions")
	version := flag.String("version", "devel", "version of quorumbench, which the pages show")
	date := flag.String("date", "", "date that the pages show, such as 2026-11-29")
	flag.Parse()
	if *to == "" || *date == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(*to, *version, *date); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func write(to, version, date string) error {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return fmt.Errorf("the date %q is not in the form 2026-11-29", date)
	}
	root := cli.Commands()
	pages, completions := filepath.Join(to, "man"), filepath.Join(to, "completions")
	for _, dir := range []string{pages, completions} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := writePages(pages, root, &heading{date: date, version: version}); err != nil {
		return err
	}
	return writeCompletions(completions, root)
}

// writePages writes the pages of a command and of its subcommands.
func writePages(dir string, c *cobra.Command, h *heading) error {
	if !c.IsAvailableCommand() && c.HasParent() {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, pageName(c)+".1"), page(c, h), 0o644); err != nil {
		return err
	}
	var errs []error
	for _, below := range c.Commands() {
		errs = append(errs, writePages(dir, below, h))
	}
	return errors.Join(errs...)
}

// writeCompletions writes one file per shell, with the name that the shell expects.
func writeCompletions(dir string, root *cobra.Command) error {
	for name, generate := range map[string]func(*bytes.Buffer) error{
		"quorumbench.bash": func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) },
		"_quorumbench":     func(b *bytes.Buffer) error { return root.GenZshCompletion(b) },
		"quorumbench.fish": func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) },
		"quorumbench.ps1":  func(b *bytes.Buffer) error { return root.GenPowerShellCompletionWithDesc(b) },
	} {
		var b bytes.Buffer
		if err := generate(&b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
