//go:build linux

package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	application "github.com/quorumbench/quorumbench/internal/load/app/kubernetes"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// replicas is the number of pods in each ReplicaSet of the load, and therefore the number of
// endpoints in an EndpointSlice.
const replicas = 30

// nodeImages is the maximum number of images that a kubelet lists in its node's status
// (nodeStatusMaxImages). A node reaches this maximum after some time in use.
const nodeImages = 50

// deployment and service are typical objects that a user would write, with the usual labels,
// settings and limits.
const deployment = `{"apiVersion": "apps/v1", "kind": "Deployment",
"metadata": {"name": "app", "labels": {"app.kubernetes.io/name": "app", "app.kubernetes.io/version": "1.0.0"}},
"spec": {"replicas": %d, "selector": {"matchLabels": {"app.kubernetes.io/name": "app"}},
"template": {"metadata": {"labels": {"app.kubernetes.io/name": "app", "app.kubernetes.io/version": "1.0.0"}},
"spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "app", "image": %q, "imagePullPolicy": "Never",
"args": ["null-server", "--listen", "127.0.0.1:0"],
"ports": [{"name": "http", "containerPort": 8080}], "env": [{"name": "MODE", "value": "production"}, {"name": "LEVEL", "value": "info"}],
"resources": {"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "256Mi"}}}]}}}}`

const service = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "app"},
"spec": {"selector": {"app.kubernetes.io/name": "app"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}}`

const (
	deploymentsPath = "/apis/apps/v1/namespaces/default/deployments"
	servicesPath    = "/api/v1/namespaces/default/services"
)

// measured describes a row of the table, which shows the sizes of the values of some keys.
type measured struct {
	name string
	// below is the part of the keys after the API server's prefix.
	below string
	// resource is the load's resource that is compared with the row, or NumResources if there is
	// none.
	resource application.Resource
}

// rows are the rows of the table. If other objects have keys with the same prefix, the row selects
// the test's own objects by name.
var rows = []measured{
	{"nodes", "minions/", application.Nodes},
	{"leases of nodes", "leases/kube-node-lease/", application.Leases},
	{"replicasets", "replicasets/default/app", application.ReplicaSets},
	{"endpointslices", "endpointslices/default/app", application.EndpointSlices},
	{"endpoints", "services/endpoints/default/app", application.Endpoints},
	{"masterleases", "masterleases/", application.MasterLeases},
	{"pods", "pods/default/app", application.Pods},
	{"events", "events/default/app", application.Events},
	{"deployments", "deployments/default/app", application.NumResources},
	{"services", "services/specs/default/app", application.NumResources},
	{"leases of API servers", "leases/kube-system/", application.NumResources},
}

// TestSizes measures the sizes of the values that a real API server (with controllers, scheduler
// and kubelet) writes to etcd. It compares these sizes with the sizes that the load uses for
// each resource. It also prints the table for docs/explanation/applications.md.
func TestSizes(t *testing.T) {
	needsNode(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	t.Logf("the node with only the images of this test:\n%s", row(ctx, t, client, &rows[0], nil))
	if err := node.AddImages(ctx, nodeImages); err != nil {
		t.Fatal(err)
	}
	runApp(ctx, t)
	storetest.Poll(ctx, t, func() error {
		b, err := node.Get("/api/v1/nodes/node1")
		if n := strings.Count(b, `"sizeBytes"`); err == nil && n < nodeImages {
			err = fmt.Errorf("the node names %d images", n)
		}
		return err
	})
	var table strings.Builder
	for i := range rows {
		table.WriteString(row(ctx, t, client, &rows[i], &rows[i].resource))
	}
	t.Logf("values in etcd, in bytes:\n| resource | keys below `/registry/` | objects | median | mean | p90 | most |\n|---|---|---:|---:|---:|---:|---:|\n%s", table.String())
}

// runApp creates a Deployment with a Service. The Deployment's pods run until the test ends.
func runApp(ctx context.Context, t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if err := errors.Join(node.Delete(deploymentsPath+"/app"), node.Delete(servicesPath+"/app")); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		storetest.Poll(ctx, t, func() error {
			b, err := node.Get("/api/v1/namespaces/default/pods?labelSelector=app.kubernetes.io/name=app")
			if err == nil && !strings.Contains(b, `"items":[]`) {
				err = errors.New("there still are pods")
			}
			return err
		})
	})
	if err := node.Create(deploymentsPath, fmt.Sprintf(deployment, replicas, imageName)); err != nil {
		t.Fatal(err)
	}
	if err := node.Create(servicesPath, service); err != nil {
		t.Fatal(err)
	}
	storetest.Poll(ctx, t, func() error {
		b, err := node.Get(deploymentsPath + "/app")
		if err == nil && !strings.Contains(b, fmt.Sprintf(`"availableReplicas":%d`, replicas)) {
			err = fmt.Errorf("not all pods run: %.2000s", b[max(0, len(b)-2000):])
		}
		return err
	})
}

// row reads the sizes of the values from etcd and returns a row of the table. It also compares the
// median with the size that the load uses for the resource. The two differ slightly, because the
// sizes depend on the version of Kubernetes. If they differ by more than a factor of 1.5, the load
// needs new sizes.
func row(ctx context.Context, t *testing.T, client *clientv3.Client, m *measured, of *application.Resource) string {
	t.Helper()
	got, err := client.Get(ctx, "/registry/"+m.below, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	sum := 0
	for _, kv := range got.Kvs {
		sizes = append(sizes, len(kv.Value))
		sum += len(kv.Value)
	}
	n := len(sizes)
	if n == 0 {
		t.Errorf("the cluster has no %s", m.name)
		return ""
	}
	slices.Sort(sizes)
	median := sizes[n/2]
	if of != nil && *of != application.NumResources {
		if size := of.ValueSize(); 2*size > 3*median || 2*median > 3*size {
			t.Errorf("%s have %d bytes in the load, but the measured median is %d bytes", m.name, size, median)
		}
	}
	return fmt.Sprintf("| %s | `%s` | %d | %d | %d | %d | %d |\n", m.name, m.below, n, median, sum/n, sizes[(9*n+9)/10-1], sizes[n-1])
}
