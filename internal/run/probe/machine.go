package probe

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Machine returns a description of this machine.
func Machine() measure.Machine {
	m := measure.Machine{System: runtime.GOOS, Architecture: runtime.GOARCH, CPUs: runtime.NumCPU()}
	var err error
	if m.Name, err = os.Hostname(); err != nil {
		m.Name = "local"
	}
	m.CPU, m.MemoryBytes = hardware()
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	if limit, ok := cpuLimit("/"); ok {
		m.CPULimit = &limit
	}
	return m
}
