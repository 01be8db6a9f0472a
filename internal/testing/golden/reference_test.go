package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// referencePages is the folder that contains the reference pages.
const referencePages = "../../../docs/reference"

// block is a part of a reference page that the test generates.
type block struct {
	name string
	text string // the current text on the page
	t    *testing.T
}

// generators returns the functions that generate the blocks on the reference pages, by the block's
// name.
func generators() map[string]func(*block) string {
	all := map[string]func(*block) string{}
	for _, of := range []map[string]func(*block) string{figureBlocks(), ruleBlocks(), faultBlocks(), fileBlocks(), scenarioBlocks(), commandBlocks()} {
		for name, generate := range of {
			all[name] = generate
		}
	}
	return all
}

// TestReference compares the generated blocks in docs/reference with the program. A block is
// between two HTML comments; the text around it is written by hand. Most blocks are tables. The
// program determines the rows and their order. Cells that the program cannot generate keep the text
// that they have on the page.
func TestReference(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	unused := generators()
	pages, err := filepath.Glob(filepath.Join(referencePages, "*.md"))
	must(t, err)
	for _, page := range pages {
		b, err := os.ReadFile(page)
		must(t, err)
		text := string(b)
		written := regenerate(t, filepath.Base(page), text, unused)
		if written == text {
			continue
		}
		if !*update {
			t.Errorf("docs/reference/%s is out of date; go test ./internal/testing/golden -run Reference -update rewrites it", filepath.Base(page))
			continue
		}
		must(t, os.WriteFile(page, []byte(written), 0o644))
	}
	for name := range unused {
		t.Errorf("no page of docs/reference has the block %q", name)
	}
}

// regenerate returns a page with regenerated blocks. It deletes from unused the generators that it
// used.
func regenerate(t *testing.T, page, text string, unused map[string]func(*block) string) string {
	t.Helper()
	const begin, end = "<!-- generated: ", "<!-- end -->\n"
	all := generators()
	var to strings.Builder
	for {
		before, rest, found := strings.Cut(text, begin)
		to.WriteString(before)
		if !found {
			return to.String()
		}
		name, rest, _ := strings.Cut(rest, " -->\n")
		old, after, closed := strings.Cut(rest, end)
		generate := all[name]
		if !closed || generate == nil {
			t.Fatalf("%s: the block %q has no end or no generator", page, name)
		}
		delete(unused, name)
		to.WriteString(begin + name + " -->\n" + generate(&block{name: name, text: old, t: t}) + end)
		text = after
	}
}

// table returns a Markdown table with a heading. If a cell is empty, table uses the cell that the
// page has in the same row and column. The last column must not remain empty. If a cell is not
// empty, the page may add words to it, for example "`all`; `any` with `endpoints`". In the last
// column, the page may add nothing but code marks and a link in parentheses.
func (b *block) table(head []string, rows [][]string) string {
	kept := map[string][]string{}
	for line := range strings.Lines(b.text) {
		if cells := cellsOf(line); len(cells) == len(head) {
			kept[cells[0]] = cells
		}
	}
	var to strings.Builder
	line := func(cells []string) { fmt.Fprintf(&to, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	line(slices.Repeat([]string{"---"}, len(head)))
	for _, row := range rows {
		row = append(row, slices.Repeat([]string{""}, len(head)-len(row))...)
		for i := range row {
			row[i] = strings.ReplaceAll(strings.ReplaceAll(row[i], `\|`, "|"), "|", `\|`)
		}
		last := len(row) - 1
		if old := kept[row[0]]; old != nil {
			for i := range row {
				if row[i] == "" || i < last && strings.HasPrefix(old[i], row[i]) || i == last && plainText(old[i]) == plainText(row[i]) {
					row[i] = old[i]
				}
			}
		}
		if row[last] == "" {
			b.t.Errorf("the block %q has no text in the column %s for %s: write it into the page", b.name, head[last], row[0])
		}
		line(row)
	}
	return to.String()
}

// plainText returns the text of a cell without code marks and without a link in parentheses at its
// end.
func plainText(cell string) string {
	cell, _, _ = strings.Cut(cell, " ([")
	return strings.ReplaceAll(cell, "`", "")
}

// cellsOf returns the cells in a line of a Markdown table, or nil if the line is not part of a
// table.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
	cells = cells[1 : len(cells)-1]
	for i := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", `\|`)
	}
	return cells
}

// code formats a text as Markdown code. It returns an empty string for an empty text.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// TestReferenceExamples parses the scenarios on the reference pages.
func TestReferenceExamples(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]int{"scenarios.md": 3, "faults.md": 1} {
		b, err := os.ReadFile(filepath.Join(referencePages, page))
		must(t, err)
		read := 0
		for i, part := range strings.Split(string(b), "```yaml\n")[1:] {
			part, _, _ = strings.Cut(part, "```")
			if strings.HasPrefix(part, "trials:") {
				part = "defaults: {store: etcd}\n" + part
			}
			if !strings.Contains(part, "\ntrials:") {
				continue // this part is not a complete scenario
			}
			s, err := scenario.Parse("example.yaml", []byte(part), registry.Catalog{Apps: load.Applications}, scenario.Options{})
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if read++; page == "scenarios.md" && i == 0 && len(s.Trials) != 18 {
				t.Errorf("the first example of %s expands to %d trials, want 18 (6 trials with 3 repeats)", page, len(s.Trials))
			}
		}
		if read != want {
			t.Errorf("%s has %d scenarios, want %d", page, read, want)
		}
	}
}
