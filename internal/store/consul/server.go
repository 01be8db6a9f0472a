package consul

import (
	"embed"
	"io/fs"

	"github.com/quorumbench/quorumbench/internal/store"
)

// serverFiles are the inputs of the server's build. The replaces and excludes in
// go.mod.txt name versions of Consul's modules that registries have; the stub
// stands in for one command's module that they have not.
//
//go:embed server
var serverFiles embed.FS

// versions are those that can be installed.
var versions = [...]string{"1.22.6"}

// Server implements store.Store.
func (*Store) Server(version string) (store.ServerSource, error) {
	v, err := store.PickVersion(Name, version, versions[:])
	if err != nil {
		return store.ServerSource{}, err
	}
	files, err := fs.Sub(serverFiles, "server")
	return store.ServerSource{
		Store: Name, Version: v, Versions: versions[:], Kind: store.GoModule,
		Files: files, Package: "github.com/hashicorp/consul", LDFlags: "-s -w",
		Tools: []store.Tool{{
			Name:    "go",
			Missing: "building Consul needs Go 1.26 or newer: install it from https://go.dev/dl, or give the path of a binary with --exec",
		}},
		Check: store.ServerCheck{
			Module: "github.com/hashicorp/consul@v" + v, Args: []string{"version"}, Says: "Consul v" + v,
		},
		License: "Business Source License 1.1",
	}, err
}
