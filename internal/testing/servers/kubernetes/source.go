// Package kubernetes starts a real Kubernetes with one node for tests: API server,
// controllers, scheduler and kubelet, which are built from their Go modules into the user's
// cache folder, and containerd, runc and the CNI plug-ins from Debian's packages. Images
// are imported, never pulled.
package kubernetes

import (
	"embed"
	"io/fs"

	"github.com/quorumbench/quorumbench/internal/store"
)

//go:embed server/*.txt
var files embed.FS

// version is the version of Kubernetes. The staging modules, which server/go.mod.txt
// replaces by the released ones, have the same version with v0.
const version = "1.36.3"

// Source describes the four programs, which are one binary.
func Source() (store.ServerSource, error) {
	s := store.ServerSource{
		Store: "kubernetes", Version: version, Versions: []string{version}, Kind: store.GoModule, Package: ".",
		LDFlags: "-s -w -X k8s.io/component-base/version.gitVersion=v" + version,
		Tools:   []store.Tool{{Name: "go", Missing: "building Kubernetes needs Go"}},
		Check:   store.ServerCheck{Module: "k8s.io/kubernetes@v" + version, Args: []string{"kubelet", "--version"}, Says: "v" + version},
		License: "Apache License 2.0",
	}
	var err error
	s.Files, err = fs.Sub(files, "server")
	return s, err
}

// packages lists programs from Debian's packages, and the location of the plug-ins.
var packages = map[string]string{
	"containerd": "containerd", "ctr": "containerd", "runc": "runc",
	"/usr/lib/cni/bridge": "containernetworking-plugins", "ip": "iproute2",
}
