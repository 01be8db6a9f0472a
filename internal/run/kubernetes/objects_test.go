package kubernetes

import (
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
)

func TestParseShare(t *testing.T) {
	for given, want := range map[string]string{"500m": "500m", "50m:2": "50m:2", "1Gi:1Gi": "1Gi", "1000m:1": "1"} {
		if s, err := ParseShare(given); err != nil || s.String() != want {
			t.Errorf("%s is %v, %v", given, s, err)
		}
	}
	for given, want := range map[string]string{
		"": "is no quantity", "2:": "is no quantity", "0": "is no quantity", "-1": "is no quantity", "1:2:3": "is no quantity", "much": "is no quantity",
		"2:1": "requests more than its limit",
	} {
		if s, err := ParseShare(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v, %v", given, s, err)
		}
	}
}

func FuzzParseShare(f *testing.F) {
	for _, seed := range []string{"500m", "50m:2", "1Gi", "2:1", "1e3", "0.1", ":", "1E400"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		s, err := ParseShare(given)
		if err != nil {
			return
		}
		if again, err := ParseShare(s.String()); err != nil || again.Request.Cmp(s.Request) != 0 || again.Limit.Cmp(s.Limit) != 0 {
			t.Errorf("%q is %v, and that %v, %v", given, s, again, err)
		}
	})
}

func TestCheckStorage(t *testing.T) {
	if err := CheckStorage("10Gi"); err != nil {
		t.Error(err)
	}
	for _, size := range []string{"", "0", "-1Gi", "large"} {
		if err := CheckStorage(size); err == nil || !strings.Contains(err.Error(), "is no size") {
			t.Errorf("%q: %v", size, err)
		}
	}
}

// What a pod may do is little, and the agent opens connections for a controller
// that is outside alone.
func TestPod(t *testing.T) {
	for _, outside := range []bool{false, true} {
		o := &Options{Image: "image", outside: outside}
		pod := o.pod(member, map[string]string{runLabel: "run"})
		c := &pod.Containers[0]
		if reaches := strings.Contains(strings.Join(c.Args, " "), "--reach"); reaches != outside {
			t.Errorf("outside %v: %v", outside, c.Args)
		}
		if s := c.SecurityContext; !*pod.SecurityContext.RunAsNonRoot || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Capabilities.Drop[0] != "ALL" ||
			*pod.AutomountServiceAccountToken || pod.RestartPolicy != core.RestartPolicyNever {
			t.Errorf("%+v", pod)
		}
	}
}

// Members alone have volumes of a class.
func TestData(t *testing.T) {
	o := &Options{StorageClass: "fast", Storage: "1Gi"}
	labels := map[string]string{runLabel: "run"}
	if v := o.data(worker, labels); v.EmptyDir == nil || v.Ephemeral != nil {
		t.Errorf("a worker's is %+v", v)
	}
	v := o.data(member, labels)
	if v.Ephemeral == nil || *v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName != "fast" || v.Ephemeral.VolumeClaimTemplate.Labels[runLabel] != "run" {
		t.Errorf("a member's is %+v", v)
	}
}
