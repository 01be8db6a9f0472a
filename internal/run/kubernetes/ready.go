package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/agent"
)

// PodHandler is a function that is called for each agent when its pod is ready.
type PodHandler func(ctx context.Context, p ReadyPod) error

// ReadyPod describes a pod whose agent is listening.
type ReadyPod struct {
	Host      string // name of the agent
	Address   string // IP address of the pod
	Node      string // name of the node on which the pod runs
	Transport agent.Transport
}

// Ready waits until all pods are ready. It calls onReady for each pod as soon as this pod is ready,
// because an agent waits for its controller only for a limited time. Several calls may run
// concurrently. If a pod does not start, the error gives the reason in one sentence. If onReady
// fails, Ready returns the error from onReady.
func (p *Pods) Ready(ctx context.Context, onReady PodHandler) error {
	bound, cancel := context.WithTimeout(ctx, p.o.ReadyTimeout)
	defer cancel()
	all, sessions := errgroup.WithContext(bound)
	err := p.await(sessions, func(pod pod) {
		all.Go(func() error {
			return onReady(sessions, ReadyPod{hostOf(&pod), pod.Status.PodIP, pod.Spec.NodeName, p.transportTo(&pod)})
		})
	})
	if failed := all.Wait(); failed != nil {
		err = failed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return p.extendDeadline(ctx)
}

// await calls the function `ready` once for each pod that becomes ready. It returns when all pods
// are ready.
func (p *Pods) await(ctx context.Context, ready func(pod)) error {
	var seen []string
	for {
		pods, err := p.api.listPods(ctx, p.run)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("cannot read the state of the pods: %w", err)
		}
		for _, pod := range pods {
			if slices.Contains(seen, hostOf(&pod)) {
				continue
			}
			if pod.isReady() {
				seen = append(seen, hostOf(&pod))
				ready(pod)
			} else if why, permanent := p.notReadyReason(ctx, &pod); permanent {
				return fmt.Errorf("the pod of %s does not start: %s", hostOf(&pod), why)
			}
		}
		if len(seen) == p.o.Members+p.o.Workers {
			return nil
		}
		if measure.Pause(ctx, pollInterval) {
			continue
		}
		if why := context.Cause(ctx); !errors.Is(why, context.DeadlineExceeded) {
			return why // the caller has canceled the wait
		}
		return p.notReadyError(seen)
	}
}

// permanentReasons contains the reasons that would make a container wait forever. It maps each
// reason to an explanation, which contains the image.
var permanentReasons = map[string]string{
	"ImagePullBackOff":           "cannot pull the image %s: ",
	"ErrImageNeverPull":          "the image %s is not on the node: ",
	"InvalidImageName":           "%s is not a valid image name: ",
	"CreateContainerError":       "cannot create the container from the image %s: ",
	"CreateContainerConfigError": "cannot create the container from the image %s: ",
}

// notReadyReason returns the reason why a pod is not ready, or "" if the reason is unknown.
// permanent is set if the pod cannot become ready even after more time.
func (p *Pods) notReadyReason(ctx context.Context, pod *pod) (why string, permanent bool) {
	if end := pod.ended(); end != nil {
		why = fmt.Sprintf("the agent exited with code %d (%s)", end.ExitCode, end.Reason)
		if text := statusText(end.Message + " " + p.api.log(ctx, pod.Metadata.Name)); text != "" {
			why += ": " + text
		}
		return why, true
	}
	why, permanent = waitingReason(pod, p.o.Image)
	if p.o.StorageClass != "" && pod.unscheduled() != "" {
		if of := p.api.lastWarning(ctx, pod.Metadata.Name+"-"+dataVolume); of != "" {
			why += "; the pod's volume: " + of
		}
	}
	return why, permanent
}

// waitingReason returns the reason why a pod's container has not started, or "" if the pod's status
// does not contain the reason. permanent is set if the container cannot start even after more time.
func waitingReason(pod *pod, image string) (why string, permanent bool) {
	for _, c := range pod.Status.ContainerStatuses {
		w := c.State.Waiting
		if w == nil {
			continue
		}
		if meaning, ok := permanentReasons[w.Reason]; ok {
			return fmt.Sprintf(meaning, image) + statusText(w.Message), true
		}
		if w.Message != "" {
			return statusText(w.Reason + ": " + w.Message), false
		}
	}
	if message := pod.unscheduled(); message != "" {
		return "the pod cannot be scheduled on any node: " + message, false
	}
	if pod.Status.Phase == "Failed" {
		return statusText(pod.Status.Reason + ": " + pod.Status.Message), true
	}
	return "", false
}

// notReadyError returns an error that counts the pods that are not ready. If Kubernetes reports a
// reason, the error contains this reason.
func (p *Pods) notReadyError(ready []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), finalQueryTimeout)
	defer cancel()
	pods, _ := p.api.listPods(ctx, p.run)
	var missing []string
	why := ""
	for _, host := range p.Hosts() {
		if slices.Contains(ready, host) {
			continue
		}
		missing = append(missing, host)
		if why != "" {
			continue
		}
		at := slices.IndexFunc(pods, func(pod pod) bool { return hostOf(&pod) == host })
		if at < 0 {
			why = p.api.lastWarning(ctx, jobName(p.run, strings.TrimRight(host, "-0123456789")))
			continue
		}
		if why, _ = p.notReadyReason(ctx, &pods[at]); why == "" {
			why = p.api.lastWarning(ctx, pods[at].Metadata.Name)
		}
		if why != "" {
			why = host + ": " + why
		}
	}
	if why == "" {
		why = "Kubernetes reports no reason"
	}
	return fmt.Errorf("%d of %d pods are not ready within %v: %s", len(missing), len(p.Hosts()), p.o.ReadyTimeout, why)
}

// finalQueryTimeout is the time limit for all requests of notReadyError.
const finalQueryTimeout = 10 * time.Second

// lastWarning returns the last warning among an object's events. It returns "" if no warning exists
// or if we have no right to read events.
func (a *api) lastWarning(ctx context.Context, object string) (text string) {
	var list struct {
		Items []struct{ Reason, Message string }
	}
	if a.list(ctx, "events", fieldSelector, "type=Warning,involvedObject.name="+object, &list) != nil {
		return ""
	}
	for _, e := range list.Items {
		text = statusText(e.Reason + ": " + e.Message)
	}
	return text
}
