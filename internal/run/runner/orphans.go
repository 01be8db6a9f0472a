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

// A killed run does not remove its members' data from the folder that --out or --data-dir
// specified. Therefore each run writes a note about its data folder to the user's cache folder. The
// next run of any scenario reads these notes and cleans up the folders. It uses a note only if no
// other user can write to the note or to the data folder.

// note describes a folder in which clusters may keep data.
type note struct {
	Dir            string               `json:"dir"`
	CreatedFolders []host.CreatedFolder `json:"made,omitempty"` // folders that the run created and may remove
}

// noteAge is the minimum age at which a note can be removed although its data folder exists. A
// younger note may belong to a run that has not yet written data to the folder.
const noteAge = time.Hour

func notesDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "quorumbench", "data-folders"), nil
}

// openNotes opens the folder that contains the notes. It returns nil if the folder does not exist
// or if another user can write to it.
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

// noteData writes a note which states that clusters may keep data in dir. The parameter made
// contains the folders that the run created. If the user has no cache folder, noteData does
// nothing.
func noteData(dir string, made []host.CreatedFolder) {
	path, err := notesDir()
	if err != nil {
		return
	}
	if _, err := host.CreateFolders(path); err != nil {
		return
	}
	notes := openNotes()
	if notes == nil {
		return
	}
	defer notes.Close()
	sum := sha256.Sum256([]byte(dir))
	name := hex.EncodeToString(sum[:8])
	n := note{Dir: dir, CreatedFolders: made}
	if before, ok := readNote(notes, name); ok { // the note may belong to a concurrent run
		for _, m := range before.CreatedFolders {
			if m.Exists() && !slices.Contains(n.CreatedFolders, m) {
				n.CreatedFolders = append(n.CreatedFolders, m)
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

// cleanOrphans removes the data of runs whose processes have exited. It calls the function say for
// each removal.
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

// clean removes orphaned data in the data folder, and then the folders that the run created. It
// reports whether the data folder is gone.
func (n note) clean(say func(string)) bool {
	removed, err := host.CleanOrphans(n.Dir, host.OrphanDepth)
	for _, orphan := range removed {
		if say != nil {
			say(orphan.String())
		}
	}
	host.RemoveCreatedFolders(n.CreatedFolders)
	_, gone := os.Stat(n.Dir)
	return err == nil && os.IsNotExist(gone)
}
