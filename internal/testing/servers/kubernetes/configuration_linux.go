package kubernetes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
)

const (
	apiPort    = "443" // the port of the service
	token      = "of-a-test-in-a-network-of-its-own"
	pauseImage = "localhost/pause:1"
)

// pause is the source of a program that waits for a signal.
const pause = `package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	<-c
}
`

// configurations contains the programs' configuration files. They prevent containerd from lowering
// the OOM scores of its containers, because containerd has no permission to do so on some test
// machines. They also make the kubelet tolerate a full disk, and prevent the kubelet from managing
// control groups for system services.
var configurations = map[string]string{
	"containerd.toml": `version = 2
root = "{dir}/containerd/root"
state = "{dir}/containerd/state"
[grpc]
  address = "{dir}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + pauseImage + `"
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "{dir}/cni"
`,
	"cni/10-pods.conflist": `{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "pods", "isGateway": true,
   "ipam": {"type": "host-local", "subnet": "198.18.0.0/24", "dataDir": "{dir}/cni-addresses", "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "loopback"}]}
`,
	"kubelet.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {node}
port: 10250
readOnlyPort: 0
healthzPort: 0
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
evictionHard: {}
localStorageCapacityIsolation: false
staticPodPath: {dir}/manifests
containerRuntimeEndpoint: unix://{dir}/containerd.sock
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
podLogsDir: {dir}/podlogs
resolvConf: ""
`,
	"kubeconfig": `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://{node}:{port}", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: "` + token + `"}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`,
	"tokens.csv": token + `,admin,1,"system:masters"
`,
}

// configure writes the configuration files and the key that signs the tokens of service accounts,
// and creates the folder for static pods.
func (a *API) configure() error {
	for name, text := range configurations {
		if err := os.MkdirAll(filepath.Dir(a.path(name)), 0o700); err != nil {
			return err
		}
		text = strings.NewReplacer("{dir}", a.dir, "{node}", a.Host, "{port}", a.Port).Replace(text)
		if err := os.WriteFile(a.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(a.path("manifests"), 0o700); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(a.path("accounts.key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
