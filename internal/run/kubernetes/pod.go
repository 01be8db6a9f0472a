package kubernetes

import (
	"slices"
)

// pod contains the fields of a pod that we read from the API.
type pod struct {
	Metadata metadata
	Spec     struct{ NodeName string }
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

func isReady(pod *pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c condition) bool {
		return c.Type == "Ready" && c.Status == "True"
	})
}

// hostOf returns the name of the agent that runs in a pod.
func hostOf(pod *pod) string {
	return pod.Metadata.Labels[roleLabel] + "-" + pod.Metadata.Annotations["batch.kubernetes.io/job-completion-index"]
}

// unscheduled returns the scheduler's message about a pod for which it found no node, or "".
func (p *pod) unscheduled() string {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return statusText(c.Message)
		}
	}
	return ""
}
