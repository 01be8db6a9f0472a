//go:build linux

// Package kubernetes_test tests `run` and `check` with `--on kubernetes` on a real Kubernetes cluster
// with one node. The node runs in its own namespaces. Run the tests with make test-kubernetes.
package kubernetes_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/servers/kubernetes"
)

// env is the variable that enables these tests. `make test` omits them, because a node takes half a
// minute to start, and compiling the node's programs takes several minutes.
const env = "QUORUMBENCH_TEST_KUBERNETES"

// node is the node that all tests share. program is the path of the static quorumbench binary.
var (
	node    *kubernetes.Node
	program string
	etcd    string // HOST:PORT of the etcd that the API server uses
)

// imageName is the name of quorumbench's container image on the node.
const imageName = "localhost/quorumbench:test"

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(env) == "" {
		return m.Run() // the tests skip themselves
	}
	if missing := kubernetes.MissingRequirement(); missing != "" {
		fmt.Println("the tests on Kubernetes are skipped:", missing)
		return 0
	}
	inside, code, err := kubernetes.RunIsolated()
	if !inside {
		if err != nil {
			fmt.Println(err)
		}
		return code
	}
	if err == nil {
		code, err = onNode(m)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

// onNode starts the node, runs the tests and stops the node.
func onNode(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "qb-k8s-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "quorumbench")
	ctx := context.Background()
	if err := kubernetes.BuildStatic(ctx, program, "github.com/quorumbench/quorumbench/cmd/quorumbench"); err != nil {
		return 0, err
	}
	out, err := exec.Command(program, "cluster", "up", "--members", "1", "--dir", filepath.Join(dir, "etcd")).Output()
	if err != nil {
		return 0, fmt.Errorf("the API server's etcd cannot be started: %w: %s", err, out)
	}
	etcd, _, _ = strings.Cut(string(out), "\n")
	if node, err = kubernetes.Start(ctx, filepath.Join(dir, "node"), etcd); err != nil {
		return 0, err
	}
	defer node.Stop()
	if err := node.ImportProgram(ctx, imageName, program, "/quorumbench"); err != nil {
		return 0, err
	}
	if code = m.Run(); code != 0 {
		fmt.Println(node.Logs())
	}
	return code, nil
}

func needsNode(t *testing.T) {
	t.Helper()
	if node == nil {
		t.Skip("make test-kubernetes runs this")
	}
}
