package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/host"
)

const (
	checkRole = "check"
	// checkTermination is how long an interrupted check may take to remove its keys.
	checkTermination = 200 * time.Second
	// checkTTL is how long Kubernetes keeps the Job of a check that has ended, so that we can read
	// the last lines of the check even if the API server is busy.
	checkTTL = 30 * time.Second
)

// Check is a check that runs in a pod next to a member of a control plane's etcd.
type Check struct {
	plane *ControlPlane
	api   *api
	o     Options
	run   string
	name  string // of the Job
	args  []string
	limit time.Duration
	size  int64 // of the program to copy

	remedies Remedies
}

// Remedies contains what the user can do if the command in a pod did not end by itself.
type Remedies struct {
	Late   string // if it did not end within its time limit
	Killed string
}

// NewCheck describes a check, but does not start it. The pod runs quorumbench with the given
// arguments, in which paths of files are paths on the node. After the time `limit`, Kubernetes ends
// the pod even if the check has not ended.
func (c *ControlPlane) NewCheck(o Options, args []string, limit time.Duration, remedies Remedies) (*Check, error) {
	run := newRunName()
	check := &Check{plane: c, api: c.api, o: o, run: run, name: run + "-" + checkRole, args: args, limit: limit, remedies: remedies}
	if o.Program != "" {
		info, err := os.Stat(o.Program)
		if err != nil {
			return nil, err
		}
		check.size = info.Size()
	}
	return check, nil
}

// Name returns the name of the check's Job.
func (c *Check) Name() string { return c.name }

// Limit returns the time after which nothing of the check remains, even if this program was killed.
func (c *Check) Limit() time.Duration {
	return c.deadline() + checkTermination + checkTTL
}

// deadline returns the time after which Kubernetes ends the Job.
func (c *Check) deadline() time.Duration { return c.o.ReadyTimeout + c.limit }

// Manifest returns the Job in the form in which the API accepts it. Kubernetes does not remove this
// Job after its end, so that people can read the log of the pod.
func (c *Check) Manifest() map[string]any {
	return newJob(object{"name": c.name, "namespace": c.api.namespace}, podLabels(c.run, checkRole), object{"activeDeadlineSeconds": seconds(c.deadline())}, c.pod())
}

// pod returns the specification of the pod. The pod uses the node's network, because etcd listens
// there, and runs as the user who may read the certificates. It has no other rights.
func (c *Check) pod() object {
	m := c.plane.Chosen
	security := object{"runAsUser": m.user, "runAsGroup": m.user, "runAsNonRoot": m.user != 0, "seccompProfile": object{"type": "RuntimeDefault"}}
	if len(m.seLinux) > 0 {
		security["seLinuxOptions"] = m.seLinux
	}
	mounts, volumes := []object{{"name": "tmp", "mountPath": "/tmp"}}, []object{{"name": "tmp", "emptyDir": object{}}}
	for name, file := range m.Files.All() {
		if *file == "" {
			continue
		}
		from := object{"path": *file, "type": "File"}
		if m.Files.hidden() {
			delete(from, "type")
		}
		volumes = append(volumes, object{"name": name, "hostPath": from})
		mounts = append(mounts, object{"name": name, "mountPath": *file, "readOnly": true})
	}
	return object{
		"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false, "hostNetwork": true,
		"terminationGracePeriodSeconds": seconds(checkTermination),
		"securityContext":               security,
		"tolerations":                   []object{{"operator": "Exists"}},
		"affinity": object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": []object{
			{"matchFields": []object{{"key": "metadata.name", "operator": "In", "values": []string{m.Node}}}},
		}}}},
		"containers": []object{c.container(mounts)},
		"volumes":    volumes,
	}
}

func (c *Check) container(mounts []object) object {
	o := object{
		"name": checkRole, "image": c.o.Image, "imagePullPolicy": "IfNotPresent", "args": escapeArgs(c.args),
		// The container has no limit, because with a limit the check would also measure throttling.
		"resources":       object{"requests": object{"cpu": "100m", "memory": "128Mi"}},
		"securityContext": restricted,
		"volumeMounts":    mounts,
	}
	if c.o.Program != "" {
		o["command"] = escapeArgs([]string{"sh", "-c", receiveProgram, "sh", strconv.FormatInt(c.size, 10), strings.Join(host.ProcessorNames(runtime.GOARCH), " ")})
		o["stdin"], o["stdinOnce"] = true, true
	}
	return o
}

// escapeArgs escapes the words of a command line, so that Kubernetes does not replace $(NAME) in
// them by the value of a variable.
func escapeArgs(words []string) []string {
	escaped := make([]string, len(words))
	for i, word := range words {
		escaped[i] = strings.ReplaceAll(word, "$", "$$")
	}
	return escaped
}

// Run creates the Job, copies the output of the check, removes the Job and returns the exit code of
// the check. If ctx is canceled, Run lets the check end and remove its keys. If the Job could not
// be removed, the error contains a RemovalError.
func (c *Check) Run(ctx context.Context, stdout, stderr io.Writer) (code int, err error) {
	job := c.Manifest()
	job["spec"].(object)["ttlSecondsAfterFinished"] = seconds(checkTTL)
	if err := c.api.create(ctx, "jobs", job, nil); err != nil {
		err = fmt.Errorf("cannot create a Job in namespace %s: %w", c.api.namespace, err)
		if isNothingCreated(err) {
			return 0, err
		}
		err = fmt.Errorf("%w; if the API server still creates the Job, remove it with %q", err, c.deleteCommand())
		return 0, errors.Join(err, c.remove())
	}
	pod, err := c.awaitStart(ctx)
	if err == nil && c.o.Program != "" && pod.ended() == nil {
		err = c.api.copyProgram(ctx, pod.Metadata.Name, c.o.Program)
	}
	if err == nil {
		code, err = c.follow(ctx, pod.Metadata.Name, stdout, stderr)
	}
	return code, errors.Join(err, c.remove())
}

// deleteCommand returns the command that removes the Job.
func (c *Check) deleteCommand() string {
	return fmt.Sprintf("kubectl -n %s delete job %s", c.api.namespace, c.name)
}

// RemovalError reports that the Job or the pod of a check may still exist.
type RemovalError struct{ Cause error }

// Error returns the cause.
func (e *RemovalError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *RemovalError) Unwrap() error { return e.Cause }

// find returns the check's pod, or nil if it does not exist.
func (c *Check) find(ctx context.Context) (*pod, error) {
	pods, err := c.api.listPods(ctx, c.run)
	if err != nil || len(pods) == 0 {
		return nil, err
	}
	return &pods[0], nil
}

// awaitStart waits until the pod's container has started, and returns the pod.
func (c *Check) awaitStart(ctx context.Context) (*pod, error) {
	bound, cancel := context.WithTimeout(ctx, c.o.ReadyTimeout)
	defer cancel()
	last := "Kubernetes reports no reason"
	for {
		pod, err := c.find(bound)
		why, permanent := "", false
		switch {
		case err != nil:
			why, permanent = err.Error(), isForbidden(err)
		case pod == nil:
			why = c.api.lastWarning(bound, c.name)
			permanent = strings.HasPrefix(why, "FailedCreate") && strings.Contains(why, "is forbidden") // Kubernetes repeats the attempt after other errors
			if strings.Contains(why, "violates PodSecurity") {
				why += "; with --namespace, give a namespace that permits pods to use the node's network and files"
			}
		case pod.started():
			return pod, nil
		default:
			why, permanent = c.startFailure(bound, pod)
		}
		if permanent {
			return nil, fmt.Errorf("the pod does not start: %s", why)
		}
		if why != "" && bound.Err() == nil {
			last = why
		}
		switch {
		case measure.Pause(bound, pollInterval):
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		default:
			return nil, fmt.Errorf("the pod has not started within %v: %s", c.o.ReadyTimeout, last)
		}
	}
}

// missingFile matches the kubelet's message about a file that the node does not have.
var missingFile = regexp.MustCompile(`hostPath type check failed: (\S+) is not a file`)

// startFailure returns the reason why a pod has not started. permanent is set if the pod cannot
// start even after more time.
func (c *Check) startFailure(ctx context.Context, pod *pod) (why string, permanent bool) {
	if end := pod.ended(); end != nil {
		remedy := "with --image, give an image with this version of quorumbench"
		if c.o.Program != "" {
			remedy = "with --shell-image, give an image with a shell"
		}
		return end.describe() + "; " + remedy, true
	}
	if why, permanent = waitingReason(pod, c.o.Image); why != "" {
		return why, permanent
	}
	why = c.api.lastWarning(ctx, pod.Metadata.Name)
	if file := missingFile.FindStringSubmatch(why); file != nil {
		return fmt.Sprintf("the node %s has no file %s; with --cacert, --cert and --key, give the paths of the files on the node", c.plane.Chosen.Node, file[1]), true
	}
	return why, false
}

// follow copies the output of the check until its container has ended, and returns the exit code.
// If a connection to the API is lost, which the check of a slow etcd can cause, follow connects
// again.
func (c *Check) follow(ctx context.Context, pod string, stdout, stderr io.Writer) (code int, err error) {
	all, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Limit())
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.api.requestRemoval(all, c.name) }) // c.remove repeats the request and reports the error
	defer stop()
	output := &splitter{stdout: stdout, stderr: stderr}
	for attempts := 0; ; { // after the end of the container
		lost := c.api.followLog(all, pod, output)
		found, err := c.find(all)
		switch {
		case all.Err() != nil:
			return 0, fmt.Errorf("the command in the pod did not end within %v", c.Limit())
		case err == nil && found == nil && ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case err == nil && found == nil:
			return 0, c.removedError(all)
		case err == nil && found.ended() != nil && lost == nil:
			if ctx.Err() == nil && found.ended().ExitCode != 0 && c.exceededDeadline(all) {
				return 0, c.deadlineError()
			}
			return c.exitCode(found.ended(), output.tagged)
		case isForbidden(lost):
			return 0, fmt.Errorf("cannot read the output of the command in the pod: %w", lost)
		case err == nil && found.ended() != nil:
			if attempts++; attempts > maxAttempts {
				return 0, fmt.Errorf("cannot read the output of the command in the pod, whose container has ended (%s): %w", found.ended().describe(), lost)
			}
		}
		measure.Pause(all, pollInterval)
	}
}

// removedError returns the error for a pod that was removed before its check had ended.
func (c *Check) removedError(ctx context.Context) error {
	if c.exceededDeadline(ctx) {
		return c.deadlineError()
	}
	return errors.New("the pod was removed before its command had ended; " + c.remedies.Killed)
}

func (c *Check) deadlineError() error {
	return fmt.Errorf("the command in the pod did not end within its time limit of %v, so Kubernetes ended it; %s", c.deadline(), c.remedies.Late)
}

// exceededDeadline reports whether Kubernetes has ended the Job at its deadline.
func (c *Check) exceededDeadline(ctx context.Context) bool {
	var list struct {
		Items []struct {
			Status struct{ Conditions []condition }
		}
	}
	err := c.api.list(ctx, "jobs", labelSelector, runLabel+"="+c.run, &list)
	return err == nil && len(list.Items) > 0 && slices.ContainsFunc(list.Items[0].Status.Conditions, func(c condition) bool { return c.Reason == "DeadlineExceeded" })
}

// exitCode returns the exit code of the check, or an error if the check did not exit by itself.
func (c *Check) exitCode(end *terminated, tagged bool) (int, error) {
	switch {
	case end.Reason == "OOMKilled":
		return 0, errors.New("the node killed the command in the pod, because the node had too little memory; " + c.remedies.Killed)
	case tagged && end.ExitCode == 128+int(syscall.SIGKILL):
		return 0, errors.New("the command in the pod was killed; " + c.remedies.Killed)
	case c.o.Program != "" && (end.ExitCode == 126 || end.ExitCode == 127):
		return 0, errors.New("the node cannot run this program; with --image, give an image that was built for the node's processor")
	case !tagged && end.ExitCode != 0:
		return 0, fmt.Errorf("the container exited with code %d (%s) and without a result; use an image with this version of quorumbench, built for the node's processor: %s", end.ExitCode, end.Reason, statusText(end.Message))
	}
	return end.ExitCode, nil
}

// remove removes the Job and its pod, and waits until they no longer exist. Its error is a
// RemovalError.
func (c *Check) remove() error {
	if err := c.api.removeJob(checkTermination+removeTimeout, c.name, c.run, "pods", "jobs"); err != nil {
		return &RemovalError{fmt.Errorf("the Job %s in namespace %s may still exist: %w; if Kubernetes has not removed it within %v, remove it with %q", c.name, c.api.namespace, err, c.Limit(), c.deleteCommand())}
	}
	return nil
}
