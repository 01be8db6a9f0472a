package jute

import (
	"encoding/binary"
	"strings"
	"testing"
)

func TestAnswersAreChecked(t *testing.T) {
	big := framed(int32(1), int64(1), OK)
	binary.BigEndian.PutUint32(big, 1<<30)
	negative := binary.BigEndian.AppendUint32(nil, 1<<31)
	for _, tc := range []struct {
		name, want string
		in         []byte
	}{
		{"order", "the server answered request 2 before request 1", reply(2, 1, OK)},
		{"none", "the server answered request 3, but no request was open", append(append(reply(1, 1, OK), reply(2, 1, OK)...), reply(3, 1, OK)...)},
		{"short", "truncated", framed(int32(1), int64(1))},
		{"big", "a response of 1073741824 bytes", big},
		{"negative", "a response of -2147483648 bytes", negative},
		{"strange", "the server answered request -7", reply(-7, 1, OK)},
	} {
		c := ready(t, Config{})
		c.Sync(Call{Tag: 1}, Path{Prefix: "/"})
		c.Sync(Call{Tag: 2}, Path{Prefix: "/"})
		_, err := c.Feed(tc.in)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
		if _, again := c.Feed(nil); again == nil || c.Ready() {
			t.Errorf("%s: the connection stays usable", tc.name)
		}
	}
}

func TestGreetings(t *testing.T) {
	for want, in := range map[string][]byte{
		"answered with HTTP, not":        []byte("HTTP/1.1 400 Bad Request\r\n"),
		"TLS alert":                      {0x15, 0x03, 0x03, 0, 2, 2, 70},
		`answered with "SSH-", not`:      []byte("SSH-2.0-OpenSSH"),
		"truncated":                      framed(int32(0), int32(1)),
		`answered with "\xff\xff\xff\xf`: {0xff, 0xff, 0xff, 0xff},
	} {
		if _, err := NewConn(Config{}).Feed(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

func TestNotificationsAndPings(t *testing.T) {
	c := ready(t, Config{})
	c.GetData(Call{Tag: 9}, Path{Prefix: "/"}, true)
	in := append(framed(XidNotification, int64(-1), OK, int32(NodeDataChanged), int32(3), "/k"), reply(XidPing, 4, OK)...)
	in = append(append(in, reply(XidSetWatches, 4, OK)...), reply(1, 9, NoNode)...)
	replies, err := c.Feed(in)
	if err != nil || len(replies) != 2 || replies[1].Tag != 9 || replies[1].Code != NoNode || replies[1].Zxid != 9 || c.LastZxid() != 9 {
		t.Fatalf("%+v, %v", replies, err)
	}
	what, path, ok := replies[0].Notification()
	if replies[0].End != Notified || what != NodeDataChanged || string(path) != "/k" || !ok {
		t.Errorf("the notification is %v of %s", what, path)
	}
	broken := Reply{Body: []byte{1}}
	if _, _, ok := broken.Notification(); ok {
		t.Error("an incomplete notification was accepted")
	}
}
