package cli

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/kubernetes"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// onKubernetes is the only value that --on accepts.
const onKubernetes = "kubernetes"

// pods holds the flags of `run --on kubernetes`, and the sessions with the agents in its pods.
type pods struct {
	on        string
	o         kubernetes.Options
	members   int
	workers   int
	endpoints string

	making sync.Mutex // held while the first call of dial creates all pods
	made   *kubernetes.Pods
	failed error // why the sessions could not be started

	mu        sync.Mutex
	remotes   map[string]*agent.Remote // key: host name
	addresses map[string]string        // addresses of the pods; key: host name
}

// podFlags lists the flags that are valid only with --on kubernetes.
var podFlags = []string{
	"namespace", "image", "kubeconfig", "context", "members", "workers", "endpoints", "pod-cpu", "pod-memory", "pod-storage-class", "pod-storage", "ready-timeout",
}

func (p *pods) register(r command.Flags) {
	p.o.CPU, _ = kubernetes.ParseShare("1")      // a valid quantity
	p.o.Memory, _ = kubernetes.ParseShare("1Gi") // a valid quantity
	p.o.Ready, p.o.Storage = 5*time.Minute, "10Gi"
	r.Text("on", &p.on, onKubernetes, "create pods for members and workers, and delete them at the end (docs/how-to/many-machines.md)")
	r.Text("namespace", &p.o.Namespace, "NAME", "with --on kubernetes: namespace of the pods (default: the namespace of the context in the kubeconfig)")
	r.Text("image", &p.o.Image, "NAME", "with --on kubernetes: container image with this version of quorumbench (\"make image\" builds it)")
	r.Text("kubeconfig", &p.o.Kubeconfig, "FILE", "with --on kubernetes: kubeconfig file (default: the file that kubectl uses or, in a pod, the service account)")
	r.Text("context", &p.o.Context, "NAME", "with --on kubernetes: context in the kubeconfig (default: the current context)")
	r.Int("members", &p.members, "with --on kubernetes: number of members to start in each cluster; each member has its own pod")
	r.Int("workers", &p.workers, "with --on kubernetes: number of pods that share the load")
	r.Text("endpoints", &p.endpoints, "HOST:PORT,...", "with --on kubernetes: use the running cluster at these endpoints, which pods must be able to reach, instead of starting clusters")
	command.Value(r, "pod-cpu", &p.o.CPU, "REQUEST[:LIMIT]", kubernetes.ParseShare, kubernetes.Share.String, "with --on kubernetes: CPUs of each pod")
	command.Value(r, "pod-memory", &p.o.Memory, "REQUEST[:LIMIT]", kubernetes.ParseShare, kubernetes.Share.String, "with --on kubernetes: memory of each pod")
	r.Text("pod-storage-class", &p.o.StorageClass, "NAME", "with --on kubernetes: storage class of the volume for each member's data, instead of a folder on the member's node")
	r.Text("pod-storage", &p.o.Storage, "SIZE", "with --pod-storage-class: size of the volume")
	r.Span("ready-timeout", &p.o.Ready, "with --on kubernetes: maximum time for pods to become ready")
	command.SetGroup(r.Set, command.PodFlags, append([]string{"on"}, podFlags...)...)
}

// check returns a usage error for flags that contradict each other.
func (p *pods) check(given func(string) bool) error {
	if p.on == "" {
		for _, flag := range podFlags {
			if given(flag) {
				return command.Usage("--%s applies only to pods; add --on kubernetes", flag)
			}
		}
		return nil
	}
	switch {
	case p.on != onKubernetes:
		return command.Usage("--on: %q is not known; write --on kubernetes", p.on)
	case p.o.Image == "":
		return command.Usage("--image is missing; give the image with this version of quorumbench, which `make image` builds")
	case p.members > 0 && p.endpoints != "":
		return command.Usage("--members starts a cluster, but --endpoints names a running cluster; give only one of them")
	case p.o.Ready < time.Second || p.o.Ready > time.Hour:
		return command.Usage("--ready-timeout must be from 1s to 1h, not %v", p.o.Ready)
	case p.o.StorageClass != "" && p.endpoints != "":
		return command.Usage("--pod-storage-class applies only to members that quorumbench starts, but --endpoints names a running cluster; give only one of them")
	case given("pod-storage") && p.o.StorageClass == "":
		return command.Usage("--pod-storage sets the size of volumes, but no volume is requested; add --pod-storage-class")
	}
	if err := kubernetes.CheckStorage(p.o.Storage); err != nil {
		return command.Usage("--pod-storage: %w", err)
	}
	return nil
}

// set returns the parameters that the flags set in all trials.
func (p *pods) set() (all []scenario.Assignment) {
	for _, s := range []struct {
		key   string
		given bool
		value string
	}{
		{"endpoints", p.endpoints != "", "[" + p.endpoints + "]"},
		{"members", p.members > 0, strconv.Itoa(p.members)},
		{"workers", p.workers > 0, strconv.Itoa(p.workers)},
	} {
		if s.given {
			all = append(all, scenario.Assignment{Key: s.key, Value: s.value})
		}
	}
	return all
}

// place assigns the members and workers of all trials to hosts, one per pod. The pods are created
// later.
func (p *pods) place(s *scenario.Scenario) error {
	if p.on == "" {
		return nil
	}
	if len(s.Hosts) > 0 {
		return command.Usage("--on kubernetes creates the hosts, but the scenario defines hosts, too; remove them from the scenario")
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Cluster.Attach == nil {
			p.o.Members = max(p.o.Members, t.Cluster.Members)
		}
		p.o.Workers = max(p.o.Workers, int(t.Load.Workers), 1)
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Cluster.Attach == nil {
			t.Cluster.On = kubernetes.Members(t.Cluster.Members)
		}
		t.WorkersOn = kubernetes.Workers(max(int(t.Load.Workers), 1))
	}
	for _, name := range append(kubernetes.Members(p.o.Members), kubernetes.Workers(p.o.Workers)...) {
		s.Hosts = append(s.Hosts, scenario.Host{Name: name, Via: scenario.ViaAgent})
	}
	return nil
}

// dial returns the session with the agent on a host, and sets the host's address. The first call
// creates all pods and starts the sessions with all agents.
func (p *pods) dial(ctx context.Context, h *scenario.Host) (*agent.Remote, error) {
	p.making.Lock()
	defer p.making.Unlock()
	if p.remotes == nil { // the first call; later calls return the same error
		p.remotes, p.addresses = map[string]*agent.Remote{}, map[string]string{}
		if p.made, p.failed = kubernetes.CreatePods(ctx, p.o); p.failed == nil {
			p.failed = p.made.Ready(ctx, p.reached)
		}
	}
	if p.failed != nil {
		return nil, p.failed
	}
	h.Address = p.addresses[h.Name]
	return p.remotes[h.Name], nil
}

// reached starts the session with one agent.
func (p *pods) reached(ctx context.Context, host, address string, way agent.Transport) error {
	r, err := agent.Dial(ctx, agent.Target{Name: host, Address: address, Version: agentVersion(), Transport: way})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remotes[host], p.addresses[host] = r, address
	return nil
}

// remove ends the sessions and deletes the pods. It joins the error from deleting them to err.
func (p *pods) remove(err error) error {
	if p.made == nil {
		return err
	}
	var leaving sync.WaitGroup
	for _, r := range p.remotes {
		leaving.Go(func() { _ = r.Close() }) // the run's error already has the cause
	}
	leaving.Wait()
	return errors.Join(err, p.made.Remove())
}
