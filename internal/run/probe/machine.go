package probe

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// MachineInfo is what a result must say about the machine it was measured on.
// It names no host and no user.
type MachineInfo struct {
	CPU    string `json:"cpu"`          // model; empty where the system does not say
	Cores  int    `json:"cores"`        // that this process may use
	Memory int64  `json:"memory_bytes"` // of the machine; 0 where the system does not say
	OS     string `json:"os"`           // such as linux/amd64
	Kernel string `json:"kernel"`       // release, such as 6.1.0-18-amd64
	Go     string `json:"go"`           // version that built us
}

// Machine describes the machine that we run on.
func Machine() MachineInfo {
	m := MachineInfo{
		Cores: runtime.NumCPU(),
		OS:    runtime.GOOS + "/" + runtime.GOARCH,
		Go:    runtime.Version(),
	}
	m.CPU, m.Memory = hardware()
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	return m
}
