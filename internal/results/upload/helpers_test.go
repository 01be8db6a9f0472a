package upload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// aRun creates a run directory with the given name, a number of trials, and a file of the given
// size in bytes.
func aRun(t *testing.T, name string, trials, large int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	put(t, dir, "run.json", `{"schema":"quorumbench/run/2","state":"complete","name":"quick","started":"2026-11-22T22:20:14.5Z"}`)
	put(t, dir, "report.html", "<html>")
	for i := range trials {
		folder := filepath.Join(dir, fmt.Sprintf("trial-%02d-put", i+1))
		put(t, folder, "timeline.csv", strings.Repeat(fmt.Sprintf("second,%d\n", i), 400))
		put(t, folder, "events.jsonl", "")
	}
	if large > 0 {
		random := rand.NewChaCha8([32]byte{1})
		b := make([]byte, large)
		_, _ = random.Read(b) // it never fails
		put(t, dir, "history.jsonl.zst", string(b))
	}
	return dir
}

func put(t *testing.T, dir, name, contents string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, text string) *Destination {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// send uploads a run and checks that this call sends exactly as many files as the parameter `anew`
// states.
func send(t *testing.T, d *Destination, dir string, anew int) SendResult {
	t.Helper()
	return sendAs(t, d, dir, anew, Options{})
}

func sendAs(t *testing.T, d *Destination, dir string, anew int, o Options) SendResult {
	t.Helper()
	sent, err := d.Send(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if sent.NewFiles != anew {
		t.Errorf("%d new files were sent, want %d", sent.NewFiles, anew)
	}
	return sent
}

// refused checks that an upload fails with an error of one sentence, which contains all the given
// parts.
func refused(t *testing.T, d *Destination, dir string, parts ...string) {
	t.Helper()
	_, err := d.Send(t.Context(), dir, Options{})
	sentence(t, err, parts...)
}

func sentence(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("the upload returned no error")
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not say %q", err, p)
		}
	}
	if strings.ContainsAny(err.Error(), "\n") {
		t.Errorf("the error has more than one line: %q", err)
	}
}

// same compares a run directory with its uploaded copy. Except for the manifest, the copy must
// contain exactly the files that the manifest lists.
func same(t *testing.T, dir, copied string) {
	t.Helper()
	var m manifest
	if err := json.Unmarshal(read(t, filepath.Join(copied, manifestName)), &m); err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(listFiles(t, dir), func(name string) bool {
		return slices.ContainsFunc(m.LeftOut, func(l OmittedEntry) bool { return name == l.Name || strings.HasPrefix(name, l.Name+"/") })
	})
	var listed []string
	for _, f := range m.Files {
		listed = append(listed, f.Name)
		if !bytes.Equal(read(t, filepath.Join(dir, f.Name)), read(t, filepath.Join(copied, f.Name))) {
			t.Errorf("%s differs", f.Name)
		}
	}
	if !slices.Equal(listed, want) {
		t.Errorf("the manifest lists %q, not %q", listed, want)
	}
	if is := listFiles(t, copied); !slices.Equal(is, slices.Sorted(slices.Values(append(listed, manifestName)))) {
		t.Errorf("the destination has the files %q", is)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// listFiles returns the paths of all entries that are not folders.
func listFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}
