package kubernetes

import (
	"os"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/agent"
)

// Roles of pods. All pods with the same role belong to an indexed Job.
const (
	member = "member"
	worker = "worker"
)

// Labels of all objects that we create. runLabel selects the objects of one run.
const (
	nameLabel = "app.kubernetes.io/name"
	runLabel  = "quorumbench/run"
	roleLabel = "quorumbench/role"
	ourName   = "quorumbench"
)

const (
	agentPort = 7420
	// leftFor is how long a Job that has ended is kept for inspection, together with everything
	// that it owns.
	leftFor = 10 * time.Second
	// longest limits a run: pods that have a controller are stopped after this time.
	longest = 24 * time.Hour
	// unprivileged is the ID of the unprivileged user in the image.
	unprivileged = 65532
	// endWithin is how long a pod may take to stop its processes.
	endWithin = 15 * time.Second
)

// job returns the Job for the agents of one role. The Job fails when any of its pods fails.
// Kubernetes removes a Job that has ended, together with everything that it owns.
func (o *Options) job(run, role string, count int, deadline time.Duration, owners ...object) object {
	labels := map[string]string{nameLabel: ourName, runLabel: run, roleLabel: role}
	return object{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": object{
			"name": jobName(run, role), "labels": labels, "annotations": map[string]string{"quorumbench/controller": hostname()}, "ownerReferences": owners,
		},
		"spec": object{
			"completions": count, "parallelism": count, "completionMode": "Indexed",
			"backoffLimit": 0, "activeDeadlineSeconds": deadline / time.Second, "ttlSecondsAfterFinished": leftFor / time.Second,
			"template": object{"metadata": object{"labels": labels}, "spec": o.pod(role, labels)},
		},
	}
}

func jobName(run, role string) string { return run + "-" + role + "s" }

func secretName(run string) string { return run + "-certificates" }

// pod returns the specification of a pod with an agent.
func (o *Options) pod(role string, labels map[string]string) object {
	return object{
		"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false,
		"terminationGracePeriodSeconds": endWithin / time.Second,
		"securityContext": object{
			"runAsNonRoot": true, "runAsUser": unprivileged, "runAsGroup": unprivileged, "fsGroup": unprivileged, "seccompProfile": object{"type": "RuntimeDefault"},
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
	if o.outside {
		args = append(args, "--reach")
	}
	return object{
		"name": "agent", "image": o.Image, "imagePullPolicy": "IfNotPresent", "args": args,
		"env":   []object{{"name": "POD_IP", "valueFrom": object{"fieldRef": object{"fieldPath": "status.podIP"}}}},
		"ports": []object{{"name": "agent", "containerPort": agentPort}},
		"stdin": true, // an agent for one session exits when its standard input is closed
		"resources": object{
			"requests": object{"cpu": o.CPU.Request, "memory": o.Memory.Request}, "limits": object{"cpu": o.CPU.Limit, "memory": o.Memory.Limit},
		},
		// The pod is ready when the agent is listening. There are no later probes, because they
		// would disturb the measurement.
		"startupProbe":    object{"tcpSocket": object{"port": agentPort}, "periodSeconds": 1, "failureThreshold": agent.AwaitController / time.Second},
		"securityContext": object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []string{"ALL"}}},
		"volumeMounts":    []object{{"name": dataVolume, "mountPath": "/data"}, {"name": "certificates", "mountPath": "/certificates", "readOnly": true}},
	}
}

const dataVolume = "data"

// data returns the volume for a member's data or for a worker's few files.
func (o *Options) data(role string, labels map[string]string) object {
	if o.StorageClass == "" || role == worker {
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
			"name": secretName(run), "labels": map[string]string{nameLabel: ourName, runLabel: run}, "ownerReferences": []object{owner},
		},
		"immutable": true, "data": files,
	}
}

// owned returns a reference to a Job as the owner of another object.
func owned(by *metadata) object {
	return object{"apiVersion": "batch/v1", "kind": "Job", "name": by.Name, "uid": by.UID, "blockOwnerDeletion": true}
}

// hostname returns the name of the controller's machine, for an annotation.
func hostname() string {
	name, _ := os.Hostname() // an empty name is acceptable
	return name
}
