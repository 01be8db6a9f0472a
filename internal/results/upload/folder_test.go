package upload

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFolder(t *testing.T) {
	dir, there := aRun(t, "20261122-quick", 3, 3<<20), t.TempDir()
	d := parse(t, "file://"+there)
	copied := filepath.Join(there, "20261122-quick")
	sent := send(t, d, dir, 9)
	same(t, dir, copied)
	if want := (SendResult{URL: "file://" + copied, Files: 9, NewFiles: 9, Bytes: sent.Bytes}); cmp.Diff(want, sent) != "" {
		t.Error(cmp.Diff(want, sent))
	}
	before := read(t, filepath.Join(copied, manifestName))

	send(t, d, dir, 0)
	put(t, dir, "report.html", "<html>anew")
	send(t, d, dir, 1)
	same(t, dir, copied)
	if string(before) == string(read(t, filepath.Join(copied, manifestName))) {
		t.Error("the manifest was not changed after a file was changed")
	}

	// The changed file has the same size, so the upload must compare the contents.
	put(t, copied, "trial-01-put/timeline.csv", strings.Repeat("second,9\n", 400))
	send(t, d, dir, 1)
	same(t, dir, copied)

	for _, path := range listFiles(t, copied) {
		if info, err := os.Stat(filepath.Join(copied, path)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// TestHostileRunDirectory checks that malicious entries in a run directory are not sent, and do not
// prevent the upload of other entries.
func TestHostileRunDirectory(t *testing.T) {
	dir, there, secret := aRun(t, "run", 1, 0), t.TempDir(), filepath.Join(t.TempDir(), "secret")
	put(t, filepath.Dir(secret), "secret", "not yours")
	for name, to := range map[string]string{"link": secret, "within": "run.json", "folder": filepath.Dir(secret), "trial-01-put/up": "../../.."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "data/quorumbench-data-1/m1/db", "a member's")
	put(t, dir, strings.Repeat("long", 40), "!")
	put(t, dir, strings.Repeat("\x01", 100), "too long where it is escaped")
	put(t, dir, strings.Repeat("m", maxPart), "sent")
	put(t, dir, strings.Repeat("n", maxPart+1), "too long for a temporary file")
	put(t, dir, "odd \x1b[31m\n name", "sent")
	put(t, dir, "..attrs/x.attrs", "sent")
	put(t, dir, "no\xffUTF-8", "not sent")
	sent := send(t, parse(t, "file://"+there), dir, 8)
	whys := map[string]string{}
	for _, l := range sent.OmittedEntries {
		whys[l.Name[:min(9, len(l.Name))]] = l.Reason
	}
	link := "it is a symbolic link, which an upload does not follow"
	want := map[string]string{
		"link": link, "within": link, "folder": link, "trial-01-": link, "pipe": "it is not a regular file",
		"data":      "it is the members' data, which a killed run left behind",
		"!01!01!01": "its name is too long", "nnnnnnnnn": "its name is too long", "no!FFUTF-": "its name is not UTF-8",
	}
	if diff := cmp.Diff(want, whys); diff != "" {
		t.Error(diff)
	}
	for _, path := range listFiles(t, there) {
		if text := string(read(t, filepath.Join(there, path))); strings.Contains(text, "not yours") || strings.Contains(text, "a member's") {
			t.Errorf("%s was sent", path)
		}
	}
	if got := string(read(t, filepath.Join(there, "run", "odd!20!1B!5B31m!0A!20name"))); got != "sent" {
		t.Errorf("the file with the odd name has the content %q", got)
	}
	send(t, parse(t, "file://"+there), dir, 0)
}

// TestExchangedFile checks that a file is not read if a link has replaced it since it was listed.
func TestExchangedFile(t *testing.T) {
	dir := aRun(t, "run", 1, 0)
	tree, err := newTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, t.TempDir(), "secret", "not yours")
	for _, f := range tree.files {
		if f.name != "report.html" {
			continue
		}
		if err := errors.Join(os.Remove(filepath.Join(dir, f.path)), os.Symlink("run.json", filepath.Join(dir, f.path))); err != nil {
			t.Fatal(err)
		}
		if _, err := tree.open(t.Context(), f, func(int) {}); !errors.Is(err, errChanged) {
			t.Errorf("opening a file that became a symbolic link returns %v, want errChanged", err)
		}
	}
}

func TestFileThatGrows(t *testing.T) {
	dir := aRun(t, "run", 1, 0)
	tree, err := newTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []string{"<html>and more", "<h"} {
		put(t, dir, "report.html", size)
		for _, f := range tree.files {
			if f.name == "report.html" {
				_, err := tree.sum(t.Context(), f, func(int) {})
				sentence(t, err, "report.html: it changed while quorumbench was reading it")
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	dir, there := aRun(t, "run", 1, 0), t.TempDir()
	refused(t, parse(t, "file://"+there+"/none"), dir, "the folder "+there+"/none does not exist: create it")
	refused(t, parse(t, "file://"+dir), dir, "inside the run directory")
	refused(t, parse(t, "file://"+dir+"/trial-01-put"), dir, "inside the run directory")
	refused(t, parse(t, "file://"+filepath.Dir(dir)), dir, "is already in file://"+filepath.Dir(dir))
	refused(t, parse(t, "file://"+there), t.TempDir(), "as a run directory")
	refused(t, parse(t, "file://"+there), filepath.Join(dir, "none"), "cannot read")

	// An upload does not change a different run whose directory has the same name.
	d := parse(t, "file://"+there)
	send(t, d, dir, 4)
	other := aRun(t, "run", 2, 0)
	put(t, other, "run.json", `{"schema":"quorumbench/run/2","state":"complete","name":"quick","started":"2026-11-22T23:00:00Z"}`)
	refused(t, d, other, "contains another run, which started at 2026-11-22T22:20:14Z")
	same(t, dir, filepath.Join(there, "run"))
	put(t, there, "run/run.json", "anything")
	refused(t, d, dir, "does not belong to a run")
}

// TestStalledComparison checks that the cause of a cancellation during the comparison is reported,
// for example that no data was transferred for some time.
func TestStalledComparison(t *testing.T) {
	files, err := newTree(aRun(t, "run", 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no data was transferred"))
	s := &uploadState{tree: files, bucket: &bucket{onTransfer: func() {}}}
	for _, f := range files.files {
		_, err := s.alreadySent(ctx, f, map[string]object{f.name: {size: f.info.Size()}})
		var local *localError
		if !errors.Is(err, context.Canceled) || errors.As(err, &local) {
			t.Errorf("%s: the error is %v, want a cancellation that is not a local error", f.name, err)
		}
	}
}

// TestInterrupted checks that an interrupted upload has no manifest, because the manifest of an
// earlier upload is removed before any object changes.
func TestInterrupted(t *testing.T) {
	dir, there := aRun(t, "run", 20, 0), t.TempDir()
	d := parse(t, "file://"+there)
	send(t, d, dir, 42)
	for i := range 20 {
		put(t, dir, filepath.Join("trial-01-put", "more", string(rune('a'+i))), "more")
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := d.Send(ctx, dir, Options{Progress: func(p Progress) {
		if p.Step == "sending" && p.Files == 5 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(there, "run", manifestName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a cancelled upload, reading the manifest returns %v", err)
	}
	// A killed upload leaves such a file behind.
	put(t, there, "run/report.html.18a5b6c7d8e9f0a1.tmp", "half")
	sent, err := d.Send(t.Context(), dir, Options{})
	if err != nil || sent.NewFiles < 10 || sent.NewFiles > 15 {
		t.Errorf("%d files were sent; the error is %v", sent.NewFiles, err)
	}
	same(t, dir, filepath.Join(there, "run"))
}
