// Package install downloads and builds real servers in the user's cache folder, once per
// version. A store.ServerSource describes each build. The package contains nothing that is
// specific to a store.
//
// A finished server is a folder that contains a manifest with the hashes of its files. A rename
// moves the folder to its place, so the folder is never incomplete. Before each use, the files
// are compared with the manifest.
package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Ensure returns the path of the server in the user's cache, in the form that Installed returns. If
// the server is missing, damaged, or was built from another description, Ensure builds it first. If
// several processes call Ensure at the same time, one process builds the server and the others
// wait. If ctx ends during a build, the build leaves no files. progress may be nil and is never
// called concurrently.
func Ensure(ctx context.Context, source store.ServerSource, progress func(Update)) (string, error) {
	c, err := UserCache()
	if err != nil {
		return "", err
	}
	return c.Ensure(ctx, source, progress)
}

// Installed returns the path of a server in the user's cache. For a GoModule it is the path of
// the binary. For a Maven source it is a folder whose subfolder lib contains the jars. ok is
// false if the server was never built, or was built from another description. If the server is
// damaged, the error contains the command that builds it again.
func Installed(source store.ServerSource) (path string, ok bool, err error) {
	c, err := UserCache()
	if err != nil {
		return "", false, err
	}
	return c.Installed(source)
}

// Executable returns the given path or, if it is empty, the path of the installed server.
// Launch methods use it. If something is missing, the error says what the user must install.
func Executable(given string, source store.ServerSource) (string, error) {
	if err := missingTools(source.Tools, true); err != nil {
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
		return "", fmt.Errorf("%s's server is not installed: run quorumbench stores install %s", source.Store, installArgument(source))
	}
	return path, nil
}

// ExecutableForLaunch returns the result of Executable for a launch. A launch on other machines
// needs no server on this machine. In that case, the result is only the store's name.
func ExecutableForLaunch(spec *store.LaunchSpec, source store.ServerSource) (string, error) {
	if spec.Remote {
		return source.Store, nil
	}
	return Executable(spec.Exec, source)
}

// Version returns the path of the installed server of the given version. The path is empty if the
// store chooses the server itself: if no version is given, or if the server is built in. If the
// server is not installed, the error says which server is missing.
func Version(st store.Store, version string) (string, error) {
	if version == "" {
		return "", nil
	}
	source, err := st.Server(version)
	if err != nil || source.Kind == store.BuiltIn {
		return "", err
	}
	source.Tools = nil // Launch checks the tools that are needed to run the server
	return Executable("", source)
}

// installArgument returns the argument with which `stores install` installs this source.
func installArgument(s store.ServerSource) string {
	if len(s.Versions) > 0 && s.Versions[0] == s.Version {
		return s.Store
	}
	return s.Store + "@" + s.Version
}

// Ensure does the same as the function Ensure, for this cache.
func (c Cache) Ensure(ctx context.Context, source store.ServerSource, progress func(Update)) (string, error) {
	if progress == nil {
		progress = func(Update) {}
	}
	if path, ok, err := c.Installed(source); ok && err == nil {
		return path, nil
	}
	if err := missingTools(source.Tools, false); err != nil {
		return "", err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot create the folder for servers: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(c.Dir, "."+folderName(source)+".lock"), func() {
		progress(Update{Step: "waiting for another process that is building this server"})
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if path, ok, err := c.Installed(source); ok && err == nil {
		return path, nil // another process built the server while this call waited for the lock
	}
	if err := c.build(ctx, source, progress); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx) // the build failed because ctx ended
		}
		return "", fmt.Errorf("%s %s could not be installed: %w", source.Store, source.Version, err)
	}
	path, ok, err := c.Installed(source)
	if err == nil && !ok {
		err = fmt.Errorf("%s %s was built but has disappeared; check whether another process empties %s", source.Store, source.Version, c.Dir)
	}
	return path, err
}

// Installed does the same as the function Installed, for this cache.
func (c Cache) Installed(source store.ServerSource) (path string, ok bool, err error) {
	dir := filepath.Join(c.Dir, folderName(source))
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
			source.Store, dir, err, installArgument(source))
	}
	if source.Kind == store.GoModule {
		return filepath.Join(dir, source.Store), true, nil
	}
	return dir, true, nil
}
