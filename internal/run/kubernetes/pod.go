package kubernetes

import (
	"slices"
)

// pod contains the fields of a pod that we read from the API.
type pod struct {
	Metadata metadata
	Status   struct {
		Phase, Reason, Message string
		PodIP                  string
		Conditions             []condition
		ContainerStatuses      []struct {
			State struct {
				Waiting    *struct{ Reason, Message string }
				Terminated *struct {
					ExitCode        int
					Reason, Message string
				}
			}
		}
	}
}

type condition struct{ Type, Status, Message string }

func isReady(pod *pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c condition) bool {
		return c.Type == "Ready" && c.Status == "True"
	})
}

// hostOf returns the name of the agent that runs in a pod.
func hostOf(pod *pod) string {
	return pod.Metadata.Labels[roleLabel] + "-" + pod.Metadata.Annotations["batch.kubernetes.io/job-completion-index"]
}
