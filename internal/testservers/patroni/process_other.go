//go:build !linux

package patroni

import "os/exec"

func unprivileged(*exec.Cmd) {}

func killPostgres(string) {}
