package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
)

// A run that is killed leaves its members' data behind, wherever --out and
// --data-dir had put it. So each run notes its data folder in the user's cache
// folder, and the next run, of whatever scenario and place, looks there.

func notesDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "quorumbench", "data-folders"), nil
}

// noteData notes that clusters may keep data below dir. A machine without a
// cache folder has no notes.
func noteData(dir string) {
	notes, err := notesDir()
	if err != nil || os.MkdirAll(notes, 0o755) != nil {
		return
	}
	sum := sha256.Sum256([]byte(dir))
	_ = os.WriteFile(filepath.Join(notes, hex.EncodeToString(sum[:8])), []byte(dir), 0o644)
}

// cleanOrphans removes the data of runs whose process is gone.
func cleanOrphans() {
	notes, err := notesDir()
	if err != nil {
		return
	}
	entries, err := os.ReadDir(notes)
	if err != nil {
		return
	}
	for _, e := range entries {
		note := filepath.Join(notes, e.Name())
		dir, err := os.ReadFile(note)
		if err != nil {
			continue
		}
		_, err = cluster.CleanOrphans(string(dir))
		// The folder goes with the last cluster in it, and the note with it.
		_ = os.Remove(string(dir))
		if _, gone := os.Stat(string(dir)); err == nil && errors.Is(gone, fs.ErrNotExist) {
			_ = os.Remove(note)
		}
	}
}
