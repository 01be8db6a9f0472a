package store

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// ServerSource describes as data how to install one version of a real server. It
// does not depend on the machine: it contains no host of a registry and no path.
type ServerSource struct {
	Store    string   // the store's name, such as zetcd
	Version  string   // this source's version without a leading v
	Versions []string // all known versions, the default first
	Kind     SourceKind

	// Files are the build's inputs. Every regular file is copied to the same
	// place in an empty folder, with the suffix .txt removed: go.mod.txt becomes
	// go.mod, because a folder that contains go.mod cannot be embedded. A
	// GoModule has go.mod and a complete go.sum, which the build must not change,
	// and possibly stub modules; a Maven source has pom.xml.
	Files fs.FS
	// Package is the package to build (GoModule).
	Package string
	// LDFlags are flags for the Go linker, such as -s -w (GoModule).
	LDFlags string
	// Args are further arguments for go build or mvn, such as -Dzk.version=3.9.5.
	Args []string

	// Tools are the programs needed to build or run the server.
	Tools []Tool
	// Check verifies the result.
	Check ServerCheck
	// License is a sentence about the server's license.
	License string
	// Recipe describes how to build the server by hand (HandBuilt), as the start
	// of a sentence, such as: build it as PAGE describes.
	Recipe string
}

// SourceKind is the origin of a server.
type SourceKind uint8

// Kinds of sources.
const (
	// GoModule is built with go build. The result is one binary with the store's
	// name.
	GoModule SourceKind = iota
	// Maven consists of the runtime dependencies of a pom. The result is a folder
	// with the jars in its subfolder lib.
	Maven
	// BuiltIn is part of the quorumbench binary, in one version; see Embedded.
	BuiltIn
	// HandBuilt is in no registry. Users build it as Recipe describes and give
	// its path.
	HandBuilt
)

// Tool is a program that a server needs on this machine.
type Tool struct {
	Name string // on the PATH, such as mvn
	// Missing is the message if the tool is missing, such as "ZooKeeper needs
	// Java 11 or newer: install Debian's default-jre-headless".
	Missing string
	// Running means that the tool is needed to run the server, not only to build
	// it.
	Running bool
}

// ServerCheck describes how to verify a built server. In addition, the whole
// result is hashed when it is built, and compared before each use.
type ServerCheck struct {
	// Module is a module that the binary must contain, as PATH@VERSION
	// (GoModule).
	Module string
	// Args make the binary print its version and exit with status 0 (GoModule);
	// empty: the binary is not run.
	Args []string
	// Says is a text that the output must contain.
	Says string
	// Holds are files that the result must contain, such as
	// lib/zookeeper-3.9.5.jar (Maven).
	Holds []string
	// Sums are expected SHA-256 hashes, in hexadecimal, of files that are
	// identical everywhere, such as jars. go.sum does this for Go modules.
	Sums map[string]string
}

// Pick returns the source completed for the requested version (see PickVersion):
// it replaces {version} in Args and Check, and takes Files from the folder
// server. A GoModule also gets the tool Go.
func (s ServerSource) Pick(asked string) (ServerSource, error) {
	v, err := PickVersion(s.Store, asked, s.Versions)
	if err != nil {
		return ServerSource{}, err
	}
	s.Version = v
	if s.Kind == GoModule {
		s.Tools = append(s.Tools, Tool{
			Name:    "go",
			Missing: fmt.Sprintf("building the server of %s needs Go 1.26 or newer: install it from https://go.dev/dl, or give the path of a binary with --exec", s.Store),
		})
	}
	for _, text := range []*string{&s.Check.Module, &s.Check.Says} {
		*text = strings.ReplaceAll(*text, "{version}", v)
	}
	for _, list := range [][]string{s.Args, s.Check.Holds} {
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], "{version}", v)
		}
	}
	s.Files, err = fs.Sub(s.Files, "server")
	return s, err
}

// PickVersion returns the requested version, with or without a leading v, or the
// first known one if asked is empty. The error lists the known versions.
func PickVersion(name, asked string, known []string) (string, error) {
	if asked == "" && len(known) > 0 {
		return known[0], nil
	}
	if v := strings.TrimPrefix(asked, "v"); slices.Contains(known, v) {
		return v, nil
	}
	return "", fmt.Errorf("cannot install version %q of %s; known versions: %s; for another binary use --exec",
		asked, name, strings.Join(known, ", "))
}

// BuiltInServer implements Store.Server for a store whose server is part of the
// quorumbench binary in one version.
func BuiltInServer(name, own, asked string) (ServerSource, error) {
	if v := strings.TrimPrefix(asked, "v"); v != "" && v != own {
		return ServerSource{}, fmt.Errorf("%s is built into quorumbench in version %s, not %s; drop the version, or give the path of that server with exec", name, own, v)
	}
	return ServerSource{Store: name, Version: own, Kind: BuiltIn}, nil
}

// HandBuiltServer implements Store.Server for a store whose server is in no
// registry. recipe is ServerSource.Recipe.
func HandBuiltServer(name, recipe, asked string) (ServerSource, error) {
	s := ServerSource{Store: name, Kind: HandBuilt, Recipe: recipe}
	if asked != "" {
		return s, fmt.Errorf("%s cannot be installed, because no registry has it; %sgive the path of its binary with exec", name, s.ByHand())
	}
	return s, nil
}

// Installable reports whether the server can be downloaded and built on this
// machine.
func (s *ServerSource) Installable() bool { return s.Kind == GoModule || s.Kind == Maven }

// ByHand returns the recipe followed by a comma and "and"; empty if there is no
// recipe.
func (s *ServerSource) ByHand() string {
	if s.Recipe == "" {
		return ""
	}
	return s.Recipe + ", and "
}
