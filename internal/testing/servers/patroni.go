package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// folder is the name of the folder in which `make patroni` installs Patroni and its ZooKeeper
// client.
const folder = "patroni-4.1.5-kazoo-2.11.0"

// PatroniConfig describes a Patroni cluster to start.
type PatroniConfig struct {
	// Etcd, Consul or ZooKeeper lists endpoints (HOST:PORT). Each member uses a single
	// endpoint. If there are fewer endpoints than members, several members share an endpoint.
	Etcd, Consul, ZooKeeper []string
	Members                 int
	// LoopWait, RetryTimeout and TTL must be whole seconds. Patroni's minimums are 1, 3 and 20.
	LoopWait, RetryTimeout, TTL time.Duration
}

// StartPatroni starts a cluster of Patroni members with the scope "real". The test is
// skipped if Patroni or PostgreSQL is not installed.
func StartPatroni(t testing.TB, c PatroniConfig) *PatroniCluster {
	t.Helper()
	patroni, postgres := installedPatroni(t)
	lease, err := host.NewLocal(nil, nil).Ports(t.Context(), 2*c.Members)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	dir, err := os.MkdirTemp("", "patroni") // paths of sockets must be short, so t.TempDir is not suitable
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	out := &PatroniCluster{postgres: postgres, dir: dir, address: lease.Address}
	for i := range c.Members {
		out.ports = append(out.ports, lease.Ports[2*i+1])
		file := filepath.Join(dir, fmt.Sprintf("%d.yml", i))
		if err := os.WriteFile(file, []byte(configuration(c, i, dir, postgres, lease.Address, lease.Ports[2*i:])), 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := os.Create(file + ".log")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(patroni, file)
		cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, dir
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PYTHONUNBUFFERED=1")
		unprivileged(cmd)
		if err := cmd.Start(); err != nil {
			t.Skip("no Patroni can be started without being root here: ", err)
		}
		out.ends = append(out.ends, sync.OnceFunc(func() { end(t, cmd, filepath.Join(dir, strconv.Itoa(i)), log) }))
		t.Cleanup(out.ends[i])
	}
	return out
}

// PatroniCluster is a running Patroni cluster.
type PatroniCluster struct {
	postgres, dir, address string
	ports                  []int
	ends                   []func() // ends[i] kills member i
}

// Kill kills a member and its PostgreSQL, as if their machine had died.
func (c *PatroniCluster) Kill(member int) { c.ends[member]() }

// Write writes repeatedly to the leader's database, in the background, until the test ends.
func (c *PatroniCluster) Write(t testing.TB) {
	t.Helper()
	var hosts, ports []string
	for _, p := range c.ports {
		hosts, ports = append(hosts, c.address), append(ports, strconv.Itoa(p))
	}
	cmd := exec.Command(filepath.Join(c.postgres, "psql"), "-q", "-o", os.DevNull,
		"host="+strings.Join(hosts, ",")+" port="+strings.Join(ports, ",")+" user=postgres password=secret dbname=postgres target_session_attrs=read-write")
	cmd.Stdin = strings.NewReader("CREATE TABLE load(n int);\nINSERT INTO load VALUES (1) \\watch 0.2\n")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// installedPatroni returns the path of Patroni's program and the folder of PostgreSQL's programs.
func installedPatroni(t testing.TB) (patroni, postgres string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip("no cache folder: ", err)
	}
	patroni = filepath.Join(cache, "quorumbench", "tools", folder, "bin", "patroni")
	if _, err := os.Stat(patroni); err != nil {
		t.Skip("there is no Patroni: `make patroni` installs it")
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		t.Skip("there is no PostgreSQL: `make patroni` installs Debian's")
	}
	return patroni, filepath.Dir(slices.Max(found))
}

func configuration(c PatroniConfig, i int, dir, postgres, address string, ports []int) string {
	api, db := fmt.Sprintf("%s:%d", address, ports[0]), fmt.Sprintf("%s:%d", address, ports[1])
	return fmt.Sprintf(`scope: real
namespace: /service/
name: pg%d
restapi: {listen: "%s", connect_address: "%s"}
%s
bootstrap:
  dcs: {ttl: %d, loop_wait: %d, retry_timeout: %d, maximum_lag_on_failover: 1048576, postgresql: {use_pg_rewind: true}}
  initdb: [{encoding: UTF8}, data-checksums]
postgresql:
  listen: "%s"
  connect_address: "%s"
  data_dir: %s
  bin_dir: %s
  pgpass: %s
  authentication: {superuser: {username: postgres, password: secret}, replication: {username: replicator, password: secret}}
  parameters: {unix_socket_directories: %s, shared_buffers: 16MB, fsync: "off"}
  pg_hba: ["host all all 127.0.0.0/8 md5", "host replication replicator 127.0.0.0/8 md5", "local all all trust"]
`, i, api, api, c.store(i), int(c.TTL.Seconds()), int(c.LoopWait.Seconds()), int(c.RetryTimeout.Seconds()), db, db,
		filepath.Join(dir, strconv.Itoa(i)), postgres, filepath.Join(dir, strconv.Itoa(i)+".pass"), dir)
}

// store returns the part of member i's configuration that concerns the store.
func (c *PatroniConfig) store(i int) string {
	of := func(all []string) string { return all[i%len(all)] }
	switch {
	case len(c.Consul) > 0:
		return fmt.Sprintf("consul: {host: %q}", of(c.Consul))
	case len(c.ZooKeeper) > 0:
		return fmt.Sprintf("zookeeper: {hosts: [%q]}", of(c.ZooKeeper))
	}
	return fmt.Sprintf("etcd3: {hosts: [%q], use_proxies: true}", of(c.Etcd))
}

// end kills Patroni and then its PostgreSQL, which would otherwise continue to run.
func end(t testing.TB, cmd *exec.Cmd, data string, log *os.File) {
	pid := firstLine(filepath.Join(data, "postmaster.pid"))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	killPostgres(pid)
	_ = log.Close()
	if t.Failed() {
		text, _ := os.ReadFile(log.Name())
		t.Logf("%s: ...%s", filepath.Base(log.Name()), text[max(0, len(text)-2000):])
	}
}

func firstLine(file string) string {
	text, _ := os.ReadFile(file)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
