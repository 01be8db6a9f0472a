package store

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// ServerSource describes, as data, how to install one version of a real server. It does not depend
// on the machine: it contains neither the host name of a registry nor a path.
type ServerSource struct {
	Store    string   // the store's name, such as zetcd
	Version  string   // the version that this source installs, without a leading v
	Versions []string // all versions that can be installed, the default first
	Kind     SourceKind

	// Files are the build's input files. The build copies each one to the same path in an empty
	// folder and removes the suffix .txt: go.mod.txt becomes go.mod, because Go cannot embed a
	// folder that contains go.mod. A GoModule has a go.mod, a complete go.sum, which the build must
	// not change, and possibly stub modules. A Maven source has a pom.xml.
	Files fs.FS
	// Package is the import path of the package to build (only for a GoModule).
	Package string
	// LDFlags are flags for the Go linker, such as -s -w (only for a GoModule).
	LDFlags string
	// Args are additional arguments for go build or mvn, such as -Dzk.version=3.9.5.
	Args []string

	// Tools are the programs that are needed to build or run the server.
	Tools []Tool
	// Check describes how to verify the result of the build.
	Check ServerCheck
	// License is one sentence about the server's license.
	License string
	// Recipe describes how a user builds the server (only for a HandBuilt server). The text is the
	// start of a sentence, such as: build it as PAGE describes.
	Recipe string
}

// SourceKind is how a user obtains a server.
type SourceKind uint8

// Kinds of sources.
const (
	// GoModule is a server that the command `go build` builds. The result is one binary with the
	// store's name.
	GoModule SourceKind = iota
	// Maven is a server that consists of the runtime dependencies in a pom.xml. The result is a
	// folder whose subfolder lib contains the jars.
	Maven
	// BuiltIn is a server that is part of the quorumbench binary, in one version; see Embedded.
	BuiltIn
	// HandBuilt is a server that is not available from any registry. Users build it as Recipe
	// describes and pass the path of the binary to quorumbench.
	HandBuilt
)

// Tool is a program that must be installed on this machine to build or run a server.
type Tool struct {
	Name string // the name of the program, which is looked up in PATH, such as mvn
	// MissingMessage is the message to print if the tool is not installed, such as "ZooKeeper needs
	// Java 11 or newer; install Java, for example Debian's package default-jre-headless".
	MissingMessage string
	// NeededToRun is set if the tool is needed to run the server. Otherwise it is needed only to
	// build the server.
	NeededToRun bool
}

// ServerCheck describes how to verify a server after it was built. In addition, all files are
// hashed after the build, and the hashes are compared before each use.
type ServerCheck struct {
	// Module is a module that the binary must contain, in the form PATH@VERSION (only for a
	// GoModule).
	Module string
	// Args are arguments with which the binary prints its version and exits with status 0 (only for
	// a GoModule). If Args is empty, the binary is not run.
	Args []string
	// ExpectedOutput is a text that the binary's output must contain.
	ExpectedOutput string `json:"Says"` // the hash of built servers contains this name
	// RequiredFiles lists files that the result must contain, such as lib/zookeeper-3.9.5.jar (only
	// for a Maven source).
	RequiredFiles []string `json:"Holds"` // the hash of built servers contains this name
	// Sums maps files that are identical on all machines, such as jars, to their expected SHA-256
	// hashes in hexadecimal. Go modules need no Sums, because go.sum has their hashes.
	Sums map[string]string
}

// Pick returns a copy of the source for the requested version (see PickVersion). It replaces
// {version} in Args and Check, and sets Files to the contents of the folder named server. For a
// GoModule it adds Go to Tools.
func (s ServerSource) Pick(requested string) (ServerSource, error) {
	v, err := PickVersion(s.Store, requested, s.Versions)
	if err != nil {
		return ServerSource{}, err
	}
	s.Version = v
	if s.Kind == GoModule {
		s.Tools = append(s.Tools, Tool{
			Name:           "go",
			MissingMessage: fmt.Sprintf("building the server of %s needs Go 1.26 or newer: install Go from https://go.dev/dl, or give the path of a server binary with --exec", s.Store),
		})
	}
	for _, text := range []*string{&s.Check.Module, &s.Check.ExpectedOutput} {
		*text = strings.ReplaceAll(*text, "{version}", v)
	}
	for _, list := range [][]string{s.Args, s.Check.RequiredFiles} {
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], "{version}", v)
		}
	}
	s.Files, err = fs.Sub(s.Files, "server")
	return s, err
}

// PickVersion returns the requested version without a leading v, or the first known version if the
// argument `requested` is empty. If the version is not known, the error lists the known versions.
func PickVersion(name, requested string, known []string) (string, error) {
	if requested == "" && len(known) > 0 {
		return known[0], nil
	}
	if v := strings.TrimPrefix(requested, "v"); slices.Contains(known, v) {
		return v, nil
	}
	return "", fmt.Errorf("cannot install version %q of %s; known versions: %s; to use another version, give the path of its binary with --exec",
		requested, name, strings.Join(known, ", "))
}

// BuiltInServer implements Store.Server for a store whose server is part of the quorumbench
// binary. onlyVersion is the server's only version.
func BuiltInServer(name, onlyVersion, requested string) (ServerSource, error) {
	if v := strings.TrimPrefix(requested, "v"); v != "" && v != onlyVersion {
		return ServerSource{}, fmt.Errorf("the %s server that is built into quorumbench has version %s, not %s; omit the version, or give the path of a binary with that version (--exec, or exec in a scenario file)", name, onlyVersion, v)
	}
	return ServerSource{Store: name, Version: onlyVersion, Kind: BuiltIn}, nil
}

// HandBuiltServer implements Store.Server for a store whose server is not available from any
// registry. The argument `recipe` becomes ServerSource.Recipe.
func HandBuiltServer(name, recipe, requested string) (ServerSource, error) {
	s := ServerSource{Store: name, Kind: HandBuilt, Recipe: recipe}
	if requested != "" {
		return s, s.NoRegistryError()
	}
	return s, nil
}

// NoRegistryError returns the error for a HandBuilt server for which no binary was given.
func (s *ServerSource) NoRegistryError() error {
	return fmt.Errorf("%s's server cannot be installed, because no registry has it: %sgive the path of its binary (--exec, or exec in a scenario file)", s.Store, s.ManualRecipe())
}

// Installable reports whether the server can be downloaded and built on this
// machine.
func (s *ServerSource) Installable() bool { return s.Kind == GoModule || s.Kind == Maven }

// ManualRecipe returns the recipe followed by ", and ", or an empty string if there is no recipe.
func (s *ServerSource) ManualRecipe() string {
	if s.Recipe == "" {
		return ""
	}
	return s.Recipe + ", and "
}
