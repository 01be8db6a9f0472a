package measure

// WrittenSecond contains the synced writes that became due in one second of a measurement of a
// disk. The writes are made at a constant rate. If a sync takes longer than the interval between
// two writes, the writes that become due meanwhile are made together, with one sync. This is how a
// store commits its log.
type WrittenSecond struct {
	// WaitNS contains, for each write, the time until the write was durable. This time starts when
	// the write was due, or when the writer woke up, if that was later. Writes are numbered from
	// the beginning of the measurement. The size of write i is the one with the index i modulo the
	// number of sizes.
	WaitNS []int64 `json:"wait_ns"`
	// SyncNS contains the duration of each sync. If a sync was slow, SyncNS has fewer elements than
	// WaitNS.
	SyncNS []int64 `json:"sync_ns"`
	// LateNS is the longest time by which the writer woke up too late, because no CPU was free.
	LateNS int64 `json:"late_ns"`
	// First is the number of the first write in the second.
	First int `json:"first"`
	// NeighborBytes is the number of bytes that the neighbor's load has written in total.
	NeighborBytes int64 `json:"neighbor_bytes"`
}

// HostLimits contains the limits of a machine, and the properties of a folder's file system. A
// number is -1 if it is unknown.
type HostLimits struct {
	FileSystem string `json:"file_system"` // such as ext4
	Durable    bool   `json:"durable"`     // false if the file system loses its data at a power loss
	Networked  bool   `json:"networked"`   // set for a network file system
	FreeBytes  int64  `json:"free_bytes"`  // free space in the folder
	// MemoryBytes is the memory of the machine, or the limit of the process's control group if that
	// is lower.
	MemoryBytes int64 `json:"memory_bytes"`
	SwapBytes   int64 `json:"swap_bytes"`
	OpenFiles   int64 `json:"open_files"` // the hard limit of the measuring process
}

// RoundTrips contains the times of small messages that one host sent to another over a TCP
// connection, and that the other host returned.
type RoundTrips struct {
	NS []int64 `json:"ns"` // in the order in which the messages were sent
	// Segments is the number of TCP segments with data that the two hosts sent on the connection.
	// Retransmitted is the number of segments that they sent again. Both are -1 if unknown.
	Segments      int64 `json:"segments"`
	Retransmitted int64 `json:"retransmitted"`
}
