package runs

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// recordedDir is the folder with runs on real clusters, relative to the repository's root.
// NAME.tar.zst is a run directory without the members' data.
const recordedDir = "internal/testing/golden/testdata/runs"

// Recorded returns the names of the recorded runs.
func Recorded(tb testing.TB) (names []string) {
	tb.Helper()
	archives, err := filepath.Glob(filepath.Join(folder(tb), "*.tar.zst"))
	check(tb, err)
	if len(archives) == 0 {
		tb.Fatalf("%s has no recorded runs", recordedDir)
	}
	for _, archive := range archives {
		names = append(names, strings.TrimSuffix(filepath.Base(archive), ".tar.zst"))
	}
	return names
}

// Unpack writes a recorded run below the folder dir and returns its path.
func Unpack(tb testing.TB, dir, name string) string {
	tb.Helper()
	to := filepath.Join(dir, name)
	check(tb, unpack(filepath.Join(folder(tb), name+".tar.zst"), to))
	return to
}

// folder returns the folder with the archives. It searches upwards from the working folder, which
// is the folder of the tested package.
func folder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	check(tb, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, filepath.FromSlash(recordedDir))
		}
		if filepath.Dir(dir) == dir {
			tb.Fatal("the working directory is not inside the repository")
		}
		dir = filepath.Dir(dir)
	}
}

// unpack writes the files of an archive below a folder.
func unpack(archive, to string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the file was only read
	plain, err := zstd.NewReader(f)
	if err != nil {
		return err
	}
	defer plain.Close()
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			continue
		}
		path := filepath.Join(to, h.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		contents, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, contents, 0o644); err != nil {
			return err
		}
	}
}
