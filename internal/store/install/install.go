// Package install downloads and builds real servers, once per version, in the
// user's cache folder. A store.ServerSource describes each build; the package
// contains nothing specific to a store.
//
// A finished server is a folder with a manifest of its files' hashes. It appears
// with one rename, so it is never incomplete, and it is compared with its
// manifest before each use.
package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Ensure returns the path of the built server in the user's cache, as Installed
// does. It builds the server first if it is missing, damaged, or built from
// another description. Concurrent processes wait for the first one. A build whose
// ctx ends leaves no files. progress may be nil and is never called concurrently.
func Ensure(ctx context.Context, source store.ServerSource, progress func(Update)) (string, error) {
	c, err := User()
	if err != nil {
		return "", err
	}
	return c.Ensure(ctx, source, progress)
}

// Installed returns the path of a server in the user's cache: the binary of a
// GoModule, or the folder with the jars of a Maven source in lib. ok is false if
// it was never built, or was built from another description. A damaged server is
// an error with the command to build it again.
func Installed(source store.ServerSource) (path string, ok bool, err error) {
	c, err := User()
	if err != nil {
		return "", false, err
	}
	return c.Installed(source)
}

// Executable returns the path that the user gave, if any, or the path of the
// installed server. Launch methods use it. Its error names what the user must
// install.
func Executable(given string, source store.ServerSource) (string, error) {
	if err := missing(source.Tools, true); err != nil {
		return "", err
	}
	if given != "" {
		return given, nil
	}
	path, ok, err := Installed(source)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", fmt.Errorf("%s's server is not installed: run quorumbench stores install %s", source.Store, argument(source))
	}
	return path, nil
}

// ExecutableForLaunch returns Executable's result for a launch. A launch on another machine needs
// no local server.
func ExecutableForLaunch(spec *store.LaunchSpec, source store.ServerSource) (string, error) {
	if spec.Elsewhere {
		return source.Store, nil
	}
	return Executable(spec.Exec, source)
}

// Version returns the path of the store's installed server of a version. It is
// empty if the store chooses the server: without a version, and for a built-in
// server. The error names the missing server.
func Version(st store.Store, version string) (string, error) {
	if version == "" {
		return "", nil
	}
	source, err := st.Server(version)
	if err != nil || source.Kind == store.BuiltIn {
		return "", err
	}
	source.Tools = nil // Launch checks the tools needed to run it
	return Executable("", source)
}

// argument returns the source's argument for `stores install`.
func argument(s store.ServerSource) string {
	if len(s.Versions) > 0 && s.Versions[0] == s.Version {
		return s.Store
	}
	return s.Store + "@" + s.Version
}

// Ensure implements the function Ensure for this cache.
func (c Cache) Ensure(ctx context.Context, source store.ServerSource, progress func(Update)) (string, error) {
	if progress == nil {
		progress = func(Update) {}
	}
	if path, ok, err := c.Installed(source); ok && err == nil {
		return path, nil
	}
	if err := missing(source.Tools, false); err != nil {
		return "", err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return "", fmt.Errorf("the folder for servers cannot be made: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(c.Dir, "."+name(source)+".lock"), func() {
		progress(Update{Step: "waiting for another process that builds it"})
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if path, ok, err := c.Installed(source); ok && err == nil {
		return path, nil // built by the process that we waited for
	}
	if err := c.build(ctx, source, progress); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx) // the cause of the build's error
		}
		return "", fmt.Errorf("%s %s could not be installed: %w", source.Store, source.Version, err)
	}
	path, ok, err := c.Installed(source)
	if err == nil && !ok {
		err = fmt.Errorf("%s %s was built and is not there; was %s emptied at the same time?", source.Store, source.Version, c.Dir)
	}
	return path, err
}

// Installed implements the function Installed for this cache.
func (c Cache) Installed(source store.ServerSource) (path string, ok bool, err error) {
	dir := filepath.Join(c.Dir, name(source))
	recipe, err := recipeOf(source)
	if err != nil {
		return "", false, err
	}
	m, err := readManifest(dir)
	if m == nil || (err == nil && m.Recipe != recipe) {
		return "", false, err
	}
	if err == nil {
		err = m.compare(dir)
	}
	if err != nil {
		return "", false, fmt.Errorf("the %s server in %s is damaged (%w); run quorumbench stores install %s to build it again",
			source.Store, dir, err, argument(source))
	}
	if source.Kind == store.GoModule {
		return filepath.Join(dir, source.Store), true, nil
	}
	return dir, true, nil
}
