//go:build linux

package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"

	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	testkubernetes "github.com/quorumbench/quorumbench/internal/testing/servers/kubernetes"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// cluster is a real API server with its controllers. It has no nodes, so the tests themselves set
// the status of the pods.
type cluster struct {
	*testkubernetes.API
	kubeconfig string // has only the rights in deploy/kubernetes/rights.yaml
}

// Pods can be created and removed with the documented rights.
func TestControlPlane(t *testing.T) {
	c := &cluster{API: testkubernetes.StartControlPlane(t, embedded.Etcd(t))}
	c.giveRights(t)
	// The API server rejects pods with more permissions than necessary.
	if err := c.Merge("/api/v1/namespaces/"+ours, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`); err != nil {
		t.Fatal(err)
	}
	t.Run("Ready", c.testReady)
	t.Run("Volumes", c.testVolumes)
	t.Run("Trouble", c.testTrouble)
	t.Run("Refused", c.testRefused)
}

const (
	ours      = "default"
	inOurs    = "/api/v1/namespaces/" + ours
	jobsPath  = "/apis/batch/v1/namespaces/" + ours + "/jobs"
	patiently = 2 * time.Minute // long enough for a busy machine
)

// giveRights creates the account in deploy/kubernetes, and a kubeconfig that uses this account.
func (c *cluster) giveRights(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/kubernetes/rights.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + ours
	for i, object := range strings.Split(string(text), "\n---\n") {
		if err := c.Create([]string{inOurs + "/serviceaccounts", rbac + "/roles", rbac + "/rolebindings"}[i], object); err != nil {
			t.Fatal(err)
		}
	}
	all, err := os.ReadFile(c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	c.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	less := strings.Replace(string(all), "user: {", "user: {as: 'system:serviceaccount:"+ours+":quorumbench', ", 1)
	if err := os.WriteFile(c.kubeconfig, []byte(less), 0o600); err != nil {
		t.Fatal(err)
	}
}

// options returns options for a run whose messages are written to the test's log.
func (c *cluster) options(t *testing.T) Options {
	cpu, _ := ParseShare("100m:2") // both are
	memory, _ := ParseShare("1Gi") // valid quantities
	return Options{
		Kubeconfig: c.kubeconfig, Namespace: ours, Image: "localhost/image:1", Members: 3, Workers: 2, CPU: cpu, Memory: memory, Storage: "1Gi",
		ReadyTimeout: patiently, Logf: t.Logf,
	}
}

// makes creates pods and removes them at the end of the test.
func (c *cluster) makes(t *testing.T, o Options) *Pods {
	t.Helper()
	p, err := CreatePods(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Remove(); err != nil {
			t.Error(err)
		}
		c.checkGone(t)
	})
	return p
}

// get reads the object or list at a path.
func get[T any](t *testing.T, c *cluster, path string) (v T) {
	t.Helper()
	text, err := c.Get(path)
	if err == nil {
		err = json.Unmarshal([]byte(text), &v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// checkGone checks that no object of a run is left.
func (c *cluster) checkGone(t *testing.T) {
	t.Helper()
	for _, path := range []string{jobsPath, inOurs + "/pods", inOurs + "/secrets", inOurs + "/persistentvolumeclaims"} {
		text, err := c.Get(path + "?labelSelector=app.kubernetes.io/name=quorumbench")
		if err != nil || !strings.Contains(text, `"items":[]`) {
			t.Errorf("the objects were not all removed (%v): %.500s", err, text)
		}
	}
}

// pods waits until the controller of the Jobs has created n pods, and returns these pods.
func (c *cluster) pods(t *testing.T, p *Pods, n int) (pods []pod) {
	t.Helper()
	settle.Eventually(t, fmt.Sprintf("the number of pods is %d", n), func() bool {
		pods = get[struct{ Items []pod }](t, c, inOurs+"/pods?labelSelector="+runLabel+"="+p.run).Items
		return len(pods) == n
	})
	return pods
}

// setStatus sets a pod's status, which is normally done by the pod's node.
func (c *cluster) setStatus(t *testing.T, pod *pod, status string) {
	t.Helper()
	if err := c.Merge(inOurs+"/pods/"+pod.Metadata.Name+"/status", `{"status":`+status+`}`); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) testReady(t *testing.T) {
	o := c.options(t)
	p := c.makes(t, o)
	workers, members := get[batch.Job](t, c, jobsPath+"/"+jobName(p.run, workerRole)), get[batch.Job](t, c, jobsPath+"/"+jobName(p.run, memberRole))
	for job, n := range map[*batch.Job]int{&workers: o.Workers, &members: o.Members} {
		if s := &job.Spec; int(*s.Completions) != n || int(*s.Parallelism) != n || *s.CompletionMode != batch.IndexedCompletion || *s.BackoffLimit != 0 || *s.TTLSecondsAfterFinished != 10 {
			t.Errorf("%s is %+v", job.Name, s)
		}
	}
	// If the run were killed now, no object would remain: the workers' Job would end after the time
	// that is checked here, and Kubernetes would remove everything that the Job owns.
	if left := *workers.Spec.ActiveDeadlineSeconds; left != int64((patiently+time.Minute)/time.Second) {
		t.Errorf("before the pods are ready, the deadline of the Job is %d s", left)
	}
	secret := get[core.Secret](t, c, inOurs+"/secrets/"+secretName(p.run))
	for name, owners := range map[string]any{"members": members.OwnerReferences, "secret": secret.OwnerReferences} {
		if b, _ := json.Marshal(owners); !strings.Contains(string(b), string(workers.UID)) {
			t.Errorf("the owners of %s are %s, want the Job %s", name, b, workers.UID)
		}
	}
	for name := range secret.Data {
		if strings.HasPrefix(name, "controller") {
			t.Errorf("the controller's %s is in the Secret", name)
		}
	}

	var mu sync.Mutex
	seen := map[string]string{}
	ended := make(chan error, 1)
	go func() {
		ended <- p.Ready(t.Context(), func(_ context.Context, ready ReadyPod) error {
			mu.Lock()
			defer mu.Unlock()
			if seen[ready.Host] = ready.Address; ready.Transport == nil {
				return fmt.Errorf("%s has no transport", ready.Host)
			}
			return nil
		})
	}()
	want := map[string]string{}
	for i, pod := range c.pods(t, p, o.Members+o.Workers) {
		address := fmt.Sprintf("198.18.0.%d", i+1)
		want[hostOf(&pod)] = address
		c.setStatus(t, &pod, `{"phase":"Running","podIP":"`+address+`","podIPs":[{"ip":"`+address+`"}],"conditions":[{"type":"Ready","status":"True"}]}`)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) || len(seen) != o.Members+o.Workers {
		t.Errorf("the reached pods are %v, want %v", seen, want)
	}
	if hosts := p.Hosts(); !slices.Equal(hosts, []string{"member-0", "member-1", "member-2", "worker-0", "worker-1"}) {
		t.Errorf("the hosts are %v", hosts)
	}
	if left := *get[batch.Job](t, c, jobsPath+"/"+workers.Name).Spec.ActiveDeadlineSeconds; left != int64(MaxRunDuration/time.Second) {
		t.Errorf("after the pods are ready, the deadline of the Job is %d s", left)
	}
	if err := p.Remove(); err != nil {
		t.Error(err)
	}
	c.checkGone(t) // at its end, the test calls Remove for these pods again
}

// Each member has a volume claim with the storage class. The claim is removed with the pod.
func (c *cluster) testVolumes(t *testing.T) {
	o := c.options(t)
	o.Members, o.Workers, o.StorageClass = 2, 1, "fast"
	p := c.makes(t, o)
	var claims []core.PersistentVolumeClaim
	settle.Eventually(t, "the number of claims is 2", func() bool {
		claims = get[core.PersistentVolumeClaimList](t, c, inOurs+"/persistentvolumeclaims").Items
		return len(claims) == 2
	})
	for _, claim := range claims {
		if size := claim.Spec.Resources.Requests[core.ResourceStorage]; *claim.Spec.StorageClassName != "fast" || size.String() != "1Gi" || claim.Labels[roleLabel] != memberRole {
			t.Errorf("%+v", claim)
		}
	}
	c.pods(t, p, 3)
}

// If a pod does not start, the error is one sentence.
func (c *cluster) testTrouble(t *testing.T) {
	for _, test := range []struct{ status, want string }{ // if want contains "within 1s", Ready reports the error only after its time limit, because the pod might still start
		{
			`{"containerStatuses":[{"name":"agent","state":{"waiting":{"reason":"ImagePullBackOff","message":"no\nsuch image"}}}]}`,
			"the pod of worker-0 does not start: cannot pull the image localhost/image:1: no such image",
		},
		{
			`{"containerStatuses":[{"name":"agent","state":{"terminated":{"exitCode":1,"reason":"Error","message":"it is broken"}}}]}`,
			"the pod of worker-0 does not start: the agent exited with code 1 (Error): it is broken",
		},
		{
			`{"conditions":[{"type":"PodScheduled","status":"False","message":"0/3 nodes are available"}]}`,
			"1 of 1 pods are not ready within 1s: worker-0: the pod cannot be scheduled on any node: 0/3 nodes are available",
		},
		{
			`{"containerStatuses":[{"name":"agent","state":{"waiting":{"reason":"ContainerCreating","message":"it takes long"}}}]}`,
			"1 of 1 pods are not ready within 1s: worker-0: ContainerCreating: it takes long",
		},
		{`{}`, "1 of 1 pods are not ready within 1s: Kubernetes reports no reason"},
	} {
		t.Run("", func(t *testing.T) {
			o := c.options(t)
			o.Members, o.Workers = 0, 1
			if strings.Contains(test.want, "within 1s") {
				o.ReadyTimeout = time.Second
			}
			p := c.makes(t, o)
			pod := c.pods(t, p, 1)[0]
			c.setStatus(t, &pod, test.status)
			err := p.Ready(t.Context(), func(context.Context, ReadyPod) error { return nil })
			if err == nil || err.Error() != test.want {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

// If the API rejects a request, the error is one sentence and no object remains.
func (c *cluster) testRefused(t *testing.T) {
	file := func(from, to string) string {
		text, err := os.ReadFile(c.kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Namespace = "kube-system" }, `cannot create agents in namespace kube-system: jobs.batch is forbidden: User "system:serviceaccount:default:quorumbench" cannot create`},
		{func(o *Options) { o.Kubeconfig = file("token: ", "token: not-") }, "cannot create agents in namespace default: Unauthorized"},
		{func(o *Options) { o.Kubeconfig = file("https://"+c.Host+":"+c.Port, "https://127.0.0.1:1") }, "connection refused"},
		{func(o *Options) { o.Kubeconfig = file("clusters:", "clusters: 3 #") }, "cannot use the kubeconfig"},
		{func(o *Options) { o.Kubeconfig = "nowhere" }, "cannot use the kubeconfig"},
		{func(o *Options) { o.Context = "unknown" }, `context "unknown" does not exist`},
	} {
		o := c.options(t)
		test.change(&o)
		if _, err := CreatePods(t.Context(), o); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the error is %v, want %q", err, test.want)
		}
		c.checkGone(t)
	}
}
