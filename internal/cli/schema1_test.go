package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/cli/command"
)

// Run directories of the schema 1, made by the version of f24541c, are reported
// as the last version that wrote that schema reported them, and can be baselines.
func TestRunDirectoriesOfSchema1(t *testing.T) {
	t.Chdir(filepath.Join("testdata", "schema1"))
	for _, dir := range []string{"run", "range", "put", "anew", "watch-get"} {
		want, err := os.ReadFile(dir + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if code := Main([]string{"report", dir}, nil, &out, &errs); code != command.ExitDone || errs.Len() > 0 {
			t.Errorf("%s: exit code %d, %s", dir, code, &errs)
		}
		if out.String() != string(want) {
			t.Errorf("%s is reported as\n%s\nand not\n%s", dir, &out, want)
		}
		out.Reset()
		if code := Main([]string{"report", dir, "--baseline", dir}, nil, &out, &errs); code != command.ExitDone || !strings.Contains(out.String(), "Compared with the baseline") {
			t.Errorf("%s as its own baseline: exit code %d, %s", dir, code, &errs)
		}
	}
}
