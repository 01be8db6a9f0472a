package probe

// Watched is a process to be watched.
type Watched struct {
	PID  int
	Name string // as the rows call it, such as m1
}

// ProcessRow is what a process used since its start, and what it holds now.
type ProcessRow struct {
	Watched
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

// MachineRow is what the whole machine did since its boot.
type MachineRow struct {
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
