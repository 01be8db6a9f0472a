package kubernetes

import (
	"os"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/agent"
)

// The roles of pods. Those of each are a Job with an index for each pod.
const (
	member = "member"
	worker = "worker"
)

// Labels of all that is made. runLabel alone selects one run's.
const (
	nameLabel = "app.kubernetes.io/name"
	runLabel  = "quorumbench/run"
	roleLabel = "quorumbench/role"
	ourName   = "quorumbench"
)

const (
	agentPort = 7420
	// leftFor is how long a Job that has ended, and all that belongs to it, stays, so
	// that it can be seen why.
	leftFor = 10 * time.Second
	// longest bounds a run: pods that have a controller end after that.
	longest = 24 * time.Hour
	// nobody is the user without rights that the image runs as.
	nobody = 65532
	// endWithin is how long a pod may take to end what it started.
	endWithin = 15 * time.Second
)

// job is the Job of one role's agents. It fails as a whole with its first pod, and
// Kubernetes removes it when it has ended, with what belongs to it.
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

// pod is an agent in its container.
func (o *Options) pod(role string, labels map[string]string) object {
	return object{
		"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false,
		"terminationGracePeriodSeconds": endWithin / time.Second,
		"securityContext": object{
			"runAsNonRoot": true, "runAsUser": nobody, "runAsGroup": nobody, "fsGroup": nobody, "seccompProfile": object{"type": "RuntimeDefault"},
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
	pair := "/certificates/" + role + "-$(JOB_COMPLETION_INDEX)" // which Kubernetes puts in
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
		"stdin": true, // an agent that serves once ends with its standard input
		"resources": object{
			"requests": object{"cpu": o.CPU.Request, "memory": o.Memory.Request}, "limits": object{"cpu": o.CPU.Limit, "memory": o.Memory.Limit},
		},
		// Ready when it listens, and not asked any more then: a probe would disturb what
		// is measured.
		"startupProbe":    object{"tcpSocket": object{"port": agentPort}, "periodSeconds": 1, "failureThreshold": agent.AwaitController / time.Second},
		"securityContext": object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []string{"ALL"}}},
		"volumeMounts":    []object{{"name": dataVolume, "mountPath": "/data"}, {"name": "certificates", "mountPath": "/certificates", "readOnly": true}},
	}
}

const dataVolume = "data"

// data is where members keep theirs, and workers what little they write.
func (o *Options) data(role string, labels map[string]string) object {
	if o.StorageClass == "" || role == worker {
		return object{"name": dataVolume, "emptyDir": object{}}
	}
	return object{"name": dataVolume, "ephemeral": object{"volumeClaimTemplate": object{"metadata": object{"labels": labels}, "spec": object{
		"accessModes": []string{"ReadWriteOnce"}, "storageClassName": o.StorageClass, "resources": object{"requests": object{"storage": o.Storage}},
	}}}}
}

// secret is the agents' certificates. It belongs to the Job.
func secret(run string, files map[string][]byte, owner object) object {
	return object{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": object{
			"name": secretName(run), "labels": map[string]string{nameLabel: ourName, runLabel: run}, "ownerReferences": []object{owner},
		},
		"immutable": true, "data": files,
	}
}

// owned names a Job as the owner of an object, which it outlives.
func owned(by *metadata) object {
	return object{"apiVersion": "batch/v1", "kind": "Job", "name": by.Name, "uid": by.UID, "blockOwnerDeletion": true}
}

// hostname is how the agents' owner says where it was made.
func hostname() string {
	name, _ := os.Hostname() // it is a note
	return name
}
