package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/agent"
)

// Pods contains the pods of one run. Each pod runs an agent.
type Pods struct {
	o       Options
	api     *api
	run     string    // prefix of all object names
	owner   *metadata // the Job that owns all other objects
	secrets agent.Credentials
	clock   func() time.Time
}

// CreatePods creates the pods of a run. It does not wait until the pods are ready. All objects
// belong to one Job, which ends when its agents exit. The agents exit when their controller does.
// If the pods do not become ready in time, Kubernetes ends the Job.
func CreatePods(ctx context.Context, o Options) (*Pods, error) {
	api, err := connect(&o)
	if err != nil {
		return nil, err
	}
	o.outsidePodNetwork = !api.inPod
	p := &Pods{o: o, api: api, run: newRunName(), clock: time.Now}
	if p.secrets, err = agent.NewCredentials(p.Hosts(), MaxRunDuration+time.Hour, p.clock()); err != nil {
		return nil, err
	}
	if err := p.createObjects(ctx); err != nil {
		err = fmt.Errorf("cannot create agents in namespace %s: %w", api.namespace, err)
		if p.owner == nil && isNothingCreated(err) {
			return nil, err
		}
		return nil, errors.Join(err, p.Remove())
	}
	o.Logf("created %d agents in namespace %s with Job %s", o.Members+o.Workers, api.namespace, p.owner.Name)
	return p, nil
}

// ownerRole returns the role of the pods whose Job owns all other objects, and the number of these
// pods.
func (p *Pods) ownerRole() (role string, pods int) {
	if p.o.Workers == 0 {
		return memberRole, p.o.Members
	}
	return workerRole, p.o.Workers
}

// createObjects creates the Job that owns the other objects, and then these objects.
func (p *Pods) createObjects(ctx context.Context) error {
	deadline := p.o.ReadyTimeout + time.Minute
	role, n := p.ownerRole()
	var made struct{ Metadata metadata }
	if err := p.api.create(ctx, "jobs", p.o.job(p.run, role, n, deadline), &made); err != nil {
		return err
	}
	p.owner = &made.Metadata
	if err := p.api.create(ctx, "secrets", secret(p.run, p.secrets.Files(), ownerReference(p.owner)), nil); err != nil {
		return err
	}
	if p.o.Members == 0 || role == memberRole {
		return nil
	}
	return p.api.create(ctx, "jobs", p.o.job(p.run, memberRole, p.o.Members, MaxRunDuration, ownerReference(p.owner)), nil)
}

// Hosts returns the names of all agents, members first.
func (p *Pods) Hosts() []string { return append(Members(p.o.Members), Workers(p.o.Workers)...) }

// Members returns the names of n agents for members.
func Members(n int) []string { return names(memberRole, n) }

// Workers returns the names of n agents for workers.
func Workers(n int) []string { return names(workerRole, n) }

func names(role string, n int) (all []string) {
	for i := range n {
		all = append(all, role+"-"+strconv.Itoa(i))
	}
	return all
}

// transportTo returns a Transport to the agent in a pod. If we run in a pod, the Transport connects
// directly; otherwise, it connects through the API.
func (p *Pods) transportTo(pod *pod) agent.Transport {
	return &agent.Mutual{Name: hostOf(pod), Credentials: p.secrets, Over: func(ctx context.Context) (net.Conn, error) {
		if p.api.inPod {
			return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(agentPort)))
		}
		return p.api.forward(ctx, pod.Metadata.Name, agentPort)
	}}
}

// extendDeadline extends the deadline of the Job that owns the other objects. It must be called
// when all agents have a controller.
func (p *Pods) extendDeadline(ctx context.Context) error {
	patch := fmt.Sprintf(`{"spec":{"activeDeadlineSeconds":%d}}`, seconds(MaxRunDuration))
	return p.api.ask(ctx, http.MethodPatch, p.api.path("jobs", p.owner.Name), "application/merge-patch+json", []byte(patch), nil)
}

// Remove removes all objects of the run and waits until they no longer exist. It may be called more
// than once.
func (p *Pods) Remove() error {
	// With foreground deletion, Kubernetes removes the Job last. Therefore, no other object remains
	// when the Job no longer exists. We cannot check whether the Secret exists, because this would
	// require the right to read all Secrets in the namespace.
	kinds := []string{"pods", "jobs"}
	if p.o.StorageClass != "" { // Kubernetes removes the volume claims of members after their pods
		kinds = append(kinds, "persistentvolumeclaims")
	}
	role, _ := p.ownerRole()
	name := jobName(p.run, role)
	if err := p.api.removeJob(removeTimeout, name, p.run, kinds...); err != nil {
		return fmt.Errorf("the agents in namespace %s may still exist (Kubernetes will remove Job %s when they have exited): %w", p.api.namespace, name, err)
	}
	return nil
}
