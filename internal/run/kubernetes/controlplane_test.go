package kubernetes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batch "k8s.io/api/batch/v1"

	testkubernetes "github.com/quorumbench/quorumbench/internal/testing/servers/kubernetes"
)

// Each layout of a control plane is found, or the error states why it has no etcd that can be
// checked.
func TestFindControlPlane(t *testing.T) {
	const pki, rancher, static = "/etc/kubernetes/pki/etcd/", "/server/tls/etcd/", "/etc/kubernetes/static-pod-resources/etcd-certs/"
	want := map[string]string{
		"kubeadm":    "kubeadm kube-system cp-2 [https://10.0.0.1:2379 https://10.0.0.2:2379 https://10.0.0.3:2379] " + pki + "ca.crt " + pki + "healthcheck-client.crt " + pki + "healthcheck-client.key root map[]",
		"kind":       "kubeadm kube-system kind-control-plane [https://172.18.0.2:2379] " + pki + "ca.crt " + pki + "healthcheck-client.crt " + pki + "healthcheck-client.key root map[]",
		"rke2":       "RKE2 kube-system server-1 [https://10.0.1.1:2379 https://10.0.1.2:2379] /srv/rke2" + rancher + "server-ca.crt /srv/rke2" + rancher + "client.crt /srv/rke2" + rancher + "client.key root map[type:rke2_service_db_t]",
		"k3s":        "k3s kube-system server-1 [https://10.0.2.101:2379 https://10.0.2.2:2379] /var/lib/rancher/k3s" + rancher + "server-ca.crt /var/lib/rancher/k3s" + rancher + "client.crt /var/lib/rancher/k3s" + rancher + "client.key root map[]",
		"openshift":  "OpenShift openshift-etcd master-0 [https://10.0.3.1:2379 https://10.0.3.2:2379] " + static + "configmaps/etcd-all-bundles/server-ca-bundle.crt " + static + "secrets/etcd-all-certs/etcd-peer-master-0.crt " + static + "secrets/etcd-all-certs/etcd-peer-master-0.key root map[type:spc_t]",
		"talos":      "Talos kube-system talos-1 [https://127.0.0.1:2379] /system/secrets/kubernetes/kube-apiserver/etcd-client-ca.crt /system/secrets/kubernetes/kube-apiserver/etcd-client.crt /system/secrets/kubernetes/kube-apiserver/etcd-client.key user 65534 map[]",
		"external":   "etcd outside the Kubernetes cluster kube-system cp-1 [https://10.9.0.1:2379 https://10.9.0.2:2379] /etc/kubernetes/pki/etcd-ca.crt /etc/kubernetes/pki/apiserver-etcd-client.crt /etc/kubernetes/pki/apiserver-etcd-client.key root map[]",
		"k3s-sqlite": errKine.Error(),
		"rke2-kine":  errKine.Error(),
		"managed":    "this cluster has no control-plane nodes: the provider of a managed Kubernetes, such as EKS, GKE or AKS, runs etcd",
		"unknown":    "found no etcd: the control-plane node cp-1 runs no pod",
	}
	for _, layout := range testkubernetes.Layouts(t) {
		t.Run(layout, func(t *testing.T) {
			s := testkubernetes.StartScripted(t, layout)
			c, err := FindControlPlane(t.Context(), Options{Kubeconfig: s.Kubeconfig}, "")
			got := fmt.Sprint(err)
			if err == nil {
				m := c.Chosen
				got = fmt.Sprint(c.Layout, " ", c.Namespace, " ", m.Node, " ", c.Endpoints(), " ", m.Files.CACert, " ", m.Files.Cert, " ", m.Files.Key, " ", m.User(), " ", m.seLinux)
			}
			if want[layout] == "" || !strings.HasPrefix(got, want[layout]) || err == nil && got != want[layout] {
				t.Errorf("found:\n%s\nwant:\n%s", got, want[layout])
			}
		})
	}
}

// The files are those of the requested node.
func TestFindControlPlaneOnNode(t *testing.T) {
	for layout, test := range map[string]struct{ node, want string }{
		"k3s":       {"server-2", "/srv/k3s/server/tls/etcd/client.key"},
		"openshift": {"master-1", "/etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-master-1.key"},
		"kubeadm":   {"cp-1", "/etc/kubernetes/pki/etcd/healthcheck-client.key"},
	} {
		s := testkubernetes.StartScripted(t, layout)
		o := Options{Kubeconfig: s.Kubeconfig}
		c, err := FindControlPlane(t.Context(), o, test.node)
		if err == nil && (c.Chosen.ShellImage == "registry.example.com/openshift/etcd:4") != (layout == "openshift") {
			t.Errorf("layout %s: the image with a shell is %q", layout, c.Chosen.ShellImage)
		}
		if err != nil || c.Chosen.Node != test.node || c.Chosen.Files.Key != test.want {
			t.Errorf("%s: %v, %+v", layout, err, c)
		}
		if _, err := FindControlPlane(t.Context(), o, "other"); err == nil || !strings.Contains(err.Error(), `etcd does not run on the node "other"; choose one of: `) {
			t.Errorf("%s: %v", layout, err)
		}
	}
}

// The flag specifies the folder in which k3s and RKE2 store their data. Without the flag, the
// variable specifies this folder. Without both, they use the default folder.
func TestDataFolderOnNode(t *testing.T) {
	for _, test := range []struct{ program, args, env, want string }{
		{"k3s", `["server","--data-dir","/srv/a/"]`, `{"K3S_DATA_DIR":"/srv/b"}`, "/srv/a"},
		{"k3s", `["server"]`, `{"K3S_DATA_DIR":"/srv/b/"}`, "/srv/b"},
		{"rke2", `["server"]`, `{"RKE2_DATA_DIR":"/srv/c"}`, "/srv/c"},
		{"rke2", "", "", "/var/lib/rancher/rke2"},
	} {
		n := node{Metadata: metadata{Annotations: map[string]string{test.program + ".io/node-args": test.args, test.program + ".io/node-env": test.env}}}
		if got := n.etcd(test.program).Files.CACert; got != test.want+rancherCA {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// If a right is missing, the error names this right, unless etcd can be found without it.
func TestFindControlPlaneWithoutRights(t *testing.T) {
	for _, test := range []struct{ layout, forbidden, want string }{
		{"kubeadm", "pods list", "cannot list the pods in namespace kube-system, where etcd usually runs: kube-system pods list is forbidden; deploy/kubernetes/check-rights.yaml grants the rights"},
		{"kubeadm", "openshift-etcd|nodes", "<nil>"},
		{"openshift", "kube-system|nodes", "<nil>"},
		{"k3s", "openshift-etcd", "<nil>"},
		{"k3s", "nodes", "found no pods of etcd, and cannot list the nodes: nodes list is forbidden; deploy/kubernetes/check-rights.yaml grants the right"},
	} {
		s := testkubernetes.StartScripted(t, test.layout)
		s.Forbidden = test.forbidden
		if _, err := FindControlPlane(t.Context(), Options{Kubeconfig: s.Kubeconfig}, ""); fmt.Sprint(err) != test.want {
			t.Errorf("%s without %s: %v", test.layout, test.forbidden, err)
		}
	}
}

// newCheck returns a check of a layout.
func newCheck(t *testing.T, s *testkubernetes.Scripted) *Check {
	t.Helper()
	o := Options{Kubeconfig: s.Kubeconfig, Image: "localhost/image:1", ReadyTimeout: time.Minute}
	c, err := FindControlPlane(t.Context(), o, "")
	if err != nil {
		t.Fatal(err)
	}
	check, err := c.NewCheck(o, []string{"check", "perf"}, time.Minute, Remedies{"choose a smaller load", "keys may remain"})
	if err != nil {
		t.Fatal(err)
	}
	return check
}

// The pod has only the rights that it needs: the node's network, and three files, which it cannot
// change. Kubernetes ends it even if this program was killed.
func TestCheckManifest(t *testing.T) {
	files := []string{"hostNetwork", "volume cacert", "volume cert", "volume key"}
	root := []string{"hostNetwork", "may run as root", "runs as root", "volume cacert", "volume cert", "volume key"}
	withSELinux := []string{"hostNetwork", "may run as root", "runs as root", "the machine's settings", "volume cacert", "volume cert", "volume key"}
	for layout, allowed := range map[string][]string{"kubeadm": root, "talos": files, "openshift": withSELinux} {
		c := newCheck(t, testkubernetes.StartScripted(t, layout))
		job := decodeObject[batch.Job](t, c.Manifest())
		pod := &job.Spec.Template.Spec
		if broken := unrestricted(pod); !slices.Equal(broken, allowed) {
			t.Errorf("%s: %q", layout, broken)
		}
		for _, m := range pod.Containers[0].VolumeMounts {
			if m.Name != "tmp" && !m.ReadOnly {
				t.Errorf("%s: the pod can change %s", layout, m.MountPath)
			}
		}
		for _, v := range pod.Volumes {
			if v.HostPath != nil && (v.HostPath.Type == nil) != (layout == "talos") {
				t.Errorf("%s: %+v", layout, v.HostPath)
			}
		}
		if s := &job.Spec; *s.BackoffLimit != 0 || *s.ActiveDeadlineSeconds != 120 || s.TTLSecondsAfterFinished != nil || c.Limit() < 3*time.Minute {
			t.Errorf("%s: %+v, %v", layout, s, c.Limit())
		}
	}
}

// endedStatus is the status of a pod whose container has ended.
func endedStatus(code int, reason string) string {
	return fmt.Sprintf(`{"containerStatuses":[{"name":"check","state":{"terminated":{"exitCode":%d,"reason":%q}}}]}`, code, reason)
}

// A check forwards the output and the exit code of its pod, uses only the documented rights, and
// removes its Job.
func TestRunCheck(t *testing.T) {
	s := testkubernetes.StartScripted(t, "k3s") // needs more rights than the others
	s.PodStatus, s.Log = endedStatus(3, "Error"), "2 quorumbench: writes\n1 FAIL\n1 \nwithout a mark\n1 incomplete"
	var stdout, stderr strings.Builder
	code, err := newCheck(t, s).Run(t.Context(), &stdout, &stderr)
	if err != nil || code != 3 || stdout.String() != "FAIL\n\n" || stderr.String() != "quorumbench: writes\nwithout a mark\n" {
		t.Errorf("%d, %v, %q, %q", code, err, stdout.String(), stderr.String())
	}
	if s.Remaining() != 0 || len(s.Created()) != 1 || !strings.Contains(s.Created()[0], `"ttlSecondsAfterFinished":30`) {
		t.Errorf("%d objects remain, and %q were created", s.Remaining(), s.Created())
	}

	s = testkubernetes.StartScripted(t, "k3s")
	s.PodStatus, s.Warnings = `{}`, map[string]string{"-check-x": "FailedMount: hostPath type check failed: /a is not a file"}
	if _, err := newCheck(t, s).Run(t.Context(), &stdout, &stderr); err == nil {
		t.Error("a check whose pod lacks a file succeeded")
	}
	var granted []string
	type object struct {
		Metadata metadata
		Rules    []struct{ APIGroups, Resources, Verbs []string }
	}
	for i, o := range readManifest[object](t, readFile(t, "../../../deploy/kubernetes/check-rights.yaml")) {
		for _, r := range o.Rules {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					namespace := []string{systemNamespace, ""}[i]
					granted = append(granted, strings.Join(strings.Fields(strings.Join([]string{namespace, r.APIGroups[0], resource, verb}, " ")), " "))
				}
			}
		}
	}
	granted = append(granted, openShiftNamespace+" pods list")                             // used, but not necessary
	used := append(s.Used(), "kube-system pods/log get", "kube-system pods/attach create") // not in this test
	slices.Sort(granted)
	slices.Sort(used)
	if !slices.Equal(granted, used) {
		t.Errorf("check-rights.yaml grants\n%q\nbut a check uses\n%q", granted, used)
	}
}

// Without an image, the check copies the program into a pod with a shell.
func TestRunCheckCopiesProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	want := bytes.Repeat([]byte("quorumbench"), 10_000)
	if err := os.WriteFile(program, want, 0o600); err != nil {
		t.Fatal(err)
	}
	const running = `{"containerStatuses":[{"name":"check","state":{"running":{}}}]}`
	for _, test := range []struct {
		code int
		want string
	}{{1, "<nil>"}, {126, "the node cannot run this program; with --image, give an image that was built for the node's processor"}} {
		s := testkubernetes.StartScripted(t, "kubeadm")
		s.PodStatus, s.EndStatus, s.Log = running, endedStatus(test.code, "Error"), copiedLine+"\n1 FAIL\n"
		o := Options{Kubeconfig: s.Kubeconfig, Image: "busybox", Program: program, ReadyTimeout: time.Minute}
		plane, err := FindControlPlane(t.Context(), o, "")
		if err != nil {
			t.Fatal(err)
		}
		c, err := plane.NewCheck(o, []string{"in-pod", "check"}, time.Minute, Remedies{})
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr strings.Builder
		if _, err := c.Run(t.Context(), &stdout, &stderr); fmt.Sprint(err) != test.want || stdout.String() != "FAIL\n" || stderr.String() != "quorumbench: the program was copied into the pod\n" {
			t.Errorf("%v, %q, %q", err, stdout.String(), stderr.String())
		}
		if !bytes.Equal(s.Received(), want) || s.Remaining() != 0 {
			t.Errorf("%d of %d bytes arrived, and %d objects remain", len(s.Received()), len(want), s.Remaining())
		}
	}
}

// If the check does not run, the error is one sentence, and nothing remains.
func TestRunCheckFails(t *testing.T) {
	waiting := func(reason, message string) string {
		return fmt.Sprintf(`{"containerStatuses":[{"name":"check","state":{"waiting":{"reason":%q,"message":%q}}}]}`, reason, message)
	}
	const noShell = `{"containerStatuses":[{"name":"check","state":{"terminated":{"exitCode":128,"reason":"StartError","message":"exec: \"sh\": not found"}}}]}`
	for _, test := range []struct{ status, warning, forbidden, want string }{
		{noShell, "", "", `the pod does not start: StartError: exec: "sh": not found; with --shell-image, give an image with a shell`},
		{"", "FailedCreate: Error creating: the server did not respond in time", "", "the pod has not started within 1s: FailedCreate: Error creating: the server did not respond in time"},
		{waiting("ImagePullBackOff", "no such image"), "", "", "the pod does not start: cannot pull the image localhost/image:1: no such image"},
		{`{"conditions":[{"type":"PodScheduled","status":"False","message":"Insufficient cpu"}]}`, "", "", "the pod has not started within 1s: the pod cannot be scheduled on any node: Insufficient cpu"},
		{waiting("ContainerCreating", ""), `FailedMount: MountVolume.SetUp failed for volume "key" : hostPath type check failed: /etc/kubernetes/pki/etcd/healthcheck-client.key is not a file`, "",
			"the pod does not start: the node cp-2 has no file /etc/kubernetes/pki/etcd/healthcheck-client.key; with --cacert, --cert and --key, give the paths of the files on the node"},
		{"", `FailedCreate: Error creating: pods "x" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`, "",
			`the pod does not start: FailedCreate: Error creating: pods "x" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true); with --namespace, give a namespace that permits pods to use the node's network and files`},
		{endedStatus(255, "Error"), "", "", "the container exited with code 255 (Error) and without a result; use an image with this version of quorumbench"},
		{endedStatus(0, "Completed"), "", "jobs create", "cannot create a Job in namespace kube-system: kube-system batch jobs create is forbidden"},
		{endedStatus(0, "Completed"), "", "pods/log", "cannot read the output of the command in the pod: kube-system pods/log get is forbidden"},
	} {
		s := testkubernetes.StartScripted(t, "kubeadm")
		s.PodStatus, s.Warnings, s.Forbidden = test.status, map[string]string{"-check": test.warning}, test.forbidden
		c := newCheck(t, s)
		if strings.Contains(test.want, "within 1s") {
			c.o.ReadyTimeout = time.Second
		}
		if strings.Contains(test.status, "terminated") {
			c.o.Program = "missing" // nothing is copied, because the container has ended
		}
		var output strings.Builder
		if _, err := c.Run(t.Context(), &output, &output); err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the error is %v, want %q", err, test.want)
		}
		if s.Remaining() != 0 {
			t.Errorf("%q: %d objects remain", test.want, s.Remaining())
		}
	}
}

// If a right is missing in another namespace, the check ends at once, and the error does not state
// that the Job still exists.
func TestRunCheckWithoutRightToList(t *testing.T) {
	for forbidden, want := range map[string]string{
		"other pods list":       "the pod does not start: other pods list is forbidden\n",
		"other batch jobs list": "",
	} {
		s := testkubernetes.StartScripted(t, "kubeadm")
		s.PodStatus, s.Log, s.Forbidden = endedStatus(0, "Completed"), "1 PASS\n", forbidden
		c := newCheck(t, s)
		c.api = c.api.withNamespace("other")
		var output strings.Builder
		_, err := c.Run(t.Context(), &output, &output)
		want += fmt.Sprintf("the Job %s in namespace other may still exist: the removal was requested, but its result is unknown: %s is forbidden; if", c.Name(), forbidden)
		if !errors.As(err, new(*RemovalError)) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
		if s.Remaining() != 0 {
			t.Errorf("%d objects remain", s.Remaining())
		}
	}
}

// The lines of both streams reach their readers, even if they are written in pieces.
func TestTaggers(t *testing.T) {
	var log, stdout, stderr strings.Builder
	one, two, flush := NewTaggers(&log)
	for _, write := range []func() error{
		func() error { _, err := fmt.Fprint(one, "a\nb"); return err },
		func() error { _, err := fmt.Fprint(two, "1 c\n\n"); return err },
		func() error { _, err := fmt.Fprint(one, "d\ne"); return err },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	s := &splitter{stdout: &stdout, stderr: &stderr}
	for line := range strings.Lines(log.String()) {
		if err := s.copyLine(line); err != nil {
			t.Fatal(err)
		}
	}
	if stdout.String() != "a\nbd\ne\n" || stderr.String() != "1 c\n\n" || !s.tagged {
		t.Errorf("%q, %q", stdout.String(), stderr.String())
	}
}
