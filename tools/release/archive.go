package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// document is a file that belongs to the program.
type document struct {
	name string // path in an archive
	path string
	mode int64
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// documents returns the files of an archive: the binary, the licences, the readme, the JSON Schema
// of scenario files, the man pages and the completions.
func (r *release) documents(b *build) ([]document, error) {
	all := []document{
		{program, b.binary, 0o755},
		{"LICENSE", filepath.Join(r.source.dir, "LICENSE"), 0o644},
		{"README.md", filepath.Join(r.source.dir, "README.md"), 0o644},
		{licensesName, b.licenses, 0o644},
		{"scenario.schema.json", filepath.Join(r.source.dir, "scenarios", "scenario.schema.json"), 0o644},
	}
	for _, dir := range []string{"man", "completions"} {
		entries, err := os.ReadDir(filepath.Join(r.work, dir))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			all = append(all, document{path.Join(dir, e.Name()), filepath.Join(r.work, dir, e.Name()), 0o644})
		}
	}
	slices.SortFunc(all, func(x, y document) int { return cmp.Compare(x.name, y.name) })
	return all, nil
}

// packArchives writes a tar.gz for each platform.
func (r *release) packArchives() error {
	for _, b := range r.builds {
		all, err := r.documents(b)
		if err != nil {
			return err
		}
		if err := pack(r.path(b.name()+".tar.gz"), b.name(), all, r.source.date); err != nil {
			return err
		}
	}
	return nil
}

// pack writes files into a folder in a tar.gz. In the archive, the files belong to root and have
// the commit's time.
func pack(to, folder string, all []document, date time.Time) error {
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for _, d := range all {
		contents, err := os.ReadFile(d.path)
		if err != nil {
			return err
		}
		h := &tar.Header{
			Name: path.Join(folder, d.name), Mode: d.mode, Size: int64(len(contents)), ModTime: date, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := out.Write(contents); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return writeCompressed(to, b.Bytes())
}

// writeCompressed compresses contents with gzip, and writes them to a file. The gzip header
// contains no name and no time.
func writeCompressed(to string, contents []byte) error {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := zip.Write(contents); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, b.Bytes(), 0o644)
}
