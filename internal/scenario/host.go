package scenario

import (
	"cmp"
	"fmt"
	"net"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Host is a machine on which members run and workers generate load.
type Host struct {
	Name string // unique in the scenario
	// Address has a form that depends on Transport. For TransportLocal, it is the IP address of the
	// host's members, or empty to use separate loopback addresses. For TransportAgent, it is the
	// agent's address, HOST:PORT or unix:PATH. For TransportSSH, it is [USER@]HOST[:PORT].
	Address   string
	Transport Transport
	// Dir is the absolute path of a folder on the host, and is allowed only for TransportSSH.
	// quorumbench writes all files to this folder, and keeps data and logs in it. If Dir is empty,
	// quorumbench uses a temporary folder and removes it at the end.
	Dir string
}

// Transport is the way in which quorumbench reaches a host.
type Transport uint8

// Ways to reach a host.
const (
	TransportLocal Transport = iota // this machine; several hosts can share it with separate addresses
	TransportAgent                  // "quorumbench agent" on another machine
	TransportSSH                    // another machine, on which quorumbench starts an agent over ssh
)

var transportNames = [...]string{"local", "agent", "ssh"}

// String returns the name in scenario files.
func (v Transport) String() string { return transportNames[v] }

// ParseTransport parses the name of a way to reach a host.
func ParseTransport(s string) (Transport, error) {
	if i := slices.Index(transportNames[:], s); i >= 0 {
		return Transport(i), nil
	}
	return 0, fmt.Errorf("via is %q, but must be local (this machine), agent or ssh", s)
}

// UnixPrefix is the prefix of an agent's address if the agent listens on a Unix socket.
const UnixPrefix = "unix:"

// UsesUnixSocket reports whether the host's agent listens on a Unix socket. Such an agent needs no
// certificates.
func (h *Host) UsesUnixSocket() bool {
	return h.Transport == TransportAgent && strings.HasPrefix(h.Address, UnixPrefix)
}

// isUserName reports whether a text may be a user name for ssh. It must not contain spaces or
// control characters.
func isUserName(user string) bool {
	n := utf8.RuneCountInString(user)
	return n >= 1 && n <= 256 && !strings.ContainsFunc(user, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.C, r) })
}

// SSHAddress parses the address of a host that is reached via ssh. It returns the user, or an empty
// string for ssh's default user. The returned address is HOST:PORT, or HOST if the host's address
// has no port.
func (h *Host) SSHAddress() (user, address string, err error) {
	wrong := fmt.Errorf("the address of host %s is %q, but must be the address of its ssh server, [USER@]HOST[:PORT]", h.Name, h.Address)
	address = h.Address
	if i := strings.LastIndex(address, "@"); i >= 0 {
		if user, address = address[:i], address[i+1:]; !isUserName(user) {
			return "", "", wrong
		}
	}
	name, port, err := net.SplitHostPort(address)
	if err != nil { // the address has no port
		if strings.HasPrefix(address, "[") && strings.HasSuffix(address, "]") {
			address = address[1 : len(address)-1]
		}
		if !isHostName(address) {
			return "", "", wrong
		}
		return user, address, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || !isHostName(name) {
		return "", "", wrong
	}
	return user, net.JoinHostPort(name, port), nil
}

func isHostName(name string) bool {
	return net.ParseIP(name) != nil || hostNamePattern.MatchString(name)
}

// hostNamePattern matches names in DNS and in local networks.
var hostNamePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)

// checkAddress checks a host's address.
func (h *Host) checkAddress() error {
	switch {
	case h.Transport == TransportLocal && h.Address != "" && net.ParseIP(h.Address) == nil:
		return fmt.Errorf("the address of host %s is %q, but must be an IP address", h.Name, h.Address)
	case h.Transport == TransportAgent && !h.UsesUnixSocket():
		if _, port, err := net.SplitHostPort(h.Address); err != nil || port == "" {
			return fmt.Errorf("the address of host %s is %q, but must be the address of its agent, HOST:PORT or unix:PATH", h.Name, h.Address)
		}
	case h.Transport == TransportSSH:
		_, _, err := h.SSHAddress()
		return err
	}
	return nil
}

// checkDir checks a host's folder.
func (h *Host) checkDir() error {
	switch {
	case h.Dir == "":
	case h.Transport != TransportSSH:
		return fmt.Errorf("the host %s has a dir, but only hosts that are reached via ssh can have one; remove the dir", h.Name)
	case !path.IsAbs(h.Dir) || path.Clean(h.Dir) != h.Dir || h.Dir == "/" || !text.Printable(h.Dir):
		return fmt.Errorf("the dir of host %s is %q, but must be an absolute path on that host, without . or .. and without a slash at the end", h.Name, h.Dir)
	}
	return nil
}

// maxHosts is the maximum number of hosts in a scenario.
const maxHosts = 1000

// hostsSchema returns the JSON Schema of the list of hosts in the file.
func hostsSchema() jsonSchema {
	host := objectSchema(map[string]jsonSchema{
		"name":    runNameSchema().with("description", "name of the host, unique in the file"),
		"address": lineSchema().with("description", "an IP address; with via: agent, HOST:PORT or unix:PATH; with via: ssh, [USER@]HOST[:PORT]"),
		"via":     enumSchema(transportNames[:]...).with("default", TransportLocal.String()),
		"dir":     lineSchema().with("description", "with via: ssh, the folder on the host in which quorumbench writes all files"),
	}, "name")
	return jsonSchema{"type": "array", "maxItems": maxHosts, "items": host}
}

// readHosts reads the list of hosts in the file.
func readHosts(n *file.Node) ([]Host, error) {
	if n.Kind != file.List {
		return nil, n.Pos.Errorf("hosts must be a list, for example [{name: a, address: 127.0.0.2}], not %s", n.DescribeMismatch(file.List))
	}
	if len(n.Items) > maxHosts {
		return nil, n.Pos.Errorf("there are %d hosts, but at most %d are allowed", len(n.Items), maxHosts)
	}
	var hosts []Host
	for _, item := range n.Items {
		h, err := readHost(item)
		if err != nil {
			return nil, err
		}
		for _, o := range hosts {
			switch {
			case o.Name == h.Name:
				return nil, item.Pos.Errorf("two hosts have the name %s; give each host a unique name", h.Name)
			case o.Address == h.Address && h.Address != "":
				return nil, item.Pos.Errorf("the hosts %s and %s have the same address, %s; give each host its own address", o.Name, h.Name, h.Address)
			}
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

func readHost(n *file.Node) (h Host, err error) {
	err = n.Fields("a host", map[string]func(*file.Node) error{
		"name":    func(n *file.Node) (err error) { h.Name, err = n.SingleLine("name"); return err },
		"address": func(n *file.Node) (err error) { h.Address, err = n.SingleLine("address"); return err },
		"via": func(n *file.Node) (err error) {
			h.Transport, err = file.ParseWord(n, "via", ParseTransport)
			return err
		},
		"dir": func(n *file.Node) (err error) { h.Dir, err = n.SingleLine("dir"); return err },
	})
	switch {
	case err != nil:
		return h, err
	case h.Name == "":
		return h, n.Pos.Errorf("a host needs a name, for example {name: a, address: 127.0.0.2}")
	case !validName.MatchString(h.Name):
		return h, n.Pos.Errorf("the host %s", invalidNameText(h.Name))
	}
	if err := cmp.Or(h.checkAddress(), h.checkDir()); err != nil {
		return h, n.Pos.Errorf("%v", err)
	}
	return h, nil
}
