package host

import (
	"os"
	"path/filepath"
	"testing"
)

// For any contents of an owner file, CleanOrphans returns without delay, kills no process (not even
// this test), and removes at most the folder that contains the owner file.
func FuzzOwnerFile(f *testing.F) {
	f.Add([]byte(`{"owner":{"pid":1,"start":"1","boot":""},"processes":[{"pid":1}]}`))
	f.Add([]byte(`{"place":{"machine":"x"},"mark":"00000000000000000000000000000000","processes":[{"pid":-1},{"pid":0}]}`))
	f.Add([]byte(`{"mark":`))
	here := CurrentPlace()
	f.Add([]byte(`{"place":{"machine":"` + here.Machine + `","boot":"` + here.Boot + `","pid_namespace":"` + here.PIDs + `"},"owner":{"pid":1,"start":"1"}}`))
	f.Fuzz(func(t *testing.T, contents []byte) {
		parent := t.TempDir()
		root := filepath.Join(parent, "data")
		dir := filepath.Join(root, claimPrefix+"1")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		sibling := filepath.Join(root, "precious")
		for path, b := range map[string][]byte{filepath.Join(dir, ownerFile): contents, sibling: nil} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		removed, err := CleanOrphans(root, OrphanDepth)
		if exists(dir) == (len(removed) == 1) {
			t.Errorf("CleanOrphans reported the removals %v (%v), but the folder exists: %v", removed, err, exists(dir))
		}
		if !exists(sibling) {
			t.Error("a file next to the folder was removed")
		}
	})
}
