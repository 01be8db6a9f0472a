package overssh

import (
	"path/filepath"
	"strings"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// Hold has an agent claim the folder that the script made for its program at self, so that
// a later agent can tell that everything here was killed, the shell among it; and it
// removes the folders of agents that were, and says so. It does nothing for a program that
// is elsewhere.
func Hold(self string, say func(format string, args ...any)) {
	folder := filepath.Dir(self)
	if !strings.HasPrefix(filepath.Base(folder), host.AdoptedPrefix) {
		return
	}
	if err := host.Adopt(folder); err != nil {
		say("the folder %s would be left if everything here were killed: %v", folder, err)
	}
	removed, _ := host.CleanOrphans(filepath.Dir(folder), 1) // what cannot be removed now can be the next time
	for _, orphan := range removed {
		say("%s", orphan)
	}
}
