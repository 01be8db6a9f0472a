// Package install obtains and builds real servers, once for each version, into
// the user's cache folder. What is built is a store's data, a
// store.ServerSource; nothing here knows one store from another.
//
// A finished server is a folder with a manifest that holds its files' hashes.
// It appears by one rename, so that it is whole or not there, and it is compared
// with its manifest before each use.
package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Ensure returns the path of the built server in the user's cache, as Installed
// does, and builds it before if it is not there, is damaged, or was built from
// another description. A second process that wants the same one waits for the
// first. When ctx ends nothing of the build is left. progress may be nil; it is
// called by one goroutine at a time.
func Ensure(ctx context.Context, source store.ServerSource, progress func(Update)) (string, error) {
	c, err := User()
	if err != nil {
		return "", err
	}
	return c.Ensure(ctx, source, progress)
}

// Installed returns the path of a server in the user's cache: of the binary of
// a GoModule, or of the folder that holds lib with the jars of a Maven source.
// It is not ok where it was never built, or was built from another description.
// The error says that what is there is damaged, and how to build it again.
func Installed(source store.ServerSource) (path string, ok bool, err error) {
	c, err := User()
	if err != nil {
		return "", false, err
	}
	return c.Installed(source)
}

// Executable is for a store's Launch: it returns the path that the user gave,
// if any, or that of the installed server. The error is the sentence that says
// what the user has to install.
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

// For is Executable for a launch. One that is carried out elsewhere needs nothing
// here.
func For(spec *store.LaunchSpec, source store.ServerSource) (string, error) {
	if spec.Elsewhere {
		return source.Store, nil
	}
	return Executable(spec.Exec, source)
}

// Version returns the path of the store's installed server of a version. It is
// empty where the store chooses: without a version, and for a server that is built
// in. The error says which server is not there.
func Version(st store.Store, version string) (string, error) {
	if version == "" {
		return "", nil
	}
	source, err := st.Server(version)
	if err != nil || source.Kind == store.BuiltIn {
		return "", err
	}
	source.Tools = nil // Launch asks for those that running takes
	return Executable("", source)
}

// argument is what the source is called behind `stores install`.
func argument(s store.ServerSource) string {
	if len(s.Versions) > 0 && s.Versions[0] == s.Version {
		return s.Store
	}
	return s.Store + "@" + s.Version
}

// Ensure is as the function of that name, in this cache.
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
		return path, nil // by the one that we waited for
	}
	if err := c.build(ctx, source, progress); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx) // whatever it broke
		}
		return "", fmt.Errorf("%s %s could not be installed: %w", source.Store, source.Version, err)
	}
	path, ok, err := c.Installed(source)
	if err == nil && !ok {
		err = fmt.Errorf("%s %s was built and is not there; was %s emptied at the same time?", source.Store, source.Version, c.Dir)
	}
	return path, err
}

// Installed is as the function of that name, in this cache.
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
