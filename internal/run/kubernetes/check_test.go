package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	testkubernetes "github.com/quorumbench/quorumbench/internal/testing/servers/kubernetes"
)

// Only a response that proves that no attempt of a request was executed counts as a rejection.
func TestIsRefused(t *testing.T) {
	for code, want := range map[int]bool{
		http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusUnprocessableEntity: true,
		http.StatusRequestTimeout: false, http.StatusConflict: false, http.StatusTooManyRequests: false,
		http.StatusInternalServerError: false, http.StatusGatewayTimeout: false,
	} {
		if err := fmt.Errorf("create: %w", &apiError{Code: code}); isRefused(err) != want {
			t.Errorf("HTTP status %d is treated as a rejection: %v", code, !want)
		}
	}
}

// If the API server times out but creates the Job, the Job is removed.
func TestRunCheckAfterTimeout(t *testing.T) {
	s := testkubernetes.StartScripted(t, "kubeadm")
	s.TimedOut = map[string]int{"kube-system batch jobs create": 1}
	var output strings.Builder
	c := newCheck(t, s)
	want := fmt.Sprintf("cannot create a Job in namespace kube-system: kube-system batch jobs create timed out; if the API server still creates the Job, remove it with %q", "kubectl -n kube-system delete job "+c.Name())
	if _, err := c.Run(t.Context(), &output, &output); fmt.Sprint(err) != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if s.Remaining() != 0 || len(s.Created()) != 1 {
		t.Errorf("%d objects remain, and %d Jobs were created", s.Remaining(), len(s.Created()))
	}
}

// canceler cancels a context when something is written.
type canceler context.CancelFunc

// Write implements io.Writer.
func (c canceler) Write(p []byte) (int, error) {
	c()
	return len(p), nil
}

// An interrupted check requests the removal of its pod again if the first request is lost.
func TestInterruptedCheckRepeatsRemoval(t *testing.T) {
	s := testkubernetes.StartScripted(t, "kubeadm")
	s.PodStatus, s.Log = `{"containerStatuses":[{"name":"check","state":{"running":{}}}]}`, "1 writes\n"
	s.Dropped = map[string]int{"kube-system batch jobs delete": 1}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := newCheck(t, s).Run(ctx, canceler(cancel), canceler(cancel)); err == nil || !errors.Is(err, context.Canceled) || errors.As(err, new(*RemovalError)) {
		t.Errorf("%v", err)
	}
	if s.Remaining() != 0 || s.Dropped["kube-system batch jobs delete"] != 0 {
		t.Errorf("%d objects remain", s.Remaining())
	}
}

// If the API rejects the removal, the error contains a RemovalError.
func TestRunCheckWithoutRightToRemove(t *testing.T) {
	s := testkubernetes.StartScripted(t, "kubeadm")
	s.Forbidden, s.PodStatus, s.Log = "jobs delete", endedStatus(0, "Completed"), "1 PASS\n"
	var output strings.Builder
	c := newCheck(t, s)
	_, err := c.Run(t.Context(), &output, &output)
	want := fmt.Sprintf("the Job %[1]s in namespace kube-system may still exist: the API did not accept the removal: kube-system batch jobs delete is forbidden; if Kubernetes has not removed it within %v, remove it with \"kubectl -n kube-system delete job %[1]s\"", c.Name(), c.Limit())
	if !errors.As(err, new(*RemovalError)) || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// If Kubernetes ends a check, the error states the reason and the remedy.
func TestRunCheckKilled(t *testing.T) {
	const deadline = `{"conditions":[{"type":"Failed","status":"True","reason":"DeadlineExceeded"}]}`
	for _, test := range []struct{ pod, job, want string }{
		{endedStatus(137, "OOMKilled"), "", "the node killed the command in the pod, because the node had too little memory; keys may remain"},
		{endedStatus(137, "Error"), "", "the command in the pod was killed; keys may remain"},
		{endedStatus(130, "Error"), deadline, "the command in the pod did not end within its time limit of 2m0s, so Kubernetes ended it; choose a smaller load"},
	} {
		s := testkubernetes.StartScripted(t, "kubeadm")
		s.PodStatus, s.JobStatus, s.Log = test.pod, test.job, "2 writes\n"
		var output strings.Builder
		if _, err := newCheck(t, s).Run(t.Context(), &output, &output); fmt.Sprint(err) != test.want {
			t.Errorf("the error is %v, want %s", err, test.want)
		}
	}
}

// Kubernetes does not replace $(NAME) in the arguments of a check.
func TestCheckArgsAreEscaped(t *testing.T) {
	c := newCheck(t, testkubernetes.StartScripted(t, "kubeadm"))
	c.args = []string{"--prefix=$(A)$$/"}
	if args := c.container(nil)["args"]; fmt.Sprint(args) != "[--prefix=$$(A)$$$$/]" {
		t.Errorf("%v", args)
	}
}
