package wallclock

import (
	"encoding/binary"
	"time"
)

// The functions of the vDSO that tell the wall clock, and where in hooks is what they
// jump to.
var functions = [...]struct {
	name   string
	hook   int
	needed bool // what the vDSO must have: others came later, or went
}{
	{"__vdso_clock_gettime", 0x00, true},
	{"__vdso_gettimeofday", 0x41, false},
	{"__vdso_time", 0x7e, false},
}

// hooks is what is jumped to. Each asks the kernel, keeps to the registers that a
// function and a system call may change, and adds what the clock is ahead, which is
// behind the code (see ahead).
var hooks = [0xa0]byte{
	// int clock_gettime(clockid_t edi, struct timespec *rsi)
	0xb8, 0xe4, 0x00, 0x00, 0x00, // 00 mov eax, 228 (clock_gettime)
	0x0f, 0x05, // 05 syscall
	0x85, 0xc0, // 07 test eax, eax
	0x75, 0x35, // 09 jne 40
	0x85, 0xff, // 0b test edi, edi (CLOCK_REALTIME)
	0x74, 0x05, // 0d je 14
	0x83, 0xff, 0x05, // 0f cmp edi, 5 (CLOCK_REALTIME_COARSE)
	0x75, 0x2c, // 12 jne 40
	0x48, 0x8b, 0x0d, 0x8d, 0x00, 0x00, 0x00, // 14 mov rcx, [rip+8d] (a8, nanoseconds)
	0x48, 0x03, 0x4e, 0x08, // 1b add rcx, [rsi+8]
	0x48, 0x8b, 0x15, 0x7a, 0x00, 0x00, 0x00, // 1f mov rdx, [rip+7a] (a0, seconds)
	0x48, 0x81, 0xf9, 0x00, 0xca, 0x9a, 0x3b, // 26 cmp rcx, 1000000000
	0x7c, 0x0a, // 2d jl 39
	0x48, 0x81, 0xe9, 0x00, 0xca, 0x9a, 0x3b, // 2f sub rcx, 1000000000
	0x48, 0xff, 0xc2, // 36 inc rdx
	0x48, 0x89, 0x4e, 0x08, // 39 mov [rsi+8], rcx
	0x48, 0x01, 0x16, // 3d add [rsi], rdx
	0xc3, // 40 ret
	// int gettimeofday(struct timeval *rdi, struct timezone *rsi)
	0xb8, 0x60, 0x00, 0x00, 0x00, // 41 mov eax, 96 (gettimeofday)
	0x0f, 0x05, // 46 syscall
	0x85, 0xc0, // 48 test eax, eax
	0x75, 0x31, // 4a jne 7d
	0x48, 0x85, 0xff, // 4c test rdi, rdi
	0x74, 0x2c, // 4f je 7d
	0x48, 0x8b, 0x0d, 0x58, 0x00, 0x00, 0x00, // 51 mov rcx, [rip+58] (b0, microseconds)
	0x48, 0x03, 0x4f, 0x08, // 58 add rcx, [rdi+8]
	0x48, 0x8b, 0x15, 0x3d, 0x00, 0x00, 0x00, // 5c mov rdx, [rip+3d] (a0, seconds)
	0x48, 0x81, 0xf9, 0x40, 0x42, 0x0f, 0x00, // 63 cmp rcx, 1000000
	0x7c, 0x0a, // 6a jl 76
	0x48, 0x81, 0xe9, 0x40, 0x42, 0x0f, 0x00, // 6c sub rcx, 1000000
	0x48, 0xff, 0xc2, // 73 inc rdx
	0x48, 0x89, 0x4f, 0x08, // 76 mov [rdi+8], rcx
	0x48, 0x01, 0x17, // 7a add [rdi], rdx
	0xc3, // 7d ret
	// time_t time(time_t *rdi)
	0xb8, 0xc9, 0x00, 0x00, 0x00, // 7e mov eax, 201 (time)
	0x31, 0xd2, // 83 xor edx, edx
	0x48, 0x87, 0xfa, // 85 xchg rdx, rdi
	0x0f, 0x05, // 88 syscall
	0x48, 0x03, 0x05, 0x0f, 0x00, 0x00, 0x00, // 8a add rax, [rip+f] (a0, seconds)
	0x48, 0x85, 0xd2, // 91 test rdx, rdx
	0x74, 0x03, // 94 je 99
	0x48, 0x89, 0x02, // 96 mov [rdx], rax
	0xc3, // 99 ret
}

// aheadBytes are behind hooks: seconds, and what is beyond them in nanoseconds and in
// microseconds, neither below 0.
const aheadBytes = 3 * 8

func aheadOf(d time.Duration) []byte {
	seconds, beyond := int64(d/time.Second), int64(d%time.Second)
	if beyond < 0 {
		seconds, beyond = seconds-1, beyond+int64(time.Second)
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(seconds))
	b = binary.LittleEndian.AppendUint64(b, uint64(beyond))
	return binary.LittleEndian.AppendUint64(b, uint64(beyond/int64(time.Microsecond)))
}

// jumpBytes is the length of a jump.
const jumpBytes = 5

// jump is one from a place to another, less than 2 GiB away.
func jump(from, to int) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(int32(to-from-jumpBytes)))
}
