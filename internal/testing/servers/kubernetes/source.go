// Package kubernetes starts a real Kubernetes with one node for tests. The API server, controllers,
// scheduler and kubelet are built from their Go modules in the user's cache folder; containerd,
// runc and the CNI plug-ins come from Debian's packages. Images are imported, never pulled.
package kubernetes

import (
	"embed"
	"io/fs"

	"github.com/quorumbench/quorumbench/internal/store"
)

//go:embed server/*.txt
var files embed.FS

// version is the version of Kubernetes. In go.mod, Kubernetes requires its staging modules at local
// paths. server/go.mod.txt replaces them by the released modules, whose versions are the same
// except that they begin with v0 instead of v1.
const version = "1.36.3"

// Source describes how to build the binary that contains the four programs.
func Source() (store.ServerSource, error) {
	s := store.ServerSource{
		Store: "kubernetes", Version: version, Versions: []string{version}, Kind: store.GoModule, Package: ".",
		LDFlags: "-s -w -X k8s.io/component-base/version.gitVersion=v" + version,
		Tools:   []store.Tool{{Name: "go", MissingMessage: "building Kubernetes needs Go"}},
		Check:   store.ServerCheck{Module: "k8s.io/kubernetes@v" + version, Args: []string{"kubelet", "--version"}, ExpectedOutput: "v" + version},
		License: "Apache License 2.0",
	}
	var err error
	s.Files, err = fs.Sub(files, "server")
	return s, err
}

// packages maps each required program, and the path of the CNI plug-ins, to the Debian package that
// contains it.
var packages = map[string]string{
	"containerd": "containerd", "ctr": "containerd", "runc": "runc",
	"/usr/lib/cni/bridge": "containernetworking-plugins", "ip": "iproute2", "/bin/busybox": "busybox-static",
}
