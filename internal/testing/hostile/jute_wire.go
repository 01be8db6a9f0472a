package hostile

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// Jute returns the kinds for ZooKeeper's protocol.
func Jute() []Kind {
	return slices.Concat([]Kind{juteKind(Undisturbed, juteHooks{})}, juteRaw(), juteSessions(), juteFrames(), juteFloods(), juteWords(),
		juteValues(), juteNames(), juteMultis(), juteZxids())
}

// juteRaw returns kinds that respond with the same bytes to every request.
func juteRaw() []Kind {
	endless := func(name, text string) Kind {
		return Kind{Name: name, Flood: true, serve: func(c net.Conn, _ string) { flood(c, []byte(text)) }}
	}
	kinds := []Kind{
		greeting("silence from the first byte", ""),
		greeting("a first frame of 2 GiB", "\x7f\xff\xff\xff"),
		greeting("a first frame of no bytes", "\x00\x00\x00\x00"),
		greeting("half of the first frame, then silence", "\x00\x00\x00\x25\x00\x00"),
		{Name: "closes at once", serve: func(net.Conn, string) {}},
		endless("garbage that does not end", "\x00\x00\x00\x08garbage!"),
		{Name: "reads a byte now and then", serve: func(c net.Conn, _ string) { readSlowly(c) }},
	}
	for i, k := range kinds {
		kinds[i] = markImpossible(k)
	}
	return kinds
}

// juteSessions returns kinds that start a session incorrectly. The frame is ConnectResponse{
// protocolVersion int, timeOut int, sessionId long, passwd buffer, readOnly bool}.
func juteSessions() []Kind {
	greeted := func(name string, change func(c *juteConn, b []byte) []byte) Kind {
		return juteKind(name, juteHooks{greet: func(c *juteConn, b []byte) bool { return c.send(change(c, b)) }})
	}
	number := func(name string, at int, n uint32) Kind {
		return greeted(name, func(_ *juteConn, b []byte) []byte {
			binary.BigEndian.PutUint32(b[at:], n)
			return b
		})
	}
	return []Kind{
		number("a session of 0 ms", 4, 0), number("a session of -1 ms", 4, 1<<32-1), number("a session of 2^31-1 ms", 4, 1<<31-1),
		markFlooding(number("a session of 1 ms", 4, 1))[0],
		greeted("a session of number 0", func(_ *juteConn, b []byte) []byte {
			binary.BigEndian.PutUint64(b[8:], 0)
			return b
		}),
		number("a password of 2 GiB", 16, 1<<31-1),
		greeted("a password of 900 bytes", func(_ *juteConn, b []byte) []byte {
			b = binary.BigEndian.AppendUint32(b[:16], 900)
			return append(b, make([]byte, 901)...)
		}),
		greeted("a session granted twice", func(c *juteConn, b []byte) []byte {
			c.send(b)
			return b
		}),
		juteKind("the end after the session", juteHooks{greet: func(c *juteConn, b []byte) bool {
			c.send(b)
			return false
		}}),
	}
}

// juteLater returns a kind whose server responds correctly to the first three requests, and calls
// the function `answer` for later requests.
func juteLater(name string, answer func(c *juteConn, r *juteCall, a juteAnswer) bool) Kind {
	return markImpossible(juteKind(name, juteHooks{answer: func(c *juteConn, r *juteCall, a juteAnswer) bool {
		if c.served < 4 {
			return c.reply(a)
		}
		return answer(c, r, a)
	}}))
}

// juteFrames returns kinds that violate the framing or the order of responses, or that omit or
// delay responses.
func juteFrames() []Kind {
	raw := func(name, bytes string) Kind {
		return juteLater(name, func(c *juteConn, _ *juteCall, _ juteAnswer) bool { return c.raw([]byte(bytes)) })
	}
	large := func(name string, size, sent int) Kind {
		return juteLater(name, func(c *juteConn, _ *juteCall, a juteAnswer) bool {
			return c.raw(binary.BigEndian.AppendUint32(nil, uint32(size))) && c.raw(a.bytes()[:16]) && fill(sent-16, 0, c.raw)
		})
	}
	return []Kind{
		raw("an answer of 2 GiB", "\x7f\xff\xff\xff"),
		raw("an answer of no bytes", "\x00\x00\x00\x00"),
		raw("half an answer, then silence", "\x00\x00\x00\x64\x00\x00\x00\x01"),
		large("an answer of 60 MiB", 60<<20, 60<<20),
		large("an answer of 60 MiB, but for the last bytes", 60<<20, 60<<20-10),
		juteLater("half an answer, then the end", func(c *juteConn, _ *juteCall, a juteAnswer) bool {
			c.raw(framed(a.bytes())[:10])
			return false
		}),
		juteLater("no answer at all", func(*juteConn, *juteCall, juteAnswer) bool { return true }),
		juteLater("every second answer", func(c *juteConn, _ *juteCall, a juteAnswer) bool { return c.served%2 == 0 || c.reply(a) }),
		juteLater("each answer twice", func(c *juteConn, _ *juteCall, a juteAnswer) bool {
			c.reply(a)
			return c.reply(a)
		}),
		juteLater("connections that end behind some answers", func(c *juteConn, _ *juteCall, a juteAnswer) bool {
			c.reply(a)
			return false
		}),
		markPossible(juteLater("right answers a byte at a time", func(c *juteConn, _ *juteCall, a juteAnswer) bool {
			return drip(c, framed(a.bytes()), 1, time.Millisecond)
		})),
	}
}

// juteFloods returns kinds whose servers send endless data.
func juteFloods() []Kind {
	header := func(xid int32, body []byte) []byte {
		a := juteAnswer{xid: xid, body: body}
		return framed(a.bytes())
	}
	endless := func(name string, again []byte) Kind {
		return juteLater(name, func(c *juteConn, _ *juteCall, _ juteAnswer) bool {
			flood(c, again)
			return false
		})
	}
	event := binary.BigEndian.AppendUint32(nil, uint32(jute.NodeDataChanged))
	event = binary.BigEndian.AppendUint32(event, 3)
	return markFlooding(
		endless("a flood of answers to pings", header(jute.XidPing, nil)),
		endless("a flood of watch events", header(jute.XidNotification, jute.AppendBuffer(event, "/k"))),
		endless("a flood of watch events with paths of 60 KiB", header(jute.XidNotification, jute.AppendBuffer(event, strings.Repeat("/k", 30<<10)))),
		endless("a flood of empty frames", make([]byte, 4)),
		juteLater("a refusal of the user", func(c *juteConn, _ *juteCall, _ juteAnswer) bool {
			a := juteAnswer{xid: jute.XidAuth, code: -115}
			return c.reply(a)
		}),
		markPossible(juteKind("a session that is over each time", juteHooks{greet: func(c *juteConn, b []byte) bool {
			c.send(make([]byte, len(b)))
			return false
		}})),
	)
}

// juteWords returns kinds that respond incorrectly to four-letter words but correctly in sessions.
func juteWords() (kinds []Kind) {
	say := func(name, text string) Kind {
		return juteKind(name, juteHooks{word: func(c *juteConn, _ string) { c.raw([]byte(text)) }})
	}
	var members strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&members, "server.%d=10.0.0.1:2888:3888:participant;10.0.0.1:%d\n", i, i)
	}
	srvr := func(version, zxid, mode string) string {
		return "Zookeeper version: " + version + ", built on 2024\nZxid: " + zxid + "\nMode: " + mode + "\nNode count: 5\n"
	}
	return []Kind{
		say("words answered by nothing", ""),
		say("words answered by garbage", "\xff\xfe\x00\x01"),
		say("words answered by a mebibyte without a line's end", strings.Repeat("x", 1<<20)),
		say("a version of a mebibyte", srvr(strings.Repeat("3", 1<<19), "0x1", "leader")),
		say("a version with control characters", srvr("3.9\x1b]0;owned\x07", "0x1", "leader")),
		say("an unknown mode", srvr("3.9.5", "0x1", "emperor")),
		say("a transaction id of 2^64", srvr("3.9.5", "0x1ffffffffffffffff", "leader")),
		say("20,000 members", srvr("3.9.5", "0x1", "leader")+members.String()),
		say("members whose numbers are none", srvr("3.9.5", "0x1", "leader")+"server.x=;\nserver.1=;:\nserver.2=;\n"),
		say("server numbers below 0", srvr("3.9.5", "0x1", "follower")+"serverId=-5\n"),
		say("a server that never serves", "This ZooKeeper instance is not currently serving requests\n"),
		say("words that are not allowed", "conf is not executed because it is not in the whitelist.\n"),
		juteKind("words a byte at a time, without end", juteHooks{word: func(c *juteConn, _ string) {
			for drip(c, []byte("Mode: leader\n"), 1, 5*time.Millisecond) {
			}
		}}),
		markFlooding(juteKind("words that do not end", juteHooks{word: func(c *juteConn, _ string) { flood(c, []byte("Mode: leader\n")) }}))[0],
	}
}
