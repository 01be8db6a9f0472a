package overssh

import (
	"path/filepath"
	"strings"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// ClaimOwnFolder claims the folder that the script created for this agent. `self` is the path of
// the agent's program. If the program is in such a folder, ClaimOwnFolder also removes the folders
// of agents that were killed together with their shells, and reports each removal. If the program
// is in any other folder, ClaimOwnFolder does nothing.
func ClaimOwnFolder(self string, logf func(format string, args ...any)) {
	folder := filepath.Dir(self)
	if !strings.HasPrefix(filepath.Base(folder), host.AdoptedPrefix) {
		return
	}
	if err := host.Adopt(folder); err != nil {
		logf("the folder %s will remain if this agent is killed: %v", folder, err)
	}
	removed, _ := host.CleanOrphans(filepath.Dir(folder), 1) // the next agent tries again
	for _, orphan := range removed {
		logf("%s", orphan)
	}
}
