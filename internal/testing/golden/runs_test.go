package golden

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/cli"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	screen "github.com/quorumbench/quorumbench/internal/text"
)

// For the formats in `whole`, the golden file contains the complete text. For the formats in
// `hashed`, it contains the size and hash of each file.
var (
	whole  = []string{"text", "text --wide", "markdown"}
	hashed = []string{"json", "csv", "gobench", "dbtester", "html", "svg --charts all"}
)

// drawn is the only run whose charts are also tested as PNG, because drawing the charts of all runs
// takes a minute.
const drawn = "faults"

// TestRuns compares reports on recorded runs, in every format, with golden files.
// testdata/runs/NAME.tar.zst is a run directory without the members' data, and NAME.txt contains
// the reports. If a hash differs, write the reports with the old and the new program (`report
// --out`) and compare the files.
func TestRuns(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, name := range runs.Recorded(t) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			runs.Unpack(t, dir, name)
			text := rendered(t, dir, name)
			compare(t, filepath.Join("runs", name+".txt"), text)
		})
	}
}

// rendered returns the reports on the run in dir/NAME. In the reports, the run's name replaces its
// path.
func rendered(t *testing.T, dir, name string) string {
	t.Helper()
	var all strings.Builder
	for _, format := range whole {
		report := strings.ReplaceAll(reportOf(t, dir, name, append([]string{"--format"}, strings.Fields(format)...)...), dir+"/", "")
		if format == "text" {
			checkWidth(t, report)
		}
		fmt.Fprintf(&all, "==== %s\n%s\n", format, report)
	}
	formats := hashed
	if name == drawn {
		formats = append(formats[:len(formats):len(formats)], "png --charts all")
	}
	for _, format := range formats {
		words := strings.Fields(format)
		format = words[0]
		to := filepath.Join(dir, "out-"+format)
		reportOf(t, dir, name, append([]string{"--format", format, "--out", to}, words[1:]...)...)
		must(t, filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			contents, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			contents = bytes.ReplaceAll(contents, []byte(dir+"/"), nil)
			in, err := filepath.Rel(to, path)
			fmt.Fprintf(&all, "==== %s %s: %d B, %x\n", format, in, len(contents), sha256.Sum256(contents))
			return err
		}))
	}
	return all.String()
}

// checkWidth fails the test if a line that could wrap at a space is wider than a terminal.
func checkWidth(t *testing.T, report string) {
	t.Helper()
	for line := range strings.Lines(report) {
		line = strings.TrimRight(line, "\n")
		if n := utf8.RuneCountInString(line); n > screen.ScreenWidth && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("a line of text has %d columns, want at most %d: %s", n, screen.ScreenWidth, line)
		}
	}
}

// reportOf returns the output of `report` for a run.
func reportOf(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	var out, complaints bytes.Buffer
	args = append([]string{"report", filepath.Join(dir, name)}, args...)
	if code := cli.Main(args, strings.NewReader(""), &out, &complaints); code != 0 {
		t.Fatalf("%q ended with exit code %d and printed to stderr: %q", args, code, complaints.String())
	}
	return out.String()
}
