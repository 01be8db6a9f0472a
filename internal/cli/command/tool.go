package command

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Self is the path of our own binary, for the stores that are embedded in it.
func Self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the path of this program cannot be told, and members are started from it: %w", err)
	}
	return path, nil
}

// Tool is this program as its records name it.
func Tool() record.Tool {
	t := record.Tool{Version: "devel", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	return toolOf(t, info)
}

// toolOf takes what the Go toolchain wrote into the binary; a build outside of
// a checkout has neither version nor revision.
func toolOf(t record.Tool, info *debug.BuildInfo) record.Tool {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		t.Version = v
	}
	changed := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.Revision = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	if changed && t.Revision != "" {
		t.Revision += " with changes"
	}
	return t
}
