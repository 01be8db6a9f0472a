package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// clone clones the repository's last commit into a folder of the given name.
func clone(t *testing.T, name string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Run(); err != nil {
		t.Skip("this folder is not a git checkout")
	}
	dir := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("git", "clone", "-q", "--no-tags", root, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("git", "-C", dir, "tag", "v1.2.3").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// nfpmPath returns the path of the nfpm whose version the Makefile pins, or an empty string if
// `make release` has not installed it.
func nfpmPath(t *testing.T) string {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^NFPM_VERSION := (\S+)$`).FindSubmatch(makefile)
	if version == nil {
		t.Fatal("the Makefile does not set NFPM_VERSION")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	path := filepath.Join(cache, "quorumbench", "tools", "nfpm-"+string(version[1]), "nfpm")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// onePage writes the completions and only one man page, instead of all man pages.
func onePage(_ context.Context, r *release) error {
	for name, text := range map[string]string{
		"man/quorumbench.1": ".TH X 1\n", "completions/quorumbench.bash": "b", "completions/_quorumbench": "z", "completions/quorumbench.fish": "f",
	} {
		path := filepath.Join(r.work, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// released builds a release from a new clone, and returns the contents of its files by name.
func released(t *testing.T, r *release, platforms ...string) map[string][]byte {
	t.Helper()
	r.to = filepath.Join(t.TempDir(), "dist")
	if err := r.run(t.Context(), platforms); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(r.to)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, e := range entries {
		if all[e.Name()], err = os.ReadFile(filepath.Join(r.to, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// small returns a release whose program is not quorumbench but a smaller program of this
// repository.
func small(t *testing.T, clone string) *release {
	t.Helper()
	return &release{source: source{dir: clone}, main: "./tools/image", nfpm: nfpmPath(t), writeManual: onePage}
}

func checkSame(t *testing.T, x, y map[string][]byte) {
	t.Helper()
	if diff := cmp.Diff(sortedKeys(x), sortedKeys(y)); diff != "" {
		t.Fatal(diff)
	}
	for name := range x {
		if !bytes.Equal(x[name], y[name]) {
			t.Errorf("%s is different in the second folder", name)
		}
	}
}

// Releases that are built from two clones in different folders have the same files. This test
// builds a small program, so that CI can run the test. TestWholeRelease builds quorumbench.
func TestSameBytesInTwoFolders(t *testing.T) {
	settle.SkipUnderRace(t)
	first, second := small(t, clone(t, "here")), small(t, clone(t, "another-folder"))
	platforms := []string{"linux/amd64", "linux/arm64"}
	files := released(t, first, platforms...)
	checkSame(t, files, released(t, second, platforms...))
	if len(files) < 2+2+2+1+2 {
		t.Errorf("the release has only the files %v", sortedKeys(files))
	}
	checkContents(t, first, files)
	checkManifests(t, files)
	checkSums(t, first)
	checkSignature(t, first)
}

// If the whole release is built a second time, in another folder and with an empty cache, it has
// the same files.
func TestWholeRelease(t *testing.T) {
	settle.LongOnly(t, "TestSameBytesInTwoFolders builds a smaller program")
	platforms := allPlatforms
	if p := os.Getenv("QUORUMBENCH_PLATFORMS"); p != "" {
		platforms = p
	}
	build := func(name string) map[string][]byte {
		r := &release{source: source{dir: clone(t, name)}, main: "./cmd/quorumbench", nfpm: nfpmPath(t), writeManual: writeManual}
		return released(t, r, strings.Split(platforms, ",")...)
	}
	first := build("here")
	t.Setenv("GOCACHE", t.TempDir())
	checkSame(t, first, build("another-folder"))
	const maxSize = 25 << 20 // of the image, per architecture
	for name, contents := range first {
		if strings.HasSuffix(name, "_image.tar") && len(contents) > 2*maxSize {
			t.Errorf("%s has %d bytes", name, len(contents))
		}
	}
}

// checkContents compares the modules of the binary with the bill of materials and the licences.
func checkContents(t *testing.T, r *release, files map[string][]byte) {
	t.Helper()
	for _, b := range r.builds {
		var bill bom
		if err := json.Unmarshal(files[b.name()+".cdx.json"], &bill); err != nil {
			t.Fatal(err)
		}
		if len(b.modules) == 0 || len(bill.Components) != len(b.modules)+1 {
			t.Errorf("%s: the bill of materials has %d components for %d modules", b.name(), len(bill.Components), len(b.modules))
		}
		packed := unpack(t, files[b.name()+".tar.gz"])
		for _, name := range []string{"quorumbench", "LICENSE", "README.md", "scenario.schema.json", "man/quorumbench.1", "completions/_quorumbench"} {
			if len(packed[b.name()+"/"+name]) == 0 {
				t.Errorf("the archive of %s/%s lacks %s", b.system, b.arch, name)
			}
		}
		licenses := string(packed[b.name()+"/"+licensesName])
		for _, m := range b.modules {
			if !strings.Contains(licenses, "\n"+m.path+" "+m.version+"\n") {
				t.Errorf("the licence of %s is missing", m.path)
			}
		}
		if !strings.Contains(licenses, "Apache License") || strings.Contains(licenses, "github.com/spf13/cobra") {
			t.Errorf("%s contains the licences of other modules, or lacks the Apache License", b.name())
		}
	}
}

func unpack(t *testing.T, packed []byte) map[string][]byte {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[h.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
}

// checkManifests checks that the krew manifest and the formula have the hashes of the archives, and
// that the provenance names every file.
func checkManifests(t *testing.T, files map[string][]byte) {
	t.Helper()
	var manifest struct {
		Spec struct {
			Version   string
			Platforms []struct{ URI, SHA256 string }
		}
	}
	if err := yaml.Unmarshal(files["quorumbench.krew.yaml"], &manifest); err != nil {
		t.Fatal(err)
	}
	var s statement
	if err := json.Unmarshal(files["quorumbench.provenance.json"], &s); err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, f := range s.Subject {
		sums[f.Name] = f.Digest["sha256"]
	}
	if len(manifest.Spec.Platforms) != 2 || manifest.Spec.Version != "v1.2.3" {
		t.Errorf("%+v", manifest)
	}
	for _, p := range manifest.Spec.Platforms {
		if sums[filepath.Base(p.URI)] != p.SHA256 {
			t.Errorf("the hash of %s differs from the one in the provenance", p.URI)
		}
		if !bytes.Contains(files["quorumbench.rb"], []byte(`sha256 "`+p.SHA256+`"`)) {
			t.Errorf("the formula lacks %s", p.URI)
		}
	}
	want := slices.DeleteFunc(sortedKeys(files), func(name string) bool { return name == sumsName || strings.HasSuffix(name, ".provenance.json") })
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(sums))); diff != "" {
		t.Error(diff)
	}
}

// checkSums lets sha256sum verify the files.
func checkSums(t *testing.T, r *release) {
	t.Helper()
	c := exec.Command("sha256sum", "--check", "--strict", "--quiet", sumsName)
	c.Dir = r.to
	if out, err := c.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v: %s", err, out)
	}
}

// checkSignature signs the hashes with a new key as CONTRIBUTING.md describes, and verifies the
// signature as docs/install.md describes. A changed file is refused.
func checkSignature(t *testing.T, r *release) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Log("ssh-keygen is not installed: nothing is signed.")
		return
	}
	dir := t.TempDir()
	key, signers := filepath.Join(dir, "key"), filepath.Join(dir, "allowed_signers")
	run := func(stdin []byte, args ...string) error {
		c := exec.Command("ssh-keygen", args...)
		c.Dir, c.Stdin = r.to, bytes.NewReader(stdin)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	sums, err := os.ReadFile(r.path(sumsName))
	if err != nil {
		t.Fatal(err)
	}
	if err := run(nil, "-q", "-t", "ed25519", "-N", "", "-f", key); err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(signers, append([]byte("quorumbench "), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(nil, "-Y", "sign", "-f", key, "-n", "file", sumsName); err != nil {
		t.Fatal(err)
	}
	verify := []string{"-Y", "verify", "-f", signers, "-I", "quorumbench", "-n", "file", "-s", sumsName + ".sig"}
	if err := run(sums, verify...); err != nil {
		t.Error(err)
	}
	if err := run(append(sums, '\n'), verify...); err == nil {
		t.Error("the signature is accepted for a changed file")
	}
}

func TestSelectVersion(t *testing.T) {
	for want, tags := range map[string][]string{
		"":          {"latest", "v1"},
		"v1.0.0":    {"v1.0.0-rc2", "v1.0.0", "v1.0.0-rc1", "latest"},
		"v1.1.0":    {"v1.1.0", "v1.0.0"},
		"v1.0.0-b2": {"v1.0.0-b2", "v1.0.0-b1"},
	} {
		if got := selectVersion(tags); got != want {
			t.Errorf("selectVersion(%v) returned %q, want %q", tags, got, want)
		}
	}
}

// createFolder's function restore removes a new folder, and empties a folder that existed.
func TestFolderIsRestored(t *testing.T) {
	for name, existed := range map[string]bool{"new": false, "old": true} {
		r := &release{to: filepath.Join(t.TempDir(), name)}
		if existed {
			if err := os.Mkdir(r.to, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		restore, err := r.createFolder()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.path("x"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		restore()
		if entries, err := os.ReadDir(r.to); len(entries) > 0 || existed != (err == nil) {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
}

// findProgram finds a program by a relative path, and refuses a missing program.
func TestFindProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	want, err := filepath.Abs("nfpm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := findProgram("./nfpm"); err == nil || !strings.Contains(err.Error(), "or omit -nfpm") {
		t.Errorf("findProgram for a missing program returned: %v", err)
	}
	if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := findProgram("./nfpm"); got != want || err != nil {
		t.Errorf("findProgram returned %q, want %q: %v", got, want, err)
	}
}

// A release is refused if its commit does not describe it, if its folder has files, and if nfpm is
// missing.
func TestRefused(t *testing.T) {
	dir := clone(t, "changed")
	r := small(t, dir)
	r.to = t.TempDir()
	if err := os.WriteFile(filepath.Join(r.to, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "is not empty; remove it") {
		t.Errorf("a release into a folder with files returned: %v", err)
	}
	r.to = filepath.Join(t.TempDir(), "dist")
	nfpm := r.nfpm
	r.nfpm = "none/nfpm"
	if err := r.run(t.Context(), nil); err == nil || !strings.HasPrefix(err.Error(), "-nfpm: ") {
		t.Errorf("a release with a missing nfpm returned: %v", err)
	}
	r.nfpm = nfpm
	if err := r.run(t.Context(), []string{"linux"}); err == nil || !strings.Contains(err.Error(), `"linux" is not in the form`) {
		t.Errorf("an invalid platform returned: %v", err)
	}
	if _, err := os.Stat(r.to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed release left files: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.run(t.Context(), []string{runtime.GOOS + "/" + runtime.GOARCH}); err == nil || !strings.Contains(err.Error(), "has changes that are not committed") {
		t.Errorf("a release of a changed checkout returned: %v", err)
	}
}
