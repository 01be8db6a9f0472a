package kubernetes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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
func (o *Options) job(run, role string, count int, deadline time.Duration) *batch.Job {
	labels := map[string]string{nameLabel: ourName, runLabel: run, roleLabel: role}
	return &batch.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: jobName(run, role), Labels: labels, Annotations: map[string]string{"quorumbench/controller": hostname()}},
		Spec: batch.JobSpec{
			Completions: new(int32(count)), Parallelism: new(int32(count)), CompletionMode: new(batch.IndexedCompletion),
			BackoffLimit: new(int32(0)), ActiveDeadlineSeconds: new(int64(deadline / time.Second)),
			TTLSecondsAfterFinished: new(int32(leftFor / time.Second)),
			Template:                core.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: o.pod(role, labels)},
		},
	}
}

func jobName(run, role string) string { return run + "-" + role + "s" }

func secretName(run string) string { return run + "-certificates" }

// pod is an agent in its container.
func (o *Options) pod(role string, labels map[string]string) core.PodSpec {
	pair := "/certificates/" + role + "-$(JOB_COMPLETION_INDEX)" // which Kubernetes puts in
	args := []string{
		"agent", "--once", "--listen", ":" + strconv.Itoa(agentPort), "--address", "$(POD_IP)", "--dir", "/data/agent",
		"--ca", "/certificates/ca.crt", "--cert", pair + ".crt", "--key", pair + ".key",
	}
	if o.outside {
		args = append(args, "--reach")
	}
	return core.PodSpec{
		RestartPolicy: core.RestartPolicyNever, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		TerminationGracePeriodSeconds: new(int64(endWithin / time.Second)),
		SecurityContext: &core.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(nobody)), RunAsGroup: new(int64(nobody)), FSGroup: new(int64(nobody)),
			SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault},
		},
		TopologySpreadConstraints: []core.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: core.LabelHostname, WhenUnsatisfiable: core.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
		}},
		Containers: []core.Container{{
			Name: "agent", Image: o.Image, ImagePullPolicy: core.PullIfNotPresent, Args: args,
			Env: []core.EnvVar{
				{Name: "POD_IP", ValueFrom: &core.EnvVarSource{FieldRef: &core.ObjectFieldSelector{FieldPath: "status.podIP"}}},
			},
			Ports:     []core.ContainerPort{{Name: "agent", ContainerPort: agentPort}},
			Stdin:     true, // an agent that serves once ends with its standard input
			Resources: core.ResourceRequirements{Requests: o.resources(requested), Limits: o.resources(limited)},
			// Ready when it listens, and not asked any more then: a probe would disturb what
			// is measured.
			StartupProbe: &core.Probe{
				ProbeHandler:  core.ProbeHandler{TCPSocket: &core.TCPSocketAction{Port: intstr.FromInt32(agentPort)}},
				PeriodSeconds: 1, FailureThreshold: int32(agent.AwaitController / time.Second),
			},
			SecurityContext: &core.SecurityContext{
				AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}},
			},
			VolumeMounts: []core.VolumeMount{{Name: dataVolume, MountPath: "/data"}, {Name: "certificates", MountPath: "/certificates", ReadOnly: true}},
		}},
		Volumes: []core.Volume{
			o.data(role, labels),
			{Name: "certificates", VolumeSource: core.VolumeSource{Secret: &core.SecretVolumeSource{SecretName: secretName(labels[runLabel]), DefaultMode: new(int32(0o440))}}},
		},
	}
}

const dataVolume = "data"

// data is where members keep theirs, and workers what little they write.
func (o *Options) data(role string, labels map[string]string) core.Volume {
	v := core.Volume{Name: dataVolume}
	if o.StorageClass == "" || role == worker {
		v.EmptyDir = &core.EmptyDirVolumeSource{}
		return v
	}
	v.Ephemeral = &core.EphemeralVolumeSource{VolumeClaimTemplate: &core.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: core.PersistentVolumeClaimSpec{
		AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce}, StorageClassName: new(o.StorageClass),
		Resources: core.VolumeResourceRequirements{Requests: core.ResourceList{core.ResourceStorage: resource.MustParse(o.Storage)}},
	}}}
	return v
}

// CheckStorage says what is wrong with a volume's size.
func CheckStorage(size string) error {
	if q, err := resource.ParseQuantity(size); err != nil || q.Sign() <= 0 {
		return fmt.Errorf("%q is no size; write one as Kubernetes does, as in 10Gi", size)
	}
	return nil
}

// Share is what a pod requests of a resource, and the most that it gets.
type Share struct{ Request, Limit resource.Quantity }

// ParseShare reads REQUEST:LIMIT, or one quantity for both.
func ParseShare(s string) (Share, error) {
	parts := make([]resource.Quantity, 0, 2)
	for _, part := range strings.SplitN(s, ":", 2) {
		q, err := resource.ParseQuantity(part)
		if err != nil || q.Sign() <= 0 {
			return Share{}, fmt.Errorf("%q is no quantity; write one as Kubernetes does, as in 500m, 2 or 1Gi, or two as REQUEST:LIMIT", part)
		}
		parts = append(parts, q)
	}
	share := Share{parts[0], parts[len(parts)-1]}
	if share.Request.Cmp(share.Limit) > 0 {
		return Share{}, fmt.Errorf("%q requests more than its limit", s)
	}
	return share, nil
}

// String returns the share as ParseShare reads it.
func (s Share) String() string {
	if s.Request.Cmp(s.Limit) == 0 {
		return s.Request.String()
	}
	return s.Request.String() + ":" + s.Limit.String()
}

func requested(s Share) resource.Quantity { return s.Request }
func limited(s Share) resource.Quantity   { return s.Limit }

func (o *Options) resources(of func(Share) resource.Quantity) core.ResourceList {
	return core.ResourceList{core.ResourceCPU: of(o.CPU), core.ResourceMemory: of(o.Memory)}
}

// secret is the agents' certificates. It belongs to the Job.
func secret(run string, files map[string][]byte, owner *batch.Job) *core.Secret {
	return &core.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: secretName(run), Labels: map[string]string{nameLabel: ourName, runLabel: run}, OwnerReferences: owned(owner),
		},
		Immutable: new(true), Data: files,
	}
}

// owned names a Job as the owner of an object, which it outlives.
func owned(by *batch.Job) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: by.Name, UID: by.UID, BlockOwnerDeletion: new(true)}}
}
