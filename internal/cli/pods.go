package cli

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/kubernetes"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// onKubernetes is the only value that --on accepts.
const onKubernetes = "kubernetes"

// pods holds the flags that belong to `--on kubernetes`, and the sessions with the agents in the
// pods.
type pods struct {
	kubernetesFlags
	members   int
	workers   int
	endpoints string

	createMutex sync.Mutex // held while the first call of dial creates all pods
	created     *kubernetes.Pods
	startErr    error // why the sessions could not be started

	mu      sync.Mutex
	remotes map[string]*agent.Remote       // key: host name
	ready   map[string]kubernetes.ReadyPod // key: host name
}

// kubernetesFlags holds the flags that all commands with --on kubernetes have.
type kubernetesFlags struct {
	enabledOn string
	options   kubernetes.Options
	flags     *pflag.FlagSet // of the command
	names     []string       // of the flags that are valid only with --on kubernetes
}

// register registers the flags, and calls the function `more`, which registers further flags. The
// other parameters describe the flags --on and --namespace, and the default of --image.
func (k *kubernetesFlags) register(r command.Flags, on, namespace, image string, more func()) {
	known := map[string]bool{"on": true}
	r.Set.VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	k.flags, k.options.ReadyTimeout = r.Set, 5*time.Minute
	r.Text("on", &k.enabledOn, onKubernetes, on)
	r.Text("namespace", &k.options.Namespace, "NAME", "with --on kubernetes: "+namespace)
	r.Text("image", &k.options.Image, "NAME", "with --on kubernetes: container image with this version of quorumbench (\"make image\" builds it"+image+")")
	r.Text("kubeconfig", &k.options.Kubeconfig, "FILE", "with --on kubernetes: kubeconfig file (default: the file that kubectl uses or, in a pod, the service account)")
	r.Text("context", &k.options.Context, "NAME", "with --on kubernetes: context in the kubeconfig (default: the current context)")
	r.Duration("ready-timeout", &k.options.ReadyTimeout, "with --on kubernetes: maximum time for pods to start")
	more()
	r.Set.VisitAll(func(f *pflag.Flag) {
		if !known[f.Name] {
			k.names = append(k.names, f.Name)
		}
	})
	command.SetGroup(r.Set, command.PodFlags, append([]string{"on"}, k.names...)...)
}

// check returns a usage error for flags that contradict each other.
func (k *kubernetesFlags) check() error {
	switch {
	case k.enabledOn == "":
		for _, flag := range k.names {
			if k.flags.Changed(flag) {
				return command.Usage("--%s applies only to pods; add --on kubernetes", flag)
			}
		}
	case k.enabledOn != onKubernetes:
		return command.Usage("--on: %q is not known; write --on kubernetes", k.enabledOn)
	case k.options.ReadyTimeout < time.Second || k.options.ReadyTimeout > time.Hour:
		return command.Usage("--ready-timeout must be from 1s to 1h, not %v", k.options.ReadyTimeout)
	}
	return nil
}

// registerForRun registers the flags of pods for members and workers.
func (p *pods) registerForRun(r command.Flags) {
	p.register(r, "create pods for members and workers, and delete them at the end (docs/how-to/many-machines.md)", func() {
		r.Int("members", &p.members, "with --on kubernetes: number of members to start in each cluster; each member has its own pod")
		r.Int("workers", &p.workers, "with --on kubernetes: number of pods that share the load")
		r.Text("endpoints", &p.endpoints, "HOST:PORT,...", "with --on kubernetes: use the running cluster at these endpoints, and start no clusters; pods must be able to reach the endpoints")
	})
}

// registerForHosts registers the flags of pods whose nodes are checked.
func (p *pods) registerForHosts(r command.Flags) {
	p.register(r, "check the nodes of a Kubernetes cluster: create pods that write and send packets, and delete them at the end", func() {
		r.Int("members", &p.members, "with --on kubernetes: number of pods; Kubernetes distributes them over the nodes if it can")
	})
}

// register registers the flags that all commands with agents in pods have, and calls the function
// `more`, which registers further flags.
func (p *pods) register(r command.Flags, on string, more func()) {
	p.options.CPU, _ = kubernetes.ParseShare("1")      // a valid quantity
	p.options.Memory, _ = kubernetes.ParseShare("1Gi") // a valid quantity
	p.options.Storage = "10Gi"
	p.kubernetesFlags.register(r, on, "namespace of the pods (default: the namespace of the context in the kubeconfig)", "", func() {
		command.Value(r, "pod-cpu", &p.options.CPU, "REQUEST[:LIMIT]", kubernetes.ParseShare, kubernetes.Share.String, "with --on kubernetes: CPUs of each pod")
		command.Value(r, "pod-memory", &p.options.Memory, "REQUEST[:LIMIT]", kubernetes.ParseShare, kubernetes.Share.String, "with --on kubernetes: memory of each pod")
		r.Text("pod-storage-class", &p.options.StorageClass, "NAME", "with --on kubernetes: storage class of the volume for each member's data (default: no volume, but a folder on the member's node)")
		r.Text("pod-storage", &p.options.Storage, "SIZE", "with --pod-storage-class: size of the volume")
		more()
	})
}

// check returns a usage error for flags that contradict each other.
func (p *pods) check() error {
	if err := p.kubernetesFlags.check(); err != nil || p.enabledOn == "" {
		return err
	}
	switch {
	case p.options.Image == "":
		return command.Usage("--image is missing; give the image with this version of quorumbench, which `make image` builds")
	case p.members > 0 && p.endpoints != "":
		return command.Usage("--members starts a cluster, but --endpoints names a running cluster; give only one of them")
	case p.options.StorageClass != "" && p.endpoints != "":
		return command.Usage("--pod-storage-class applies only to members that quorumbench starts, but --endpoints names a running cluster; give only one of them")
	case p.flags.Changed("pod-storage") && p.options.StorageClass == "":
		return command.Usage("--pod-storage sets the size of volumes, but no volume is requested; add --pod-storage-class")
	}
	if err := kubernetes.CheckStorage(p.options.Storage); err != nil {
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
	switch {
	case p.enabledOn == "":
		return nil
	case p.flags.Changed("members") && (p.members < 1 || p.members > kv.MaxMembers):
		return command.Usage("--members must be from 1 to %d, not %d", kv.MaxMembers, p.members)
	case p.flags.Changed("workers") && (p.workers < 1 || p.workers > scenario.MaxWorkers):
		return command.Usage("--workers must be from 1 to %d, not %d", scenario.MaxWorkers, p.workers)
	case p.flags.Changed("endpoints") && p.endpoints == "":
		return command.Usage("--endpoints: no endpoint is given; write HOST:PORT")
	case len(s.Hosts) > 0:
		return command.Usage("--on kubernetes creates the hosts, but the scenario defines hosts, too; remove them from the scenario")
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Cluster.RunningCluster == nil {
			p.options.Members = max(p.options.Members, t.Cluster.Members)
		}
		p.options.Workers = max(p.options.Workers, int(t.Load.Workers), 1)
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Cluster.RunningCluster == nil {
			t.Cluster.Hosts = kubernetes.Members(t.Cluster.Members)
		}
		t.WorkerHosts = kubernetes.Workers(max(int(t.Load.Workers), 1))
	}
	for _, name := range append(kubernetes.Members(p.options.Members), kubernetes.Workers(p.options.Workers)...) {
		s.Hosts = append(s.Hosts, scenario.Host{Name: name, Transport: scenario.TransportAgent})
	}
	return nil
}

// dial returns the session with the agent on a host, and sets the host's address. The first call
// creates all pods and starts the sessions with all agents.
func (p *pods) dial(ctx context.Context, h *scenario.Host) (*agent.Remote, error) {
	p.createMutex.Lock()
	defer p.createMutex.Unlock()
	if p.remotes == nil { // only the first call creates pods; if it fails, later calls return its error
		p.remotes, p.ready = map[string]*agent.Remote{}, map[string]kubernetes.ReadyPod{}
		if p.created, p.startErr = kubernetes.CreatePods(ctx, p.options); p.startErr == nil {
			p.startErr = p.created.Ready(ctx, p.startSession)
		}
	}
	if p.startErr != nil {
		return nil, p.startErr
	}
	h.Address = p.ready[h.Name].Address
	return p.remotes[h.Name], nil
}

// startSession starts the session with the agent in a pod.
func (p *pods) startSession(ctx context.Context, pod kubernetes.ReadyPod) error {
	r, err := agent.Dial(ctx, agent.Target{Name: pod.Host, Address: pod.Address, Version: agentVersion(), Transport: pod.Transport})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remotes[pod.Host], p.ready[pod.Host] = r, pod
	return nil
}

// remove ends the sessions and deletes the pods. It returns err joined with any error from the
// deletion.
func (p *pods) remove(err error) error {
	if p.created == nil {
		return err
	}
	var leaving sync.WaitGroup
	for _, r := range p.remotes {
		leaving.Go(func() { _ = r.Close() }) // the run's error already has the cause
	}
	leaving.Wait()
	return errors.Join(err, p.created.Remove())
}
