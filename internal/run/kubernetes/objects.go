package kubernetes

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/agent"
)

// Roles of pods. All pods that have the same role belong to one indexed Job.
const (
	memberRole = "member"
	workerRole = "worker"
)

// Labels of all objects that we create. The label runLabel selects the objects of one run.
const (
	nameLabel = "app.kubernetes.io/name"
	runLabel  = "quorumbench/run"
	roleLabel = "quorumbench/role"
	appName   = "quorumbench"
)

const (
	agentPort = 7420
	// finishedJobTTL is how long Kubernetes keeps a completed or failed Job for inspection,
	// together with all objects that the Job owns.
	finishedJobTTL = 10 * time.Second
	// MaxRunDuration is the maximum duration of a run. After this time, Kubernetes stops the pods
	// even if they have a controller.
	MaxRunDuration = 24 * time.Hour
	// unprivilegedUser is the ID of the user without privileges in the image.
	unprivilegedUser = 65532
	// terminationTimeout is how long the processes of a pod may take to stop. After this time,
	// Kubernetes kills the processes.
	terminationTimeout = 15 * time.Second
)

// job returns the Job for the agents of one role. The Job fails if any of its pods fails.
// Kubernetes removes a completed or failed Job, together with all objects that the Job owns.
func (o *Options) job(run, role string, count int, deadline time.Duration, owners ...object) object {
	labels := podLabels(run, role)
	return newJob(object{"name": jobName(run, role), "ownerReferences": owners}, labels, object{
		"completions": count, "parallelism": count, "completionMode": "Indexed",
		"activeDeadlineSeconds": seconds(deadline), "ttlSecondsAfterFinished": seconds(finishedJobTTL),
	}, o.pod(role, labels))
}

// newJob completes the metadata and the specification of a Job. The Job fails if a pod fails.
func newJob(meta object, labels map[string]string, spec, pod object) object {
	meta["labels"], meta["annotations"] = labels, map[string]string{"quorumbench/controller": hostname()}
	spec["backoffLimit"], spec["template"] = 0, object{"metadata": object{"labels": labels}, "spec": pod}
	return object{"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
}

// newRunName returns a random name for a run.
func newRunName() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	return appName + "-" + hex.EncodeToString(id[:])
}

// podLabels returns the labels of a run's pods with the same role.
func podLabels(run, role string) map[string]string {
	return map[string]string{nameLabel: appName, runLabel: run, roleLabel: role}
}

// restricted contains the settings with which a container has no privileges.
var restricted = object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []string{"ALL"}}}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func jobName(run, role string) string { return run + "-" + role + "s" }

func secretName(run string) string { return run + "-certificates" }

// pod returns the specification of a pod that runs an agent.
func (o *Options) pod(role string, labels map[string]string) object {
	return object{
		"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false,
		"terminationGracePeriodSeconds": seconds(terminationTimeout),
		"securityContext": object{
			"runAsNonRoot": true, "runAsUser": unprivilegedUser, "runAsGroup": unprivilegedUser, "fsGroup": unprivilegedUser, "seccompProfile": object{"type": "RuntimeDefault"},
		},
		"topologySpreadConstraints": []object{{
			"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": object{"matchLabels": labels},
		}},
		"containers": []object{o.container(role)},
		"volumes": []object{
			o.data(role, labels),
			{"name": "certificates", "secret": object{"secretName": secretName(labels[runLabel]), "defaultMode": 0o440}},
		},
	}
}

func (o *Options) container(role string) object {
	pair := "/certificates/" + role + "-$(JOB_COMPLETION_INDEX)" // Kubernetes inserts the index
	args := []string{
		"agent", "--once", "--listen", ":" + strconv.Itoa(agentPort), "--address", "$(POD_IP)", "--dir", "/data/agent",
		"--ca", "/certificates/ca.crt", "--cert", pair + ".crt", "--key", pair + ".key",
	}
	if o.outsidePodNetwork {
		args = append(args, "--reach")
	}
	return object{
		"name": "agent", "image": o.Image, "imagePullPolicy": "IfNotPresent", "args": args,
		"env":   []object{{"name": "POD_IP", "valueFrom": object{"fieldRef": object{"fieldPath": "status.podIP"}}}},
		"ports": []object{{"name": "agent", "containerPort": agentPort}},
		"stdin": true, // because an agent for one session exits when its standard input is closed
		"resources": object{
			"requests": object{"cpu": o.CPU.Request, "memory": o.Memory.Request}, "limits": object{"cpu": o.CPU.Limit, "memory": o.Memory.Limit},
		},
		// The pod is ready when the agent is listening. After that, Kubernetes does not probe the
		// pod, because probes would disturb the measurement.
		"startupProbe":    object{"tcpSocket": object{"port": agentPort}, "periodSeconds": 1, "failureThreshold": seconds(agent.FirstSessionTimeout)},
		"securityContext": restricted,
		"volumeMounts":    []object{{"name": dataVolume, "mountPath": "/data"}, {"name": "certificates", "mountPath": "/certificates", "readOnly": true}},
	}
}

const dataVolume = "data"

// data returns the volume that contains the data of a member or the few files of a worker.
func (o *Options) data(role string, labels map[string]string) object {
	if o.StorageClass == "" || role == workerRole {
		return object{"name": dataVolume, "emptyDir": object{}}
	}
	return object{"name": dataVolume, "ephemeral": object{"volumeClaimTemplate": object{"metadata": object{"labels": labels}, "spec": object{
		"accessModes": []string{"ReadWriteOnce"}, "storageClassName": o.StorageClass, "resources": object{"requests": object{"storage": o.Storage}},
	}}}}
}

// secret returns the Secret that contains the agents' certificates. The Job owns it.
func secret(run string, files map[string][]byte, owner object) object {
	return object{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": object{
			"name": secretName(run), "labels": map[string]string{nameLabel: appName, runLabel: run}, "ownerReferences": []object{owner},
		},
		"immutable": true, "data": files,
	}
}

// ownerReference returns an owner reference to the Job with the given metadata, for use in another
// object.
func ownerReference(job *metadata) object {
	return object{"apiVersion": "batch/v1", "kind": "Job", "name": job.Name, "uid": job.UID, "blockOwnerDeletion": true}
}

// hostname returns the name of the controller's machine, for an annotation.
func hostname() string {
	name, _ := os.Hostname() // an empty name is acceptable
	return name
}
