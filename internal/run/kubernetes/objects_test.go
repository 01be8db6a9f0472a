package kubernetes

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// decodeStrictly decodes an object into one of Kubernetes' types. It rejects fields that this type
// does not have.
func decodeStrictly[T any](t *testing.T, b []byte) (of T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&of); err != nil {
		t.Errorf("%v: %s", err, b)
	}
	return of
}

func decodeObject[T any](t *testing.T, o object) T {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return decodeStrictly[T](t, b)
}

func TestParseShare(t *testing.T) {
	for given, want := range map[string]string{"500m": "500m", "50m:2": "50m:2", "1Gi:1Gi": "1Gi", "1000m:1": "1"} {
		if s, err := ParseShare(given); err != nil || s.String() != want {
			t.Errorf("%s is %v, %v", given, s, err)
		}
	}
	for given, want := range map[string]string{
		"": "is not a valid quantity", "2:": "is not a valid quantity", "0": "is not a valid quantity", "-1": "is not a valid quantity", "1:2:3": "is not a valid quantity", "much": "is not a valid quantity",
		"2:1": "requests more than its limit",
	} {
		if s, err := ParseShare(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v, %v", given, s, err)
		}
	}
}

// Quantities compare in the same way as in Kubernetes.
func TestQuantities(t *testing.T) {
	all := []string{"1", "01", "1.5", ".5", "5.", "0.1", "500m", "50m", "3u", "7n", "2k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1.5Mi", "10Gi", "1Ti", "1Pi", "1Ei", "1e3", "12E2", "1e-3"}
	for _, a := range all {
		for _, b := range all {
			ours, ok := parseQuantity(a)
			other, ok2 := parseQuantity(b)
			if !ok || !ok2 {
				t.Fatalf("%s or %s is not a valid quantity", a, b)
			}
			x, y := resource.MustParse(a), resource.MustParse(b)
			if got, want := ours.value.Cmp(other.value), x.Cmp(y); got != want {
				t.Errorf("comparing %s with %s returns %d, but Kubernetes returns %d", a, b, got, want)
			}
		}
	}
	for _, text := range []string{"", "-1", "0", "0Gi", ".", "1 Gi", "1gi", "1K", "1mi", "1e", "Gi", "1Gi1", "0x10"} {
		if q, ok := parseQuantity(text); ok {
			t.Errorf("the invalid quantity %q is parsed as %v", text, q.value)
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
		if theirs, err := resource.ParseQuantity(s.Request.String()); err != nil || theirs.Sign() <= 0 {
			t.Errorf("Kubernetes parses the request in %q as %v: %v", given, theirs, err)
		}
		if again, err := ParseShare(s.String()); err != nil || again.Request.value.Cmp(s.Request.value) != 0 || again.Limit.value.Cmp(s.Limit.value) != 0 {
			t.Errorf("the share %q is parsed as %v, and this text is parsed as %v, %v", given, s, again, err)
		}
	})
}

func TestCheckStorage(t *testing.T) {
	if err := CheckStorage("10Gi"); err != nil {
		t.Error(err)
	}
	for _, size := range []string{"", "0", "-1Gi", "large"} {
		if err := CheckStorage(size); err == nil || !strings.Contains(err.Error(), "is not a valid size") {
			t.Errorf("%q: %v", size, err)
		}
	}
}

// A pod has few permissions. Its agent opens connections for a controller only if the controller is
// outside the cluster.
func TestPod(t *testing.T) {
	for _, outside := range []bool{false, true} {
		o := &Options{Image: "image", outsidePodNetwork: outside}
		pod := decodeObject[core.PodSpec](t, o.pod(memberRole, map[string]string{runLabel: "run"}))
		c := &pod.Containers[0]
		if reaches := strings.Contains(strings.Join(c.Args, " "), "--reach"); reaches != outside {
			t.Errorf("with a controller outside the cluster (%v), the arguments are %v", outside, c.Args)
		}
		if s := c.SecurityContext; !*pod.SecurityContext.RunAsNonRoot || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Capabilities.Drop[0] != "ALL" ||
			*pod.AutomountServiceAccountToken || pod.RestartPolicy != core.RestartPolicyNever {
			t.Errorf("%+v", pod)
		}
	}
}

// Only members have volumes with a storage class.
func TestData(t *testing.T) {
	o := &Options{StorageClass: "fast", Storage: "1Gi"}
	labels := map[string]string{runLabel: "run"}
	if v := decodeObject[core.Volume](t, o.data(workerRole, labels)); v.EmptyDir == nil || v.Ephemeral != nil {
		t.Errorf("the worker's volume is %+v", v)
	}
	v := decodeObject[core.Volume](t, o.data(memberRole, labels))
	if v.Ephemeral == nil || *v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName != "fast" || v.Ephemeral.VolumeClaimTemplate.Labels[runLabel] != "run" {
		t.Errorf("the member's volume is %+v", v)
	}
}
