package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the program's version", Args: takes(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			t := tool()
			a.printf("quorumbench %s", t.Version)
			if t.Revision != "" {
				a.printf(" (%s)", t.Revision)
			}
			a.printf("\n%s %s/%s\n", t.Go, runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

// tool is this program as its records name it.
func tool() record.Tool {
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
