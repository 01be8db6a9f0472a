//go:build linux

package kubernetes_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	application "github.com/quorumbench/quorumbench/internal/application/kubernetes"
	"github.com/quorumbench/quorumbench/internal/store/storetest"
)

// replicas are as many pods as the load has for each ReplicaSet, and so endpoints in a
// slice.
const replicas = 30

// deployment and service are what a user writes, with the usual labels and limits.
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

// TestSizes measures what a real API server writes to etcd for each resource that the
// load has, and holds the load's sizes to that. docs/applications.md has the table that
// it prints.
func TestSizes(t *testing.T) {
	needsNode(t)
	if err := node.Create("/apis/apps/v1/namespaces/default/deployments", fmt.Sprintf(deployment, replicas, imageName)); err != nil {
		t.Fatal(err)
	}
	if err := node.Create("/api/v1/namespaces/default/services", service); err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	storetest.Poll(ctx, t, func() error {
		b, err := node.Get("/apis/apps/v1/namespaces/default/deployments/app")
		if err == nil && !strings.Contains(b, fmt.Sprintf(`"availableReplicas":%d`, replicas)) {
			err = fmt.Errorf("not all pods run: %.2000s", b[max(0, len(b)-2000):])
		}
		return err
	})
	for r := range application.NumResources {
		got, err := client.Get(ctx, "/registry/"+r.Path(), clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for _, kv := range got.Kvs {
			// Of what has a name by the load's own objects, those; else all.
			if key := string(kv.Key); !strings.Contains(key, "/default/app") && slices.Contains([]application.Resource{application.Pods, application.ReplicaSets, application.EndpointSlices, application.Endpoints, application.Events}, r) {
				continue
			}
			sizes = append(sizes, len(kv.Value))
		}
		slices.Sort(sizes)
		if len(sizes) == 0 {
			t.Errorf("there are no %s", r)
			continue
		}
		median := sizes[len(sizes)/2]
		t.Logf("| `%s` | %d | %d | %d | %d |", r, len(sizes), sizes[0], median, sizes[len(sizes)-1])
		if size := r.ValueSize(); 2*size < median || size > 2*median {
			t.Errorf("%s have %d bytes in the load, and %d here", r, size, median)
		}
	}
}
