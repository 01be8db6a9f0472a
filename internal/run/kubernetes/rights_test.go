package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"

	"github.com/quorumbench/quorumbench/internal/testing/image"
)

// rightsFile is the manifest that users apply.
const rightsFile = "../../../deploy/kubernetes/rights.yaml"

// unseen contains the rights that are necessary although no request uses them directly, because an
// admission controller checks them.
var unseen = []string{"batch jobs/finalizers update"}

// readManifest decodes all objects in a YAML text.
func readManifest[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	for part := range strings.SplitSeq(text, "\n---\n") {
		var object T
		b, err := yaml.YAMLToJSON([]byte(part))
		if err == nil {
			err = json.Unmarshal(b, &object)
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, part)
		}
		all = append(all, object)
	}
	return all
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readRights returns each right in the Role as "group resource verb".
func readRights(t *testing.T) (all []string) {
	t.Helper()
	type object struct {
		Kind  string
		Rules []struct{ APIGroups, Resources, Verbs []string }
	}
	for _, o := range readManifest[object](t, readFile(t, rightsFile)) {
		if o.Kind == "ClusterRole" || o.Kind == "ClusterRoleBinding" {
			t.Errorf("%s grants rights in all namespaces: %s", rightsFile, o.Kind)
		}
		for _, r := range o.Rules {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						all = append(all, strings.TrimSpace(group+" "+resource+" "+verb))
					}
				}
			}
		}
	}
	return all
}

// fakeAPI is a simulated API server. It grants only the rights in the manifest, and records which
// rights were used. The test sets the status of the pods.
type fakeAPI struct {
	t       *testing.T
	granted []string

	mu     sync.Mutex
	used   map[string]bool
	jobs   []batch.Job
	status core.PodStatus
}

func newFakeAPI(t *testing.T) (*fakeAPI, string) {
	a := &fakeAPI{t: t, granted: readRights(t), used: map[string]bool{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: '%s'}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}", server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return a, file
}

// requestPath matches the path of a request within a namespace.
var requestPath = regexp.MustCompile(`^(?:/api|/apis/([^/]+))/v1/namespaces/default/([^/]+)(?:/([^/]+))?(?:/([^/]+))?$`)

// ServeHTTP implements http.Handler.
func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := requestPath.FindStringSubmatch(r.URL.Path)
	if path == nil {
		a.t.Errorf("the request %s %s is outside all namespaces", r.Method, r.URL)
		w.WriteHeader(http.StatusNotFound)
		return
	}
	group, resource, name, sub := path[1], path[2], path[3], path[4]
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodGet: "get"}[r.Method]
	switch {
	case verb == "get" && r.URL.Query().Has("watch"):
		verb = "watch"
	case verb == "get" && name == "":
		verb = "list"
	case verb == "delete" && name == "":
		verb = "deletecollection"
	}
	kind := resource
	if sub != "" {
		kind += "/" + sub
	}
	right := strings.TrimSpace(group + " " + kind + " " + verb)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[right] = true
	if !slices.Contains(a.granted, right) {
		a.t.Errorf("the request %s %s needs the right %q, which %s does not grant", r.Method, r.URL, right, rightsFile)
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a.answer(w, r, kind, verb)) // an error is possible only if the caller has disconnected
}

// answer executes a request.
func (a *fakeAPI) answer(w http.ResponseWriter, r *http.Request, kind, verb string) any {
	items := map[string]any{"items": []any{}}
	switch kind + " " + verb {
	case "jobs create":
		b, err := io.ReadAll(r.Body)
		if err != nil {
			a.t.Error(err)
		}
		job := decodeStrictly[batch.Job](a.t, b)
		job.UID = "1"
		a.jobs = append(a.jobs, job)
		return job
	case "secrets create":
		b, err := io.ReadAll(r.Body)
		if err != nil {
			a.t.Error(err)
		}
		if s := decodeStrictly[core.Secret](a.t, b); len(s.Data) == 0 || len(s.OwnerReferences) != 1 || s.OwnerReferences[0].UID != "1" {
			a.t.Errorf("the Secret is %s", b)
		}
	case "jobs delete":
		a.jobs = nil // Kubernetes would also remove everything that the Job owns
	case "jobs list":
		items["items"] = a.jobs
	case "pods list":
		items["items"] = a.pods()
	case "pods/portforward get", "pods/portforward create":
		w.WriteHeader(http.StatusBadRequest) // the test requests a pod that does not exist
	}
	return items
}

func (a *fakeAPI) pods() (all []core.Pod) {
	for _, job := range a.jobs {
		for i := range int(*job.Spec.Completions) {
			pod := core.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec, Status: a.status}
			pod.Name = job.Name + "-" + strconv.Itoa(i)
			pod.Annotations = map[string]string{batch.JobCompletionIndexAnnotation: strconv.Itoa(i)}
			all = append(all, pod)
		}
	}
	return all
}

// A run uses all rights in the manifest and no others, and creates pods that satisfy the strictest
// Pod Security Standard of Kubernetes.
func TestRightsAndPods(t *testing.T) {
	a, kubeconfig := newFakeAPI(t)
	waiting := core.PodStatus{Conditions: []core.PodCondition{{Type: core.PodScheduled, Status: core.ConditionFalse}}}
	ended := core.PodStatus{ContainerStatuses: []core.ContainerStatus{{State: core.ContainerState{Terminated: &core.ContainerStateTerminated{ExitCode: 1}}}}}
	ready := core.PodStatus{Conditions: []core.PodCondition{{Type: core.PodReady, Status: core.ConditionTrue}}}
	for _, test := range []struct {
		status core.PodStatus
		want   string // text in the error from Ready
		within time.Duration
	}{
		{ready, "", time.Minute}, {ended, "the agent exited with code 1", time.Minute}, {waiting, "are not ready within", time.Millisecond},
	} {
		a.status = test.status
		cpu, _ := ParseShare("1") // a valid quantity
		p, err := CreatePods(t.Context(), Options{
			Kubeconfig: kubeconfig, Image: "image", Members: 2, Workers: 1, CPU: cpu, Memory: cpu, StorageClass: "fast", Storage: "1Gi",
			ReadyTimeout: test.within, Logf: t.Logf,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range a.jobs {
			if broken := unrestricted(&job.Spec.Template.Spec); len(broken) > 0 {
				t.Errorf("%s: %q", job.Name, broken)
			}
		}
		if _, err := p.api.forward(t.Context(), "pod", agentPort); err == nil {
			t.Error("a connection to a missing pod succeeded")
		}
		err = p.Ready(t.Context(), func(context.Context, ReadyPod) error { return nil })
		if err == nil && test.want != "" || err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("the error is %v, want %q", err, test.want)
		}
		if err := p.Remove(); err != nil {
			t.Error(err)
		}
	}
	for _, right := range append(slices.Sorted(maps.Keys(a.used)), unseen...) {
		a.granted = slices.DeleteFunc(a.granted, func(granted string) bool { return granted == right })
	}
	if len(a.granted) > 0 {
		t.Errorf("%s grants rights that no request uses: %q", rightsFile, a.granted)
	}
	if a.used["secrets get"] || a.used["secrets list"] {
		t.Error("a run reads Secrets")
	}
}

// unrestricted returns those settings of a pod that the Pod Security Standard "restricted" does not
// permit, and those that our pods do not need.
func unrestricted(s *core.PodSpec) (broken []string) {
	breaks := func(is bool, what string) {
		if is {
			broken = append(broken, what)
		}
	}
	no := func(b *bool) bool { return b == nil || !*b }
	pod := s.SecurityContext
	if pod == nil {
		pod = new(core.PodSecurityContext)
	}
	breaks(s.HostNetwork, "hostNetwork")
	breaks(s.HostPID || s.HostIPC, "hostPID or hostIPC")
	breaks(s.ServiceAccountName == "" && (s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken), "a token of the API")
	breaks(pod.RunAsNonRoot == nil || !*pod.RunAsNonRoot, "may run as root")
	breaks(pod.RunAsUser == nil || *pod.RunAsUser == 0, "runs as root")
	breaks(pod.SeccompProfile == nil || pod.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault, "no seccomp profile")
	breaks(len(pod.Sysctls) > 0 || pod.SELinuxOptions != nil || pod.AppArmorProfile != nil || pod.WindowsOptions != nil, "the machine's settings")
	for _, v := range s.Volumes {
		breaks(v.ConfigMap == nil && v.EmptyDir == nil && v.Secret == nil && v.Ephemeral == nil && v.PersistentVolumeClaim == nil, "volume "+v.Name)
	}
	for _, c := range slices.Concat(s.InitContainers, s.Containers) {
		of := c.SecurityContext
		if of == nil {
			of = new(core.SecurityContext)
		}
		breaks(!no(of.Privileged), "privileged")
		breaks(of.AllowPrivilegeEscalation == nil || *of.AllowPrivilegeEscalation, "may gain rights")
		breaks(no(of.ReadOnlyRootFilesystem), "writes to its image")
		breaks(of.Capabilities == nil || !slices.Contains(of.Capabilities.Drop, "ALL") || len(of.Capabilities.Add) > 0, "capabilities")
		breaks(of.RunAsUser != nil || of.RunAsNonRoot != nil || of.SeccompProfile != nil || of.ProcMount != nil || of.SELinuxOptions != nil || of.AppArmorProfile != nil || of.WindowsOptions != nil,
			"settings other than the pod's")
		for _, port := range c.Ports {
			breaks(port.HostPort != 0, "a port of its node")
		}
	}
	return broken
}

// The manifest that users apply satisfies the Pod Security Standard.
func TestManifest(t *testing.T) {
	type object struct {
		Kind string
		Spec json.RawMessage
	}
	const dockerfile = "../../../deploy/Dockerfile"
	for _, o := range readManifest[object](t, readFile(t, "../../../deploy/kubernetes/job.yaml")) {
		var job batch.JobSpec
		if err := json.Unmarshal(o.Spec, &job); err != nil || len(job.Template.Spec.Containers) != 1 {
			t.Fatalf("%v: %s", err, o.Spec)
		}
		if broken := unrestricted(&job.Template.Spec); len(broken) > 0 {
			t.Errorf("the %s has rights that it does not need: %q", o.Kind, broken)
		}
	}
	if user := fmt.Sprintf("%d:%d", unprivilegedUser, unprivilegedUser); image.User != user || !strings.Contains(readFile(t, dockerfile), "\nUSER "+user+"\n") {
		t.Errorf("pods run as user %s, but the image runs as user %s or its Dockerfile %s sets another user", user, image.User, dockerfile)
	}
}

// The table of rights in the documentation is identical to the manifest.
func TestDocumentedRights(t *testing.T) {
	_, section, _ := strings.Cut(readFile(t, "../../../docs/explanation/security.md"), "\n### On Kubernetes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(?:(batch)/)?([a-z/]+)` \\| ([a-z, ]+) \\|").FindAllStringSubmatch(section, -1) {
		for verb := range strings.SplitSeq(row[3], ", ") {
			documented = append(documented, strings.TrimSpace(row[1]+" "+row[2]+" "+verb))
		}
	}
	rights := readRights(t)
	slices.Sort(rights)
	slices.Sort(documented)
	if diff := cmp.Diff(rights, documented); diff != "" {
		t.Errorf("the rights in docs/explanation/security.md differ from those in %s: %s", rightsFile, diff)
	}
}
