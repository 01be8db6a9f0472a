package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/preflight"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/agent/overssh"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/kubernetes"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/search/survey"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/text"
)

// hostsFlags holds the flags of `check hosts`.
type hostsFlags struct {
	pods     pods
	hosts    string
	dir      string
	store    string
	duration time.Duration
	whole    bool // set if --duration is given: the writes last for the whole duration
	rate     int
	neighbor int
	agents   agents
	format   string
}

func (a *commandLine) checkHostsCommand() *cobra.Command {
	f := &hostsFlags{store: "etcd", rate: 50, format: "text", agents: agents{logf: a.logf}}
	c := &cobra.Command{
		Use: "hosts", Short: "Check whether machines are good enough for a store, before the store is installed", Args: command.ArgsBetween(0, 0, ""),
		Example: `  quorumbench check hosts --dir /var/lib/etcd
  quorumbench check hosts --hosts db1,db2,db3 --store k3s --format json
  quorumbench check hosts --hosts db1,db2,db3 --neighbor-load 1GiB
  quorumbench check hosts --on kubernetes --members 3 --image IMAGE --pod-storage-class fast`,
		Long: `Check whether machines are good enough for etcd, ZooKeeper, Consul, or k3s with SQLite,
before the store is installed. The command measures synced writes on each host, round trips
between all hosts, clocks, withheld CPU time and limits. It compares them with the stores'
documents, and recommends a heartbeat interval and an election timeout.

On each host, the files are in a new folder quorumbench-data-*, which is removed at the end.
Before it writes, the command prints how much it will write.

The measurement ends as soon as the disks are certainly good or bad for the store in
--store, or after 5 minutes. A good disk takes about 200 s and a bad one about 30 s. With
--duration, the writes last for the whole duration, so that burst credits of cloud disks
can end during the measurement. If the time is too short for a decision, the verdict is
CANNOT TELL YET. The exit code is 0 for PASS, 1 for FAIL and 6 for CANNOT TELL YET.`,
	}
	r := command.NewFlags(c.Flags())
	r.Text("hosts", &f.hosts, "HOST,...", "hosts to check, instead of this machine: [USER@]HOST[:PORT] for ssh, or agent:HOST:PORT or unix:PATH for an agent")
	r.Text("dir", &f.dir, "DIR", "folder in which to write, on each host that is not reached via agent (default: the current folder, or ~/.cache on other hosts)")
	r.Text("store", &f.store, "NAME", "store whose verdict determines the exit code: etcd, zookeeper, consul or k3s")
	r.Duration("duration", &f.duration, "duration of the writes (default: until the disks are certainly good or bad, at most 5m)")
	r.Int("rate", &f.rate, "synced writes per second on each host")
	r.Size("neighbor-load", &f.neighbor, "also write a file of this size once a minute, to imitate pulls of images; 0 disables these writes")
	r.Text("agent-certs", &f.agents.certs, "DIR", "for hosts reached via agent: folder with the certificates that \"quorumbench agent certs\" created")
	f.agents.registerSSH(r)
	f.pods.registerForHosts(r)
	command.SetGroup(r.Set, "Host flags", "hosts", "dir")
	command.SetGroup(r.Set, "Measurement flags", "neighbor-load", "rate", "duration")
	a.AddProgress(r)
	r.Format(&f.format, &a.Wide, "text", "json")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if f.whole = c.Flags().Changed("duration"); !f.whole {
			f.duration = usualSurvey
		}
		if err := f.pods.check(); err != nil {
			return err
		}
		return a.checkHosts(c.Context(), f)
	}
	return c
}

// Limits of the flags of `check hosts`.
const (
	maxHosts         = 16
	minRate, maxRate = 10, 1000
	minSurvey        = 2 * time.Second
	maxSurvey        = 24 * time.Hour
	usualSurvey      = 5 * time.Minute // maximum without --duration
	// maxWrites is the maximum number of writes on each host. It limits the memory that the times
	// of the writes need.
	maxWrites = 5_000_000
)

// hostRuleStores returns the names of the stores with requirements, which --store accepts.
func hostRuleStores() (names []string) {
	for _, r := range registry.HostRules() {
		names = append(names, r.Store)
	}
	return names
}

// longest returns the longest permitted duration of the writes at the rate in --rate. Pods exist
// only for a limited time, which must suffice for the writes and for all other steps.
func (f *hostsFlags) longest() time.Duration {
	limit := maxSurvey
	if f.pods.enabledOn != "" {
		limit = kubernetes.MaxRunDuration - f.pods.options.ReadyTimeout - surveyReserve
	}
	return min(limit, (maxWrites * time.Second / time.Duration(f.rate)).Truncate(time.Second))
}

// surveyReserve is the maximum time for everything except the writes, if pods are checked.
const surveyReserve = 10 * time.Minute

// rules returns the rules of all stores, and those of the store in --store.
func (f *hostsFlags) rules() (all []registry.StoreRules, chosen *kv.HostRules, err error) {
	all = registry.HostRules()
	for _, r := range all {
		if r.Store == f.store {
			chosen = r.Rules
		}
	}
	if chosen == nil {
		names := hostRuleStores()
		return nil, nil, command.Usage("--store: %q has no requirements for machines; choose one of: %s%s", f.store, strings.Join(names, ", "), command.Suggest(f.store, names, ""))
	}
	return all, chosen, nil
}

// check returns the hosts, or a usage error for invalid flags. It returns no hosts if this machine
// is checked.
func (f *hostsFlags) check() ([]scenario.Host, error) {
	switch {
	case f.rate < minRate || f.rate > maxRate:
		return nil, command.Usage("--rate must be from %d to %d, not %d", minRate, maxRate, f.rate)
	case f.duration < minSurvey || f.duration > f.longest():
		return nil, command.Usage("--duration must be from %v to %s at --rate %d, not %s", minSurvey, text.FormatDuration(f.longest()), f.rate, text.FormatDuration(f.duration))
	case f.neighbor < 0 || f.neighbor > 1<<38:
		return nil, command.Usage("--neighbor-load must be at most 256GiB, not %s", text.FormatSize(f.neighbor))
	}
	if f.pods.enabledOn != "" {
		return f.podHosts()
	}
	hosts, err := parseHosts(f.hosts, f.dir)
	if err != nil {
		return nil, command.Usage("--hosts: %w", err)
	}
	if err := f.agents.check(hosts); err != nil {
		return nil, err
	}
	if len(hosts) > 0 {
		if f.dir != "" && (!filepath.IsAbs(f.dir) || filepath.Clean(f.dir) != f.dir || f.dir == "/") {
			return nil, command.Usage("--dir is %q, but must be an absolute path on the hosts, without . or .. and without a slash at the end", f.dir)
		}
		if f.dir != "" && !slices.ContainsFunc(hosts, func(h scenario.Host) bool { return h.Transport == scenario.TransportSSH }) {
			return nil, command.Usage("--dir is only for hosts that are reached via ssh: an agent writes in its own folder (quorumbench agent --dir); omit --dir")
		}
		return hosts, nil
	}
	f.dir = cmp.Or(f.dir, ".")
	if info, err := os.Stat(f.dir); err != nil || !info.IsDir() {
		return nil, command.Usage("--dir: the folder %s does not exist on this machine; create it, or name another folder on the same disk", f.dir)
	}
	return nil, nil
}

// podHosts returns the hosts for --on kubernetes. The pods of these hosts are created later.
func (f *hostsFlags) podHosts() (hosts []scenario.Host, err error) {
	switch {
	case f.hosts != "":
		return nil, command.Usage("--hosts names hosts, but --on kubernetes creates them; give only one of these flags")
	case f.dir != "":
		return nil, command.Usage("--dir does not apply to pods, which write in their own volume; omit --dir, and choose the volume with --pod-storage-class")
	case f.agents.certs != "" || f.agents.access != overssh.Access{}:
		return nil, command.Usage("--agent-certs and the flags --ssh-* do not apply to pods, which are reached through the API of Kubernetes; omit them")
	case f.pods.members < 1 || f.pods.members > maxHosts:
		return nil, command.Usage("--members must be from 1 to %d, not %d; give the number of pods that check nodes", maxHosts, f.pods.members)
	}
	f.pods.options.Members = f.pods.members
	for _, name := range kubernetes.Members(f.pods.members) {
		hosts = append(hosts, scenario.Host{Name: name, Transport: scenario.TransportAgent})
	}
	return hosts, nil
}

// parseHosts parses the value of --hosts. A host's name is the name or IP address in its address.
// If several hosts have the same name, for example two agents on one machine, their names are their
// whole addresses.
func parseHosts(list, dir string) (hosts []scenario.Host, err error) {
	if list == "" {
		return nil, nil
	}
	named := map[string]int{} // number of hosts with each name
	for item := range strings.SplitSeq(list, ",") {
		h, err := parseHost(strings.TrimSpace(item), dir)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(hosts, func(o scenario.Host) bool { return o.Address == h.Address }) {
			return nil, fmt.Errorf("%s is listed twice", h.Address)
		}
		hosts = append(hosts, h)
		named[h.Name]++
	}
	if len(hosts) > maxHosts {
		return nil, fmt.Errorf("there are %d hosts, but at most %d can be checked at once", len(hosts), maxHosts)
	}
	for i := range hosts {
		if h := &hosts[i]; named[h.Name] > 1 {
			h.Name = h.Address
		}
	}
	return hosts, nil
}

// parseHost parses one host in the value of --hosts.
func parseHost(item, dir string) (h scenario.Host, err error) {
	h = scenario.Host{Address: item, Transport: scenario.TransportSSH, Dir: dir}
	if at, ok := strings.CutPrefix(item, "agent:"); ok {
		h = scenario.Host{Address: at, Transport: scenario.TransportAgent}
	} else if strings.HasPrefix(item, scenario.UnixPrefix) {
		h = scenario.Host{Address: item, Transport: scenario.TransportAgent}
	}
	h.Name = h.Address
	switch {
	case h.Transport == scenario.TransportSSH:
		_, at, err := h.SSHAddress()
		if err != nil {
			return h, fmt.Errorf("%q is not [USER@]HOST[:PORT], agent:HOST:PORT or unix:PATH", item)
		}
		h.Name = at
		if name, _, err := net.SplitHostPort(at); err == nil {
			h.Name = name
		}
	case !h.UsesUnixSocket():
		name, port, err := net.SplitHostPort(h.Address)
		if err != nil || port == "" || name == "" {
			return h, fmt.Errorf("%q is not the address of an agent; write agent:HOST:PORT", item)
		}
		h.Name = name
	}
	return h, nil
}

func (a *commandLine) checkHosts(ctx context.Context, f *hostsFlags) error {
	hosts, err := f.check()
	if err != nil {
		return err
	}
	stores, chosen, err := f.rules()
	if err != nil {
		return err
	}
	if f.whole {
		chosen = nil
	}
	shown := a.newBar(f.format, f.duration.Seconds(), " s")
	defer shown.Clear()
	ctx, stop := command.Interruptible(ctx, func() { shown.Note("stopping and removing the files") })
	defer stop()
	targets, leave, err := a.reachTargets(ctx, f, hosts)
	if err != nil {
		return errors.Join(interruptedOr(ctx, err), leave())
	}
	began := time.Now()
	check, err := survey.Run(ctx, survey.Options{
		Targets: targets, Stores: stores, EndWhenDecided: chosen,
		Writes: probe.PacedWrites{
			Sizes: survey.Sizes(stores), Interval: time.Second / time.Duration(f.rate), Duration: f.duration, Neighbor: int64(f.neighbor),
		},
		Planned: func(c *preflight.Check, w *probe.PacedWrites) {
			for i := range c.Hosts {
				shown.Note(planOf(&c.Hosts[i], w))
			}
		},
		Progress: func(step string, seconds int) { shown.Update(step, time.Since(began), f.progress(step, seconds)) },
	})
	shown.Clear()
	if err = errors.Join(interruptedOr(ctx, err), leave()); err != nil {
		return err
	}
	v := check.Verdict(f.store)
	err = checkError(v.State == preflight.Pass, v.State == preflight.CannotTell, a.Report(f.format, report.HostsCheck(check)))
	if f.format == "text" {
		a.suggestAfterHosts(f, v, err)
	}
	return err
}

// progress returns a line that describes a step. If seconds is not 0, the line also states for how
// many seconds the writes have run.
func (f *hostsFlags) progress(step string, seconds int) string {
	switch {
	case seconds == 0:
		return step
	case f.whole:
		return fmt.Sprintf("%s: %d s of %.0f s", step, seconds, f.duration.Seconds())
	}
	return fmt.Sprintf("%s: %d s of at most %.0f s", step, seconds, f.duration.Seconds())
}

// suggestAfterHosts prints the next command after a verdict. err is the result of the check.
func (a *commandLine) suggestAfterHosts(f *hostsFlags, v *preflight.Verdict, err error) {
	switch {
	case err == nil && slices.Contains(a.Catalog.Stores(), f.store): // k3s cannot be measured
		a.SuggestNext("quorumbench check perf --store %s --endpoints HOST:PORT,... (after the installation, checks whether the cluster is fast enough)", f.store)
	case isOnlyCode(err, command.ExitUndecided) && v.More > 0 && f.duration < f.longest():
		a.SuggestNext("%s", a.RepeatCommand("--duration", text.FormatDuration(min(f.duration+v.More, f.longest()).Round(time.Second))))
	}
}

// interruptedOr returns err if it is nil or ctx was not canceled. Otherwise, it returns the error
// of an interrupted check. If err is not the cancellation itself, the returned error includes err,
// because err may mean that files remain.
func interruptedOr(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case errors.Is(err, context.Canceled):
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted; all files have been removed")}
	}
	return &command.Exit{Code: command.ExitInterrupted, Cause: fmt.Errorf("interrupted; %w", err)}
}

// planOf returns a sentence about what will be written on a host.
func planOf(h *preflight.Host, w *probe.PacedWrites) string {
	total, atOnce := w.Bytes()
	return fmt.Sprintf("%s: writing at most %s in %s, to a new folder in %s; the folder contains at most %s and is removed at the end",
		h.Name, text.Bytes(uint64(total)), text.FormatDuration(w.Duration), h.Dir, text.Bytes(uint64(atOnce)))
}

// reachTargets connects to the hosts, or returns this machine if there are no hosts. The caller
// ends all sessions with the function `leave`.
func (a *commandLine) reachTargets(ctx context.Context, f *hostsFlags, hosts []scenario.Host) (targets []survey.Target, leave func() error, err error) {
	if len(hosts) == 0 {
		dir, err := filepath.Abs(f.dir)
		if err != nil {
			return nil, func() error { return nil }, fmt.Errorf("cannot resolve the path of the folder %s: %w", f.dir, err)
		}
		return []survey.Target{{Name: probe.Machine().Name, Host: host.NewLocal(measure.Now, nil), Dir: dir}}, func() error { return nil }, nil
	}
	dial := f.agents.dial
	if f.pods.enabledOn != "" {
		f.pods.options.Logf = a.logf
		dial = f.pods.dial
	}
	remotes := make([]*agent.Remote, len(hosts))
	leave = func() error {
		if f.pods.enabledOn != "" {
			return f.pods.remove(nil)
		}
		errs := make([]error, len(remotes))
		var leaving sync.WaitGroup
		for i, r := range remotes {
			if r != nil {
				leaving.Go(func() { errs[i] = r.Close() })
			}
		}
		leaving.Wait()
		return errors.Join(errs...)
	}
	group, dialing := errgroup.WithContext(ctx)
	for i := range hosts {
		group.Go(func() (err error) {
			remotes[i], err = dial(dialing, &hosts[i])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, leave, err
	}
	for i := range hosts {
		if pod, ok := f.pods.ready[hosts[i].Name]; ok && pod.Node != "" {
			hosts[i].Name += " on " + pod.Node
		}
		targets = append(targets, survey.Target{Name: hosts[i].Name, Address: hosts[i].Address, Host: remotes[i].Host()})
	}
	return targets, leave, nil
}
