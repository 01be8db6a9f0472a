package consul

import (
	"embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// startTimeout limits the time from the start of a cluster until it has a leader. A healthy cluster
// needs two to four seconds on two cores.
const startTimeout = 60 * time.Second

// Indexes of a member's ports in MemberPlace.Ports.
const (
	portHTTP = iota
	portServer
	portSerf
)

// Launch implements store.Store. Each member is a `consul agent` in server mode with one
// configuration file. If spec.Exec is empty, Launch uses the installed server.
func (st *Store) Launch(spec store.LaunchSpec) (store.Launch, error) {
	s, err := store.SettingsOf[Settings](spec.Settings)
	if err != nil {
		return store.Launch{}, err
	}
	if err := spec.Check("Consul"); err != nil {
		return store.Launch{}, err
	}
	source, err := st.Server("")
	if err != nil {
		return store.Launch{}, err
	}
	if spec.Exec, err = install.ExecutableForLaunch(&spec, source); err != nil {
		return store.Launch{}, err
	}
	l := store.Launch{StartTimeout: startTimeout, Synced: true, Notes: notes(s)}
	for _, place := range spec.Members {
		p, err := process(spec, place, s)
		if err != nil {
			return store.Launch{}, err
		}
		l.Processes = append(l.Processes, p)
	}
	return l, nil
}

func notes(s *Settings) []string {
	var out []string
	if s.RaftMultiplier == 0 {
		out = append(out, "raft_multiplier is 1 instead of Consul's default of 5, because Consul recommends 1 for production")
	}
	if s.HTTPMaxConnsPerClient == 0 {
		out = append(out, fmt.Sprintf("http_max_conns_per_client is %d instead of Consul's default of 200, because Consul would refuse connections of the load", DefaultHTTPMaxConns))
	}
	return append(out, "Connect, DNS and gRPC are off")
}

func process(spec store.LaunchSpec, m kv.MemberPlace, s *Settings) (store.Process, error) {
	p := store.ProcessAt(m, spec.Exec)
	config := memberConfiguration(spec, m, p.DataDir)
	s.configuration(config)
	contents, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return p, fmt.Errorf("cannot encode the configuration of the Consul member %s: %w", m.Name, err)
	}
	file := filepath.Join(m.Dir, "consul.json")
	p.Args = []string{"agent", "-config-file=" + file}
	p.Files = map[string][]byte{file: append(contents, '\n')}
	return p, nil
}

// memberConfiguration returns the configuration for one server of the cluster. The server listens
// only on the member's three ports.
func memberConfiguration(spec store.LaunchSpec, m kv.MemberPlace, dataDir string) tree {
	join := make([]string, len(spec.Members))
	for i, other := range spec.Members {
		join[i] = other.Address(portSerf)
	}
	return tree{
		"node_name":          m.Name,
		"datacenter":         "dc1",
		"data_dir":           dataDir,
		"server":             true,
		"bootstrap_expect":   len(spec.Members),
		"bind_addr":          m.Host,
		"client_addr":        m.Host,
		"retry_join":         join,
		"retry_interval":     "1s",
		"leave_on_terminate": false,
		// Several servers may run on the same host, so the host's ID cannot be the node ID.
		"disable_host_node_id": true,
		"disable_update_check": true,
		"connect":              tree{"enabled": false},
		"telemetry":            tree{"prometheus_retention_time": "60s", "disable_hostname": true},
		"ports": tree{
			"http": m.Ports[portHTTP], "server": m.Ports[portServer], "serf_lan": m.Ports[portSerf],
			"serf_wan": -1, "https": -1, "grpc": -1, "grpc_tls": -1, "dns": -1,
		},
	}
}

// serverFiles are the input for building the server. In go.mod.txt, the `replace` and `exclude`
// directives select those versions of Consul's modules that registries provide. The module of one
// Consul command is not available from any registry, so a stub replaces the module.
//
//go:embed server
var serverFiles embed.FS

// Server implements store.Store.
func (*Store) Server(version string) (store.ServerSource, error) {
	return store.ServerSource{
		Store: Name, Versions: []string{"1.22.6"}, Kind: store.GoModule,
		Files: serverFiles, Package: "github.com/hashicorp/consul", LDFlags: "-s -w",
		Check: store.ServerCheck{
			Module: "github.com/hashicorp/consul@v{version}", Args: []string{"version"}, ExpectedOutput: "Consul v{version}",
		},
		License: "Business Source License 1.1",
	}.Pick(version)
}
