package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// startTimeout limits the time from the start of the processes until the cluster has a leader.
// A healthy cluster needs two to three seconds on two cores.
const startTimeout = 60 * time.Second

// Launch implements store.Store. By default each member is a process of this program, started with
// the arguments `member etcd --config FILE`. If spec.Exec is set, each member runs that binary with
// etcd's ordinary flags.
func (*Store) Launch(spec store.LaunchSpec) (store.Launch, error) {
	s, err := store.SettingsOf[Settings](spec.Settings)
	if err != nil {
		return store.Launch{}, err
	}
	if spec.Exec == "" && spec.Self == "" {
		return store.Launch{}, errors.New("the embedded etcd needs the path of the quorumbench binary")
	}
	l, err := LaunchMembers(spec, s.options())
	if s.QuotaBackendBytes == 0 {
		l.Notes = slices.Insert(l.Notes, 0, fmt.Sprintf("quota-backend-bytes is %d GiB instead of etcd's default of 2 GiB", DefaultQuota>>30))
	}
	return l, err
}

// LaunchMembers returns the Launch for a cluster of any etcd version. The names of the options are
// those of etcd's flags. The caller must have checked the options.
func LaunchMembers(spec store.LaunchSpec, options []store.Setting) (store.Launch, error) {
	if err := spec.Check("etcd"); err != nil {
		return store.Launch{}, err
	}
	l := store.Launch{StartTimeout: startTimeout, Synced: true}
	if slices.Contains(options, store.Setting{Name: "unsafe-no-fsync", Value: true}) {
		l.Synced = false
		l.Notes = append(l.Notes, "unsafe-no-fsync is set: writes are acknowledged before they are on disk")
	}
	for _, m := range spec.Members {
		p := store.ProcessAt(m, spec.Exec)
		p.Files = credentialFiles(spec, m)
		if err := configure(&p, spec.Self, append(memberOptions(spec, m, p.DataDir), options...)); err != nil {
			return store.Launch{}, err
		}
		l.Processes = append(l.Processes, p)
	}
	return l, nil
}

// configure passes options to a process. If p.Path is set, the options become flags of that binary.
// Otherwise configure writes the options to a configuration file and makes the process run this
// program, whose path is `self`.
func configure(p *store.Process, self string, options []store.Setting) error {
	if p.Path != "" {
		for _, o := range options {
			p.Args = append(p.Args, fmt.Sprintf("--%s=%v", o.Name, o.Value))
		}
		return nil
	}
	// The file has the format of etcd's own configuration file. It is written as JSON, which is
	// valid YAML. encoding/json writes durations in nanoseconds, as etcd expects them.
	config := make(map[string]any, len(options))
	for _, o := range options {
		section, name, ok := inSection(o.Name)
		if !ok {
			config[o.Name] = o.Value
			continue
		}
		if config[section] == nil {
			config[section] = map[string]any{}
		}
		config[section].(map[string]any)[name] = o.Value
	}
	contents, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode the configuration of etcd member %s: %w", p.Name, err)
	}
	file := filepath.Join(p.Dir, "etcd.json")
	p.Path, p.Args = self, []string{"member", Name, "--config", file}
	if p.Files == nil {
		p.Files = map[string][]byte{}
	}
	p.Files[file] = append(contents, '\n')
	return nil
}

// memberOptions returns the options that make a process a member of the cluster in spec.
func memberOptions(spec store.LaunchSpec, m kv.MemberPlace, dataDir string) []store.Setting {
	peers := make([]string, len(spec.Members))
	for i, other := range spec.Members {
		peers[i] = other.Name + "=" + peerURL(other)
	}
	client, peer := "http://"+m.Address(0), peerURL(m)
	var secure []store.Setting
	if _, ok := spec.Credentials[m.Name]; ok {
		certificate, key := certificateFiles(m)
		client = "https://" + m.Address(0)
		secure = []store.Setting{{Name: certFlag, Value: certificate}, {Name: keyFlag, Value: key}}
		if m.PeerTLS {
			secure = append(secure, store.Setting{Name: peerPrefix + certFlag, Value: certificate}, store.Setting{Name: peerPrefix + keyFlag, Value: key},
				store.Setting{Name: peerPrefix + authorityFlag, Value: authorityFile(m)}, store.Setting{Name: peerPrefix + mutualFlag, Value: true})
		}
	}
	state := "new"
	if m.Name == spec.JoiningMember {
		state = "existing"
	}
	return append([]store.Setting{
		{Name: "name", Value: m.Name},
		{Name: "data-dir", Value: dataDir},
		{Name: "listen-client-urls", Value: client},
		{Name: "advertise-client-urls", Value: client},
		{Name: "listen-peer-urls", Value: peer},
		{Name: "initial-advertise-peer-urls", Value: peer},
		{Name: "initial-cluster", Value: strings.Join(peers, ",")},
		{Name: "initial-cluster-token", Value: spec.Cluster},
		{Name: "initial-cluster-state", Value: state},
		{Name: "logger", Value: "zap"},
	}, secure...)
}

// Flags for the files that contain a member's certificate, its key, and the authority's
// certificate, and the flag that requires clients to present a certificate. For connections
// between members, the flags' names start with peerPrefix.
const (
	certFlag      = "cert-file"
	keyFlag       = "key-file"
	authorityFlag = "trusted-ca-file"
	mutualFlag    = "client-cert-auth"
	peerPrefix    = "peer-"
)

// inSection returns where a TLS flag belongs in a configuration file: the section and the name
// inside it. ok is false if the flag is not a TLS flag.
func inSection(flag string) (section, name string, ok bool) {
	section, name = "client-transport-security", flag
	if of, peers := strings.CutPrefix(flag, peerPrefix); peers {
		section, name = "peer-transport-security", of
	}
	return section, name, slices.Contains([]string{certFlag, keyFlag, authorityFlag, mutualFlag}, name)
}

// authorityFile returns the path of the certificate of the authority that signed the members'
// certificates.
func authorityFile(m kv.MemberPlace) string { return filepath.Join(m.Dir, "tls", "ca.crt") }

// certificateFiles returns the paths of a member's certificate and key.
func certificateFiles(m kv.MemberPlace) (certificate, key string) {
	return filepath.Join(m.Dir, "tls", "member.crt"), filepath.Join(m.Dir, "tls", "member.key")
}

// credentialFiles returns a map from paths to the contents of a member's certificate files, or
// nil if the member does not use TLS.
func credentialFiles(spec store.LaunchSpec, m kv.MemberPlace) map[string][]byte {
	c, ok := spec.Credentials[m.Name]
	if !ok {
		return nil
	}
	certificate, key := certificateFiles(m)
	files := map[string][]byte{certificate: c.Certificate, key: c.Key}
	if m.PeerTLS {
		files[authorityFile(m)] = c.Authority
	}
	return files
}

// CertificateFiles implements store.Embedded.
func (*Store) CertificateFiles(m kv.MemberPlace) (certificate, key string) {
	return certificateFiles(m)
}

// peerURL returns the URL at which other members reach a member.
func peerURL(m kv.MemberPlace) string {
	if m.PeerTLS {
		return "https://" + m.Address(peerPort)
	}
	return "http://" + m.Address(peerPort)
}
