package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/store"
)

// manifestFile is the last file that a build writes to the server's folder.
const manifestFile = "manifest.json"

// manifestSchema is the version of the manifest's format.
const manifestSchema = 1

// manifest describes a built server.
type manifest struct {
	Schema  int               `json:"schema"`
	Store   string            `json:"store"`
	Version string            `json:"version"`
	Recipe  string            `json:"recipe"` // the hash that recipeOf returns
	License string            `json:"license"`
	Files   map[string]string `json:"files"` // SHA-256 hashes by path (with slashes)
}

// newManifest returns a manifest with the hashes of all files in the folder.
func newManifest(dir string, source store.ServerSource) (*manifest, error) {
	recipe, err := recipeOf(source)
	if err != nil {
		return nil, err
	}
	m := &manifest{
		Schema: manifestSchema, Store: source.Store, Version: source.Version,
		Recipe: recipe, License: source.License, Files: map[string]string{},
	}
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		m.Files[path], err = hashFile(filepath.Join(dir, filepath.FromSlash(path)))
		return err
	})
	if err == nil && len(m.Files) == 0 {
		err = errors.New("the build created no files")
	}
	return m, err
}

func (m *manifest) write(dir string) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifestFile), append(b, '\n'), 0o644)
}

// readManifest reads a folder's manifest. It returns nil if the folder has no manifest. If it
// cannot read the manifest, it returns an empty manifest and the error, so that the caller treats
// the folder as damaged.
func readManifest(dir string) (*manifest, error) {
	b, err := files.Read(filepath.Join(dir, manifestFile), 4<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := &manifest{}
	if err == nil {
		err = json.Unmarshal(b, m)
	}
	if err != nil {
		return m, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	if m.Schema != manifestSchema {
		return nil, nil // another version of quorumbench wrote the manifest, so the server must be built again
	}
	return m, nil
}

// compare returns an error that describes the first difference between the folder and the
// manifest, or nil if there is none.
func (m *manifest) compare(dir string) error {
	if len(m.Files) == 0 {
		return errors.New("its manifest lists no files")
	}
	for _, path := range slices.Sorted(maps.Keys(m.Files)) {
		if !filepath.IsLocal(filepath.FromSlash(path)) {
			return fmt.Errorf("its manifest lists the file %q, which is outside the folder", path)
		}
		sum, err := hashFile(filepath.Join(dir, filepath.FromSlash(path)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s is missing", path)
		case err != nil:
			return err
		case sum != m.Files[path]:
			return fmt.Errorf("%s was changed since it was built", path)
		}
	}
	return nil
}

func hashFile(path string) (string, error) {
	f, err := files.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// recipeOf returns a hash of the source and of the build's description. A server whose manifest
// has another hash was built from another description and is not used.
func recipeOf(s store.ServerSource) (string, error) {
	h := sha256.New()
	b, err := json.Marshal([]any{s.Store, s.Version, s.Kind, s.Package, s.LDFlags, s.Args, s.Check})
	if err != nil {
		return "", err
	}
	h.Write(b)
	files, err := buildInputs(s)
	if err != nil {
		return "", err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(h, "\n%q %d\n", path, len(files[path])) // a hash never fails
		_, _ = io.Copy(h, bytes.NewReader(files[path]))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
