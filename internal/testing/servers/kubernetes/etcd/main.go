// Command etcd is etcd's own server, with its own flags. The tests on Kubernetes run it in a static
// pod, as kubeadm does.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
