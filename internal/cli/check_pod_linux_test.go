package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/program"
	"github.com/quorumbench/quorumbench/internal/testing/servers/kubernetes"
)

// On a terminal, the check asks after it has described what it will do. It creates its Job only if
// the user agrees.
func TestCheckInPodAsks(t *testing.T) {
	for answer, want := range map[string]struct{ code, jobs int }{"y\n": {0, 1}, "Yes\n": {0, 1}, "n\n": {1, 0}, "\n": {1, 0}} {
		outer, inner, err := program.OpenTerminal()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := outer.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		s := kubernetes.StartScripted(t, "kubeadm")
		s.PodStatus = `{"containerStatuses":[{"name":"check","state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]}`
		var out, errs bytes.Buffer
		code := Main([]string{"check", "perf", "--on", "kubernetes", "--image", "image", "--kubeconfig", s.Kubeconfig}, inner, &out, &errs)
		if code != want.code || len(s.Created()) != want.jobs || !strings.Contains(errs.String(), "removes  the Job") || !strings.Contains(errs.String(), "\nContinue? [y/N] ") {
			t.Errorf("after %q: exit code %d, %d Jobs, %s", answer, code, len(s.Created()), errs.String())
		}
		if err := outer.Close(); err != nil {
			t.Error(err)
		}
		if err := inner.Close(); err != nil {
			t.Error(err)
		}
	}
}
