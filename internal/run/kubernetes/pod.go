package kubernetes

import (
	"context"
	"slices"
	"strings"
)

// pod contains the fields of a pod that we read from the API.
type pod struct {
	podState
	Spec struct{ NodeName string }
}

// podState contains the fields of a pod that do not belong to its specification.
type podState struct {
	Metadata metadata
	Status   struct {
		Phase, Reason, Message string
		PodIP                  string
		Conditions             []condition
		ContainerStatuses      []struct {
			State struct {
				Waiting    *struct{ Reason, Message string }
				Running    *struct{}
				Terminated *terminated
			}
		}
	}
}

type condition struct{ Type, Status, Reason, Message string }

func (p *podState) isReady() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c condition) bool {
		return c.Type == "Ready" && c.Status == "True"
	})
}

// hostOf returns the name of the agent that runs in a pod.
func hostOf(pod *pod) string {
	return pod.Metadata.Labels[roleLabel] + "-" + pod.Metadata.Annotations["batch.kubernetes.io/job-completion-index"]
}

// unscheduled returns the scheduler's message about a pod for which it found no node, or "".
func (p *podState) unscheduled() string {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return statusText(c.Message)
		}
	}
	return ""
}

// terminated describes the end of a container.
type terminated struct {
	ExitCode        int
	Reason, Message string
}

// describe returns the reason and the message.
func (t *terminated) describe() string {
	return strings.TrimSuffix(statusText(t.Reason+": "+t.Message), ":")
}

// started reports whether a container of the pod has started.
func (p *podState) started() bool {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Running != nil || c.State.Terminated != nil && c.State.Terminated.Reason != "StartError" {
			return true
		}
	}
	return false
}

// ended returns how the pod's container ended, or nil if it has not ended.
func (p *podState) ended() *terminated {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil {
			return c.State.Terminated
		}
	}
	return nil
}

// listPods returns the pods of a run.
func (a *api) listPods(ctx context.Context, run string) ([]pod, error) {
	var list struct{ Items []pod }
	err := a.list(ctx, "pods", labelSelector, runLabel+"="+run, &list)
	return list.Items, err
}
