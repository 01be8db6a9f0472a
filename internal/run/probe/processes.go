package probe

// ProcessUsage is what a process used since its start, and what it holds now.
type ProcessUsage struct {
	PID int
	// OK is false for a process that is gone; the rest is then zero.
	OK                         bool
	UserSeconds, SystemSeconds float64 // CPU time
	RSS                        int64   // bytes
	Threads                    int
	FDs                        int // open file descriptors; -1 if we may not know
	// Context switches of all threads that run; those of ended threads are
	// forgotten by the system.
	Voluntary, Involuntary int64
	// ReadBytes and WriteBytes are what reached the disk; -1 if we may not
	// know.
	ReadBytes, WriteBytes int64
}

// MachineUsage is what the whole machine did since its boot.
type MachineUsage struct {
	Load1, Load5, Load15 float64
	CPU                  SystemCPU
	// The disks: whole ones, without partitions, loop and memory devices, and
	// those made of others. A sector is 512 bytes.
	DiskReads, DiskWrites               int64 // completed
	DiskReadSectors, DiskWrittenSectors int64
	// The network without the loopback interface, and that alone, which counts
	// each packet as received and as sent.
	ReceivedBytes, ReceivedPackets int64
	SentBytes, SentPackets         int64
	LoopbackBytes, LoopbackPackets int64 // sent
}
