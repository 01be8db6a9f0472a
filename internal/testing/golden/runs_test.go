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

	"github.com/quorumbench/quorumbench/internal/cli"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// whole are the formats whose text is held as it is; of the others the size and a hash
// are held, file by file.
var (
	whole  = []string{"text", "markdown"}
	hashed = []string{"json", "csv", "gobench", "dbtester", "html", "svg"}
)

// drawn is the run whose charts are held as PNG, too: those of all take a minute.
const drawn = "faults"

// TestRuns holds every format of recorded runs: testdata/runs/NAME.tar.zst is a run
// directory without the members' data, and NAME.txt what reports have of it. To see what
// differs where a hash does, write the reports of both programs with `report --out`.
func TestRuns(t *testing.T) {
	settle.Unraced(t)
	for _, name := range runs.Recorded(t) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			runs.Unpack(t, dir, name)
			text := rendered(t, dir, name)
			compare(t, filepath.Join("runs", name+".txt"), text)
		})
	}
}

// rendered returns what reports have of the run below dir, with the run's name for its path.
func rendered(t *testing.T, dir, name string) string {
	t.Helper()
	var all strings.Builder
	for _, format := range whole {
		fmt.Fprintf(&all, "==== %s\n%s\n", format, strings.ReplaceAll(reportOf(t, dir, name, "--format", format), dir+"/", ""))
	}
	formats := hashed
	if name == drawn {
		formats = append(formats[:len(formats):len(formats)], "png")
	}
	for _, format := range formats {
		to := filepath.Join(dir, "out-"+format)
		reportOf(t, dir, name, "--format", format, "--out", to)
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

// reportOf returns what the report of a run prints.
func reportOf(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	var out, complaints bytes.Buffer
	args = append([]string{"report", filepath.Join(dir, name)}, args...)
	if code := cli.Main(args, strings.NewReader(""), &out, &complaints); code != 0 {
		t.Fatalf("%q ended with %d and said %q", args, code, complaints.String())
	}
	return out.String()
}
