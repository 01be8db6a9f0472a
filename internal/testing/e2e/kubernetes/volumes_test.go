//go:build linux

package kubernetes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	class = `{kind: StorageClass, metadata: {name: disks}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}`
	// disk describes a volume of the storage class `class`. The volume is a folder on the node.
	disk = `kind: PersistentVolume
metadata: {name: disk}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: disks
  local: {path: %s}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node1]}]}]}}
`
)

// A member keeps its data on a volume of the requested storage class. The volume first belongs to
// root, and then to the agent.
func TestVolume(t *testing.T) {
	needsNode(t)
	folder := t.TempDir()
	for path, object := range map[string]string{
		"/apis/storage.k8s.io/v1/storageclasses": class, "/api/v1/persistentvolumes": fmt.Sprintf(disk, folder),
	} {
		if err := node.Create(path, object); err != nil {
			t.Fatal(err)
		}
	}
	c, _, out := command(t, puts, "--members", "1", "--workers", "1", "--pod-storage-class", "disks", "--pod-storage", "64Mi")
	if err := c.Run(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	checkGone(t)
	if logs, err := filepath.Glob(filepath.Join(folder, "agent", "*")); err != nil || len(logs) == 0 {
		left, _ := os.ReadDir(folder)
		t.Errorf("the volume does not contain the member's logs (error %v): it contains %v", err, left)
	}

	c, _, out = command(t, puts, "--members", "1", "--workers", "1", "--pod-storage-class", "none", "--ready-timeout", "4s")
	if err := c.Run(); err == nil || !strings.Contains(out.String(), `; the pod's volume: ProvisioningFailed: storageclass.storage.k8s.io "none" not found`) {
		t.Errorf("with a storage class that does not exist, the run ended with %v and the output\n%s", err, out)
	}
	checkGone(t)

	// A second member on the node would need a second volume, which does not exist.
	c, _, out = command(t, puts, "--members", "2", "--workers", "1", "--pod-storage-class", "disks", "--ready-timeout", "8s")
	if err := c.Run(); err == nil || !strings.Contains(out.String(), "the pod cannot be scheduled on any node: ") || !strings.Contains(out.String(), "volume") {
		t.Errorf("without a volume, the run ended with %v and the output\n%s", err, out)
	}
	checkGone(t)
}
