package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func contents(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := write(dir, "v1.0.0", "2026-11-29"); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, pattern := range []string{"man/*.1", "completions/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.Base(path)] = string(b)
		}
	}
	return all
}

// Each page is the same each time, starts like a man page, and has the parts that readers expect.
func TestPages(t *testing.T) {
	settle.SkipUnderRace(t)
	all := contents(t)
	if diff := cmp.Diff(all, contents(t)); diff != "" {
		t.Errorf("a second call wrote different files: %s", diff)
	}
	for _, name := range []string{"quorumbench.bash", "_quorumbench", "quorumbench.fish", "quorumbench.ps1"} {
		if len(all[name]) < 1000 {
			t.Errorf("%s has %d bytes", name, len(all[name]))
		}
	}
	page := all["quorumbench-run.1"]
	for _, want := range []string{
		`.TH "QUORUMBENCH-RUN" 1 "2026-11-29" "quorumbench v1.0.0"`, ".SH NAME\nquorumbench\\-run \\- Start clusters", ".B \\-\\-set KEY=VALUE\n",
		".SH EXAMPLES\n", ".BR quorumbench (1)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of run lacks %q", want)
		}
	}
	if !strings.Contains(all["quorumbench-stores.1"], ".BR quorumbench\\-stores\\-install (1)") {
		t.Error("the page of stores does not refer to its subcommand")
	}
	if _, found := all["quorumbench-member.1"]; found {
		t.Error("a hidden command has a page")
	}
}

// Text that roff would interpret is printed as it is.
func TestTextIsEscaped(t *testing.T) {
	c := &cobra.Command{Use: "x", Short: `a\b`, Long: ".start\n'quote\nplain --flag", Example: "  .x 'p99<1s'", Run: func(*cobra.Command, []string) {}}
	got := string(page(c, &heading{"2026-11-29", "v1"}))
	for _, want := range []string{`x \- a\eb`, "\n\\&.start\n\\(aqquote\nplain \\-\\-flag\n", ".nf\n  .x \\(aqp99<1s\\(aq\n.fi"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestDateIsChecked(t *testing.T) {
	if err := write(t.TempDir(), "v1", "yesterday"); err == nil || !strings.Contains(err.Error(), `"yesterday" is not in the form`) {
		t.Error(err)
	}
}
