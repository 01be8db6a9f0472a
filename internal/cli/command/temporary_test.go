package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// If the folder for temporary files does not exist, as in an image that contains only the binary, a
// temporary record is created in the working folder.
func TestTemporaryOutWithoutTmp(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nothing"))
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	o := runner.Options{Scenario: &scenario.Scenario{Name: "bench"}}
	remove, err := TemporaryOut(&o, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(filepath.Dir(o.Out)) != here {
		t.Errorf("the record is in %s, and not in %s", o.Out, here)
	}
	remove(&err)
	if _, gone := os.Stat(filepath.Dir(o.Out)); err != nil || !os.IsNotExist(gone) {
		t.Errorf("%v, %v", err, gone)
	}
}
