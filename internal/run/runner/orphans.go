package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// A run that is killed leaves its members' data behind, wherever --out and
// --data-dir had put it. So each run notes its data folder in the user's cache
// folder, and the next run, of whatever scenario and place, looks there. What
// such a note names counts only if it is ours, as the note is.

// note names a folder below which clusters may keep data.
type note struct {
	Dir  string      `json:"dir"`
	Made []host.Made `json:"made,omitempty"` // what we made of it, and so may remove
}

// noteAge is how old a note is at least before it is dropped while its folder,
// which we did not make, is still there: a run that has just written it may be
// about to put data into the folder.
const noteAge = time.Hour

func notesDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "quorumbench", "data-folders"), nil
}

// openNotes opens the folder of the notes, if it is there and ours alone.
func openNotes() *host.Folder {
	dir, err := notesDir()
	if err != nil {
		return nil
	}
	notes, err := host.OpenFolder(dir)
	if err != nil {
		return nil
	}
	if notes.Ours() != nil {
		notes.Close()
		return nil
	}
	return notes
}

// noteData notes that clusters may keep data below dir, of which made is ours. A
// machine without a cache folder has no notes.
func noteData(dir string, made []host.Made) {
	path, err := notesDir()
	if err != nil {
		return
	}
	if _, err := host.MakeFolders(path); err != nil {
		return
	}
	notes := openNotes()
	if notes == nil {
		return
	}
	defer notes.Close()
	sum := sha256.Sum256([]byte(dir))
	name := hex.EncodeToString(sum[:8])
	n := note{Dir: dir, Made: made}
	if before, ok := readNote(notes, name); ok { // of a run that is there at the same time
		for _, m := range before.Made {
			if m.There() && !slices.Contains(n.Made, m) {
				n.Made = append(n.Made, m)
			}
		}
	}
	if b, err := json.Marshal(n); err == nil {
		_ = notes.Replace(name, b)
	}
}

func readNote(notes *host.Folder, name string) (n note, ok bool) {
	b, err := notes.Read(name)
	return n, err == nil && json.Unmarshal(b, &n) == nil && filepath.IsAbs(n.Dir)
}

// cleanOrphans removes the data of runs whose process is gone, and says so.
func cleanOrphans(now time.Time, say func(string)) {
	notes := openNotes()
	if notes == nil {
		return
	}
	defer notes.Close()
	entries, err := os.ReadDir(notes.Path())
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		if n, ok := readNote(notes, e.Name()); !ok || n.clean(say) || now.Sub(info.ModTime()) > noteAge && !host.HasClaims(n.Dir) {
			_ = notes.Remove(e.Name())
		}
	}
}

// clean removes what is left in the folder, and the folder as far as we made it.
// It reports whether the folder is gone.
func (n note) clean(say func(string)) bool {
	removed, err := host.CleanOrphans(n.Dir, host.OrphanDepth)
	for _, orphan := range removed {
		if say != nil {
			say(orphan.String())
		}
	}
	host.RemoveMade(n.Made)
	_, gone := os.Stat(n.Dir)
	return err == nil && os.IsNotExist(gone)
}
