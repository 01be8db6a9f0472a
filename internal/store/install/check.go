package install

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
)

// check verifies the result of a build against the source's Check.
func check(ctx context.Context, w workspace, s store.ServerSource) error {
	for _, path := range s.Check.RequiredFiles {
		if info, err := fs.Stat(os.DirFS(w.out), path); err != nil || info.Size() == 0 {
			return fmt.Errorf("the build succeeded but did not create %s", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.Check.Sums)) {
		sum, err := hashFile(filepath.Join(w.out, filepath.FromSlash(path)))
		if err != nil {
			return fmt.Errorf("the build succeeded but did not create %s", path)
		}
		if want := s.Check.Sums[path]; !strings.EqualFold(sum, want) {
			return fmt.Errorf("%s is not the expected file: its SHA-256 is %s, not %s", path, sum, want)
		}
	}
	if s.Kind != store.GoModule {
		return nil
	}
	binary := filepath.Join(w.out, s.Store)
	if err := checkModule(binary, s.Check.Module); err != nil {
		return err
	}
	return checkVersion(ctx, w, binary, s.Check)
}

// checkModule returns an error unless the binary contains the wanted module, according to the
// information that the Go toolchain stored in the binary.
func checkModule(binary, module string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("the build's result is not a Go binary: %w", err)
	}
	if module == "" {
		return nil
	}
	path, version, _ := strings.Cut(module, "@")
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != path {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == version {
			return nil
		}
		return fmt.Errorf("the binary was built from %s %s instead of %s", path, m.Version, version)
	}
	return fmt.Errorf("the binary was built without the module %s", path)
}

// checkVersion runs the binary. It returns an error if the binary does not run on this machine
// or does not print the expected version.
func checkVersion(ctx context.Context, w workspace, binary string, c store.ServerCheck) error {
	if len(c.Args) == 0 {
		return nil
	}
	var output strings.Builder
	err := run(ctx, command{dir: w.in, name: binary, args: c.Args, onLine: func(line string) {
		output.WriteString(line + "\n")
	}})
	if err != nil {
		return err
	}
	if !strings.Contains(output.String(), c.ExpectedOutput) {
		return fmt.Errorf("the output of `%s %s` does not contain %q", filepath.Base(binary), strings.Join(c.Args, " "), c.ExpectedOutput)
	}
	return nil
}
