package measure

import (
	"fmt"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Machine describes a machine. Unknown fields are empty or null.
type Machine struct {
	Name         string `json:"name"`
	System       string `json:"system"` // the operating system, such as linux
	Kernel       string `json:"kernel"`
	Architecture string `json:"architecture"`
	CPU          string `json:"cpu"` // the model of the CPU
	CPUs         int    `json:"cpus"`
	MemoryBytes  uint64 `json:"memory_bytes"`
	// CPULimit is the CPU quota of the control group, as a number of CPUs. It is null if the quota
	// is not limited.
	CPULimit *float64 `json:"cpu_limit"`
}

// Difference describes the first difference between the machine and its previous description
// `earlier`, in words that can follow "the machine has". It returns an empty string if the
// descriptions are equal. It ignores the amount of memory, because the kernel reserves a different
// part of the memory at each boot.
func (m *Machine) Difference(earlier *Machine) string {
	limit := func(m *Machine) string {
		if m.CPULimit == nil {
			return "no limit"
		}
		return text.FormatNumber(*m.CPULimit)
	}
	for _, d := range []struct{ what, was, is string }{
		{"the name", earlier.Name, m.Name}, {"the system", earlier.System, m.System}, {"the kernel", earlier.Kernel, m.Kernel},
		{"the architecture", earlier.Architecture, m.Architecture}, {"the processor", earlier.CPU, m.CPU},
		{"the CPU count", strconv.Itoa(earlier.CPUs), strconv.Itoa(m.CPUs)}, {"the CPU limit", limit(earlier), limit(m)},
	} {
		if d.was != d.is {
			return fmt.Sprintf("%s %s instead of %s", d.what, d.is, d.was)
		}
	}
	return ""
}
