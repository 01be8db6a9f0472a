package cli

import (
	"bufio"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/run/kubernetes"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// podCheck holds the flags of a command that can run in a pod next to the control plane's etcd: a
// check or `cleanup`.
type podCheck struct {
	kubernetesFlags
	shellImage string
	node       string
	yes        bool
	dryRun     bool
}

// localFlags contains the flags that a check in a pod refuses. The values are the reasons.
var localFlags = map[string]string{
	"insecure-skip-tls-verify": "the check uses the certificate of etcd's authority on the node; omit the flag",
	"store":                    "control planes use etcd; omit the flag",
	"user":                     "a password would be readable in the Job; use certificates",
	"data-dir":                 "the pod has no access to etcd's data; omit the flag",
	"out":                      "Kubernetes removes the pod with its files; write the result to a file with --format json",
	"upload":                   "Kubernetes removes the pod with its files; write the result to a file with --format json",
	"metrics":                  "the pod opens no port; omit the flag",
	"push":                     "the pod has no credentials; omit the flag",
}

// isPlugin reports whether kubectl started this program as its plug-in.
func isPlugin() bool { return strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-") }

// pluginArgs returns the command line of a plug-in. As a plug-in, "check" without the name of a
// check is "check perf".
func pluginArgs(args []string) []string {
	if len(args) == 0 || args[0] != "check" || len(args) > 1 && (!strings.HasPrefix(args[1], "-") || args[1] == "--help" || args[1] == "-h") {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "perf")
}

// register adds the flags to a check that connects as `attach` states. In a plug-in of kubectl,
// checks run in a pod by default.
func (p *podCheck) register(c *cobra.Command, plugin bool, attach *command.AttachFlags) {
	p.shellImage = "busybox:stable"
	if plugin {
		p.enabledOn = onKubernetes
	}
	r := command.NewFlags(c.Flags())
	p.kubernetesFlags.register(r, "find the etcd of a Kubernetes control plane, and run the command in a pod next to it (docs/how-to/run-in-a-pod.md)",
		"namespace of the pod (default: the namespace of etcd's pods, or kube-system)", "; default: this program is copied into a pod with the image in --shell-image", func() {
			r.Text("shell-image", &p.shellImage, "NAME", "with --on kubernetes and without --image: image with a shell, for a pod into which this program is copied")
			r.Text("node", &p.node, "NAME", "with --on kubernetes: control-plane node on which the pod runs (default: the first node whose etcd is ready)")
			r.Toggle("yes", &p.yes, "with --on kubernetes: create the pod without asking for confirmation")
			if p.flags.Lookup("dry-run") == nil { // cleanup has its own dry run
				r.Toggle("dry-run", &p.dryRun, "with --on kubernetes: print a description of the check and its Job as YAML, and create nothing")
			}
		})
	attach.Elsewhere = p.enabled
	c.PreRunE = func(*cobra.Command, []string) error { return p.check() }
}

// enabled reports whether the command runs in a pod. In a plug-in, --endpoints without --on selects
// a cluster that this machine can reach.
func (p *podCheck) enabled() bool {
	return p.enabledOn != "" && (p.flags.Changed("on") || !p.flags.Changed("endpoints"))
}

// check returns a usage error for flags that contradict each other.
func (p *podCheck) check() error {
	if !p.enabled() {
		p.enabledOn = ""
	}
	if err := p.kubernetesFlags.check(); err != nil || p.enabledOn == "" {
		return err
	}
	for _, flag := range slices.Sorted(maps.Keys(localFlags)) {
		if p.flags.Changed(flag) {
			return command.Usage("--%s is not possible with --on kubernetes: %s", flag, localFlags[flag])
		}
	}
	switch {
	case p.flags.Changed("image") && p.flags.Changed("shell-image"):
		return command.Usage("--image names an image with this program, but --shell-image names an image without this program; give only one of the two flags")
	case p.flags.Changed("endpoints") && p.node == "":
		return command.Usage("--endpoints with --on kubernetes needs the node of the pod; add --node, or omit --endpoints to find etcd")
	case p.options.Image == "":
		return p.useProgram()
	}
	return nil
}

// useProgram lets the check copy this program into its pod. It returns a usage error if the program
// cannot run there.
func (p *podCheck) useProgram() error {
	path, err := command.Self()
	if err != nil {
		return err
	}
	if !isStatic(path) {
		return command.Usage("--image is missing, and this program cannot be copied into a pod, because it is not a static program for Linux; give an image with this version of quorumbench, which `make image` builds, or build the program with CGO_ENABLED=0")
	}
	p.options.Image, p.options.Program = p.shellImage, path
	return nil
}

// isStatic reports whether a file is a program for Linux that needs no other files.
func isStatic(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false // for example, because the file is a program for macOS
	}
	defer func() { _ = f.Close() }() // the file was only read
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// args returns the command line for the pod: the command and all flags that the user gave, except
// the flags that only this machine needs.
func (p *podCheck) args(words string, plane *kubernetes.ControlPlane) []string {
	args := append(strings.Fields(words), "--endpoints="+strings.Join(plane.Endpoints(), ","))
	omitted := append([]string{"on", "endpoints"}, p.names...)
	for name, path := range plane.Chosen.Files.All() {
		if omitted = append(omitted, name); *path != "" {
			args = append(args, "--"+name+"="+*path)
		}
	}
	if !p.dryRun { // people read the log of a dry run's Job, so the lines of this log have no marks
		args = slices.Insert(args, 0, inPod, p.cleanupFlags())
	}
	if !p.flags.Changed("target") {
		args = append(args, "--target=all")
	}
	p.flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(omitted, f.Name) {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// cleanupFlags returns the flags with which the user can start "quorumbench cleanup" next to the
// same etcd.
func (p *podCheck) cleanupFlags() string {
	flags, connects := []string{"--on", onKubernetes}, []string{"endpoints"}
	for name := range new(kubernetes.Files).All() {
		connects = append(connects, name)
	}
	p.flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(connects, f.Name) || slices.Contains(p.names, f.Name) && !slices.Contains([]string{"yes", "dry-run", "ready-timeout"}, f.Name) {
			flags = append(flags, "--"+f.Name, text.ShellQuote(f.Value.String()))
		}
	})
	return strings.Join(flags, " ")
}

// extraTime is the time limit for preparing and removing the keys of a check in a pod.
const extraTime = 10 * time.Minute

// unknownTime is the time limit for a check whose duration depends on the cluster.
const unknownTime = time.Hour

// keysRemain is the remedy if a check could not remove its keys. The pod has printed the run's ID,
// because another pod cannot determine whether the run has ended.
const keysRemain = "the check's keys may remain: remove them with the command that the check printed before it wrote them, \"quorumbench cleanup --on kubernetes --prefix PREFIX --run ID\""

// checkInPod runs a check in a pod. It uses the scenario s only to describe the check, and to limit
// its duration.
func (a *commandLine) checkInPod(ctx context.Context, p *podCheck, check string, s *scenario.Scenario) error {
	l := &s.Trials[0].Load
	if space := guard.APIServerSpace(l.Prefix); space != "" {
		return command.Usage("--prefix %q overlaps with %s, where Kubernetes keeps its keys; choose another prefix, because Kubernetes cannot decode other keys there", l.Prefix, space)
	}
	limit, known := l.EstimatedDuration()
	if !known {
		limit = unknownTime
	}
	return a.runInPod(ctx, p, "check "+check, describeLoad(l), limit, kubernetes.Remedies{Late: "choose a smaller load or a shorter duration; " + keysRemain, Killed: keysRemain})
}

// describeLoad returns lines about what a load does to the cluster.
func describeLoad(l *scenario.Load) []string {
	load := text.Plural(l.Total, "key")
	if l.Total == 0 {
		load = fmt.Sprintf("%s operations per second for %s", text.Number(l.Rate.PerSecond), text.FormatDuration(l.Duration))
	}
	lines := []string{fmt.Sprintf("%s; writes and removes keys below %q", load, l.Prefix)}
	if l.Overwrite {
		lines = []string{
			fmt.Sprintf("%s; writes keys below %q", load, l.Prefix),
			"replaces and deletes keys that already exist there; removes no keys at the end",
		}
	}
	for _, change := range l.ClusterWideChanges() {
		lines = append(lines, change+", which affects the whole cluster")
	}
	if l.Cleanup.Defragment {
		lines = append(lines, "each member blocks all its requests while it is defragmented")
	}
	return lines
}

// runInPod runs a command in a pod. The parameter `load` describes what the command writes, and
// limit is the maximum duration of this load.
func (a *commandLine) runInPod(ctx context.Context, p *podCheck, words string, load []string, limit time.Duration, remedies kubernetes.Remedies) error {
	var started atomic.Bool // set when something may have been created
	ctx, stop := command.Interruptible(ctx, func() {
		if started.Load() {
			a.PrintNote("stopping as soon as the command in the pod has ended; press Ctrl-C again to stop waiting and let Kubernetes remove the pod later")
		}
	})
	defer stop()
	plane, err := p.findControlPlane(ctx)
	switch {
	case ctx.Err() != nil:
		return errNothingCreated
	case err != nil:
		return err
	}
	if plane.Chosen.Files.CACert == "" && slices.ContainsFunc(plane.Endpoints(), func(e string) bool { return strings.HasPrefix(e, "https://") }) {
		return fmt.Errorf("found no certificates for etcd on the node %s; give their paths on this node with --cacert, --cert and --key", plane.Chosen.Node)
	}
	c, err := plane.NewCheck(p.options, p.args(words, plane), limit+extraTime, remedies)
	if err != nil {
		return err
	}
	if err := a.describePod(p, plane, c, load); err != nil {
		return err
	}
	if p.dryRun {
		manifest, err := yaml.MarshalWithOptions(c.Manifest(), yaml.IndentSequence(true))
		if err == nil {
			_, err = a.Stdout.Write(manifest)
		}
		return err
	}
	if err := a.confirm(ctx, p.yes); err != nil {
		return err
	}
	started.Store(true)
	return podResult(c.Run(ctx, a.Stdout, a.Stderr))
}

// podResult returns the error that determines the exit code of a command that ran in a pod.
func podResult(code int, err error) error {
	var left *kubernetes.RemovalError
	switch {
	case errors.Is(err, context.Canceled) && errors.As(err, &left):
		return &command.Exit{Code: command.ExitInterrupted, Cause: fmt.Errorf("interrupted; %w", left)}
	case errors.Is(err, context.Canceled):
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted; the pod has been removed")}
	case err != nil:
		return err
	case code != 0:
		return &command.Exit{Code: code}
	}
	return nil
}

// findControlPlane returns the control plane. Endpoints and certificates that the user gave replace
// those that would otherwise be found.
func (p *podCheck) findControlPlane(ctx context.Context) (plane *kubernetes.ControlPlane, err error) {
	if p.flags.Changed("endpoints") {
		plane, err = kubernetes.NewControlPlane(p.options, kubernetes.Member{Node: p.node, Endpoint: p.flags.Lookup("endpoints").Value.String()})
	} else {
		plane, err = kubernetes.FindControlPlane(ctx, p.options, p.node)
	}
	if err != nil {
		return nil, err
	}
	if image := plane.Chosen.ShellImage; p.options.Program != "" && image != "" && !p.flags.Changed("shell-image") {
		p.options.Image = image // need not be pulled
	}
	for flag, file := range plane.Chosen.Files.All() {
		if p.flags.Changed(flag) {
			*file = p.flags.Lookup(flag).Value.String()
		}
	}
	return plane, nil
}

// describePod prints what the command will do.
func (a *commandLine) describePod(p *podCheck, plane *kubernetes.ControlPlane, c *kubernetes.Check, load []string) error {
	m, copied := plane.Chosen, ""
	if p.options.Program != "" {
		copied = ", into which this program is copied"
	}
	rows := [][]string{
		{"cluster", plane.Cluster()},
		{"found", fmt.Sprintf("etcd (%s) on %s", plane.Layout, text.ShortList(plane.Nodes(), 3))},
		{"", text.ShortList(plane.Endpoints(), 3)},
		{"creates", fmt.Sprintf("Job %s in namespace %s", c.Name(), plane.Namespace)},
		{"", fmt.Sprintf("one pod on node %s, image %s%s", m.Node, p.options.Image, copied)},
		{"rights", fmt.Sprintf("network of the node; runs as %s without capabilities and without an API token", m.User())},
	}
	for _, file := range m.Files.All() {
		if *file != "" {
			rows = append(rows, []string{"", "reads " + *file})
		}
	}
	for i, line := range load {
		rows = append(rows, []string{[]string{"load", ""}[min(i, 1)], line})
	}
	rows = append(rows,
		[]string{"removes", "the Job and its pod at the end; if this command is killed, Kubernetes removes them"},
		[]string{"", fmt.Sprintf("after the pod's command has ended, and at the latest in %s", text.FormatDuration(c.Limit()))})
	return text.Table(a.Stderr, rows)
}

// errNothingCreated is the error of a command that was interrupted before it created its Job.
var errNothingCreated = &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted; nothing was created")}

// confirm asks the user whether to continue, unless the user has already agreed.
func (a *commandLine) confirm(ctx context.Context, agreed bool) error {
	if agreed {
		return nil
	}
	file, ok := a.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return command.Usage("nothing was created: standard input is not a terminal, so this command cannot ask; add --yes")
	}
	_, _ = fmt.Fprint(a.Stderr, "Continue? [y/N] ") // there is no place to report an error
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(file).ReadString('\n') // without an answer, nothing is created
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return errNothingCreated
	case said := <-answer:
		if said != "y" && said != "yes" {
			return &command.Exit{Code: command.ExitFailed, Cause: errors.New("nothing was created")}
		}
	}
	return nil
}

// inPod is the name of the hidden command that runs another command in a pod.
const inPod = "in-pod"

// inPodCommand returns the hidden command that runs another command and marks its output, so that
// the reader of the pod's log can distinguish standard output from standard error. Its first
// argument contains the flags with which the user can remove the keys of the other command.
func (a *commandLine) inPodCommand() *cobra.Command {
	return &cobra.Command{
		Use: inPod + " CLEANUP-FLAGS COMMAND...", Short: "Run a command in a pod", Hidden: true, DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.Usage("the flags for cleanup are missing")
			}
			flags, args := args[0], args[1:]
			stdout, stderr, flush := kubernetes.NewTaggers(a.Stdout)
			code := runAction(a.Stdin, stdout, stderr, func(inner *commandLine) error {
				inner.Args, inner.CleanupFlags = args, flags
				return inner.execute(c.Context(), args)
			})
			flush()
			return &command.Exit{Code: code}
		},
	}
}
