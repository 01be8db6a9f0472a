//go:build !linux

package probe

// Sampler reads nothing here.
type Sampler struct{}

// NewSampler returns nothing here, which its ok says.
func NewSampler() (s *Sampler, ok bool) { return nil, false }

// Processes is not known here.
func (*Sampler) Processes([]int) []ProcessUsage { return nil }

// Machine is not known here.
func (*Sampler) Machine() (row MachineUsage, ok bool) { return row, false }
