package command

import (
	"runtime"
	"runtime/debug"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// The linker sets these variables in a release (tools/release) and in a GitHub workflow
// (deploy/action). Otherwise, they are empty, and ReadBuild uses Go's build information.
var (
	releaseVersion  string
	releaseRevision string
	releaseDate     string
)

// Build describes how this program was built.
type Build struct {
	record.Tool
	// Date is the time of the commit in RFC 3339, or empty if it is not known.
	Date string `json:"date,omitempty"`
	// Platform is the system and the architecture for which the program was compiled.
	Platform string `json:"platform"`
}

// ReadBuild returns how this program was built.
func ReadBuild() Build {
	b := Build{Tool: record.Tool{Version: "devel", Go: runtime.Version()}, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if releaseVersion != "" {
		b.Version, b.Revision, b.Date = releaseVersion, releaseRevision, releaseDate
		return b
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.complete(info)
	}
	return b
}

// complete sets the version, revision and date that the build information contains. A program built
// outside a checkout has none of them.
func (b *Build) complete(info *debug.BuildInfo) {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	changed := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	if changed && b.Revision != "" {
		b.Revision += " with changes"
	}
}

// Tool returns this program's version, Go version and revision in the form that records use.
func Tool() record.Tool { return ReadBuild().Tool }
