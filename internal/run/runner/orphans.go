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

// A killed run leaves its members' data in the place that --out and --data-dir chose.
// Therefore each run notes its data folder in the user's cache folder, and the next run, of
// any scenario and place, looks there. A noted folder counts only if no other user can
// write it or the note.

// note names a folder below which clusters may keep data.
type note struct {
	Dir  string      `json:"dir"`
	Made []host.Made `json:"made,omitempty"` // folders that the run made and may remove
}

// noteAge is the minimum age of a note before it is dropped while its folder, which the run
// did not make, still exists. The run that has just written a newer note may be about to
// put data into the folder.
const noteAge = time.Hour

func notesDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "quorumbench", "data-folders"), nil
}

// openNotes opens the folder of the notes if it exists and no other user can write it.
func openNotes() *host.Folder {
	dir, err := notesDir()
	if err != nil {
		return nil
	}
	notes, err := host.OpenFolder(dir)
	if err != nil {
		return nil
	}
	if notes.CheckOwner() != nil {
		notes.Close()
		return nil
	}
	return notes
}

// noteData notes that clusters may keep data below dir; made are the folders that the run
// made. A machine without a cache folder has no notes.
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
	if before, ok := readNote(notes, name); ok { // of a concurrent run
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

// cleanOrphans removes and reports the data of runs whose process has ended.
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

// clean removes the orphans in the folder, and then the folders that the run made. It
// reports whether the folder is gone.
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
