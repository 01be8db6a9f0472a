package install

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
)

// goEnv makes the build depend on the source alone: Go must not download a newer toolchain or
// change go.mod and go.sum, and must not use the user's workspace, flags and C compiler.
var goEnv = []string{"GOTOOLCHAIN=local", "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0"}

// env returns goEnv and a GOTMPDIR for temporary files. GOTMPDIR is inside the build's folder, so
// it is removed even if the build is killed.
func (w workspace) env() []string { return append(slices.Clip(goEnv), "GOTMPDIR="+w.dir) }

// buildGo builds the source's package into one binary.
func buildGo(ctx context.Context, w workspace, s store.ServerSource, progress func(Update)) error {
	total, err := goFetch(ctx, w, s, progress)
	if err != nil {
		return err
	}
	progress(Update{Step: "compiling", Detail: fmt.Sprintf("%d packages", total)})
	args := []string{"build", "-v", "-trimpath", "-buildvcs=false", "-o", filepath.Join(w.out, s.Store)}
	if s.LDFlags != "" {
		args = append(args, "-ldflags", s.LDFlags)
	}
	args = append(append(args, s.Args...), s.Package)
	done := 0
	return run(ctx, command{dir: w.in, env: w.env(), name: "go", args: args, onLine: func(line string) {
		// With -v the tool prints each package that it compiles. It does not print packages from
		// the build cache.
		if !strings.HasPrefix(line, "go: ") && !strings.Contains(line, " ") {
			done++
			progress(Update{Step: "compiling", Detail: fmt.Sprintf("%d of at most %d packages: %s", done, total, line)})
		}
	}})
}

// goFetch lists the packages that the binary needs and returns their number. Listing them also
// downloads their modules.
func goFetch(ctx context.Context, w workspace, s store.ServerSource, progress func(Update)) (packages int, err error) {
	progress(Update{Step: "fetching modules"})
	err = run(ctx, command{dir: w.in, env: w.env(), name: "go", args: []string{"list", "-deps", s.Package}, onLine: func(line string) {
		if module, ok := strings.CutPrefix(line, "go: downloading "); ok {
			progress(Update{Step: "fetching modules", Detail: module})
			return
		}
		packages++
	}})
	return packages, err
}
