package kubernetes

import (
	"os"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/agent"
)

// Roles of pods. The pods of a role are an indexed Job.
const (
	member = "member"
	worker = "worker"
)

// Labels of everything that is made. runLabel selects the objects of one run.
const (
	nameLabel = "app.kubernetes.io/name"
	runLabel  = "quorumbench/run"
	roleLabel = "quorumbench/role"
	ourName   = "quorumbench"
)

const (
	agentPort = 7420
	// leftFor is how long an ended Job, with everything that belongs to it, remains for
	// inspection.
	leftFor = 10 * time.Second
	// longest bounds a run: pods with a controller end after that.
	longest = 24 * time.Hour
	// unprivileged is the ID of the unprivileged user that the image runs as.
	unprivileged = 65532
	// endWithin is how long a pod may take to end its processes.
	endWithin = 15 * time.Second
)

// job returns the Job of one role's agents. It fails when its first pod fails. Kubernetes
// removes an ended Job with everything that belongs to it.
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
		"stdin": true, // an agent for one session ends with its standard input
		"resources": object{
			"requests": object{"cpu": o.CPU.Request, "memory": o.Memory.Request}, "limits": object{"cpu": o.CPU.Limit, "memory": o.Memory.Limit},
		},
		// The pod is ready when the agent listens. There is no later probe, because it would
		// disturb the measurement.
		"startupProbe":    object{"tcpSocket": object{"port": agentPort}, "periodSeconds": 1, "failureThreshold": agent.AwaitController / time.Second},
		"securityContext": object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []string{"ALL"}}},
		"volumeMounts":    []object{{"name": dataVolume, "mountPath": "/data"}, {"name": "certificates", "mountPath": "/certificates", "readOnly": true}},
	}
}

const dataVolume = "data"

// data returns the volume for members' data, or for a worker's few files.
func (o *Options) data(role string, labels map[string]string) object {
	if o.StorageClass == "" || role == worker {
		return object{"name": dataVolume, "emptyDir": object{}}
	}
	return object{"name": dataVolume, "ephemeral": object{"volumeClaimTemplate": object{"metadata": object{"labels": labels}, "spec": object{
		"accessModes": []string{"ReadWriteOnce"}, "storageClassName": o.StorageClass, "resources": object{"requests": object{"storage": o.Storage}},
	}}}}
}

// secret returns the Secret with the agents' certificates. It belongs to the Job.
func secret(run string, files map[string][]byte, owner object) object {
	return object{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": object{
			"name": secretName(run), "labels": map[string]string{nameLabel: ourName, runLabel: run}, "ownerReferences": []object{owner},
		},
		"immutable": true, "data": files,
	}
}

// owned returns a reference to a Job as the owner of an object.
func owned(by *metadata) object {
	return object{"apiVersion": "batch/v1", "kind": "Job", "name": by.Name, "uid": by.UID, "blockOwnerDeletion": true}
}

// hostname returns the name of the controller's machine, for an annotation.
func hostname() string {
	name, _ := os.Hostname() // an empty name is acceptable
	return name
}
